"""Points for the exact expected logarithm: nodes of its integral, and points in pi for M.

`exact_log` states the integral, and `exact_tables` evaluates M at these points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.polynomial import chebyshev
from scipy.linalg import qr

from decoupling._typing import FloatArray

# Nodes that are summed up left of the first one reach so far in v: e^-38 is rounding.
_LEFT_TAIL: Final = 38
# Exponentials of more than this are not taken: the exponential of minus them is 0 already.
_LARGEST_LOG: Final = 700.0
# Singular values are computed from so many times the size of the basis in exponents w.
_OVERSAMPLING: Final = 8
# Share of the tolerance that the Chebyshev points may use up, so that a basis that is made of them
# keeps to the tolerance.
_SAFETY: Final = 1e-2
# Bases that are kept for the next steps, some 10 kB each.
_KEPT_BASES: Final = 256
# Below exp(-14) / pi the function exp(-pi w) is a straight line in w ...
_STRAIGHT: Final = 14.0
# ... and above exp(4) / pi it is 0, to rounding.
_ZERO: Final = 4.0


@dataclass(frozen=True, eq=False)
class Nodes:
    """Trapezoid nodes of the outer integral.

    Attributes
    ----------
    log_t, weight : arrays (Q,)
        Positions u = ln t and quadrature weights.
    scale : float
        The integrand is exp(-scale t) less the product; the integral then gives E[ln Z] - ln scale.
    reference : float
        ln scale plus the sum of the weighted exp(-scale t).
    first, second : float
        Sums of the weighted t and t² over all the nodes left of the first one kept.
    """

    log_t: FloatArray
    weight: FloatArray
    scale: float
    reference: float
    first: float
    second: float

    @classmethod
    def between(cls, left: float, bend: float, right: float, *, scale: float, step: float) -> Nodes:
        """Nodes u(v) = v + exp(v - bend) from ``left`` to ``right``; left of it is summed up."""
        stop = bend + np.log1p(max(right - bend, 1.0))
        steps = np.arange(-round(_LEFT_TAIL / step), int((stop - left) / step) + 2)
        v = left + step * steps
        stretch = np.exp(v - bend)
        log_t, weight = v + stretch, step * (1.0 + stretch)
        tail, kept = steps < 0, steps >= 0
        t = np.exp(log_t[tail])
        reference = weight[kept] @ np.exp(
            -np.exp(np.minimum(log_t[kept] + np.log(scale), _LARGEST_LOG))
        )
        return cls(
            log_t[kept],
            weight[kept],
            scale,
            float(np.log(scale) + reference),
            float(weight[tail] @ t),
            float(weight[tail] @ t**2),
        )


@dataclass(frozen=True, eq=False)
class ExponentialBasis:
    """Interpolation of mixtures of exp(-pi w), w >= 0, over a range of pi.

    f(pi) = sum_d phi_d(pi) f(points_d), with phi_d a polynomial in ln pi.

    Attributes
    ----------
    log_range : (float, float)
        Range of ln pi.
    points : array (D,)
        Where f must be known.
    polynomials : array (P, D)
        Chebyshev coefficients of each phi_d.
    """

    log_range: tuple[float, float]
    points: FloatArray
    polynomials: FloatArray

    @classmethod
    @lru_cache(maxsize=_KEPT_BASES)
    def over(cls, low: float, high: float, tolerance: float) -> ExponentialBasis:
        """Basis for pi from ``low`` to ``high`` with this absolute error.

        The singular vectors of exp(-pi w) span what is needed, and a pivoted QR factorisation
        picks as many points from which they are known.
        """
        log_low, log_high = float(np.log(low)), float(np.log(high))
        # In ln pi, exp(-pi w) is analytic in a strip of half-width pi / 2, which gives the rate.
        ratio = np.pi / (log_high - log_low)
        size = int(np.ceil(-np.log(_SAFETY * tolerance) / np.arcsinh(ratio))) + 4
        x = chebyshev.chebpts1(size)
        points = np.exp((log_low + log_high) / 2 + (log_high - log_low) / 2 * x)
        ends = -log_high - _STRAIGHT, -log_low + _ZERO
        exponents = np.exp(np.linspace(*ends, _OVERSAMPLING * size))
        kernel = np.exp(-points[:, None] * exponents)
        left, singular, _ = np.linalg.svd(
            np.hstack([np.ones((size, 1)), kernel]), full_matrices=False
        )
        rank = max(2, int(np.count_nonzero(singular > tolerance)))
        left = left[:, :rank]
        pivots = qr(left.T, mode="r", pivoting=True)[1][:rank]
        cardinal = np.linalg.solve(
            left[pivots].T, left.T
        ).T  # (P, D) values at the Chebyshev points
        return cls((log_low, log_high), points[pivots], to_chebyshev(x) @ cardinal)

    def functions(self, concentration: FloatArray) -> FloatArray:
        """phi_d(pi), (n, D)."""
        return np.asarray(self._vandermonde(concentration) @ self.polynomials)

    def derivatives(self, concentration: FloatArray) -> FloatArray:
        """phi_d'(pi), (n, D)."""
        slope = np.zeros_like(self.polynomials)
        slope[:-1] = chebyshev.chebder(self.polynomials, axis=0)
        slope *= 2.0 / (self.log_range[1] - self.log_range[0])
        return np.asarray(self._vandermonde(concentration) @ slope / concentration[:, None])

    def _vandermonde(self, concentration: FloatArray) -> FloatArray:
        low, high = self.log_range
        unit = (2.0 * np.log(concentration) - low - high) / (high - low)
        return np.asarray(chebyshev.chebvander(unit, len(self.polynomials) - 1), dtype=np.float64)


def to_chebyshev(points: FloatArray) -> FloatArray:
    """Matrix from values at the Chebyshev points to Chebyshev coefficients."""
    matrix = chebyshev.chebvander(points, len(points) - 1).T * (2.0 / len(points))
    matrix[0] /= 2.0
    return np.asarray(matrix)
