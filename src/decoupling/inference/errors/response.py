r"""How rows respond to gamma and T: what a factorised posterior leaves out of its error bars.

q(Y) q(T) q(gamma) treats each as if the others were known. In truth a higher rate of labelling,
say, means fewer members of that class among all the rows at once. To first order such shifts follow
from the fixed point of a row under the bound, :math:`\Pi = \gamma + n(E \ln Y, \ln T)`, where n are
the expected counts of its classes: with the Fisher matrix :math:`F` of Dir(Pi),
:math:`M = \partial n / \partial E \ln Y` and :math:`D = \partial n / \partial \ln T`,

.. math:: d E \ln Y = F d\Pi = K (d\gamma + D \, d \ln T), \qquad K = (F^{-1} - M)^{-1}

The counts that T is learned from then move as well, by :math:`D^T K D` and by what T itself does to
them: the part of its information that is missing, since the classes are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet
from decoupling.inference.rows.sample import RowSample

# Numbers of the largest intermediate array at a time: 16 MB.
_ENTRIES: Final = 2**21
# Shares of information that are missing are cut to this: rows at a saddle may seem to respond
# without bound. It lets a variance grow 10,000 times at most.
STIFFEST: Final = 0.9999
# Share of a variance that is added to it where rounding may have left nothing.
ALMOST_NOTHING: Final = 1e-10


@dataclass(frozen=True, eq=False)
class Response:
    """Slopes of what is inferred of the rows, averages over the rows.

    Attributes
    ----------
    log_by_gamma : array (C, C)
        Slopes of E[ln Y] in gamma.
    log_by_transitions : array (C, C S)
        Slopes of E[ln Y] in ln T.
    counts_by_transitions : array (C S, C S)
        Slopes of the counts of (class, label) in ln T.
    mean_by_gamma, mean_by_transitions : arrays (C, C) and (C, C S)
        Slopes of E[Y] in gamma and in ln T.
    """

    log_by_gamma: FloatArray
    log_by_transitions: FloatArray
    counts_by_transitions: FloatArray
    mean_by_gamma: FloatArray
    mean_by_transitions: FloatArray

    def __add__(self, other: Response) -> Response:
        """Sum term by term."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Response(*(a + b for a, b in pairs))


def respond(sample: RowSample, log_transitions: FloatArray) -> Response:
    """Response of the average row; ``log_transitions`` is E[ln T], (C, S).

    Rows are to stand at their fixed points under the bound.
    """
    emits = relative_transitions(log_transitions)
    return reduce(add, (_respond(sample, emits, rows) for rows in _chunks(sample, emits)))


def relative_transitions(log_transitions: FloatArray) -> FloatArray:
    """exp(E[ln T]), (C, S): only ratios within a label matter, and the largest is kept at 1."""
    return np.asarray(np.exp(log_transitions - log_transitions.max(axis=0)))


