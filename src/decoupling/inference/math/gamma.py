"""Gamma variables, and the expected log-gamma function of their sum."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from decoupling._typing import FloatArray
from decoupling.inference.math.dirichlet import trigamma

# Spacing of the trapezoidal rule in ln t. The integrand is analytic within pi/2 of the real axis,
# so the error is exp(-pi^2 / 0.25), less than rounding.
_SPACING: Final = 0.25
# Tails of the integrand are left out where they are below exp(-40).
_TAIL: Final = 40.0
# Shapes above this take a series for their information: a difference would lose its digits.
_LARGE: Final = 1e3
# Below this x - log1p(x) takes its series, whose twelve terms are then exact to rounding.
_SMALL: Final = 0.05
# Smaller shapes would take the integral beyond the largest numbers.
SMALLEST_SHAPE: Final = 0.1


class ExpectedGammaln(NamedTuple):
    """E[ln Gamma(sum of x)], shape (...), with its gradients, each (..., K)."""

    value: FloatArray
    by_shape: FloatArray
    by_mean: FloatArray


def gamma_entropy(shape: FloatArray, mean: FloatArray) -> FloatArray:
    r"""Entropy :math:`a - \ln(a/\mu) + \ln\Gamma(a) + (1 - a)\psi(a)` with shape a and mean mu."""
    return np.asarray(shape - np.log(shape / mean) + gammaln(shape) + (1.0 - shape) * psi(shape))


def gamma_entropy_gradient(shape: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients of `gamma_entropy` in shape and mean."""
    by_shape = 1.0 - 1.0 / shape + (1.0 - shape) * trigamma(shape)
    return np.asarray(by_shape), np.asarray(1.0 / mean)


def shape_information(shape: FloatArray) -> FloatArray:
    """Fisher information of the shape at a given mean, ``trigamma(a) - 1/a``.

    It is about 1 / (2 a^2); shape and mean do not share information.
    """
    # Beyond it the difference is rounding; the series has reached 1e-16 relative long before.
    large = shape > _LARGE
    inverse = 1.0 / shape
    series = inverse**2 * (0.5 + inverse * (1.0 / 6.0 - inverse**2 / 30.0))
    return np.where(large, series, trigamma(shape) - inverse)


def expected_gammaln(shape: FloatArray, mean: FloatArray) -> ExpectedGammaln:
    r"""E[ln Gamma(S)], S the sum of independent Gamma variables along the last axis.

    With shapes :math:`a_k`, means :math:`\mu_k` and :math:`m = \sum_k \mu_k`, Malmsten's integral
    of :math:`\ln\Gamma` gives

    .. math:: E \ln\Gamma(S) = \ln\Gamma(m) + \int_0^\infty
        \frac{\prod_k (1 + t \mu_k / a_k)^{-a_k} - e^{-mt}}{1 - e^{-t}} \frac{dt}{t},

    which the trapezoidal rule in :math:`\ln t` gives to rounding. Work and memory are O(K).

    Parameters
    ----------
    shape, mean : arrays (..., K)
        Shapes are at least 0.1.

    Examples
    --------
    A single variable with shape 2 and mean 2 has the density x exp(-x):

    >>> from scipy.integrate import quad
    >>> expected = quad(lambda x: gammaln(x) * x * np.exp(-x), 0, np.inf)[0]
    >>> bool(abs(expected_gammaln(np.array([2.0]), np.array([2.0])).value - expected) < 1e-8)
    True
    """
    total = mean.sum(axis=-1)
    scale = mean / shape
    t = np.exp(_grid(shape, mean))
    below = _SPACING / -np.expm1(-t)  # (M,)
    x = scale[..., None] * t  # (..., K, M)
    logs = np.log1p(x)
    # ln of E[exp(-St)] exp(mt): a sum of non-negative terms.
    beyond = _beyond_log(x, logs)
    excess = (shape[..., None] * beyond).sum(axis=-2)
    decay = np.exp(-total[..., None] * t)
    transform = np.exp(-(shape[..., None] * logs).sum(axis=-2))
    value = gammaln(total) + (_difference(excess, decay, transform) * below).sum(axis=-1)
    part = x / (1.0 + x)
    # -d/da of the logarithm: log1p(x) - part, written so that it does not cancel for small x.
    slope = np.where(x < 1.0, x * part - beyond, logs - part)
    by_shape = -((transform * below)[..., None, :] * slope).sum(axis=-1)
    reduced = transform[..., None, :] / (1.0 + x)
    change = _difference(excess[..., None, :] - logs, decay[..., None, :], reduced)
    by_mean = psi(total)[..., None] - (change * (t * below)).sum(axis=-1)
    return ExpectedGammaln(np.asarray(value), by_shape, by_mean)


def _grid(shape: FloatArray, mean: FloatArray) -> FloatArray:
    """Values of ln t beyond which nothing is left, evenly spaced, (M,)."""
    spread = np.maximum(1.0, (mean**2 / shape).sum(axis=-1))
    left = -_TAIL - float(np.log(spread).max())
    # Where a log1p(t mean / a) reaches the tail, for the variable that decays last.
    reach = _TAIL / shape
    right = float((reach + np.log(-np.expm1(-reach)) + np.log(shape / mean)).max())
    return np.arange(left, max(right, 0.0) + _SPACING, _SPACING)


def _beyond_log(x: FloatArray, logs: FloatArray) -> FloatArray:
    """x - log1p(x), by its series where the difference would cancel."""
    small = np.minimum(x, _SMALL)
    series = np.zeros_like(small)
    for k in range(13, 1, -1):
        series = 1.0 / k - small * series
    return np.where(x < _SMALL, small * small * series, x - logs)


def _difference(excess: FloatArray, decay: FloatArray, transform: FloatArray) -> FloatArray:
    """``transform - decay``, where transform = decay exp(excess), without cancelling."""
    near = np.abs(excess) < 1.0
    return np.where(near, decay * np.expm1(np.where(near, excess, 0.0)), transform - decay)
