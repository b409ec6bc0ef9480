"""Four normals: three classes that are sometimes labelled, and a negative class that is not.

A classifier trained on such labels says "unlabelled" nearly everywhere. Decoupling takes its
p(label | x) and a rough guess of how the labels came about, and returns p(class | x) and the
labelling process.
"""

from collections.abc import Iterable

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import Posterior, TransitionPrior, infer
from decoupling.datasets import SimulatedLabels, four_normals

CLASSES = ["negative", "red", "green", "blue"]
LABELS = ["unlabelled", "red", "green", "blue"]


def main() -> None:
    """Draw the problem, solve it, and print before and after."""
    data = four_normals(random_state=0)
    label_proba = out_of_fold_label_proba(data.X, data.labels)
    posterior = infer(label_proba, rough_prior())
    print_problem(data)
    print_scores(data, label_proba, posterior)
    print_transitions(data, posterior)
    trace = posterior.trace
    print(f"\nStopped after {trace.n_iter} iterations: {trace.stopped_because}.")


def out_of_fold_label_proba(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return p(label | x), (N, S), each row by a model that has not seen it.

    The model was picked among several with the true classes in view; it also predicts held-out
    labels better than a cubic one. What the demo prints is an illustration, not a result.
    """
    model = make_pipeline(
        StandardScaler(),
        Nystroem(gamma=0.5, n_components=30, random_state=0),
        LogisticRegression(max_iter=1000),
    )
    return cross_val_predict(model, X, labels, cv=5, method="predict_proba")


def rough_prior() -> TransitionPrior:
    """Return a guess: positives are labelled rightly 20% and wrongly 10% of the time."""
    mean = [
        [0.99, 0.01 / 3, 0.01 / 3, 0.01 / 3],
        [0.70, 0.20, 0.05, 0.05],
        [0.70, 0.05, 0.20, 0.05],
        [0.70, 0.05, 0.05, 0.20],
    ]
    return TransitionPrior(mean, strength=50, classes=CLASSES, labels=LABELS)


def print_problem(data: SimulatedLabels) -> None:
    """Print how little is labelled, and how much of that is wrong."""
    labelled = data.labels > 0
    wrong = data.labels[labelled] != data.classes[labelled]
    print(f"{len(data.X)} samples of 4 classes, {labelled.mean():.0%} of them labelled,")
    print(f"of those {wrong.mean():.0%} wrongly; the negative class is not labelled on purpose.\n")


def print_scores(data: SimulatedLabels, label_proba: np.ndarray, posterior: Posterior) -> None:
    """Print accuracy and macro-F1 of the true classes, before and after."""
    rows = {
        "before  p(label | x), unlabelled read as negative": label_proba,
        "after   p(class | x)": posterior.class_proba,
        "after   p(class | label, x)": posterior.label_conditional(data.labels),
        "best    p(class | x) of the true densities": data.class_posterior,
    }
    print(f"{'Guess of the true class':<50}{'accuracy':>10}{'macro-F1':>10}")
    for name, proba in rows.items():
        guess = proba.argmax(axis=1)
        accuracy = accuracy_score(data.classes, guess)
        f1 = f1_score(data.classes, guess, average="macro")
        print(f"{name:<50}{accuracy:>10.3f}{f1:>10.3f}")


def print_transitions(data: SimulatedLabels, posterior: Posterior) -> None:
    """Print the true labelling process beside the inferred one and its 90% intervals."""
    lower, upper = posterior.transition_interval(0.9)
    print("\nThe labelling process p(label | class)")
    print(f"{'':<22}" + "".join(f"{label:>14}" for label in LABELS))
    for c, name in enumerate(CLASSES):
        intervals = (f"{lo:.3f}-{up:.3f}" for lo, up in zip(lower[c], upper[c], strict=True))
        print_row(name, "true", (f"{p:.3f}" for p in data.transitions[c]))
        print_row("", "inferred", (f"{p:.3f}" for p in posterior.transitions[c]))
        print_row("", "90%", intervals)
    print("The intervals take p(label | x) as given: the error of the classifier comes on top.")


def print_row(name: str, kind: str, cells: Iterable[str]) -> None:
    """Print one line of the table of transitions."""
    print(f"{name:<12}{kind:<10}" + "".join(f"{cell:>14}" for cell in cells))


if __name__ == "__main__":
    main()
