"""Rows that can be trusted to teach a class: which, and how much each counts."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.transitions.tasks import Task

# Unlabelled rows take part if the probability of a class is at least this; a little more where some
# class has no label of its own and learns from unlabelled rows alone.
_SURE: Final = 0.75
_SURE_WITHOUT_LABEL: Final = 0.8
# Of the rows that a class should have among those without its label, so many take part, the
# most probable ones: no class then outgrows the others.
MEMBERS: Final = 0.8
# A class with less weight than this gets its most probable rows besides.
_FEWEST: Final = 10.0


def training_weights(
    task: Task,
    conditional: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    *,
    with_unlabelled: bool = True,
) -> FloatArray:
    """How much each row counts as a member of each class, (N, C).

    Of the rows that carry a class's label as many are kept as surely belong to it, the most
    probable ones: their expected number less its standard deviation. Unlabelled rows count as
    members of their most probable class if its probability is large enough: as parts of several
    they would teach the classifier to stay as undecided as it is. A class that is left with almost
    nothing gets its most probable other rows.
    """
    trust = np.zeros_like(conditional)
    for c, own in enumerate(task.own):
        rows = np.flatnonzero(codes == own) if own >= 0 else np.empty(0, dtype=np.int64)
        proba = conditional[rows, c]
        spread = float((proba * (1.0 - proba)) @ weight[rows])
        amount = np.ceil(float(proba @ weight[rows]) - np.sqrt(spread))
        trust[rows, c] = keep_most_probable(proba, weight[rows], max(amount, 0.0))
    if task.has_unlabelled and with_unlabelled:
        least = _SURE if task.complete else _SURE_WITHOUT_LABEL
        sure = (codes == 0) & (conditional.max(axis=1) >= least)
        rows = np.flatnonzero(sure)
        trust[rows, conditional[rows].argmax(axis=1)] = weight[rows]
    return np.maximum(trust, _rescued(task, trust, conditional, codes, weight))


def keep_most_probable(proba: FloatArray, weight: FloatArray, amount: float) -> FloatArray:
    """Weights of the most probable rows, up to ``amount`` in all; the last may be kept in part."""
    order = np.argsort(-proba, kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    kept = np.empty_like(weight)
    kept[order] = np.clip(amount - before, 0.0, weight[order])
    return kept


def in_expected_shares(trust: FloatArray, expected: FloatArray) -> FloatArray:
    """Weights scaled class by class: classes train in the shares that are expected of them, (N, C).

    Of some classes more rows can be trusted than of others, and a classifier learns how large
    classes are, too. The sum of all weights stays. What was found for a class that had almost
    nothing is not taken away again, however few are expected.
    """
    kept = trust.sum(axis=0)  # (C,)
    aim = np.maximum(expected, np.minimum(kept, _FEWEST))
    scale = np.divide(aim, kept, out=np.zeros_like(kept), where=kept > 0)
    total = float(scale @ kept)
    return trust * (scale * kept.sum() / total) if total > 0 else trust


def _rescued(
    task: Task,
    trust: FloatArray,
    conditional: FloatArray,
    codes: IntArray,
    weight: FloatArray,
) -> FloatArray:
    """Most probable rows of the classes with almost no weight, of those expected, (N, C)."""
    out = np.zeros_like(trust)
    others = codes == 0 if task.has_unlabelled else np.full(len(codes), True)
    for c in np.flatnonzero(trust.sum(axis=0) < _FEWEST):
        rows = np.flatnonzero(others)
        expected = float(conditional[rows, c] @ weight[rows])
        amount = max(MEMBERS * expected, _FEWEST)
        out[rows, c] = keep_most_probable(conditional[rows, c], weight[rows], amount)
    return out
