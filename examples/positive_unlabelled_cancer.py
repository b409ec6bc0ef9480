"""Tumours of which only some malignant ones are marked, and benign ones never.

One malignant tumour in four carries the label "malignant"; all others carry none. A classifier that
reads "no label" as benign misses most of the rest. With one label and unlabelled rows the default
task is positive-unlabelled: decoupling infers how often a malignant tumour is marked, and corrects
for it. True diagnoses make the labels at the start and score at the end; nothing else sees them.

Run it with `python examples/positive_unlabelled_cancer.py`.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

RATE = 0.25


def main() -> dict[str, float]:
    """Mark a few tumours, find the others, and return the scores."""
    data = load_breast_cancer()
    diagnosis = data.target_names[data.target]
    marking = TransitionPrior.positive_unlabelled(RATE, "malignant", "benign")
    given = give_labels(diagnosis, marking, random_state=0)  # "malignant" or None
    X, X_new, given, _, true, true_new = train_test_split(
        data.data, given, diagnosis, random_state=0
    )

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    marked = given == "malignant"
    naive = model.fit(X, np.where(marked, "malignant", "benign")).predict(X_new)

    clf = DecouplingClassifier(model, negative="benign", random_state=0).fit(X, given)
    decoupled = clf.predict(X_new)

    print(f"{len(X)} tumours, {marked.sum()} marked as malignant; task: {clf.task_.name}\n")
    cell = list(clf.classes_).index("malignant"), clf.labels_.index("malignant")
    rate, (lower, upper) = clf.transitions_[cell], (end[cell] for end in clf.transition_interval())

    # From here on with the true diagnoses.
    print("p(labelled | malignant)")
    print(f"  inferred                 {rate:.3f}, 90% interval {lower:.3f} to {upper:.3f}")
    print(f"  share in these rows      {marked[true == 'malignant'].mean():.3f}")
    print(f"  rate it was drawn with   {RATE:.3f}")
    print("The interval takes p(label | x) as given: the error of the classifier comes on top.\n")

    scores = {"rate": float(rate), "lower": float(lower), "upper": float(upper)}
    print(f"{len(X_new)} new tumours{'precision':>28}{'recall':>10}{'F1':>10}")
    titles = {"naive": "unlabelled = benign", "decoupled": "decoupled"}
    for name, guess in {"naive": naive, "decoupled": decoupled}.items():
        for metric in (precision_score, recall_score, f1_score):
            kind = metric.__name__.removesuffix("_score")
            scores[f"{name}_{kind}"] = float(metric(true_new, guess, pos_label="malignant"))
        cells = (scores[f"{name}_{kind}"] for kind in ("precision", "recall", "f1"))
        print(f"  {titles[name]:<31}" + "".join(f"{score:>10.3f}" for score in cells))
    return scores


if __name__ == "__main__":
    main()
