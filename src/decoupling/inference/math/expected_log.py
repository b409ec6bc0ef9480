r"""E[ln X] with X = sum_c Y_c T_c: four evaluations, one signature, one registry.

The likelihood of the model needs :math:`E[\ln X_{is}]`, :math:`X_{is} = \sum_c Y_{ic} T_{cs}`, for
:math:`Y_i \sim Dir(\Pi_i)` and independent rows of T. `METHODS` maps a name to a class built from
the distribution of T:

========  ==============================================================  =================
name      what it is                                                      cost per entry
========  ==============================================================  =================
bound     Jensen's lower bound of topic models; a true lower bound         C
beta      a Beta distribution with the mean and variance of X              3 C
taylor    Taylor series of ln around E[X] (the paper); may diverge         K (K + 1) C / 2
exact     one-dimensional quadrature, 1e-8                                 hundreds of C
========  ==============================================================  =================
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Final, Self

import numpy as np
from scipy.special import psi

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet
from decoupling.inference.math.agreement_series import AgreementSeries
from decoupling.inference.math.bound import Bound
from decoupling.inference.math.dirichlet import DirichletRows, trigamma
from decoupling.inference.math.exact_log import Exact
from decoupling.inference.math.method import Method, Slopes

# Share of a mean, or of its square, that is left of a variance that rounding has eaten up.
_ROUNDING: Final = 1e-16
# Least concentration of a matched Beta distribution. Below it psi is about -1 / concentration, and
# bounds would be dominated by entries of which nothing is known.
_LEAST_SIZE: Final = 1e-12
# Concentrations above this take a series instead of a difference of two trigamma functions, which
# would lose their first three digits there. The series is off by less than 1e-15 of it.
_LARGE: Final = 1e3


class Taylor(Method):
    r"""Taylor series of the logarithm around E[X], to order K (the paper's approximation).

    .. math:: \ln\mu - \sum_{p=1}^K \frac1p + \sum_{j=1}^K \tau_j \mu^{-j} E[X^j], \qquad
        \tau_j = (-1)^{j-1} \sum_{p=j}^K \frac1p \binom pj

    The series converges only where X < 2 E[X]; raising the order can make it worse.
    """

    def __init__(self, transitions: DirichletRows, order: int = 2) -> None:
        super().__init__(transitions)
        self._order = order
        self._series = AgreementSeries.of(transitions, order)
        self._constant = sum(1.0 / p for p in range(1, order + 1))
        self._tau = [
            (-1.0) ** (j - 1) * sum(comb(p, j) / p for p in range(j, order + 1))
            for j in range(1, order + 1)
        ]

    def of(self, transitions: DirichletRows) -> Self:
        """Return this method for another distribution of T."""
        return type(self)(transitions, self._order)

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        terms = self._series.terms(class_concentration)
        mean = terms[0]
        out: FloatArray = np.log(mean) - self._constant
        for j, tau in enumerate(self._tau, start=1):
            out += tau * terms[j - 1] / mean**j
        return out

    def slopes(self, class_concentration: FloatArray, weight: FloatArray) -> Slopes:
        """Gradients of ``sum(weight * E[ln X])``."""
        terms = self._series.terms(class_concentration)
        mean = terms[0]
        by_term = np.empty_like(terms)
        by_term[0] = weight / mean
        for j, tau in enumerate(self._tau, start=1):
            scaled = tau * weight / mean**j
            if j > 1:
                by_term[j - 1] = scaled
                by_term[0] -= j * scaled * terms[j - 1] / mean
        return Slopes(*self._series.gradients(class_concentration, by_term))


class Beta(Method):
    r"""E[ln X] of the Beta distribution with the mean m and variance v of X.

    .. math:: \psi(m\nu) - \psi(\nu), \qquad \nu = m (1 - m) / v - 1

    Exact when T holds only zeros and ones; robust everywhere.
    """

    def __init__(self, transitions: DirichletRows) -> None:
        super().__init__(transitions)
        self._mean, self._square = transitions.moments(2)  # E[T], E[T²], each (C, S)
        self._variance = self._square - self._mean**2

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        mean, _, size = self._match(class_concentration)
        out = psi(mean * size)
        out -= psi(size)
        return np.asarray(out)

    def _match(self, class_concentration: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean m, variance v and concentration nu of X, each (N, S).

        With Q = Pi E[T²] + Pi² Var[T], v = (Q - Pi_0 m²) / (Pi_0 (Pi_0 + 1)).
        """
        total = dirichlet.row_sum(class_concentration)[:, None]
        first = class_concentration @ self._mean
        mean = first / total
        variance = class_concentration @ self._square
        variance += class_concentration**2 @ self._variance
        variance -= first * mean
        variance /= total * (total + 1.0)
        # Rounding can leave nothing, or less than nothing, of the variance of a constant.
        spread = np.maximum(1.0 - mean, _ROUNDING)
        spread *= mean
        np.maximum(variance, _ROUNDING * mean * spread, out=variance)
        size = spread / variance
        size -= 1.0
        return mean, variance, np.maximum(size, _LEAST_SIZE, out=size)

    def slopes(self, class_concentration: FloatArray, weight: FloatArray) -> Slopes:
        """Gradients of ``sum(weight * E[ln X])``."""
        total = dirichlet.row_sum(class_concentration)[:, None]
        mean, variance, size = self._match(class_concentration)
        own = trigamma(mean * size)
        by_spread = _trigamma_difference(mean, size, own)
        by_spread *= weight
        by_spread /= variance
        own *= size
        own *= weight
        # Chain rule through m = first / Pi_0 and v = (Q - first m) / (Pi_0 (Pi_0 + 1)).
        mean_share = 1.0 - 2.0 * mean
        mean_share *= by_spread
        mean_share += own
        mean_share /= total
        by_square = size + 1.0
        by_square *= by_spread
        by_square /= -total * (total + 1.0)
        square_share = by_square * mean
        by_first = mean_share - 2.0 * square_share
        square_share -= mean_share
        square_share *= mean
        by_total = dirichlet.row_sum(square_share)
        by_total -= (2.0 * total[:, 0] + 1.0) * dirichlet.row_sum(by_square * variance)
        by_class = by_square @ self._variance.T
        by_class *= 2.0 * class_concentration
        by_class += by_first @ self._mean.T
        by_class += by_square @ self._square.T
        by_class += by_total[:, None]
        by_noise = (class_concentration**2).T @ by_square  # in Var[T], (C, S)
        by_moments = np.stack(
            [
                class_concentration.T @ by_first - 2.0 * self._mean * by_noise,
                class_concentration.T @ by_square + by_noise,
            ]
        )
        return Slopes(by_class, self.transitions.moments_gradient(by_moments))


def _trigamma_difference(mean: FloatArray, size: FloatArray, own: FloatArray) -> FloatArray:
    """``mean * trigamma(mean * size) - trigamma(size)`` with its digits kept for large sizes."""
    out = mean * own
    out -= trigamma(size)
    certain = np.nonzero(mean * size > _LARGE)
    if len(certain[0]):
        mean, inverse = mean[certain], 1.0 / (mean[certain] * size[certain])
        # trigamma(x) = 1/x + 1/(2x²) + 1/(6x³) - 1/(30x⁵) + ...; the first terms cancel exactly.
        square = mean * mean
        series = (1.0 - square) / 6.0 - inverse * inverse * (1.0 - square * square) / 30.0
        out[certain] = mean * inverse * inverse * ((1.0 - mean) / 2.0 + inverse * series)
    return np.asarray(out)


METHODS: dict[str, Callable[[DirichletRows, int], Method]] = {
    "taylor": Taylor,
    "beta": lambda transitions, order: Beta(transitions),
    "bound": lambda transitions, order: Bound(transitions),
    "exact": lambda transitions, order: Exact(transitions),
}


def make_method(name: str, transitions: DirichletRows, order: int) -> Method:
    """Return the method of this name for T; ``order`` matters to "taylor" only."""
    return METHODS[name](transitions, order)
