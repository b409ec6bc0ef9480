"""A problem whose answer is known: digits, of which labels were taken away and made wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling.datasets import give_labels
from decoupling.tables.features import Feature
from decoupling.tables.problem import Problem
from decoupling.transitions.prior import TransitionPrior

NOISE: Final = 0.35
MISSING: Final = 0.2


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
    """The same as columns of a table, so that other commands can be tried on it."""
    pixels = made.pictures.reshape(len(made.classes), -1).astype(np.int64)
    columns: dict[str, AnyArray | list[object]] = {
        f"pixel {k}": pixels[:, k] for k in range(pixels.shape[1])
    }
    return {"label": made.problem.labels.tolist(), **columns}


def covered(lower: FloatArray, upper: FloatArray, truth: FloatArray) -> tuple[int, int]:
    """How many intervals hold the truth, and how many there are."""
    inside = (lower <= truth) & (truth <= upper)
    return int(inside.sum()), inside.size
