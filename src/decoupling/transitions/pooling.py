"""Pooled rows of T: as far from a common centre as their counts support, and no farther."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from decoupling._typing import FloatArray, IntArray

# Range of the learned strength, in rows. At its low end the counts alone decide; at its high end
# hundreds of thousands of rows of a class would hardly move T from the centre.
_STRENGTHS: Final = (1.0, 1e6)
# Rows that every cell of a centre has at least: a zero would say that a label is impossible.
_POSSIBLE: Final = 1e-3


def even_noise(counts: FloatArray, own: IntArray) -> FloatArray:
    """T of one rate of wrong labels, which fall on all other labels alike, (C, S).

    Parameters
    ----------
    counts : array (C, S)
        Labels that each class got.
    own : array (C,)
        Column of the own label of each class.

    Examples
    --------
    >>> even_noise(np.array([[8.0, 2.0, 0.0], [0.0, 10.0, 0.0], [1.0, 0.0, 9.0]]), np.arange(3))
    array([[0.9 , 0.05, 0.05],
           [0.05, 0.9 , 0.05],
           [0.05, 0.05, 0.9 ]])
    """
    n_classes, n_labels = counts.shape
    classes = np.arange(n_classes)
    right, total = counts[classes, own].sum(), counts.sum()
    # One row more on either side: no rate is 0 or 1.
    wrong = min(max(total - right, 1.0), max(total - 1.0, 1.0)) / max(total, 2.0)
    out = np.full((n_classes, n_labels), wrong / (n_labels - 1))
    out[classes, own] = 1.0 - wrong
    return out


def learned_strength(counts: FloatArray, centre: FloatArray) -> float:
    r"""Strength m with which rows of counts are most probable, if each has a T of its own.

    Rows of T are Dirichlet around the centre, :math:`T_c \sim Dir(m \bar T_c)`, and integrated out:

    .. math::

        \max_m \sum_c \left[ \ln \frac{\Gamma(m)}{\Gamma(m + n_c)}
        + \sum_s \ln \frac{\Gamma(m \bar T_{cs} + n_{cs})}{\Gamma(m \bar T_{cs})} \right]

    Parameters
    ----------
    counts : array (..., C, S)
        Labels that each class got, in one group of rows or in several.
    centre : array (C, S)
        Where T would be if all were alike.
    """
    total = counts.sum(axis=-1)

    def minus_log_likelihood(log_strength: float) -> float:
        prior = np.exp(log_strength) * centre
        mass = prior.sum(axis=-1)
        by_row = gammaln(mass) - gammaln(mass + total)
        by_cell = gammaln(prior + counts) - gammaln(prior)
        return -float(by_row.sum() + by_cell.sum())

    found = minimize_scalar(minus_log_likelihood, bounds=np.log(_STRENGTHS), method="bounded")
    return float(np.exp(found.x))


def pooled(counts: FloatArray, centre: FloatArray) -> FloatArray:
    r"""T between the counts and a centre, by a strength that the counts tell, (..., C, S).

    .. math:: T_{cs} = \frac{n_{cs} + m \bar T_{cs}}{n_c + m}

    with m of `learned_strength`.

    Examples
    --------
    Two classes whose counts differ by chance take the same T; two that differ for sure do not:

    >>> centre = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> pooled(np.array([[78.0, 22.0], [18.0, 82.0]]), centre).round(2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    >>> pooled(np.array([[6000.0, 4000.0], [0.0, 10000.0]]), centre).round(2)
    array([[0.6, 0.4],
           [0. , 1. ]])
    """
    centre = np.maximum(centre, _POSSIBLE / max(float(counts.sum()), 1.0))
    strength = learned_strength(counts, centre)
    found = counts + strength * centre
    return np.asarray(found / found.sum(axis=-1, keepdims=True))
