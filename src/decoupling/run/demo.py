"""A problem whose answer is known: digits, of which labels were taken away and made wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.datasets import give_labels
from decoupling.tables.features import Feature
from decoupling.tables.problem import Problem
from decoupling.transitions.prior import TransitionPrior

# p(wrong label | class, labelled) of the demo: bad enough that a third of the labels mislead.
NOISE: Final = 0.35
# p(unlabelled | class): rows without a label are shown, too, and four of five still have one.
MISSING: Final = 0.2
# Probability that an interval of T is to hold.
LEVEL: Final = 0.9


@dataclass(frozen=True, eq=False)
class Demo:
    """Digits with bad labels.

    Attributes
    ----------
    problem : Problem
        What a run is given.
    classes : array (N,)
        The true classes, to compare with.
    transitions : array (C, S)
        The true T.
    pictures : array (N, 8, 8)
        What the rows show.
    """

    problem: Problem
    classes: AnyArray
    transitions: FloatArray
    pictures: FloatArray


def make_demo(seed: int = 0) -> Demo:
    """Digits of scikit-learn; a third of their labels wrong on purpose, a fifth taken away."""
    from sklearn.datasets import load_digits

    X, classes = load_digits(return_X_y=True)
    process = TransitionPrior.noisy(range(10), noise=NOISE, labelled=1.0 - MISSING)
    given = give_labels(classes, process, seed)
    labels = np.array([None if label is None else int(label) for label in given.tolist()], object)
    shown = X.std(axis=0) > 0
    features = tuple(Feature(f"pixel {k}", "number") for k in np.flatnonzero(shown))
    problem = Problem(labels=labels, label="digit", X=X[:, shown], features=features)
    return Demo(problem, classes, process.mean, X.reshape(-1, 8, 8))


def demo_table(made: Demo) -> dict[str, AnyArray | list[object]]:
    """Columns of a table of the demo, so that other commands can be tried on it."""
    pixels = made.pictures.reshape(len(made.classes), -1).astype(np.int64)
    columns: dict[str, AnyArray | list[object]] = {
        f"pixel {k}": pixels[:, k] for k in range(pixels.shape[1])
    }
    return {"label": made.problem.labels.tolist(), **columns}


@dataclass(frozen=True)
class DemoScores:
    """Distance of the answer from the truth.

    Attributes
    ----------
    rows : int
        How many rows there are.
    accuracy_before : float
        Share of the labels that are right.
    accuracy_after : float
        Share of all rows whose class was found.
    largest_error : float
        Largest distance of an entry of T from the truth.
    intervals, intervals_that_hold_the_truth : int
        How many intervals T has, and how many of them hold the truth.
    """

    rows: int
    accuracy_before: float
    accuracy_after: float
    largest_error: float
    intervals: int
    intervals_that_hold_the_truth: int


def demo_scores(made: Demo, clf: DecouplingClassifier) -> DemoScores:
    """Compare what was found with the truth."""
    given = made.problem.labels
    has = np.array([label is not None for label in given.tolist()])
    lower, upper = clf.transition_interval(LEVEL)
    inside = (lower <= made.transitions) & (made.transitions <= upper)
    return DemoScores(
        rows=len(given),
        accuracy_before=float((given[has] == made.classes[has]).mean()),
        accuracy_after=float((clf.transduction_ == made.classes).mean()),
        largest_error=float(np.abs(clf.transitions_ - made.transitions).max()),
        intervals=inside.size,
        intervals_that_hold_the_truth=int(inside.sum()),
    )
