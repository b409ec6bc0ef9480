"""The class prior gamma during the ascent: a constant, or its own posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy.linalg import eigh

from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling.inference.ascent import elbo
from decoupling.inference.ascent.state import Gamma
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math import dirichlet
from decoupling.inference.math.conjugate import DirP, solve_less_rank_one
from decoupling.inference.math.gamma import (
    SMALLEST_SHAPE,
    expected_gammaln,
    gamma_entropy,
    gamma_entropy_gradient,
    shape_information,
)

# Inner steps of q(gamma) for one step of the rows; they cost next to nothing.
_INNER: Final = 20
# An inner step is halved at most so often before q(gamma) stays where it is.
_HALVINGS: Final = 20
# A fall of the bound by less than this share of its terms is rounding.
_ROUNDING: Final = 1e-14
# Inner steps end when they are this short. The bound is too flat at its top to say: where it no
# longer rises, but for rounding, gamma may still be off by the root of that.
_STILL: Final = 1e-11
# A step goes beyond what suits the rows at hand by this share of itself, since the rows will
# follow. Twice the step would overshoot.
_BEYOND: Final = 0.9
# A class whose share of gamma is below this does not matter for whether gamma has arrived.
_MATTERS: Final = 1e-3
# A step changes a mean or a shape at most by this factor.
_FACTOR: Final = 10.0
# Rows that a prior without any, eta = 0, counts for where something must be divided by them.
_LEAST_ETA: Final = 1e-9


@dataclass(frozen=True, eq=False)
class KnownGamma:
    """Gamma as a constant."""

    mean: FloatArray

    def terms(self, n_rows: float) -> Terms:
        """- N ln B(gamma)."""
        return elbo.class_constant(n_rows, self.mean)

    @property
    def learned(self) -> bool:
        """False: a constant is not learned."""
        return False

    @property
    def moving(self) -> dict[str, FloatArray]:
        """No field changes."""
        return {}

    @property
    def fixed(self) -> tuple[AnyArray, float | None, AnyArray | None]:
        """Gamma itself."""
        return self.mean, None, None

    def raised(self, log_sum: FloatArray, n_rows: float) -> KnownGamma:
        """Itself, whatever the rows are."""
        return self

    def stepped(self, log_sum: FloatArray, n_rows: float) -> KnownGamma:
        """Itself, whatever the rows are."""
        return self

    def moved_from(self, other: KnownGamma) -> float:
        """0: it does not move."""
        return 0.0

    def covariance(self, log_slope: FloatArray, n_rows: float) -> FloatArray:
        """Zeros, (C, C)."""
        return np.zeros_like(log_slope)

    def moved_to(self, fields: dict[str, Any]) -> KnownGamma:
        """Itself: no field changes."""
        return self

    def resumed(self, other: Gamma) -> KnownGamma:
        """Itself: what another run learned of gamma does not change what is known."""
        return self


@dataclass(frozen=True, eq=False)
class GammaPosterior:
    r"""q(gamma): independent Gamma variables g_k, each spread over classes by fixed shares.

    gamma_c = share_c g_{factor(c)}: one variable per class, or a single one, the mass. Either way
    the sum of gamma is the sum of g.

    Attributes
    ----------
    prior : DirP
        p(gamma).
    shape, location : arrays (K,)
        Shapes and means of g.
    factor : int array (C,)
        The variable that each class follows.
    share : array (C,)
        How much of that variable the class gets; 1 in sum for each variable.
    heading : array (K,)
        Last step of ln location.
    """

    prior: DirP
    shape: FloatArray
    location: FloatArray
    factor: IntArray
    share: FloatArray
    heading: FloatArray

    @classmethod
    def start(cls, prior: DirP, shares: FloatArray | None) -> GammaPosterior:
        """Begin at mass 1 with classes alike, and not at the mode of the prior.

        The mode of a vague prior is far out.
        """
        n_classes = len(prior.rate)
        if shares is None:
            factor, share = np.arange(n_classes), np.ones(n_classes)
        else:
            factor, share = np.zeros(n_classes, dtype=int), shares
        n_factors = int(factor[-1]) + 1
        location, shape = np.full(n_factors, 1.0 / n_factors), np.ones(n_factors)
        return cls(prior, shape, location, factor, share, np.zeros(n_factors))

    @property
    def learned(self) -> bool:
        """True: every step changes it."""
        return True

    def resumed(self, other: Gamma) -> GammaPosterior:
        """q(gamma) at the end of another run; unchanged if that learned gamma in another way."""
        if isinstance(other, GammaPosterior) and len(other.location) == len(self.location):
            return replace(self, shape=other.shape, location=other.location)
        return self

    @property
    def moving(self) -> dict[str, FloatArray]:
        """Fields that change from step to step."""
        return {"shape": self.shape, "location": self.location, "heading": self.heading}

    def moved_to(self, fields: dict[str, Any]) -> GammaPosterior:
        """Return a copy with other values in the fields that change."""
        return replace(self, **{name: fields[name] for name in self.moving})

    @property
    def fixed(self) -> tuple[AnyArray, float | None, AnyArray | None]:
        """The rates and eta of the prior, and the shares of the classes."""
        return self.prior.rate, self.prior.eta, self.share

    @property
    def mean(self) -> FloatArray:
        """E[gamma], (C,)."""
        return self.share * self.location[self.factor]

    @property
    def loading(self) -> FloatArray:
        """Derivative of gamma in g, (C, K)."""
        out = np.zeros((len(self.share), len(self.location)))
        out[np.arange(len(self.share)), self.factor] = self.share
        return out

    def terms(self, n_rows: float) -> Terms:
        """- (N + eta) E[ln B] - lambda E[gamma], the entropy, and - ln Z."""
        normaliser = self._expected_log_normaliser()[0]
        prior = -(n_rows + self.prior.eta) * normaliser - float(self.prior.rate @ self.mean)
        entropy = float(gamma_entropy(self.shape, self.location).sum())
        return Terms(prior=prior, entropy=entropy, constant=-self._log_normaliser())

    def gradient(self, log_sum: FloatArray, n_rows: float) -> tuple[FloatArray, FloatArray]:
        """Gradients of the bound in shape and location, each (K,), for rows with this `log_sum`."""
        _, by_shape, by_location = self._expected_log_normaliser()
        count = n_rows + self.prior.eta
        own_shape, own_location = gamma_entropy_gradient(self.shape, self.location)
        slope = self._per_factor(self.share * (log_sum - self.prior.rate))
        return own_shape - count * by_shape, own_location - count * by_location + slope

    def raised(self, log_sum: FloatArray, n_rows: float) -> GammaPosterior:
        r"""q(gamma) that suits rows with :math:`\sum_i E \ln Y_i` = ``log_sum``, (C,).

        Natural steps of the shapes, whose information is their own, and Newton steps of the means,
        halved until the bound does not fall, but for rounding.
        """
        present, value = self, self._objective(log_sum, n_rows)
        rounding = _ROUNDING * (1.0 + abs(value) + abs(float(log_sum @ self.mean)))
        for _ in range(_INNER):
            by_shape, by_location = present.gradient(log_sum, n_rows)
            shape_step = by_shape / (shape_information(present.shape) * present.shape)
            location_step = present._newton(by_location, n_rows) / present.location
            limit = np.log(_FACTOR)
            shape_step, location_step = (
                np.clip(step, -limit, limit) for step in (shape_step, location_step)
            )
            length = 1.0
            for _ in range(_HALVINGS):
                shape = present.shape * np.exp(length * shape_step)
                trial = replace(
                    present,
                    shape=np.maximum(shape, SMALLEST_SHAPE),
                    location=present.location * np.exp(length * location_step),
                )
                reached = trial._objective(log_sum, n_rows)
                # Written so that a comparison with NaN refuses the step.
                if reached >= value - rounding:
                    break
                length *= 0.5
            else:
                return present
            present, value = trial, max(value, reached)
            if max(np.abs(shape_step).max(), np.abs(location_step).max()) <= _STILL:
                break
        return present

    def stepped(self, log_sum: FloatArray, n_rows: float) -> GammaPosterior:
        """q(gamma) for the next rows, where the bound is no lower than before.

        While gamma goes on in one direction it goes further than suits the rows at hand, since the
        rows will follow.
        """
        best = self.raised(log_sum, n_rows)
        step = np.log(best.location / self.location)
        if step @ self.heading > 0.0:
            ahead = replace(best, location=best.location * np.exp(_BEYOND * step))
            if ahead._objective(log_sum, n_rows) >= self._objective(log_sum, n_rows):
                best = ahead
        return replace(best, heading=step)

    def moved_from(self, other: GammaPosterior) -> float:
        """Largest step of a mean since ``other``, in standard deviations given the rows.

        Only classes that matter count: a class that nothing supports goes a long way, to 0.
        """
        step = np.abs(np.log(self.location / other.location)) * np.sqrt(self.shape)
        return float(step[self.location > _MATTERS * self.location.sum()].max())

    def covariance(self, log_slope: FloatArray, n_rows: float) -> FloatArray:
        """Covariance of gamma once the rows have followed it, (C, C).

        The information is what fully known rows would give, less what is missing of them:
        (N + eta) F(gamma) - N times the mean slope of E[ln Y] in gamma, ``log_slope``. At least
        the information of the prior is left.
        """
        loading, fisher = self.loading, dirichlet.fisher_matrix(self.mean)
        complete = loading.T @ ((n_rows + self.prior.eta) * fisher) @ loading
        # The entropy's part keeps a gamma that nothing speaks of, such as of one class, finite.
        complete += np.diag(1.0 / self.location**2)
        missing = loading.T @ (n_rows * log_slope) @ loading
        lost, vectors = eigh(missing, complete)
        left = np.maximum(1.0 - lost, max(self.prior.eta, _LEAST_ETA) / (n_rows + self.prior.eta))
        turned = loading @ vectors
        return np.asarray((turned / left) @ turned.T)

    def _objective(self, log_sum: FloatArray, n_rows: float) -> float:
        """The part of the bound that depends on q(gamma)."""
        own = self.terms(n_rows)
        return own.prior + own.entropy + float(log_sum @ self.mean)

    def _newton(self, slope: FloatArray, n_rows: float) -> FloatArray:
        """Newton's step of the means, as if q(gamma) were narrow."""
        count, mean = n_rows + self.prior.eta, self.mean
        diagonal = self._per_factor(self.share**2 * count * dirichlet.trigamma(mean))
        diagonal += 1.0 / self.location**2
        return solve_less_rank_one(
            diagonal, count * float(dirichlet.trigamma(self.location.sum())), slope
        )

    def _expected_log_normaliser(self) -> tuple[float, FloatArray, FloatArray]:
        """E[ln B(gamma)] = sum_c E[ln Gamma(gamma_c)] - E[ln Gamma(sum)], and gradients (K,)."""
        own = expected_gammaln(self.shape[self.factor, None], self.mean[:, None])
        total = expected_gammaln(self.shape, self.location)
        return (
            float(own.value.sum() - total.value),
            self._per_factor(own.by_shape[:, 0]) - total.by_shape,
            self._per_factor(self.share * own.by_mean[:, 0]) - total.by_mean,
        )

    def _log_normaliser(self) -> float:
        """ln Z of the prior, restricted to gamma in fixed shares if only the mass is learned."""
        if len(self.location) == len(self.share):
            return self.prior.log_normaliser()
        return self.prior.log_normaliser(tuple(self.share.tolist()))

    def _per_factor(self, values: FloatArray) -> FloatArray:
        sums = np.bincount(self.factor, weights=values, minlength=len(self.location))
        return sums.astype(np.float64)
