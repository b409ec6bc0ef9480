r"""How rows respond where classes are many: by the classes that lead in each row.

The response of a row to gamma and T, as `errors.response` has it, takes matrices over
all entries of T. With many classes three things keep it small. A label that one class alone can
emit counts for that class whatever T and the other labels say: its columns of D and its part of M
are 0. The counts of shared labels go to few classes of a row, its *leading* ones, and
:math:`1^T M = 0` keeps their responses among themselves: with M and D cut down to these,

.. math:: d E \ln Y_A = K_A (d\gamma_A + D_A \, d\ln T), \qquad K_A = (F_{AA}^{-1} - M_A)^{-1},

and for the other classes F alone. And a row of T has few labels that miss much, its leading labels;
rows of T are taken one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.inference.errors.response import (
    expected_counts,
    relative_transitions,
    relative_weights,
    root_of_slope,
)
from decoupling.inference.math import dirichlet
from decoupling.inference.rows.sample import RowSample

# Classes of a row that respond to T: more of them respond too little to be seen.
_CLASSES: Final = 16
# Labels of a class that they respond to.
_LABELS: Final = 64
# Numbers of the largest intermediate array at a time: 16 MB.
_ENTRIES: Final = 2**21


@dataclass(frozen=True, eq=False)
class ClassResponse:
    """Slopes in one row of ln T, averages over the rows of Y.

    Attributes
    ----------
    direct : array (S',)
        Slopes of the counts of each shared label in its own ln T, with the rows as they are.
    labels : int array (L,)
        Leading labels of this row of T, among the shared ones.
    counts : array (L, L)
        Slopes of the counts of the leading labels in their ln T, as the rows respond.
    log, mean : arrays (C, L)
        Slopes of E[ln Y] and of E[Y] in ln T of the leading labels.
    """

    direct: FloatArray
    labels: IntArray
    counts: FloatArray
    log: FloatArray
    mean: FloatArray


@dataclass(frozen=True, eq=False)
class LeadingClasses:
    """Rows by their leading classes; S' labels are shared.

    Attributes
    ----------
    sample : RowSample
        The rows, with the weights of the shared labels only.
    emits : array (C, S')
        exp(E[ln T]) of the shared labels, up to a factor for each.
    classes : int array (n, k)
        Leading classes of each row.
    relative : array (n, k)
        Their exp(E[ln Y]), up to a factor for each row.
    ratio : array (n, S')
        Weights over mixtures: a count is its product with ``relative`` and ``emits``.
    root, mean_slope : arrays (n, k, k)
        Of E[ln Y] to gamma or counts, K_A, a root; of E[Y] the slope, (I + M_A K_A) / Pi_0.
    """

    sample: RowSample
    emits: FloatArray
    classes: IntArray
    relative: FloatArray
    ratio: FloatArray
    root: FloatArray
    mean_slope: FloatArray

    @classmethod
    def of(cls, sample: RowSample, log_transitions: FloatArray) -> LeadingClasses:
        """Rows at their fixed points under the bound; ``log_transitions`` is E[ln T], (C, S')."""
        emits = relative_transitions(log_transitions)
        size = min(_CLASSES, len(emits))
        parts = [_lead(sample, emits, size, rows) for rows in _chunks(sample, emits, size)]
        return cls(sample, emits, *(np.concatenate(part) for part in zip(*parts, strict=True)))

    def by_gamma(self) -> tuple[FloatArray, FloatArray]:
        """Responses of E[ln Y] and of E[Y] to gamma, averages over the rows, each (C, C)."""
        share, concentration = self.sample.share, self.sample.concentration
        total = concentration.sum(axis=1)
        own, shared = dirichlet.trigamma(concentration), dirichlet.trigamma(total)  # F
        eye = np.eye(self.classes.shape[1])
        leading = np.take_along_axis(own, self.classes, axis=1)[:, :, None] * eye
        log_slope = self.root @ np.swapaxes(self.root, 1, 2)
        log = np.diag(share @ own) - share @ shared
        log += self._pairs(log_slope - leading + shared[:, None, None])
        mean = np.diag(np.full(len(log), share @ (1.0 / total)))
        mean -= ((share / total**2) @ concentration)[:, None]
        mean += self._pairs(self.mean_slope - eye / total[:, None, None])
        return log, mean

    def by_class(self) -> Iterator[ClassResponse]:
        """Responses to each row of ln T, in the order of the classes."""
        # Where each class leads: its rows, and its place among their leading classes.
        by_class = np.argsort(self.classes, axis=None, kind="stable")
        ends = np.searchsorted(self.classes.reshape(-1)[by_class], np.arange(len(self.emits) + 1))
        for c, (start, stop) in enumerate(pairwise(ends)):
            yield self._respond(c, *np.divmod(by_class[start:stop], self.classes.shape[1]))

    def _respond(self, c: int, rows: IntArray, place: IntArray) -> ClassResponse:
        """Response to row c of ln T of the m rows where it is the leading class at ``place``."""
        share, classes, each = self.sample.share[rows], self.classes[rows], np.arange(len(rows))
        own = self.relative[rows, place][:, None] * self.emits[c] * self.ratio[rows]  # (m, S')
        weight = self.sample.weight[rows]
        posterior = np.divide(own, weight, out=np.zeros_like(own), where=own > 0)
        direct = share @ (own * (1.0 - posterior))
        labels = np.flatnonzero(self.emits[c])
        labels = labels[np.argsort(-direct[labels], kind="stable")[:_LABELS]]
        # D: the class rises with its own ln T, and all fall by their shares of the label.
        counts = self.relative[rows][:, :, None] * self.emits[classes[:, :, None], labels]
        counts *= self.ratio[rows[:, None], labels][:, None, :]  # (m, k, L)
        by_transitions = -counts * posterior[:, labels][:, None, :]
        by_transitions[each, place] += own[:, labels]
        seen = np.swapaxes(self.root[rows], 1, 2) @ by_transitions
        log = self.root[rows] @ seen
        mean, weighed = self.mean_slope[rows] @ by_transitions, share[:, None, None]
        return ClassResponse(
            direct,
            labels,
            np.diag(direct[labels]) + np.tensordot(weighed * seen, seen, axes=([0, 1], [0, 1])),
            self._scattered(classes, weighed * log),
            self._scattered(classes, weighed * mean),
        )

    def _scattered(self, classes: IntArray, values: FloatArray) -> FloatArray:
        """Sums of (m, k, L) over the rows, in the places of their classes, (C, L)."""
        out = np.zeros((len(self.emits), values.shape[2]))
        np.add.at(out, classes, values)
        return out

    def _pairs(self, values: FloatArray) -> FloatArray:
        """Averages of (n, k, k), pairs of leading classes, over the rows, (C, C)."""
        out = np.zeros((len(self.emits), len(self.emits)))
        where = (self.classes[:, :, None], self.classes[:, None, :])
        np.add.at(out, where, self.sample.share[:, None, None] * values)
        return out


def _lead(
    sample: RowSample, emits: FloatArray, size: int, rows: slice
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Leading classes of some rows, and the other fields of `LeadingClasses` after them."""
    concentration, weight = sample.concentration[rows], sample.weight[rows]
    relative, ratio = relative_weights(concentration, weight, emits)
    counts = relative * (ratio @ emits.T)
    classes = np.argpartition(-counts, size - 1, axis=1)[:, :size]
    relative = np.take_along_axis(relative, classes, axis=1)
    _, _, counts_by_logs = expected_counts(relative, emits[classes], ratio, weight)  # M_A
    total = concentration.sum(axis=1)
    leading = np.take_along_axis(concentration, classes, axis=1)
    root = root_of_slope(leading, total, counts_by_logs)
    moved = counts_by_logs @ root @ np.swapaxes(root, 1, 2) + np.eye(size)
    return classes, relative, ratio, root, moved / total[:, None, None]


def _chunks(sample: RowSample, emits: FloatArray, size: int) -> Iterator[slice]:
    n_classes, n_labels = emits.shape
    step = max(1, _ENTRIES // max(n_classes, size * n_labels))
    return (slice(i, i + step) for i in range(0, len(sample.share), step))
