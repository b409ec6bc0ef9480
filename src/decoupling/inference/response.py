r"""How rows respond to gamma and T: what a factorised posterior leaves out of its error bars.

q(Y) q(T) q(gamma) treats each as if the others were known. In truth a higher rate of labelling,
say, means fewer members of that class among all the rows at once. To first order such shifts follow
from the fixed point of a row under the bound, :math:`\Pi = \gamma + n(E \ln Y, T)`, where n are the
expected counts of its classes: with the Fisher matrix :math:`F` of Dir(Pi) and
:math:`M = \partial n / \partial E \ln Y`,

.. math:: d E \ln Y = F d\Pi
    = (F^{-1} - M)^{-1} \Big( d\gamma + \frac{\partial n}{\partial T} dT \Big)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference import dirichlet
from decoupling.inference.dirichlet import DirichletRows

# As many rows are enough for averages over rows.
_ROWS: Final = 2000
# Rows short of their fixed point, or at a saddle, may seem to respond without bound.
_STIFFEST: Final = 0.999
_ALMOST_NOTHING: Final = 1e-10


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some of the rows, evenly spread over all of them.

    Attributes
    ----------
    weight : array (n, S)
        Evidence times p(s|x), for the labels that can be seen.
    concentration : array (n, C)
        q(Y) of these rows.
    share : array (n,)
        Weight of each row in averages, 1 in sum.
    """

    weight: FloatArray
    concentration: FloatArray
    share: FloatArray


@dataclass(frozen=True, eq=False)
class Response:
    """Averages over the rows of how they respond.

    Attributes
    ----------
    log_by_gamma : array (C, C)
        Of E[ln Y] to gamma.
    log_by_transitions : array (C, C, S)
        Of E[ln Y] to T.
    mean_by_gamma, mean_by_transitions : arrays (C, C) and (C, C, S)
        The same of E[Y].
    """

    log_by_gamma: FloatArray
    log_by_transitions: FloatArray
    mean_by_gamma: FloatArray
    mean_by_transitions: FloatArray


def evenly(n_rows: int) -> slice:
    """Rows of a sample."""
    return slice(None, None, -(-n_rows // _ROWS))


def respond(sample: RowSample, transitions: DirichletRows) -> Response:
    """Response of the average row under the bound, whichever method found q(Y)."""
    concentration, weight = sample.concentration, sample.weight
    classes = np.exp(dirichlet.expected_log(concentration))  # (n, C)
    emits = np.exp(transitions.expected_log())  # (C, S)
    mixture = classes @ emits  # (n, S)
    ratio = weight / mixture
    fisher = _fisher(concentration)
    by_logs = _counts_by_logs(classes, emits, ratio, mixture)
    log_slope = _amplified(fisher, by_logs)  # (n, C, C): of E[ln Y] to a change of counts
    total = concentration.sum(axis=1)[:, None, None]
    mean = concentration[:, :, None] / total
    # dPi = dx + M dE[ln Y], and E[Y] = Pi / Pi_0.
    own = by_logs @ log_slope + np.eye(concentration.shape[1])
    mean_slope = (own - mean * own.sum(axis=1, keepdims=True)) / total
    of_transitions = transitions.mean()
    return Response(
        *(
            part
            for slope in (log_slope, mean_slope)
            for part in (
                np.tensordot(sample.share, slope, axes=1),
                _by_transitions(
                    slope * sample.share[:, None, None], classes, emits, ratio, mixture,
                    of_transitions,
                ),
            )
        )
    )  # fmt: skip


def _fisher(concentration: FloatArray) -> FloatArray:
    """Fisher matrix of each Dirichlet, (n, C, C)."""
    shared = dirichlet.trigamma(concentration.sum(axis=1))[:, None, None]
    # A single class leaves nothing, which could not be factorised.
    own = (1.0 + _ALMOST_NOTHING) * dirichlet.trigamma(concentration)[:, :, None]
    return np.asarray(own * np.eye(concentration.shape[1]) - shared)


def _counts_by_logs(
    classes: FloatArray, emits: FloatArray, ratio: FloatArray, mixture: FloatArray
) -> FloatArray:
    """M, (n, C, C): how expected counts follow E[ln Y]."""
    n_classes = classes.shape[1]
    counts = classes * (ratio @ emits.T)
    pairs = (emits[:, None, :] * emits[None, :, :]).reshape(n_classes**2, -1)  # (C C, S)
    together = ((ratio / mixture) @ pairs.T).reshape(-1, n_classes, n_classes)
    together *= classes[:, :, None] * classes[:, None, :]
    return np.asarray(counts[:, :, None] * np.eye(n_classes) - together)


def _amplified(fisher: FloatArray, by_logs: FloatArray) -> FloatArray:
    """(F^-1 - M)^-1 = L (I - L' M L)^-1 L' with F = L L', (n, C, C)."""
    root = np.linalg.cholesky(fisher)
    values, vectors = np.linalg.eigh(root.transpose(0, 2, 1) @ by_logs @ root)
    turned = root @ vectors
    gain = 1.0 / (1.0 - np.minimum(values, _STIFFEST))
    return np.asarray((turned * gain[:, None, :]) @ turned.transpose(0, 2, 1))


def _by_transitions(
    slope: FloatArray,
    classes: FloatArray,
    emits: FloatArray,
    ratio: FloatArray,
    mixture: FloatArray,
    mean: FloatArray,
) -> FloatArray:
    """Sum over rows of ``slope`` (n, C, C) times the change of counts with T, (C, C, S).

    Counts are w_s phi_sc with phi_sc = Y_c T_cs / X_s, so that
    dn_k / dT_cs = w_s phi_sk (1[k = c] - phi_sc) / T_cs.
    """
    weighed = slope * classes[:, None, :]
    own = np.einsum("ick,is->cks", weighed, ratio)
    others = (weighed @ emits) / mixture[:, None, :]
    rest = np.einsum("ids,is,ik->dks", others, ratio, classes, optimize=True)
    # emits / mean is at most 1: tiny rates do not blow up.
    scale = np.divide(emits, mean, out=np.zeros_like(mean), where=mean > 0)
    return np.asarray((own - rest) * scale)
