r"""How much of a classifier's doubt is overlap of the classes, and how much is wrong labels.

Let p(label | x) of a row be (.6, .4). Either members of both classes look like this row, and its
label is probably right. Or all such rows belong to the first class, and four labels in ten are
wrong. One label per row cannot tell these two apart. So the share of the doubt that is *overlap*,
called o, has a uniform prior, and the answer is the mean over it. For each o

.. math::

    p_i = q_i T, \qquad
    y^{(o)}_{ic} \propto q_{ic}^{1 / o}, \qquad
    T_{cs} \leftarrow \text{pooled} \sum_{i: s_i = s} w_i\, p(y_i = c | s_i, x_i)

are solved in turn: T is undone, the doubt that is left is sharpened, and T is counted on the
labels. At o = 1 every doubt is overlap and T is nearly the identity. Towards o = 0 every row is of
its most probable class, and T says how often its label is another one.

Mistakes of people gather on hard rows. So T is counted once more by tenths of difficulty, pooled
under one T as far as the labels allow; small data have fewer groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from scipy.special import softmax

from decoupling._typing import FloatArray, IntArray
from decoupling.transitions.pooling import even_noise, pooled

# Shares of the doubt that are overlap: the middles of five equal parts of 0 to 1. Ten parts give
# the same answers, to .001 of the rows.
OVERLAPS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
# Least overlap that can be asked for. Below it probabilities to the power 1/o leave the numbers.
LEAST_OVERLAP: Final = 0.01
# Groups of difficulty at most. Twice as many would have half as many rows to learn a T from.
GROUPS: Final = 10
# Rows of a class that a group has in the mean, at least. From half as many a T would be a guess.
_ENOUGH: Final = 30
# Turns of undoing T and counting it anew. More of them follow the classifier's doubt into T.
_TURNS: Final = 2
# The same where the least share of wrong labels is asked for: the doubt may go into T's diagonal.
_TURNS_OF_ENDS: Final = 10
# EM steps in which T is undone, and in which it is counted. T of half as many differs by .001.
_UNDOING: Final = 20
_COUNTING: Final = 5
# Probability of a class that T undone rules out, before it is sharpened.
_UNLIKELY: Final = 1e-4
# Share of each class in the start of a search: from 0 it would never come back.
_START: Final = 0.02


@dataclass(frozen=True, eq=False)
class OverlapAnswer:
    """p(y|x) from p(s|x): T undone and the doubt sharpened, mean over the overlap.

    Attributes
    ----------
    overlaps : array (K,)
        Shares of the doubt that are overlap of the classes, called o.
    transitions : array (K, C, S)
        T of each.
    """

    overlaps: FloatArray
    transitions: FloatArray

    def class_proba(self, label_proba: FloatArray) -> FloatArray:
        """p(y|x) of rows with these p(s|x), (N, C)."""
        found = [
            sharpened(undone(label_proba, T), float(o))
            for o, T in zip(self.overlaps, self.transitions, strict=True)
        ]
        return np.asarray(np.mean(found, axis=0))


class Settled(NamedTuple):
    """What p(s|x) and labels say of rows and T, over all overlaps.

    Attributes
    ----------
    answer : OverlapAnswer
        For new rows.
    class_proba : array (N, C)
        p(y|x).
    conditional : array (N, C)
        p(y|s,x), by T of the difficulty of the row.
    transitions : array (C, S)
        T, mean over the overlaps with weights 1 - o: where all doubt is overlap, labels say nothing
        of T.
    """

    answer: OverlapAnswer
    class_proba: FloatArray
    conditional: FloatArray
    transitions: FloatArray


class GivenLabels(NamedTuple):
    """p(s|x) and labels where every class has its own label and every row has one.

    Attributes
    ----------
    proba : array (N, S)
        p(s|x), held out.
    codes : array (N,)
        Columns of the labels.
    weight : array (N,)
        Weights of the rows.
    own : array (C,)
        Column of the own label of each class.
    """

    proba: FloatArray
    codes: IntArray
    weight: FloatArray
    own: IntArray

    @property
    def first_choice(self) -> IntArray:
        """Class whose label is the most probable one, (N,)."""
        return np.asarray(self.proba[:, self.own].argmax(axis=1))

    def counts(self, members: FloatArray) -> FloatArray:
        """Labels of the members of each class, (C, S)."""
        weighed, n_labels = members * self.weight[:, None], self.proba.shape[1]
        return np.array([np.bincount(self.codes, column, n_labels) for column in weighed.T])

    def some(self, rows: IntArray) -> GivenLabels:
        """These rows alone."""
        return self._replace(
            proba=self.proba[rows], codes=self.codes[rows], weight=self.weight[rows]
        )


def undone(
    label_proba: FloatArray, transitions: FloatArray, start: FloatArray | None = None
) -> FloatArray:
    r"""Class distributions under which T makes p(s|x), (N, C), by EM on :math:`p_i = q_i T`.

    Examples
    --------
    >>> T = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> undone(np.array([[0.8, 0.2], [0.5, 0.5]]), T).round(2)
    array([[0.98, 0.02],
           [0.5 , 0.5 ]])
    """
    n_classes = len(transitions)
    q = np.full((len(label_proba), n_classes), 1.0 / n_classes)
    if start is not None:
        q = (1.0 - _START) * start + _START * q
    for _ in range(_UNDOING):
        q = q * ((label_proba / (q @ transitions)) @ transitions.T)
        q /= q.sum(axis=1, keepdims=True)
    return np.asarray(q)


def sharpened(proba: FloatArray, overlap: float) -> FloatArray:
    """Probabilities to the power 1 / overlap, scaled to 1, (N, C)."""
    return np.asarray(softmax(np.log(proba + _UNLIKELY) / overlap, axis=1))


def settle(given: GivenLabels, overlaps: Sequence[float] = OVERLAPS) -> Settled:
    """Classes and T from p(s|x) and labels, mean over the overlap of the classes.

    Parameters
    ----------
    given : GivenLabels
        p(s|x) and labels.
    overlaps : sequence of float
        Shares of the doubt that are overlap, all equally probable.

    Examples
    --------
    Three rows look like the first class, and one of them has the label of the second:

    >>> proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
    >>> given = GivenLabels(proba, np.array([0, 0, 1, 1, 1]), np.full(5, 20.0), np.arange(2))
    >>> settle(given).conditional.argmax(axis=1)
    array([0, 0, 0, 1, 1])
    """
    class_proba, conditional = np.zeros((2, len(given.codes), len(given.own)))
    found = []
    for overlap in overlaps:
        q, members, transitions = _one_for_all(given, overlap)
        class_proba += members / len(overlaps)
        conditional += _by_difficulty(given, overlap, q, transitions) / len(overlaps)
        found.append(transitions)
    share = 1.0 - np.asarray(overlaps) if min(overlaps) < 1.0 else np.ones(len(overlaps))
    mean = np.average(found, axis=0, weights=share)
    answer = OverlapAnswer(np.array(overlaps, dtype=float), np.array(found))
    return Settled(answer, class_proba, conditional, mean)


def wrong_share_ends(given: GivenLabels) -> tuple[float, float]:
    """Share of the labels that are wrong if every doubt is overlap, and if none is.

    The second is the share of the labels that are not the first choice of the classifier.

    Examples
    --------
    The classifier is in doubt of four rows in ten, and T cannot be the reason:

    >>> proba = np.repeat([[0.99, 0.01], [0.6, 0.4], [0.01, 0.99]], [30, 40, 30], axis=0)
    >>> codes = np.repeat([0, 0, 1, 1], [30, 24, 16, 30])
    >>> ends = wrong_share_ends(GivenLabels(proba, codes, np.ones(100), np.arange(2)))
    >>> [round(end, 2) for end in ends]
    [0.0, 0.16]
    """
    _, members, transitions = _one_for_all(given, 1.0, _TURNS_OF_ENDS)
    right = of_label(_after(members, transitions, given), given.codes, given.own)
    differs = given.own[given.first_choice] != given.codes
    total = given.weight.sum()
    return float(given.weight @ (1.0 - right) / total), float(given.weight @ differs / total)


def _one_for_all(
    given: GivenLabels, overlap: float, turns: int = _TURNS
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """T undone, the same sharpened, each (N, C), and T, (C, S)."""
    counts = given.counts(np.eye(len(given.own))[given.first_choice])
    transitions = pooled(counts, even_noise(counts, given.own))
    q = None
    for _ in range(turns):
        q = undone(given.proba, transitions, q)
        members = sharpened(q, overlap)
        for _ in range(_COUNTING):
            counts = given.counts(_after(members, transitions, given))
            transitions = pooled(counts, even_noise(counts, given.own))
    assert q is not None  # there are turns
    return q, members, transitions


def _by_difficulty(
    given: GivenLabels, overlap: float, q: FloatArray, transitions: FloatArray
) -> FloatArray:
    """p(y|s,x) by a T for each tenth of difficulty, (N, C)."""
    n_groups = min(max(len(q) // (_ENOUGH * q.shape[1]), 1), GROUPS)
    difficulty = _difficulty(given, q, n_groups)
    groups = [np.flatnonzero(difficulty == g) for g in range(n_groups)]
    parts = [given.some(rows) for rows in groups]
    by_group = np.repeat(transitions[None], n_groups, axis=0)  # (G, C, S)
    members = [q[rows] for rows in groups]
    for _ in range(_TURNS):
        members = [
            sharpened(undone(part.proba, T, q[rows]), overlap)
            for part, T, rows in zip(parts, by_group, groups, strict=True)
        ]
        for _ in range(_COUNTING):
            each = zip(parts, members, by_group, strict=True)
            counts = np.array([part.counts(_after(m, T, part)) for part, m, T in each])
            total = counts.sum(axis=0)
            seen = total.sum(axis=1, keepdims=True)
            centre = np.where(seen > 0, total / np.maximum(seen, 1e-300), transitions)
            by_group = pooled(counts, centre)
    out = np.empty_like(q)
    for rows, part, m, T in zip(groups, parts, members, by_group, strict=True):
        out[rows] = _after(m, T, part)
    return out


def _after(members: FloatArray, transitions: FloatArray, given: GivenLabels) -> FloatArray:
    """p(y|s,x), (N, C)."""
    joint = members * transitions[:, given.codes].T
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def of_label(class_proba: FloatArray, codes: IntArray, own: IntArray) -> FloatArray:
    """Probability of the class whose own label each row has, (N,).

    ``own`` (C,) is the column of the own label of each class, and every label is that of a class.
    """
    owner = np.empty(len(own), dtype=np.int64)
    owner[own] = np.arange(len(own))
    return np.asarray(class_proba[np.arange(len(codes)), owner[codes]])


def _difficulty(given: GivenLabels, q: FloatArray, n_groups: int) -> IntArray:
    """Group of difficulty of each row among those of its most probable class, 0 the hardest, (N,).

    Difficult is what is undecided between two classes. By class, since labels of some classes are
    wrong more often than those of others, which T says already.
    """
    best, last = q.argmax(axis=1), np.sort(q, axis=1)[:, -2:]
    # T undone is often certain. Then p(s|x) itself says how far.
    margin = last[:, 1] - last[:, 0] + 1e-3 * given.proba.max(axis=1)
    out = np.zeros(len(q), dtype=np.int64)
    for c in range(q.shape[1]):
        rows = np.flatnonzero(best == c)
        out[rows[np.argsort(margin[rows], kind="stable")]] = (
            np.arange(len(rows)) * n_groups // max(len(rows), 1)
        )
    return out
