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

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import comb
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, psi

from decoupling._typing import FloatArray
from decoupling.inference import dirichlet
from decoupling.inference.agreement import AgreementSeries, check_pair
from decoupling.inference.dirichlet import DirichletRows, trigamma
from decoupling.inference.exact_log import ExactIntegral
from decoupling.transitions.prior import TransitionPrior

# Below it a sum of products of exponentials has lost its digits.
_UNDERFLOW: Final = 1e-280


def expected_log(
    class_concentration: ArrayLike,
    transition_concentration: ArrayLike | TransitionPrior,
    method: str = "exact",
    order: int = 2,
) -> FloatArray:
    r"""Expected logarithm :math:`E[\ln \sum_c Y_{ic} T_{cs}]` of each label's probability.

    Parameters
    ----------
    class_concentration : array-like (N, C)
        Dirichlet concentrations of each row of Y, called Pi in the paper.
    transition_concentration : array-like (C, S) or TransitionPrior
        Dirichlet concentrations of each row of T, called Theta in the paper; zeros are impossible
        labels. A `TransitionPrior` may hold known rows.
    method : {"exact", "bound", "beta", "taylor"}
        How to evaluate it.
    order : int
        Order of the Taylor series; only for "taylor".

    Returns
    -------
    array (N, S)
        Minus infinity in the column of a label that no class can emit.

    Examples
    --------
    >>> pi, theta = [[2.0, 3.0, 4.0, 1.0]], [[3.0, 7.0], [1.0, 9.0], [0.5, 9.5], [8.0, 2.0]]
    >>> for method in ("exact", "beta", "bound"):
    ...     print(method, round(float(expected_log(pi, theta, method)[0, 0]), 4))
    exact -1.7727
    beta -1.7761
    bound -2.2049
    """
    concentration, transitions = check_pair(class_concentration, transition_concentration)
    possible = transitions.possible_labels
    out = np.full((len(concentration), len(possible)), -np.inf)
    out[:, possible] = make_method(method, transitions.columns(possible), order).value(
        concentration
    )
    return out


class Evaluation(NamedTuple):
    """A value with the gradients of its weighted sum.

    Attributes
    ----------
    value : array (N, S)
        E[ln X].
    class_gradient : array (N, C)
        Gradient of ``sum(weight * value)`` in the concentrations of Y (Pi).
    transition_gradient : array (C, S)
        The same in the concentrations of T (Theta); 0 in known rows and at structural zeros.
    """

    value: FloatArray
    class_gradient: FloatArray
    transition_gradient: FloatArray


class NaturalEvaluation(NamedTuple):
    """E[ln X] with the natural gradients of its weighted sum.

    ``class_direction`` (N, C) is F(Pi)^-1 times the gradient in Pi. ``transition_statistic``
    (C, S) adds up over blocks of rows and becomes a direction in `Method.transition_direction`.
    """

    value: FloatArray
    class_direction: FloatArray
    transition_statistic: FloatArray


class Method(ABC):
    """One way to evaluate E[ln X] for one distribution of T.

    Every label must be possible for at least one class.
    """

    #: A full natural step in Y and T can never lower the bound, so it needs no check.
    always_ascends: ClassVar[bool] = False

    def __init__(self, transitions: DirichletRows) -> None:
        self.transitions = transitions

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray] | None:
        """Least and largest concentration of each class and of their sum, each (C + 1,).

        Steps stay between them, so that every row is served by the same tables.
        """
        return None

    def prepare(self, class_concentration: FloatArray) -> None:  # noqa: B027
        """Hear of all the rows before they come in blocks; for methods that keep tables."""

    @abstractmethod
    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""

    @abstractmethod
    def gradients(self, class_concentration: FloatArray, weight: FloatArray) -> Evaluation:
        """E[ln X] and the gradients of ``sum(weight * E[ln X])``, ``weight`` (N, S)."""

    def natural(
        self, class_concentration: FloatArray, class_logs: FloatArray, weight: FloatArray
    ) -> NaturalEvaluation:
        """Natural gradients, by a Fisher solve unless a method knows better.

        ``class_logs`` is E[ln Y], which the caller has at hand.
        """
        value, by_class, by_transition = self.gradients(class_concentration, weight)
        direction = dirichlet.fisher_solve(class_concentration, by_class)
        return NaturalEvaluation(value, direction, by_transition)

    def transition_direction(self, statistic: FloatArray) -> FloatArray:
        """Natural gradient in Theta from the summed ``transition_statistic``, (C, S)."""
        return self.transitions.fisher_solve(statistic)


