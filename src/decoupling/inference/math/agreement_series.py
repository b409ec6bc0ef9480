r"""Agreement terms of every order, by matrix products only.

The agreement term of order p is the moment :math:`E[X_{is}^p]` of
:math:`X_{is} = \sum_c Y_{ic} T_{cs}` with :math:`Y_i \sim Dir(\Pi_i)` and independent rows of T.
The paper sums over all exponent vectors of length C. The rows being independent, the terms are
coefficients of a product of series instead:

.. math::

    E[X_{is}^p] = \frac{p!}{(\Pi_{i0})_p} [z^p] G_{is}(z), \qquad
    G_{is}(z) = \prod_c \sum_b \frac{(\Pi_{ic})_b}{b!} E[T_{cs}^b] z^b,

and :math:`\ln G_{is}(z) = \sum_k L_k z^k` is a sum over classes in which :math:`L_k` is a
polynomial in :math:`\Pi_{ic}`:

.. math:: L_k = \sum_{d=1}^{k} (\Pi^d) \, c_{kd}, \qquad c_{kd}: (C, S) \text{ from T alone.}
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.math.dirichlet import DirichletRows

# Rows are taken in chunks with so many (order, row, label) entries, which stay in cache.
_CHUNK: Final = 2**16


@dataclass(frozen=True, eq=False)
class AgreementSeries:
    """The coefficients c_kd for one T, ready for any number of rows of Y.

    Attributes
    ----------
    transitions : DirichletRows
        The distribution of T.
    order : int
        Highest order K.
    coefficients : tuple of arrays
        ``coefficients[d - 1]`` holds c_kd for k = d..K side by side: (C, (K - d + 1) S), so that
        each power of Pi takes one matrix product.
    """

    transitions: DirichletRows
    order: int
    coefficients: tuple[FloatArray, ...]

    @classmethod
    def of(cls, transitions: DirichletRows, order: int) -> AgreementSeries:
        """Coefficients for these transitions up to ``order``."""
        series = _log_series(_generating_series(transitions.moments(order)))
        by_power = tuple(
            np.concatenate([series[k][d] for k in range(d, order + 1)], axis=1)
            for d in range(1, order + 1)
        )
        return cls(transitions, order, by_power)

    def log_series(self, class_concentration: FloatArray) -> FloatArray:
        """L_k for k = 1..K, (K, N, S)."""
        n_rows, n_labels = len(class_concentration), self.transitions.parameters.shape[1]
        out = np.zeros((self.order, n_rows, n_labels))
        power = np.ones_like(class_concentration)
        for d, coefficient in enumerate(self.coefficients):
            power = power * class_concentration
            product = (power @ coefficient).reshape(n_rows, -1, n_labels)
            out[d:] += product.transpose(1, 0, 2)
        return out

    def terms(self, class_concentration: FloatArray) -> FloatArray:
        """Agreement terms of orders 1..K, (K, N, S)."""
        n_labels = self.transitions.parameters.shape[1]
        out = np.empty((self.order, len(class_concentration), n_labels))
        size = max(1, _CHUNK // (self.order * n_labels))
        for start in range(0, len(class_concentration), size):
            block = class_concentration[start : start + size]
            series = exp_series(self.log_series(block))
            np.multiply(series, self._scale(block), out=out[:, start : start + size])
        return out

    def gradients(
        self, class_concentration: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Gradients of ``sum(weight * terms)`` in Pi (N, C) and in Theta (C, S)."""
        coefficients = exp_series(self.log_series(class_concentration))
        scaled = weight * self._scale(class_concentration)
        by_log = exp_series_gradient(coefficients, scaled)
        class_gradient, transition_gradient = self.log_series_gradients(class_concentration, by_log)
        # d ln (1 / (Pi_0)_p) / d Pi_0 = - sum_{j<p} 1 / (Pi_0 + j)
        total = class_concentration.sum(axis=1)
        shift = np.arange(self.order, dtype=np.float64)[:, None]
        harmonic = np.cumsum(1.0 / (total + shift), axis=0)  # (K, N)
        shared = np.einsum("kns,kns,kn->n", scaled, coefficients, harmonic)
        return class_gradient - shared[:, None], transition_gradient

    def log_series_gradients(
        self, class_concentration: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Gradients of ``sum(weight * log_series)`` in Pi (N, C) and in Theta (C, S)."""
        n_rows = len(class_concentration)
        class_gradient = np.zeros_like(class_concentration)
        by_coefficient = []
        power = np.ones_like(class_concentration)
        for d, coefficient in enumerate(self.coefficients):
            stacked = weight[d:].transpose(1, 0, 2).reshape(n_rows, -1)  # (N, (K-d) S)
            class_gradient += (d + 1) * power * (stacked @ coefficient.T)
            power = power * class_concentration
            by_coefficient.append(power.T @ stacked)  # (C, (K-d) S)
        return class_gradient, self._transition_gradient(by_coefficient)

    def _scale(self, class_concentration: FloatArray) -> FloatArray:
        """p! / (Pi_0)_p, (K, N, 1)."""
        total = class_concentration.sum(axis=1)
        steps = np.arange(1, self.order + 1, dtype=np.float64)[:, None]
        return np.cumprod(steps / (total + steps - 1.0), axis=0)[:, :, None]

    def _transition_gradient(self, by_coefficient: list[FloatArray]) -> FloatArray:
        """Chain rule from the coefficients c_kd to the moments of T, then to Theta.

        d ln A(z) / d m_b = (pi)_b / b! z^b / A(z): a product of polynomials in pi.
        """
        order, shape = self.order, self.transitions.parameters.shape
        gradient = [g.reshape(shape[0], -1, shape[1]) for g in by_coefficient]
        inverse = _inverse_series(_generating_series(self.transitions.moments(order)))
        by_moment = np.zeros((order, *shape))
        for b in range(1, order + 1):
            for k in range(b, order + 1):
                change = _polynomial_product(_rising_factorial(b), inverse[k - b])
                for d in range(1, k + 1):
                    by_moment[b - 1] += change[d] * gradient[d - 1][:, k - d]
        return self.transitions.moments_gradient(by_moment)


def exp_series(log_series: FloatArray) -> FloatArray:
    """Coefficients e_1..e_K of exp(sum_k L_k z^k): k e_k = sum_j j L_j e_{k-j}, e_0 = 1."""
    steps = np.arange(1.0, len(log_series) + 1.0)[:, None, None]
    slopes = steps * log_series  # j L_j
    out = slopes.copy()
    for k in range(1, len(out)):
        for j in range(k):
            out[k] += slopes[j] * out[k - 1 - j]
        out[k] /= k + 1
    return out


def exp_series_gradient(coefficients: FloatArray, weight: FloatArray) -> FloatArray:
    """Gradient of ``sum(weight * exp_series(L))`` in L: d e_p / d L_k = e_{p-k}."""
    order = len(coefficients)
    out = weight.copy()
    for k in range(1, order + 1):
        for p in range(k + 1, order + 1):
            out[k - 1] += weight[p - 1] * coefficients[p - k - 1]
    return out


# Series in z whose coefficients are polynomials in pi: series[k] has shape (degree + 1, C, S).


@cache
def _rising_factorial(b: int) -> FloatArray:
    """Coefficients of (pi)_b / b! = pi (pi + 1) ... (pi + b - 1) / b!, lowest power first."""
    out = np.ones((1, 1, 1))
    for j in range(b):
        factor = np.array([float(j), 1.0])[:, None, None]
        out = _polynomial_product(out, factor) / (j + 1)
    return out


def _generating_series(moments: FloatArray) -> list[FloatArray]:
    """Coefficients (pi)_b m_b / b! for b = 0..K."""
    series = [np.ones((1, *moments.shape[1:]))]
    series += [_rising_factorial(b) * moment for b, moment in enumerate(moments, start=1)]
    return series


def _polynomial_product(first: FloatArray, second: FloatArray) -> FloatArray:
    out = np.zeros((len(first) + len(second) - 1, *second.shape[1:]))
    for power, coefficient in enumerate(first):
        out[power : power + len(second)] += coefficient * second
    return out


def _log_series(series: list[FloatArray]) -> list[FloatArray]:
    """Logarithm of a series that begins with 1: k L_k = k a_k - sum_{j<k} j L_j a_{k-j}.

    No coefficient but the first has a constant term, so products begin with the square of pi.
    """
    out = [np.zeros_like(series[0])]
    for k in range(1, len(series)):
        total = k * series[k]
        for j in range(1, k):
            total[2:] -= j * _polynomial_product(out[j][1:], series[k - j][1:])
        out.append(total / k)
    return out


def _inverse_series(series: list[FloatArray]) -> list[FloatArray]:
    """Reciprocal of a series that begins with 1: R_k = - sum_{j>=1} a_j R_{k-j}."""
    out = [np.ones_like(series[0])]
    for k in range(1, len(series)):
        total = np.zeros_like(series[k])
        for j in range(1, k + 1):
            total -= _polynomial_product(series[j], out[k - j])
        out.append(total)
    return out
