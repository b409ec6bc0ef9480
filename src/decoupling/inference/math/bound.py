r"""The lower bound of topic models on E[ln X], X = sum_c Y_c T_c."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import logsumexp, softmax

from decoupling._typing import FloatArray, IntArray
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.method import CoordinateMethod, CoordinateRows
from decoupling.inference.math.structure import LabelOwners

# A sum of products of exponentials that is below this has lost digits to numbers that are too small
# to be normal. A larger limit would send more entries to the slow sum in the log domain.
_UNDERFLOW: Final = 1e-280
# Logarithms are raised to this before their exponential is taken. It is 1e-300: far below
# `_UNDERFLOW`, even if many are added up, and still a normal number, which costs no extra time.
_LEAST_LOG: Final = -690.0
# Numbers of the array of logarithms that lost entries take at a time: 8 MB.
_LOST_ENTRIES: Final = 2**20
# Weights of classes are at least this in a rough step: as good as 0, but they can be divided by.
_LEAST_WEIGHT: Final = 1e-200


class Bound(CoordinateMethod):
    r"""Lower bound of topic models: :math:`\ln \sum_c \exp(E \ln Y_{ic} + E \ln T_{cs})`.

    A true lower bound, by Jensen's inequality; loose when concentrations are small. A label that
    one class alone can emit has a sum of one term: see `LabelOwners`.
    """

    def __init__(self, transitions: DirichletRows) -> None:
        super().__init__(transitions)
        self.owners = LabelOwners.of(transitions.parameters > 0)
        logs = transitions.expected_log()  # (C, S)
        # E[ln T] of the owner is the largest of its column: it is minus infinity in other classes.
        self.owned_logs = logs[:, self.owners.owned].max(axis=0)
        self.transition_logs = logs[:, self.owners.shared]  # (C, S'): of the shared labels
        self.label_shift = self.transition_logs.max(axis=0)  # (S',)
        self.transition_weights = np.exp(self.transition_logs - self.label_shift)

    def rows(self, class_logs: FloatArray) -> BoundRows:
        """Rows with these E[ln Y], (N, C)."""
        return BoundRows(self, class_logs)

    def transition_matrix(self, counts: FloatArray) -> FloatArray:
        """Counts of transitions as a matrix, (C, S)."""
        return self.owners.unpack(counts)

    def rough_class_counts(self, concentration: FloatArray, weight: FloatArray) -> FloatArray:
        """Expected counts of classes, (N, C), for rows at Pi, (N, C); off by some 1e-5.

        They do not change when the class weights of a row are scaled, so psi(Pi_0) is left out.
        """
        class_weights = np.maximum(rough_exp_digamma(concentration), _LEAST_WEIGHT)
        ratio = weight[:, self.owners.shared] / (class_weights @ self.transition_weights)
        counts: FloatArray = ratio @ self.transition_weights.T
        counts *= class_weights
        self.owners.add_owned(counts, weight)
        return counts


class BoundRows(CoordinateRows):
    """Some rows of Y under the bound.

    Concentrations of 1e-3 have expected logarithms near -1000, whose exponentials are lost: such
    entries are summed in the log domain.
    """

    def __init__(self, method: Bound, class_logs: FloatArray) -> None:
        self._method = method
        self._class_logs = class_logs
        # Exponentials that underflow take several times as long, and nothing of them would count.
        tiny = class_logs.min() < _LEAST_LOG
        self._class_weights = np.exp(
            np.maximum(class_logs, _LEAST_LOG) if tiny else class_logs
        )  # (N, C)
        self._mixture = self._class_weights @ method.transition_weights  # (N, S')
        self._lost: list[tuple[IntArray, IntArray]] = []
        if self._mixture.min(initial=1.0) < _UNDERFLOW:
            rows, labels = np.nonzero(self._mixture < _UNDERFLOW)
            self._mixture[rows, labels] = 1.0
            # Every class of every lost entry at once could be more than memory holds.
            n_parts = -(-len(rows) * class_logs.shape[1] // _LOST_ENTRIES)
            self._lost = list(
                zip(np.array_split(rows, n_parts), np.array_split(labels, n_parts), strict=True)
            )

    def value(self) -> FloatArray:
        """E[ln X], (N, S)."""
        out: FloatArray = np.log(self._mixture)
        out += self._method.label_shift
        for lost in self._lost:
            out[lost] = logsumexp(self._lost_logs(*lost), axis=1)
        return self._method.owners.join(out, self._class_logs, self._method.owned_logs)

    def class_counts(self, weight: FloatArray) -> FloatArray:
        """Expected counts of classes, (N, C), for ``weight`` (N, S)."""
        shared = weight[:, self._method.owners.shared]
        out: FloatArray = self._ratio(shared) @ self._method.transition_weights.T
        out *= self._class_weights
        for rows, labels in self._lost:
            np.add.at(out, rows, self._lost_counts(shared, rows, labels))
        self._method.owners.add_owned(out, weight)
        return out

    def transition_counts(self, weight: FloatArray) -> FloatArray:
        """Expected counts of the possible transitions, (P,)."""
        shared = weight[:, self._method.owners.shared]
        out: FloatArray = self._class_weights.T @ self._ratio(shared)
        out *= self._method.transition_weights
        for rows, labels in self._lost:
            np.add.at(out.T, labels, self._lost_counts(shared, rows, labels))
        return self._method.owners.pack(out, weight)

    def _ratio(self, shared: FloatArray) -> FloatArray:
        out: FloatArray = shared / self._mixture
        for lost in self._lost:
            out[lost] = 0.0
        return out

    def _lost_counts(self, shared: FloatArray, rows: IntArray, labels: IntArray) -> FloatArray:
        """Expected counts of each class from lost entries, (entries, C)."""
        return np.asarray(
            softmax(self._lost_logs(rows, labels), axis=1) * shared[rows, labels][:, None]
        )

    def _lost_logs(self, rows: IntArray, labels: IntArray) -> FloatArray:
        """E[ln Y] + E[ln T] of every class for lost entries, (entries, C)."""
        return np.asarray(self._class_logs[rows] + self._method.transition_logs[:, labels].T)


def rough_exp_digamma(x: FloatArray) -> FloatArray:
    r"""Exponential of the digamma function, to about 1e-5 relative, at 40% of the cost.

    .. math:: e^{\psi(x)} = e^{\psi(x+3)} \exp\Big( -\frac1x - \frac1{x+1} - \frac1{x+2} \Big),
        \qquad e^{\psi(z + 1/2)} \approx z + \frac1{24 z} - \frac{37}{5760 z^3}

    Examples
    --------
    >>> from scipy.special import psi
    >>> bool(abs(rough_exp_digamma(np.array([0.5]))[0] / np.exp(psi(0.5)) - 1) < 1e-5)
    True
    """
    product = x + 2.0
    product *= x
    harmonic = -3.0 * product
    harmonic -= 2.0
    product *= x + 1.0
    harmonic /= product
    np.exp(harmonic, out=harmonic)
    centre = x + 2.5
    inverse = np.reciprocal(centre)
    out = inverse * inverse
    out *= -37.0 / 5760.0
    out += 1.0 / 24.0
    out *= inverse
    out += centre
    out *= harmonic
    return np.asarray(out)