class Bound(Method):
    r"""Lower bound of topic models: :math:`\ln \sum_c \exp(E \ln Y_{ic} + E \ln T_{cs})`.

    It depends on the concentrations through the expected logarithms alone, so the natural gradient
    is the expected count of each class: no Fisher matrix is needed, and a full step is the classic
    coordinate ascent, which always ascends.
    """

    always_ascends = True

    def __init__(self, transitions: DirichletRows) -> None:
        super().__init__(transitions)
        self._transition_logs = transitions.expected_log()  # (C, S)
        self._label_shift = self._transition_logs.max(axis=0)  # (S,)
        self._transition_weights = np.exp(self._transition_logs - self._label_shift)

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        class_logs = dirichlet.expected_log(class_concentration)
        _, mixture, shift = self._mixture(class_logs)
        return self._logarithm(class_logs, mixture, shift)

    def gradients(self, class_concentration: FloatArray, weight: FloatArray) -> Evaluation:
        """E[ln X] and the gradients of ``sum(weight * E[ln X])``."""
        class_logs = dirichlet.expected_log(class_concentration)
        value, by_class, by_transition = self.natural(class_concentration, class_logs, weight)
        return Evaluation(
            value,
            dirichlet.fisher_product(class_concentration, by_class),
            self.transitions.fisher_product(by_transition),
        )

    def natural(
        self, class_concentration: FloatArray, class_logs: FloatArray, weight: FloatArray
    ) -> NaturalEvaluation:
        """Expected counts of classes and of transitions: the gradients in E[ln Y] and E[ln T]."""
        class_weights, mixture, shift = self._mixture(class_logs)
        value = self._logarithm(class_logs, mixture, shift)
        lost = mixture < _UNDERFLOW
        rescue = lost.any()
        ratio = weight / (np.where(lost, np.inf, mixture) if rescue else mixture)  # (N, S)
        by_class = ratio @ self._transition_weights.T
        by_class *= class_weights
        by_transition = self._transition_weights * (class_weights.T @ ratio)
        if rescue:
            rows, labels = np.nonzero(lost)
            logs = class_logs[rows] + self._transition_logs[:, labels].T
            counts = np.exp(logs - value[rows, labels, None]) * weight[rows, labels, None]
            np.add.at(by_class, rows, counts)
            np.add.at(by_transition.T, labels, counts)
        return NaturalEvaluation(value, by_class, by_transition)

    def transition_direction(self, statistic: FloatArray) -> FloatArray:
        """The counts are the direction."""
        return np.where(self.transitions.known[:, None], 0.0, statistic)

    def _mixture(self, class_logs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Without the shifts exp underflows as soon as a concentration is below about 0.0014.
        shift = class_logs.max(axis=1, keepdims=True)
        class_weights = class_logs - shift
        np.exp(class_weights, out=class_weights)
        return class_weights, class_weights @ self._transition_weights, shift

    def _logarithm(
        self, class_logs: FloatArray, mixture: FloatArray, shift: FloatArray
    ) -> FloatArray:
        out = np.log(np.maximum(mixture, _UNDERFLOW))
        out += shift
        out += self._label_shift
        # The class with the largest Y and the one with the largest T may differ so much that the
        # product underflows in spite of the shifts: such entries are summed in the log domain.
        rows, labels = np.nonzero(mixture < _UNDERFLOW)
        if len(rows):
            logs = class_logs[rows] + self._transition_logs[:, labels].T
            out[rows, labels] = logsumexp(logs, axis=1)
        return out


class Taylor(Method):
    r"""Taylor series of the logarithm around E[X], to order K (the paper's approximation).

    .. math:: \ln\mu - \sum_{p=1}^K \frac1p + \sum_{j=1}^K \tau_j \mu^{-j} E[X^j], \qquad
        \tau_j = (-1)^{j-1} \sum_{p=j}^K \frac1p \binom pj

    The series converges only where X < 2 E[X]; raising the order can make it worse.
    """

    def __init__(self, transitions: DirichletRows, order: int = 2) -> None:
        super().__init__(transitions)
        self._series = AgreementSeries.of(transitions, order)
        self._constant = sum(1.0 / p for p in range(1, order + 1))
        self._tau = [
            (-1.0) ** (j - 1) * sum(comb(p, j) / p for p in range(j, order + 1))
            for j in range(1, order + 1)
        ]

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        return self._from_terms(self._series.terms(class_concentration))

    def _from_terms(self, terms: FloatArray) -> FloatArray:
        mean = terms[0]
        out: FloatArray = np.log(mean) - self._constant
        for j, tau in enumerate(self._tau, start=1):
            out += tau * terms[j - 1] / mean**j
        return out

    def gradients(self, class_concentration: FloatArray, weight: FloatArray) -> Evaluation:
        """E[ln X] and the gradients of ``sum(weight * E[ln X])``."""
        terms = self._series.terms(class_concentration)
        mean = terms[0]
        by_term = np.empty_like(terms)
        by_term[0] = weight / mean
        for j, tau in enumerate(self._tau, start=1):
            scaled = tau * weight / mean**j
            if j > 1:
                by_term[j - 1] = scaled
                by_term[0] -= j * scaled * terms[j - 1] / mean
        class_gradient, transition_gradient = self._series.gradients(class_concentration, by_term)
        return Evaluation(self._from_terms(terms), class_gradient, transition_gradient)


class Beta(Method):
    r"""E[ln X] of the Beta distribution with the mean m and variance v of X.

    .. math:: \psi(m\nu) - \psi(\nu), \qquad \nu = m (1 - m) / v - 1

    Exact when T holds only zeros and ones; robust everywhere.
    """

    def __init__(self, transitions: DirichletRows) -> None:
        super().__init__(transitions)
        self._series = AgreementSeries.of(transitions, 2)

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        mean, _, size = self._match(class_concentration)
        return _digamma_difference(mean, size)

    def _match(self, class_concentration: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean m, variance v and concentration nu of X, each (N, S)."""
        total = class_concentration.sum(axis=1, keepdims=True)
        first, second = self._series.log_series(class_concentration)
        mean = first / total
        # E[X²] - E[X]² = (2 L_2 - L_1² / Pi_0) / (Pi_0 (Pi_0 + 1))
        variance = (2.0 * second - first * mean) / (total * (total + 1.0))
        # Rounding can leave nothing, or less than nothing, of the variance of a constant.
        spread = np.maximum(mean * (1.0 - mean), 1e-16 * mean)
        np.clip(variance, 1e-16 * mean * spread, spread / (1.0 + 1e-12), out=variance)
        return mean, variance, spread / variance - 1.0

    def gradients(self, class_concentration: FloatArray, weight: FloatArray) -> Evaluation:
        """E[ln X] and the gradients of ``sum(weight * E[ln X])``."""
        total = class_concentration.sum(axis=1, keepdims=True)
        mean, variance, size = self._match(class_concentration)
        own = trigamma(mean * size)
        by_size = weight * _trigamma_difference(mean, size, own)
        by_mean = weight * size * own + by_size * (1.0 - 2.0 * mean) / variance
        by_variance = -by_size * (size + 1.0) / variance
        # Chain rule through m = L_1 / Pi_0 and v = (2 L_2 - L_1² / Pi_0) / (Pi_0 (Pi_0 + 1)).
        per_variance = by_variance / (total * (total + 1.0))
        by_log = np.empty((2, *mean.shape))
        np.multiply(per_variance, 2.0, out=by_log[1])
        np.subtract(by_mean / total, by_log[1] * mean, out=by_log[0])
        class_gradient, transition_gradient = self._series.log_series_gradients(
            class_concentration, by_log
        )
        by_total = (
            per_variance * mean**2
            - by_mean * mean / total
            - by_variance * variance * (1.0 / total + 1.0 / (total + 1.0))
        ).sum(axis=1, keepdims=True)
        value = _digamma_difference(mean, size)
        return Evaluation(value, class_gradient + by_total, transition_gradient)


def _digamma_difference(mean: FloatArray, size: FloatArray) -> FloatArray:
    return np.asarray(psi(mean * size) - psi(size))


def _trigamma_difference(mean: FloatArray, size: FloatArray, own: FloatArray) -> FloatArray:
    """``mean * trigamma(mean * size) - trigamma(size)`` with its digits kept for large sizes."""
    direct = mean * own - trigamma(size)
    small = mean * size
    certain = small > 1e3
    if not certain.any():
        return direct
    inverse = 1.0 / np.where(certain, small, 1.0)
    # trigamma(x) = 1/x + 1/(2x²) + 1/(6x³) - 1/(30x⁵) + ...; the first terms cancel exactly.
    series = (
        mean
        * inverse**2
        * (
            (1.0 - mean) / 2.0
            + inverse * ((1.0 - mean**2) / 6.0 - inverse**2 * (1.0 - mean**4) / 30.0)
        )
    )
    return np.where(certain, series, direct)


class Exact(Method):
    """E[ln X] by one-dimensional quadrature, to 1e-8: see `decoupling.inference.exact_log`."""

    def __init__(self, transitions: DirichletRows) -> None:
        super().__init__(transitions)
        self._integral = ExactIntegral(transitions)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray] | None:
        """Range of the tables."""
        return self._integral.bounds

    def prepare(self, class_concentration: FloatArray) -> None:
        """Make one set of tables for all the rows."""
        self._integral.prepare(class_concentration)

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        return self._integral.value(class_concentration)

    def gradients(self, class_concentration: FloatArray, weight: FloatArray) -> Evaluation:
        """E[ln X] and the gradients of ``sum(weight * E[ln X])``."""
        return Evaluation(*self._integral.gradients(class_concentration, weight))


METHODS: dict[str, Callable[[DirichletRows, int], Method]] = {
    "taylor": Taylor,
    "beta": lambda transitions, order: Beta(transitions),
    "bound": lambda transitions, order: Bound(transitions),
    "exact": lambda transitions, order: Exact(transitions),
}


def make_method(name: str, transitions: DirichletRows, order: int) -> Method:
    """The method of this name for these transitions; ``order`` matters to "taylor" only."""
    if name not in METHODS:
        raise ValueError(f"expected_log must be one of {sorted(METHODS)}; got {name!r}.")
    if order < 1:
        raise ValueError(f"order must be at least 1; got {order}.")
    return METHODS[name](transitions, order)
