"""DirP: the conjugate prior of a Dirichlet distribution's concentrations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp, psi

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet

# The normaliser is an integral over a grid for at most so many classes: each of them multiplies the
# points of the grid by some dozens.
_MOST_AXES: Final = 3
# Spacing of the grid, in widths of the integrand at its highest. The trapezoid rule has then
# converged to rounding.
_SPACING: Final = 0.55
# The integrand is followed until it has fallen by exp(-34): what is left is rounding.
_FALL: Final = 34.0
# The box of the grid begins this many widths to either side of the highest point.
_FIRST_REACH: Final = 6.0
# Points of an axis while the box of the grid is looked for.
_COARSE: Final = 25
# The box grows at most so often ...
_WIDENINGS: Final = 60
# ... each time by this share of itself, on the sides where the integrand has not fallen.
_WIDENING: Final = 0.2
# Ends of ln mass along a ray at first.
_WIDEST: Final = 200.0
# Points along a ray.
_ON_RAY: Final = 4001
# A ray is looked at so often, each time only where the integrand has not fallen.
_ZOOMS: Final = 3
# Logarithms of gamma are cut to this: its exponential is then a number.
_LARGEST_LOG: Final = 700.0
# Closer to having no finite integral than this, rounding decides.
_EDGE: Final = 1e-9
# Steps to the highest point at most.
_NEWTON_STEPS: Final = 200
# A step changes a logarithm of gamma at most by this much.
_LONGEST_STEP: Final = 2.0
# A step is not made shorter than this share of itself: the highest point is reached.
_SHORTEST_SHARE: Final = 1e-6
# Steps in the logarithms that are shorter than this end the search: they are rounding.
_STILL: Final = 1e-12


@dataclass(frozen=True, eq=False)
class DirP:
    r"""Conjugate prior of Dirichlet concentrations.

    .. math:: p(\gamma) = \frac{B(\gamma)^{-\eta}}{Z(\eta, \lambda)}
        \exp\Big(-\sum_c \lambda_c \gamma_c\Big)

    It says as much as ``eta`` draws from the Dirichlet distribution whose mean of -ln y_c was
    ``rate / eta``. It has a finite integral if and only if

    .. math:: \sum_c e^{-\lambda_c / \eta} < 1 \qquad (\lambda_c > 0 \text{ for all } c
        \text{ where } \eta = 0).

    Attributes
    ----------
    rate : array (C,)
        lambda.
    eta : float
        Number of draws that the prior is worth, 0 or more.
    """

    rate: FloatArray
    eta: float

    def __post_init__(self) -> None:
        if self.eta > 0.0:
            proper = bool(logsumexp(-self.rate / self.eta) < -_EDGE)
            rule = "the sum of exp(-rate / eta) over the classes must be below 1"
            found = f"it is {np.exp(logsumexp(-self.rate / self.eta)):.9g}"
        else:
            proper = bool((self.rate > 0.0).all())
            rule, found = (
                "with eta = 0 every rate must be positive",
                f"the least is {min(self.rate):.6g}",
            )
        if not proper:
            raise ValueError(
                f"This prior of the class prior has no finite integral: {rule}; {found}. "
                "Raise the rates, or leave them out to have them set for a symmetric class prior."
            )

    def log_density(self, gamma: ArrayLike) -> FloatArray:
        """Logarithm of the density at ``gamma`` (..., C), without the normaliser."""
        values = np.asarray(gamma, dtype=np.float64)
        return np.asarray(-self.eta * dirichlet.log_normaliser(values) - values @ self.rate)

    def mode(self) -> FloatArray:
        r"""Where the density is highest, (C,); zeros if eta is 0, or C is 1.

        There :math:`\psi(\gamma_c) - \psi(\gamma_0) = -\lambda_c / \eta`.
        """
        if self.eta == 0.0:
            return np.zeros_like(self.rate)
        if len(self.rate) == 1:
            return np.zeros(1)
        return self._highest(jacobian=0.0)

    def log_normaliser(self, shares: tuple[float, ...] | None = None) -> float:
        """ln Z: by quadrature for up to 3 classes, beyond that by Laplace's method.

        Laplace's method is off by some tenths at eta = 1, and by less the larger eta is. With
        ``shares`` gamma is known up to its mass, and the integral is over the mass.
        """
        return _log_normaliser(tuple(self.rate.tolist()), self.eta, shares)

    def _integrate(self) -> float:
        if len(self.rate) == 1:
            return -float(np.log(self.rate[0]))
        top = np.log(self._highest(jacobian=1.0))
        curvature = self._log_curvature(np.exp(top))
        volume = -0.5 * np.linalg.slogdet(curvature / (2.0 * np.pi))[1]
        laplace = float(self._log_integrand(top) + volume)
        if len(top) > _MOST_AXES:
            return laplace
        # Logarithms of the mass and of the odds against the last class: along these axes the tails
        # lie, and they keep volumes of ln gamma.
        shares = np.exp(top) / np.exp(top).sum()
        turn = np.column_stack([np.ones_like(top), np.eye(len(top))[:, :-1] - shares[:-1]])
        width = 1.0 / np.sqrt(np.diag(turn.T @ curvature @ turn))
        centre = np.concatenate([[np.log(np.exp(top).sum())], top[:-1] - top[-1]])
        lower, upper = self._box(centre, width)
        points = np.ceil((upper - lower) / (_SPACING * width)).astype(int) + 1
        logs = self._on_grid(
            [np.linspace(*ends) for ends in zip(lower, upper, points, strict=True)]
        )
        return float(logsumexp(logs) + np.log((upper - lower) / (points - 1)).sum())

    def _integrate_mass(self, shares: FloatArray) -> float:
        """ln Z along a ray: an integral over ln mass, first coarse, then where it counts."""
        lower, upper = -_WIDEST, _WIDEST
        for _ in range(_ZOOMS):
            log_mass = np.linspace(lower, upper, _ON_RAY)
            logs = self.log_density(np.exp(log_mass)[:, None] * shares) + log_mass
            inside = np.flatnonzero(logs > logs.max() - _FALL)
            step = log_mass[1] - log_mass[0]
            lower, upper = log_mass[inside[0]] - step, log_mass[inside[-1]] + step
        return float(logsumexp(logs) + np.log(step))

    def _box(self, centre: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of a box on whose faces the integrand is negligible."""
        lower, upper = centre - _FIRST_REACH * width, centre + _FIRST_REACH * width
        for _ in range(_WIDENINGS):
            axes = [np.linspace(*ends, _COARSE) for ends in zip(lower, upper, strict=True)]
            logs = self._on_grid(axes)
            floor = logs.max() - _FALL
            low = [logs.take(0, axis=k).max() > floor for k in range(logs.ndim)]
            high = [logs.take(-1, axis=k).max() > floor for k in range(logs.ndim)]
            if not any(low + high):
                break
            reach = _WIDENING * (upper - lower)
            lower, upper = np.where(low, lower - reach, lower), np.where(high, upper + reach, upper)
        return lower, upper

    def _on_grid(self, axes: list[FloatArray]) -> FloatArray:
        """`_log_integrand` at ln mass and log-odds on a grid."""
        mass, *odds = np.meshgrid(*axes, indexing="ij")
        shares = log_softmax(np.stack([*odds, np.zeros_like(mass)], axis=-1), axis=-1)
        return self._log_integrand(mass[..., None] + shares)

    def _log_integrand(self, log_gamma: FloatArray) -> FloatArray:
        """Logarithm of the density of ln gamma, without the normaliser."""
        gamma = np.exp(np.clip(log_gamma, -_LARGEST_LOG, _LARGEST_LOG))
        return np.asarray(self.log_density(gamma) + log_gamma.sum(axis=-1))

    def _log_curvature(self, gamma: FloatArray) -> FloatArray:
        """Minus the second derivatives of `_log_integrand`, (C, C)."""
        fisher = dirichlet.fisher_matrix(gamma)
        slope = self.eta * (psi(gamma) - psi(gamma.sum())) + self.rate
        return np.asarray(self.eta * gamma[:, None] * fisher * gamma + np.diag(gamma * slope))

    def _highest(self, jacobian: float) -> FloatArray:
        """Where ``log_density + jacobian * sum(ln gamma)`` is highest, (C,): Newton's method."""

        def objective(gamma: FloatArray) -> float:
            return float(self.log_density(gamma) + jacobian * np.log(gamma).sum())

        gamma = np.full(len(self.rate), 1.0 / len(self.rate))
        if self.eta == 0.0:
            return jacobian / self.rate
        for _ in range(_NEWTON_STEPS):
            slope = -self.eta * (psi(gamma) - psi(gamma.sum())) - self.rate + jacobian / gamma
            diagonal = self.eta * dirichlet.trigamma(gamma) + jacobian / gamma**2
            step = solve_less_rank_one(
                diagonal, self.eta * float(dirichlet.trigamma(gamma.sum())), slope
            )
            # In logarithms, so that gamma stays positive; far steps are cut.
            step = np.clip(step / gamma, -_LONGEST_STEP, _LONGEST_STEP)
            here, length = objective(gamma), 1.0
            while length > _SHORTEST_SHARE and objective(gamma * np.exp(length * step)) < here:
                length *= 0.5
            gamma = gamma * np.exp(length * step)
            if np.abs(step).max() < _STILL or length <= _SHORTEST_SHARE:
                break
        return gamma


@lru_cache(maxsize=64)
def _log_normaliser(rate: tuple[float, ...], eta: float, shares: tuple[float, ...] | None) -> float:
    """`DirP.log_normaliser`, kept, since three classes take a good part of a second."""
    prior = DirP(np.array(rate), eta)
    return prior._integrate() if shares is None else prior._integrate_mass(np.array(shares))


def solve_less_rank_one(diagonal: FloatArray, shared: float, target: FloatArray) -> FloatArray:
    """Solve ``(diag(diagonal) - shared) x = target`` in O(C), by Sherman and Morrison."""
    own, ones = target / diagonal, 1.0 / diagonal
    return np.asarray(own + shared * ones * own.sum() / (1.0 - shared * ones.sum()))
