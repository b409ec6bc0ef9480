"""The class prior gamma: known, or learned with its own posterior."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.special import psi

from decoupling._typing import FloatArray, IntArray
from decoupling._validation import as_float, check_positive, check_range, first_offence, frozen
from decoupling.inference.ascent import elbo
from decoupling.inference.ascent.elbo import Terms
from decoupling.inference.math import dirichlet, gamma
from decoupling.inference.math.conjugate import DirP, solve_less_rank_one
from decoupling.transitions._rates import check_rates

# Inner steps of q(gamma) for one step of the rows; they cost next to nothing.
_INNER: Final = 20
_HALVINGS: Final = 20
# A fall of the bound by less than this share of its terms is rounding.
_ROUNDING: Final = 1e-14
# Inner steps end when they are this short. The bound is too flat at its top to say: where it no
# longer rises, but for rounding, gamma may still be off by the root of that.
_STILL: Final = 1e-11
# Steps are so much longer than to where the rows at hand would have gamma; twice as long would be
# too far.
_BEYOND: Final = 0.9
# The share of gamma below which a class does not matter.
_MATTERS: Final = 1e-3
# A step changes a mean or a shape at most by this factor.
_FACTOR: Final = 10.0


@dataclass(frozen=True, eq=False)
class ClassPrior:
    r"""What is known of gamma, the Dirichlet prior of every row's class distribution.

    Its mean says which classes are frequent, its mass how sharp class distributions are: below 1
    most rows belong to one class, above it most are mixed. Made by `known`, `symmetric`,
    `proportions` or `learned`; `infer` takes it as ``class_prior``.

    Notes
    -----
    A row counts for ``evidence`` observations beside gamma. Where the evidence is small an unequal
    gamma decides for the row, and every row may end in the largest class. A symmetric gamma of
    mass 1, the default, has no such hazard, and the share of each class is then read off the rows:
    ``posterior.class_balance``.

    Examples
    --------
    >>> ClassPrior.symmetric(2.0)
    ClassPrior.symmetric(2.0)
    >>> ClassPrior.known([0.5, 0.2])
    ClassPrior.known([0.5, 0.2])
    """

    _how: str
    _shares: FloatArray | Mapping[Hashable, float] | None = None
    _mass: float | None = None
    _rate: FloatArray | None = None
    _eta: float = 0.0

    def __repr__(self) -> str:
        shares = self._shares.tolist() if isinstance(self._shares, np.ndarray) else self._shares
        rate = None if self._rate is None else self._rate.tolist()
        arguments = {
            "known": f"{shares}",
            "symmetric": f"{self._mass}",
            "proportions": f"{shares}, {self._mass}",
            "learned": f"rate={rate}, eta={self._eta}"
            + ("" if shares is None else f", shares={shares}"),
        }
        return f"ClassPrior.{self._how}({arguments[self._how]})"

    @classmethod
    def known(cls, gamma: ArrayLike) -> ClassPrior:
        """Gamma itself, (C,).

        Examples
        --------
        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"])
        >>> rows = [[0.6, 0.4], [0.3, 0.7]]
        >>> infer(rows, prior, class_prior=ClassPrior.known([0.9, 0.3])).class_prior
        array([0.9, 0.3])
        """
        return cls("known", frozen(check_positive("gamma", gamma, ndim=1)))

    @classmethod
    def symmetric(cls, mass: float = 1.0) -> ClassPrior:
        """Every class alike, mass / C.

        Examples
        --------
        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"])
        >>> infer([[0.6, 0.4]], prior, class_prior=ClassPrior.symmetric(4)).class_prior
        array([2., 2.])
        """
        return cls("symmetric", None, _positive_number("mass", mass))

    @classmethod
    def proportions(
        cls, shares: ArrayLike | Mapping[Hashable, float], mass: float = 1.0
    ) -> ClassPrior:
        """Gamma proportional to the shares of the classes, (C,) or a mapping from their names.

        See the hazard in the notes of `ClassPrior` before you use it with little evidence.

        Examples
        --------
        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"])
        >>> shares = ClassPrior.proportions({"cat": 0.75, "dog": 0.25})
        >>> infer([[0.6, 0.4], [0.3, 0.7]], prior, class_prior=shares).class_prior
        array([0.75, 0.25])
        """
        return cls("proportions", _shares(shares), _positive_number("mass", mass))

    @classmethod
    def learned(
        cls,
        rate: ArrayLike | None = None,
        eta: float = 1.0,
        *,
        shares: ArrayLike | Mapping[Hashable, float] | None = None,
    ) -> ClassPrior:
        r"""Gamma unknown, with :math:`p(\gamma) \propto B(\gamma)^{-\eta} e^{-\lambda\gamma}`.

        Parameters
        ----------
        rate : float or array-like (C,), optional
            lambda. By default such that the prior is highest at a symmetric gamma of mass 1; for
            it to be highest at g pass ``eta * (psi(g.sum()) - psi(g))``, with scipy's ``psi``.
        eta : float
            Number of rows that the prior is worth.
        shares : array-like (C,) or mapping, optional
            If given, gamma stays proportional to them and only its mass is learned. Equal shares
            cannot draw rows towards the largest class.

        Examples
        --------
        Rows that are clear ask for less mass than the 1 of the default:

        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.1, strength=100)
        >>> learned = ClassPrior.learned(shares=[0.5, 0.5])
        >>> posterior = infer([[0.9, 0.1], [0.1, 0.9]] * 50, prior, class_prior=learned)
        >>> bool(posterior.class_prior.sum() < 1)
        True
        """
        if not (isinstance(eta, Real) and np.isfinite(eta) and eta >= 0):
            raise ValueError(f"eta must be a finite number, 0 or more; got {eta!r}.")
        if rate is None and eta == 0:
            raise ValueError("With eta = 0 there is no default rate: give one, above 0.")
        rates = None if rate is None else as_float("rate", np.atleast_1d(rate), ndim=1)
        if rates is not None:
            advice = "It is lambda: finite, and for gamma to be about g, eta (psi(sum g) - psi(g))."
            first_offence("rate", rates, ~np.isfinite(rates), "not finite", advice)
            check_range("rate", rates)
            rates = frozen(rates)
        return cls("learned", None if shares is None else _shares(shares), None, rates, float(eta))

    def start(self, classes: tuple[Hashable, ...]) -> KnownGamma | GammaPosterior:
        """Where the inference begins."""
        n_classes = len(classes)
        equal = np.full(n_classes, 1.0 / n_classes)
        if self._how == "known":
            assert isinstance(self._shares, np.ndarray)
            if self._shares.shape != (n_classes,):
                raise ValueError(
                    f"class_prior must have one entry per class, shape ({n_classes},); "
                    f"got {self._shares.shape}."
                )
            return KnownGamma(self._shares)
        shares = None if self._shares is None else _by_class(self._shares, classes)
        if self._mass is not None:
            gamma = self._mass * (equal if shares is None else shares)
            return KnownGamma(frozen(check_positive("class_prior", gamma, ndim=1)))
        if self._rate is None:
            rate = np.full(n_classes, self._eta * float(psi(1.0) - psi(1.0 / n_classes)))
            # A single class has no shape to speak of: as if its gamma were about 1.
            rate = rate if n_classes > 1 else np.ones(1)
        elif len(self._rate) in (1, n_classes):
            rate = np.broadcast_to(self._rate, (n_classes,))
        else:
            raise ValueError(
                f"rate must be a number or have one entry per class, {n_classes}; "
                f"got {len(self._rate)}."
            )
        return GammaPosterior.start(DirP(frozen(rate), self._eta), shares)


@dataclass(frozen=True, eq=False)
class KnownGamma:
    """Gamma as a constant."""

    mean: FloatArray

    def terms(self, n_rows: float) -> Terms:
        """- N ln B(gamma)."""
        return elbo.class_constant(n_rows, self.mean)

    def resumed(self, other: KnownGamma | GammaPosterior) -> KnownGamma:
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
        Which variable each class hangs on.
    share : array (C,)
        And by how much; 1 in sum for each variable.
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
        """At mass 1 with classes alike, wherever the prior is: a vague one is far out."""
        n_classes = len(prior.rate)
        if shares is None:
            factor, share = np.arange(n_classes), np.ones(n_classes)
        else:
            factor, share = np.zeros(n_classes, dtype=int), shares
        n_factors = int(factor[-1]) + 1
        location, shape = np.full(n_factors, 1.0 / n_factors), np.ones(n_factors)
        return cls(prior, shape, location, factor, share, np.zeros(n_factors))

    def resumed(self, other: KnownGamma | GammaPosterior) -> GammaPosterior:
        """Q(gamma) where another run ended, if it learned gamma in the same way."""
        if isinstance(other, GammaPosterior) and len(other.location) == len(self.location):
            return replace(self, shape=other.shape, location=other.location)
        return self

    @property
    def mean(self) -> FloatArray:
        """E[gamma], (C,)."""
        return self.share * self.location[self.factor]

    @property
    def loading(self) -> FloatArray:
        """How gamma follows g, (C, K)."""
        out = np.zeros((len(self.share), len(self.location)))
        out[np.arange(len(self.share)), self.factor] = self.share
        return out

    def terms(self, n_rows: float) -> Terms:
        """- (N + eta) E[ln B] - lambda E[gamma], the entropy, and - ln Z."""
        normaliser = self._expected_log_normaliser()[0]
        prior = -(n_rows + self.prior.eta) * normaliser - float(self.prior.rate @ self.mean)
        entropy = float(gamma.entropy(self.shape, self.location).sum())
        return Terms(prior=prior, entropy=entropy, constant=-self._log_normaliser())

    def gradient(self, log_sum: FloatArray, n_rows: float) -> tuple[FloatArray, FloatArray]:
        """Gradients of the bound in shape and location, each (K,), for rows with this `log_sum`."""
        _, by_shape, by_location = self._expected_log_normaliser()
        count = n_rows + self.prior.eta
        own_shape, own_location = gamma.entropy_gradient(self.shape, self.location)
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
            shape_step = by_shape / (gamma.shape_information(present.shape) * present.shape)
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
                    shape=np.maximum(shape, gamma.SMALLEST_SHAPE),
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
        """Q(gamma) for the next rows, no lower than it was.

        While it goes on the same way it goes beyond what suits the rows at hand: they will follow.
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

        Of classes that matter: the way of one that nothing supports, to 0, is long.
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
        left = np.maximum(1.0 - lost, max(self.prior.eta, 1e-9) / (n_rows + self.prior.eta))
        turned = loading @ vectors
        return np.asarray((turned / left) @ turned.T)

    def _objective(self, log_sum: FloatArray, n_rows: float) -> float:
        """All of the bound that depends on q(gamma)."""
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
        own = gamma.expected_gammaln(self.shape[self.factor, None], self.mean[:, None])
        total = gamma.expected_gammaln(self.shape, self.location)
        return (
            float(own.value.sum() - total.value),
            self._per_factor(own.by_shape[:, 0]) - total.by_shape,
            self._per_factor(self.share * own.by_mean[:, 0]) - total.by_mean,
        )

    def _log_normaliser(self) -> float:
        """Ln Z of the prior, restricted to gamma in fixed shares if only the mass is learned."""
        if len(self.location) == len(self.share):
            return self.prior.log_normaliser()
        return self.prior.log_normaliser(tuple(self.share.tolist()))

    def _per_factor(self, values: FloatArray) -> FloatArray:
        sums = np.bincount(self.factor, weights=values, minlength=len(self.location))
        return sums.astype(np.float64)


