"""Irises of which eight a species are labelled: choose a model without any other label.

Labels are coded as they are in scikit-learn, -1 for unlabelled, and C is chosen by a grid search:
`LabelledKFold` holds out labelled rows only, and `labelled_scorer` scores nothing else. Labels that
are few but right leave little to mend: compare with a search on the labelled rows alone. True
species pick the labels at the start and score at the end; nothing in between sees them.

Run it with `python examples/semi_supervised_iris.py`.
"""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import DecouplingClassifier, LabelledKFold, labelled_scorer

UNLABELLED = -1
GRID = [0.1, 1, 10, 100]


def main() -> dict[str, float]:
    """Hide most labels, choose C, and return the scores."""
    data = load_iris()
    X, true = data.data, data.target
    rng = np.random.default_rng(0)
    y = np.full(len(X), UNLABELLED)
    for species in range(3):
        y[rng.choice(np.flatnonzero(true == species), 8, replace=False)] = species
    labelled = y != UNLABELLED

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = LabelledKFold(4, unlabelled=UNLABELLED, shuffle=True, random_state=0)
    decoupled = GridSearchCV(
        DecouplingClassifier(model, task="semi-supervised", unlabelled=UNLABELLED, random_state=0),
        {"estimator__logisticregression__C": GRID},
        scoring=labelled_scorer("neg_log_loss", unlabelled=UNLABELLED),
        cv=folds,
    ).fit(X, y)
    naive = GridSearchCV(
        model, {"logisticregression__C": GRID}, scoring="neg_log_loss", cv=folds
    ).fit(X[labelled], y[labelled])

    print(f"{len(X)} irises, {labelled.sum()} labelled\n")
    print("Log-loss of labels held out    " + "".join(f"C = {C:<6}" for C in GRID).rstrip())
    for name, search in {"labelled rows alone": naive, "decoupled": decoupled}.items():
        losses = -search.cv_results_["mean_test_score"]
        print(f"  {name:<29}" + "".join(f"{loss:<10.3f}" for loss in losses).rstrip())

    clf = decoupled.best_estimator_
    lower, upper = clf.transition_interval(0.9)
    print("\np(labelled | class), 0.160 in truth, with 90% intervals")
    for c, name in enumerate(data.target_names):
        interval = f"{lower[c, c + 1]:.3f} to {upper[c, c + 1]:.3f}"  # column 0 is unlabelled
        print(f"  {name:<12}{clf.transitions_[c, c + 1]:.3f}  ({interval})")

    # From here on with the true species.
    print("\nUnlabelled irises            accuracy  log-loss")
    scores = {}
    rest = X[~labelled], true[~labelled]
    for name, search in {"naive": naive, "decoupled": decoupled}.items():
        scores[name] = accuracy = float(accuracy_score(rest[1], search.predict(rest[0])))
        scores[f"{name}_loss"] = loss = float(log_loss(rest[1], search.predict_proba(rest[0])))
        title = "labelled rows alone" if name == "naive" else name
        print(f"  {title:<25}{accuracy:>10.3f}{loss:>10.3f}")
    return scores


if __name__ == "__main__":
    main()
