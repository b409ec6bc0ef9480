"""Credible intervals with equal tails: of Beta distributions, and of logarithms."""

from __future__ import annotations

from numbers import Real
from typing import Final

import numpy as np
from scipy.special import betaincinv, ndtri

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet

# A variance below this is rounding. A Beta distribution has at least this concentration, too.
_TINY: Final = 1e-14
# Intervals of positive numbers reach at most so far in the logarithm: their ends stay numbers.
_WIDEST: Final = 300.0
# Where both concentrations are above this SciPy finds no ends. They would be 1e-7 of themselves
# apart, and the mean takes their place.
_SURE: Final = 1e15


def check_level(level: float) -> None:
    """Refuse what is no probability."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")


def beta_end(concentration: FloatArray, tail: float) -> FloatArray:
    """Quantiles, for the share ``tail``, of the Beta distribution of each entry."""
    rest = concentration.sum(axis=-1, keepdims=True) - concentration
    certain = (concentration == 0) | (rest <= 0) | (np.minimum(concentration, rest) > _SURE)
    own, other = np.where(certain, 1.0, concentration), np.where(certain, 1.0, rest)
    return np.where(certain, dirichlet.mean(concentration), betaincinv(own, other, tail))


def beta_interval(concentration: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends for each entry of Dirichlet distributions along the last axis."""
    check_level(level)
    return beta_end(concentration, (1 - level) / 2), beta_end(concentration, (1 + level) / 2)


def interval_by_moments(
    mean: FloatArray, variance: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Ends of Beta distributions of this mean and variance, which do not leave out the mean.

    Examples
    --------
    >>> low, high = interval_by_moments(np.array([0.5, 0.5]), np.array([1 / 12, 0.0]), 0.9)
    >>> low.round(2), high.round(2)
    (array([0.05, 0.5 ]), array([0.95, 0.5 ]))
    """
    varies = (variance > _TINY) & (mean > 0) & (mean < 1)
    inside = np.where(varies, mean, 0.5)
    total = inside * (1.0 - inside) / np.where(varies, variance, 0.1) - 1.0
    pair = np.maximum(total, _TINY)[..., None] * np.stack([inside, 1.0 - inside], axis=-1)
    lower, upper = (np.where(varies, end[..., 0], mean) for end in beta_interval(pair, level))
    return np.minimum(lower, mean), np.maximum(upper, mean)


def interval_of_logs(
    mean: FloatArray, variance: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Ends for positive numbers whose logarithms are normal, from their mean and variance.

    Examples
    --------
    >>> low, high = interval_of_logs(np.array([2.0]), np.array([1.0]), 0.9)
    >>> low.round(2), high.round(2)
    (array([0.88]), array([4.55]))
    """
    check_level(level)
    spread = np.sqrt(variance) / mean
    factor = np.exp(np.minimum(ndtri((1.0 + level) / 2.0) * spread, _WIDEST))
    return mean / factor, mean * factor
