"""Rows that can be trusted to teach a class, and how much each of them counts.

The answer is always an array of *members*, (N, C): the weight of each row as a training example of
each class.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.transitions.tasks import Task

# Probability that an unlabelled row needs in its most probable class to take part, where every
# class has a label of its own. The higher, the fewer rows teach, and the fewer of them wrongly.
_SURE: Final = 0.75
# The same probability where some class has no label of its own. It is a little higher, since that
# class learns from unlabelled rows alone.
_SURE_WITHOUT_LABEL: Final = 0.8
# Share of the rows expected in a class, among those without its label, that take part: the most
# probable ones. At 1 the largest class would outgrow the others from round to round.
MEMBERS: Final = 0.8
# Weight, in rows, below which a class has almost nothing to learn from. Such a class gets its most
# probable rows besides, as many as this at least.
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

    A class keeps those rows with its label that most probably belong to it: their expected number,
    less its standard deviation. An unlabelled row counts as a member of its most probable class if
    that class is probable enough. It is no member of the other classes: as a part of several it
    would teach the classifier to stay undecided. A class with almost nothing left gets its most
    probable other rows.
    """
    members = np.zeros_like(conditional)
    for c, own in enumerate(task.own):
        rows = np.flatnonzero(codes == own) if own >= 0 else np.empty(0, dtype=np.int64)
        proba = conditional[rows, c]
        spread = float((proba * (1.0 - proba)) @ weight[rows])
        amount = np.ceil(float(proba @ weight[rows]) - np.sqrt(spread))
        members[rows, c] = keep_most_probable(proba, weight[rows], max(amount, 0.0))
    if task.has_unlabelled and with_unlabelled:
        least = _SURE if task.complete else _SURE_WITHOUT_LABEL
        rows = np.flatnonzero((codes == 0) & (conditional.max(axis=1) >= least))
        members[rows, conditional[rows].argmax(axis=1)] = weight[rows]
    return np.maximum(members, _rescued(task, members, conditional, codes, weight))


def keep_most_probable(proba: FloatArray, weight: FloatArray, amount: float) -> FloatArray:
    """Weights of the most probable rows, up to ``amount`` in all; the last may be kept in part."""
    order = np.argsort(-proba, kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    kept = np.empty_like(weight)
    kept[order] = np.clip(amount - before, 0.0, weight[order])
    return kept


def surest_members(proba: FloatArray, weight: FloatArray, least: float) -> FloatArray:
    """How much each unlabelled row counts as a member of its most probable class, (N, C).

    A class takes its most probable rows, up to eight tenths of its expected number. Rows whose
    largest probability is below ``least`` are left out.
    """
    members = np.zeros_like(proba)
    best = proba.argmax(axis=1)
    for c in range(proba.shape[1]):
        rows = np.flatnonzero((best == c) & (proba[:, c] >= least))
        amount = MEMBERS * float(proba[:, c] @ weight)
        members[rows, c] = keep_most_probable(proba[rows, c], weight[rows], amount)
    return members


def in_expected_shares(members: FloatArray, expected: FloatArray) -> FloatArray:
    """Members scaled class by class, so that classes train in their expected shares, (N, C).

    More rows can be trusted of some classes than of others, and a classifier also learns how large
    classes are. The sum of all weights stays. A class that had almost nothing keeps the rows that
    were found for it, however few are expected.

    Parameters
    ----------
    members : array (N, C)
        Weights of the rows as members of each class.
    expected : array (C,)
        Expected number of rows of each class.
    """
    kept = members.sum(axis=0)  # (C,)
    aim = np.maximum(expected, np.minimum(kept, _FEWEST))
    scale = np.divide(aim, kept, out=np.zeros_like(kept), where=kept > 0)
    total = float(scale @ kept)
    return members * (scale * kept.sum() / total) if total > 0 else members


def _rescued(
    task: Task,
    members: FloatArray,
    conditional: FloatArray,
    codes: IntArray,
    weight: FloatArray,
) -> FloatArray:
    """Most probable rows of the classes that have almost no members, (N, C)."""
    out = np.zeros_like(members)
    others = codes == 0 if task.has_unlabelled else np.full(len(codes), True)
    for c in np.flatnonzero(members.sum(axis=0) < _FEWEST):
        rows = np.flatnonzero(others)
        expected = float(conditional[rows, c] @ weight[rows])
        amount = max(MEMBERS * expected, _FEWEST)
        out[rows, c] = keep_most_probable(conditional[rows, c], weight[rows], amount)
    return out
