"""The class prior gamma: known, or learned with its own posterior."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import psi

from decoupling._typing import FloatArray
from decoupling._validation import as_float, check_positive, check_range, first_offence, frozen
from decoupling.inference.ascent.gamma_posterior import GammaPosterior, KnownGamma
from decoupling.inference.math.conjugate import DirP
from decoupling.transitions._rates import check_rates

# Sums of shares may miss 1 by this much; beyond it they are refused as a mistake.
_ROUNDING: Final = 1e-6


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
        """Gamma for these classes if it is known, else q(gamma) before anything is learned."""
        if self._how == "known":
            return KnownGamma(self._known(len(classes)))
        shares = None if self._shares is None else _by_class(self._shares, classes)
        if self._mass is not None:
            equal = np.full(len(classes), 1.0 / len(classes))
            gamma = self._mass * (equal if shares is None else shares)
            return KnownGamma(frozen(check_positive("class_prior", gamma, ndim=1)))
        return GammaPosterior.start(DirP(frozen(self._rates(len(classes))), self._eta), shares)

    def _known(self, n_classes: int) -> FloatArray:
        assert isinstance(self._shares, np.ndarray)
        if self._shares.shape != (n_classes,):
            raise ValueError(
                f"class_prior must have one entry per class, shape ({n_classes},); "
                f"got {self._shares.shape}."
            )
        return self._shares

    def _rates(self, n_classes: int) -> FloatArray:
        """Lambda, (C,): as given, or such that the prior is highest at a symmetric gamma."""
        if self._rate is None:
            # A single class has no shape to speak of: as if its gamma were about 1.
            if n_classes == 1:
                return np.ones(1)
            return np.full(n_classes, self._eta * float(psi(1.0) - psi(1.0 / n_classes)))
        if len(self._rate) not in (1, n_classes):
            raise ValueError(
                f"rate must be a number or have one entry per class, {n_classes}; "
                f"got {len(self._rate)}."
            )
        return np.broadcast_to(self._rate, (n_classes,))


def as_class_prior(value: ClassPrior | ArrayLike | None) -> ClassPrior:
    """Return a `ClassPrior` for what was given: one itself, gamma, or nothing."""
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
    if abs(values.sum() - 1.0) > _ROUNDING:
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
