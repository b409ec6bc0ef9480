"""The answer of retraining: the classifiers, what counts beside them, and how much.

Rounds of retraining can make a good answer worse. So p(y|x) is an average over mixtures of several
*parts*, of which the first is always the rounds. Which others there are is decided once, when the
classifier is fitted, and kept as `Retrained.beside`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.fits.ensembles import Ensemble
from decoupling.likelihood.average import AveragedAnswer
from decoupling.transitions.tasks import Task

# Parts that may count beside the rounds, by name.
UNDONE: Final = "T undone"  # p(s|x) times the pseudo-inverse of T
AS_NAMED: Final = "as named"  # p(s|x) as if no label were wrong
INFERRED: Final = "inferred"  # p(y|x) of the variational inference
BESIDE: Final = (UNDONE, AS_NAMED, INFERRED)
# Probability that every class has at least where T is undone: the pseudo-inverse leaves negative
# numbers, which become this before rows are scaled to 1.
_UNSURE: Final = 0.01
# Singular values of T below this share of the largest are not inverted: T hardly tells these
# directions apart, and noise in p(s|x) would grow a thousandfold.
_WEAKEST: Final = 1e-3


@dataclass(frozen=True, eq=False)
class Retrained:
    """The classifiers of p(y|x), and what the answer is made of.

    Attributes
    ----------
    ensemble : Ensemble
        Classifiers of the folds and rounds, over classes.
    answer : AveragedAnswer
        The average over mixtures of the parts.
    class_proba : array (N, C)
        p(y|x) of the training rows, by the classifiers that were not fitted on a row.
    beside : tuple of str
        Names of the parts beside the rounds, in the order of the answer.
    """

    ensemble: Ensemble
    answer: AveragedAnswer
    class_proba: FloatArray
    beside: tuple[str, ...] = ()

    def predict(self, X: Any, beside: Sequence[FloatArray] = ()) -> FloatArray:
        """p(y|x) of new rows, (N, C); ``beside`` has p(y|x) of each other part, (N, C)."""
        return self.answer.apply([self.ensemble.predict_proba(X), *beside])


def names_beside(task: Task, *, from_bags: bool, held_out: bool) -> tuple[str, ...]:
    """Names of the parts that count beside the rounds.

    Parameters
    ----------
    task : Task
        Says which labels are whose.
    from_bags : bool
        Whether a rare label was learnt from balanced bags. Where some class has no label of its
        own, the inferred p(y|x) rests on the rate of labelling, and only then is it good enough.
    held_out : bool
        Whether p(s|x) is out of fold; if not it knows the labels by heart.
    """
    if not held_out:
        return ()
    if task.complete:
        return (UNDONE, AS_NAMED)
    return (INFERRED,) if from_bags else ()


def parts_beside(
    names: Sequence[str],
    task: Task,
    label_proba: FloatArray,
    transitions: FloatArray,
    infer: Callable[[FloatArray], FloatArray],
) -> dict[str, FloatArray]:
    """p(y|x) of the named parts, each (N, C), from p(s|x).

    Parameters
    ----------
    names : sequence of str
        Some of `BESIDE`.
    task : Task
        Says which labels are whose.
    label_proba : array (N, S)
        p(s|x).
    transitions : array (C, S)
        T.
    infer : callable
        Takes p(s|x) and returns the inferred p(y|x), (N, C).

    Examples
    --------
    >>> from decoupling.transitions import tasks
    >>> noise, proba = np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([[0.65, 0.35]])
    >>> parts_beside((UNDONE,), tasks.noisy(["a", "b"]), proba, noise, infer=lambda p: p)
    {'T undone': array([[0.75, 0.25]])}
    """
    made: Mapping[str, Callable[[], FloatArray]] = {
        UNDONE: lambda: undone(label_proba, transitions),
        AS_NAMED: lambda: as_named(task, label_proba),
        INFERRED: lambda: infer(label_proba),
    }
    return {name: made[name]() for name in names}


def undone(label_proba: FloatArray, transitions: FloatArray) -> FloatArray:
    r"""p(s|x) with T undone: :math:`p(s|x) T^+`, made positive and scaled to 1, (N, C)."""
    found = np.maximum(label_proba @ np.linalg.pinv(transitions, rcond=_WEAKEST), _UNSURE)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def as_named(task: Task, label_proba: FloatArray) -> FloatArray:
    """p(s|x) of the label of each class, scaled to 1, (N, C): as if no label were wrong.

    Where classes overlap their confusion is easily taken for mistakes of the labeller, and the
    rounds grow sure of it; this part does not. Every class must have a label of its own.
    """
    own = label_proba[:, task.own]
    return np.asarray(own / own.sum(axis=1, keepdims=True))
