"""What p(label | x) and labels say by themselves, where every class has a label of its own."""

from __future__ import annotations

from numbers import Real
from typing import Final, NamedTuple

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.classifier.options import Options, is_prefit, known_noise
from decoupling.likelihood.overlap import (
    LEAST_OVERLAP,
    OVERLAPS,
    GivenLabels,
    Settled,
    of_label,
    settle,
    undone,
    wrong_share_ends,
)
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.tasks import Task

# Part of p(label | x) in the order of the labels. Where T undone leaves less than this of a class,
# the order is that of p(label | x) itself.
_TRACE: Final = 1e-9
# Difference of two shares of wrong labels up to which they say the same. At twice this, one label
# in ten could be wrong or right without a word.
_AGREE: Final = 0.05
# Standard normal quantile of a 90% interval.
_QUANTILE: Final = 1.645


class WrongRange(NamedTuple):
    """Share of the labels that may be wrong, by how much classes overlap.

    Attributes
    ----------
    low, high : float
        If every doubt of the classifier is overlap of classes, and if every disagreement of its
        first choice with a label is a mistake of the labeller; widened by chance at 90%.
    disagreeing : float
        Share of the labels that are not the first choice of the classifier.
    """

    low: float
    high: float
    disagreeing: float

    @property
    def is_open(self) -> bool:
        """Whether the ends say different things."""
        return self.high - self.low > _AGREE

    @property
    def rows_that_halve(self) -> int:
        """How many rows, drawn at random and looked up, would halve the range, in tens."""
        middle = (self.low + self.high) / 2.0
        quarter = (self.high - self.low) / 4.0
        return int(np.ceil(middle * (1.0 - middle) * (_QUANTILE / quarter) ** 2 / 10.0)) * 10


def learns_transitions(options: Options) -> bool:
    """Whether T may be learnt from labels: the user said nothing of it."""
    said = options.labelled is not None or known_noise(options.noise) is not None
    return options.learn_transitions and not (said or isinstance(options.task, TransitionPrior))


def own_labels_alone(task: Task) -> bool:
    """Whether each of several classes has its own label, and there are no other labels."""
    return bool(task.complete and len(task.labels) == len(task.classes) > 1)


def answers_alone(options: Options, task: Task) -> bool:
    """Whether the answer is the mean over the overlap: p(label | x) was given, and T was not."""
    return (
        is_prefit(options.cv)
        and learns_transitions(options)
        and not task.clean
        and own_labels_alone(task)
        and bool(task.mask.all())
    )


def check_overlap(options: Options, task: Task) -> None:
    """Refuse an overlap that is no share, or that nothing would use."""
    overlap = options.overlap
    if overlap is None:
        return
    number = isinstance(overlap, Real) and not isinstance(overlap, bool)
    if not number or not 0.0 <= float(overlap) <= 1.0:
        raise ValueError(
            f"overlap must be a share from 0 to 1, or None for the mean over all; got {overlap!r}."
        )
    if not answers_alone(options, task):
        raise ValueError(
            'overlap would not be used: it is for cv="prefit", where every row has a label that '
            "may be wrong, and neither noise nor labelled nor a TransitionPrior says what T is. "
            "Leave it out."
        )


def settled(
    options: Options, task: Task, label_proba: FloatArray, codes: IntArray, weight: FloatArray
) -> Settled:
    """Classes and T, over all overlaps or at the one that the user gave."""
    overlap = options.overlap
    overlaps = OVERLAPS if overlap is None else (max(float(overlap), LEAST_OVERLAP),)
    return settle(GivenLabels(label_proba, codes, weight, task.own), overlaps)


def proba_of_labels(
    task: Task, label_proba: FloatArray, transitions: FloatArray, codes: IntArray
) -> FloatArray:
    """p(class of the label | x) with T undone, before the label itself counts, (N,).

    Labels are ranked by it. What the label adds are cells of T. They put the rows of some classes
    before those of others, while what tells wrong labels from right ones is p(label | x).
    """
    q = undone(label_proba, np.maximum(transitions, _TRACE))
    return of_label(q, codes, task.own) + _TRACE * label_proba[np.arange(len(codes)), codes]


def wrong_range(
    task: Task, label_proba: FloatArray, codes: IntArray, weight: FloatArray
) -> WrongRange | None:
    """Between which shares of wrong labels the labels themselves cannot decide.

    None where some class has no label of its own, or no label is there.
    """
    labelled = np.flatnonzero((codes >= int(task.has_unlabelled)) & (weight > 0))
    if not task.complete or len(task.classes) < 2 or not labelled.size:
        return None
    first = int(task.has_unlabelled)
    proba = label_proba[labelled][:, first:]
    proba = proba / proba.sum(axis=1, keepdims=True)
    given = GivenLabels(proba, codes[labelled] - first, weight[labelled], task.own - first)
    every_doubt, disagreeing = wrong_share_ends(given)
    low, high = min(every_doubt, disagreeing), max(every_doubt, disagreeing)
    total = float(given.weight.sum())

    def chance(share: float) -> float:
        return _QUANTILE * float(np.sqrt(share * (1.0 - share) / total))

    return WrongRange(max(low - chance(low), 0.0), min(high + chance(high), 1.0), disagreeing)
