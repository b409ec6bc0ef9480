"""Wines of three cultivars: two are sometimes labelled, the third never.

Four in ten bottles of Barolo and of Grignolino carry a label; whatever else is in the cellar never
does. Decoupling adds the class "other", and tells what the unlabelled bottles are. Data come as a
pandas DataFrame if pandas is installed, and the table that comes back has its index. True cultivars
make the labels at the start and score at the end; nothing in between sees them.

Run it with `python examples/multi_positive_wine.py`.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

try:
    import pandas as pd
except ImportError:  # then with numpy alone
    pd = None

CULTIVARS = ["Barolo", "Grignolino", "other"]
RATE = 0.4


def main() -> dict[str, float]:
    """Label some bottles, tell the rest apart, and return the scores."""
    data = load_wine()
    X, true = data.data, np.array(CULTIVARS)[data.target]
    marking = TransitionPrior.multi_positive_unlabelled(CULTIVARS[:2], "other", RATE)
    y = give_labels(true, marking, random_state=0)  # "Barolo", "Grignolino" or None
    unlabelled = ~np.isin(y, CULTIVARS)
    with_other = np.where(unlabelled, "other", y).astype(str)
    if pd is not None:
        bottles = [f"bottle {i}" for i in range(1, len(y) + 1)]
        X = pd.DataFrame(X, index=bottles, columns=data.feature_names)
        y = pd.Series(y, index=bottles)

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    naive = cross_val_predict(model, X, with_other, cv=5)

    task = "multi-positive-unlabelled"
    clf = DecouplingClassifier(model, task=task, negative="other", random_state=0).fit(X, y)

    print(f"{len(y)} bottles, {unlabelled.sum()} of them unlabelled; the surest of those are")
    table = clf.label_issues(with_unlabelled=True).table()
    print(table[["suggested", "p_Barolo", "p_Grignolino", "p_other"]][:5])

    # From here on with the true cultivars.
    lower, upper = clf.transition_interval(0.9)
    print("\np(labelled | class)   inferred    90% interval   in these rows   drawn with")
    for name in CULTIVARS[:2]:
        cell = list(clf.classes_).index(name), clf.labels_.index(name)
        interval = f"{lower[cell]:.3f} to {upper[cell]:.3f}"
        share = np.mean(~unlabelled[true == name])
        print(
            f"  {name:<20}{clf.transitions_[cell]:>8.3f}{interval:>16}{share:>16.3f}{RATE:>13.3f}"
        )
    print("The intervals take p(label | x) as given: the error of the classifier comes on top.")

    print(f"\n{'Unlabelled bottles':<35}{'accuracy':>9}{'macro-F1':>10}")
    scores = {}
    titles = {"naive": "unlabelled = other, out of fold", "decoupled": "decoupled"}
    for name, guess in {"naive": naive, "decoupled": clf.transduction_}.items():
        truth, guess = true[unlabelled], guess[unlabelled]
        scores[name] = accuracy = float(accuracy_score(truth, guess))
        scores[f"{name}_f1"] = f1 = float(f1_score(truth, guess, average="macro"))
        print(f"  {titles[name]:<33}{accuracy:>9.3f}{f1:>10.3f}")
    return scores


if __name__ == "__main__":
    main()
