"""Digits of which one label in five is wrong: find the wrong labels.

Handwritten digits get a random wrong label 20% of the time. Decoupling reads the same classifier's
p(label | x), infers how labels are mixed up, and lists the rows to look at again. True digits make
the labels at the start and score the result at the end; nothing in between sees them.

Run it with `python examples/noisy_digits.py`.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels


def main() -> dict[str, float]:
    """Flip labels, find them again, and return the scores."""
    X, true = load_digits(return_X_y=True)
    one_in_five = TransitionPrior.noisy(range(10), noise=0.2)
    given = give_labels(true, one_in_five, random_state=0)
    X, X_new, given, _, true, true_new = train_test_split(X, given, true, random_state=0)

    model = make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000))
    naive = model.fit(X, given).predict(X_new)

    clf = DecouplingClassifier(model, task="noisy", random_state=0).fit(X, given)
    issues = clf.label_issues()
    print(issues)

    lower, upper = clf.transition_interval(0.9)
    print("\nWhat an 8 is labelled as " + "".join(f"{label:>7}" for label in clf.labels_))
    rows = {"true": one_in_five.mean, "inferred": clf.transitions_, "5%": lower, "95%": upper}
    for name, transitions in rows.items():
        print(f"  {name:<23}" + "".join(f"{p:>7.3f}" for p in transitions[8]))

    # From here on with the true digits.
    wrong = given != true
    scores = {
        "precision": float(wrong[issues.row].mean()),
        "recall": float(wrong[issues.row].sum() / wrong.sum()),
        "labels": float(np.mean(given == true)),
        "corrected": float(np.mean(clf.transduction_ == true)),
        "naive": float(np.mean(naive == true_new)),
        "decoupled": float(np.mean(clf.predict(X_new) == true_new)),
    }
    print(f"\nOf the {len(issues)} rows listed {scores['precision']:.1%} do have a wrong label;")
    print(f"they are {scores['recall']:.1%} of all {wrong.sum()} wrong labels.\n")
    print(f"{'Accuracy':<31}{'before':>8}{'after':>8}")
    print(f"  {'labels of these rows':<29}{scores['labels']:>8.3f}{scores['corrected']:>8.3f}")
    print(f"  {'predictions of new rows':<29}{scores['naive']:>8.3f}{scores['decoupled']:>8.3f}")
    return scores


if __name__ == "__main__":
    main()