def relative_weights(
    concentration: FloatArray, weight: FloatArray, emits: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """exp(E[ln Y]), (n, C), up to a factor for each row, and weights over mixtures, (n, S)."""
    logs = dirichlet.mean_log(concentration)
    # Relative to the largest of the row, so that nothing that counts is rounded to nothing.
    relative = np.exp(logs - logs.max(axis=1, keepdims=True))
    mixture = relative @ emits
    return relative, np.divide(weight, mixture, out=np.zeros_like(weight), where=mixture > 0)


def expected_counts(
    relative: FloatArray, emits: FloatArray, ratio: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Expected counts of k classes, (n, k, S), their shares of each label, and M, (n, k, k).

    ``relative`` is (n, k), ``emits`` (k, S) for all rows or (n, k, S).
    """
    own = relative[:, :, None] * emits * ratio[:, None, :]
    posterior = np.divide(own, weight[:, None, :], out=np.zeros_like(own), where=own > 0)
    by_logs = own.sum(axis=2)[:, :, None] * np.eye(own.shape[1])
    by_logs -= own @ np.swapaxes(posterior, 1, 2)
    return own, posterior, by_logs


def _chunks(sample: RowSample, emits: FloatArray) -> Iterator[slice]:
    size = max(1, _ENTRIES // (emits.size * len(emits)))
    return (slice(i, i + size) for i in range(0, len(sample.share), size))


def _respond(sample: RowSample, emits: FloatArray, rows: slice) -> Response:
    concentration, weight, share = (
        sample.concentration[rows], sample.weight[rows], sample.share[rows],
    )  # fmt: skip
    n_rows, n_classes = concentration.shape
    classes, ratio = relative_weights(concentration, weight, emits)  # (n, C), (n, S)
    own, posterior, counts_by_logs = expected_counts(classes, emits, ratio, weight)
    # D: a label's counts of one class rise with its own ln T, and fall with those of the others.
    by_transitions = -own[:, :, None, :] * posterior[:, None, :, :]  # (n, C, C, S)
    diagonal = np.arange(n_classes)
    by_transitions[:, diagonal, diagonal, :] += own
    direct = np.tensordot(share, by_transitions, axes=1)  # the same with its label, (C, C, S)
    by_transitions = by_transitions.reshape(n_rows, n_classes, -1)  # (n, C, C S)
    total = concentration.sum(axis=1)
    root = root_of_slope(concentration, total, counts_by_logs)  # (n, C, C): K = root root'
    log_slope = root @ np.swapaxes(root, 1, 2)
    total = total[:, None, None]
    mean = concentration[:, :, None] / total
    # dPi = dx + M dE[ln Y], and E[Y] = Pi / Pi_0.
    moved = counts_by_logs @ log_slope + np.eye(n_classes)
    mean_slope = (moved - mean * moved.sum(axis=1, keepdims=True)) / total
    seen = np.swapaxes(root, 1, 2) @ by_transitions * np.sqrt(share)[:, None, None]
    seen = seen.reshape(n_rows * n_classes, -1)
    weighed = share[:, None, None]
    return Response(
        np.tensordot(share, log_slope, axes=1),
        np.einsum("nck,nks->cs", log_slope * weighed, by_transitions, optimize=True),
        _label_by_label(direct) + seen.T @ seen,
        np.tensordot(share, mean_slope, axes=1),
        np.einsum("nck,nks->cs", mean_slope * weighed, by_transitions, optimize=True),
    )


def root_of_slope(
    concentration: FloatArray, total: FloatArray, counts_by_logs: FloatArray
) -> FloatArray:
    """A root of K = (F^-1 - M)^-1 = L (I - L' M L)^-1 L' with F = L L', (n, C, C).

    ``concentration`` (n, C) may be that of some classes; ``total`` (n,) is that of all.
    """
    # A single class leaves nothing, which could not be factorised.
    own = (1.0 + ALMOST_NOTHING) * dirichlet.trigamma(concentration)
    fisher = own[:, :, None] * np.eye(concentration.shape[1])
    root = np.linalg.cholesky(fisher - dirichlet.trigamma(total)[:, None, None])
    values, vectors = np.linalg.eigh(np.swapaxes(root, 1, 2) @ counts_by_logs @ root)
    gain = 1.0 / np.sqrt(1.0 - np.clip(values, 0.0, STIFFEST))
    return np.asarray((root @ vectors) * gain[:, None, :])


def _label_by_label(direct: FloatArray) -> FloatArray:
    """(C, C, S), pairs of classes for each label, as a matrix over (class, label), (C S, C S)."""
    n_classes, _, n_labels = direct.shape
    out = np.einsum("cds,st->csdt", direct, np.eye(n_labels))
    return np.asarray(out.reshape(n_classes * n_labels, -1))


def widened(covariance: FloatArray, missing: FloatArray) -> FloatArray:
    """(V^-1 - R)^-1: a covariance V as if nothing was missing, and what is, both (K, K)."""
    root = np.linalg.cholesky(covariance)
    values, vectors = np.linalg.eigh(root.T @ missing @ root)
    turned = root @ vectors
    gain = 1.0 / (1.0 - np.clip(values, 0.0, STIFFEST))
    return np.asarray((turned * gain) @ turned.T)