def as_class_prior(value: ClassPrior | ArrayLike | None) -> ClassPrior:
    """What was given as ``class_prior``: a `ClassPrior`, gamma itself, or nothing."""
    if value is None:
        return ClassPrior.symmetric()
    if isinstance(value, ClassPrior):
        return value
    return ClassPrior("known", frozen(check_positive("class_prior", value, ndim=1)))


def _shares(
    shares: ArrayLike | Mapping[Hashable, float],
) -> FloatArray | Mapping[Hashable, float]:
    if isinstance(shares, Mapping):
        _check_shares(np.array([float(share) for share in shares.values()]))
        return dict(shares)
    values = frozen(as_float("shares", shares, ndim=1))
    _check_shares(values)
    return values


def _check_shares(values: FloatArray) -> None:
    if not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"shares must be positive; got {values.tolist()}.")
    if abs(values.sum() - 1.0) > 1e-6:
        raise ValueError(f"shares must sum to 1; their sum is {values.sum():.6g}.")


def _by_class(
    shares: FloatArray | Mapping[Hashable, float], classes: tuple[Hashable, ...]
) -> FloatArray:
    values = check_rates("shares", shares, classes)
    return frozen(values / values.sum())


def _positive_number(name: str, value: float) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive, finite number; got {value!r}.")
    return float(value)
