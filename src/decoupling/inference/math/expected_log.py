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
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, psi, softmax

from decoupling._typing import FloatArray, IntArray
from decoupling._validation import check_count
from decoupling.inference.math import dirichlet
from decoupling.inference.math.agreement import AgreementSeries, check_pair
from decoupling.inference.math.dirichlet import DirichletRows, trigamma
from decoupling.inference.math.exact_log import Exact
from decoupling.inference.math.method import CoordinateMethod, CoordinateRows, Method, Slopes
from decoupling.inference.math.structure import LabelOwners
from decoupling.transitions.prior import TransitionPrior

# Below it a sum of products of exponentials has lost its digits.
_UNDERFLOW: Final = 1e-280
# Its exponential is far below that, even if many are added up, and still a normal number.
_LEAST_LOG: Final = -690.0
# So many logarithms of lost entries at a time.
_LOST_ENTRIES: Final = 2**20


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


class Bound(CoordinateMethod):
    r"""Lower bound of topic models: :math:`\ln \sum_c \exp(E \ln Y_{ic} + E \ln T_{cs})`.

    A true lower bound, by Jensen's inequality; loose when concentrations are small. A label that
    one class alone can emit has a sum of one term: see `LabelOwners`.
    """

    def __init__(self, transitions: DirichletRows) -> None:
        super().__init__(transitions)
        self.owners = LabelOwners.of(transitions.parameters > 0)
        logs = transitions.expected_log()  # (C, S)
        # That of the owner, since the others have minus infinity.
        self.owned_logs = logs[:, self.owners.owned].max(axis=0)
        self.transition_logs = logs[:, self.owners.shared]  # (C, S'): of the shared labels
        self.label_shift = self.transition_logs.max(axis=0)  # (S',)
        self.transition_weights = np.exp(self.transition_logs - self.label_shift)

    def rows(self, class_logs: FloatArray) -> BoundRows:
        """Rows with these E[ln Y], (N, C)."""
        return BoundRows(self, class_logs)

    def transition_matrix(self, counts: FloatArray) -> FloatArray:
        """Counts of transitions as a matrix, (C, S)."""
        return self.owners.unpack(counts)


class BoundRows(CoordinateRows):
    """Some rows of Y under the bound.

    Concentrations of 1e-3 have expected logarithms near -1000, whose exponentials are lost: such
    entries are summed in the log domain.
    """

    def __init__(self, method: Bound, class_logs: FloatArray) -> None:
        self._method = method
        self._class_logs = class_logs
        # Exponentials that underflow take several times as long, and nothing of them would count.
        tiny = class_logs.min() < _LEAST_LOG
        self._class_weights = np.exp(
            np.maximum(class_logs, _LEAST_LOG) if tiny else class_logs
        )  # (N, C)
        self._mixture = self._class_weights @ method.transition_weights  # (N, S')
        self._lost: list[tuple[IntArray, IntArray]] = []
        if self._mixture.min(initial=1.0) < _UNDERFLOW:
            rows, labels = np.nonzero(self._mixture < _UNDERFLOW)
            self._mixture[rows, labels] = 1.0
            # Every class of every lost entry at once could be more than memory holds.
            n_parts = -(-len(rows) * class_logs.shape[1] // _LOST_ENTRIES)
            self._lost = list(
                zip(np.array_split(rows, n_parts), np.array_split(labels, n_parts), strict=True)
            )

    def value(self) -> FloatArray:
        """E[ln X], (N, S)."""
        out: FloatArray = np.log(self._mixture)
        out += self._method.label_shift
        for lost in self._lost:
            out[lost] = logsumexp(self._lost_logs(*lost), axis=1)
        return self._method.owners.join(out, self._class_logs, self._method.owned_logs)

    def class_counts(self, weight: FloatArray) -> FloatArray:
        """Expected counts of classes, (N, C), for ``weight`` (N, S)."""
        shared = weight[:, self._method.owners.shared]
        out: FloatArray = self._ratio(shared) @ self._method.transition_weights.T
        out *= self._class_weights
        for rows, labels in self._lost:
            np.add.at(out, rows, self._lost_counts(shared, rows, labels))
        self._method.owners.add_owned(out, weight)
        return out

    def transition_counts(self, weight: FloatArray) -> FloatArray:
        """Expected counts of the possible transitions, (P,)."""
        shared = weight[:, self._method.owners.shared]
        out: FloatArray = self._class_weights.T @ self._ratio(shared)
        out *= self._method.transition_weights
        for rows, labels in self._lost:
            np.add.at(out.T, labels, self._lost_counts(shared, rows, labels))
        return self._method.owners.pack(out, weight)

    def _ratio(self, shared: FloatArray) -> FloatArray:
        out: FloatArray = shared / self._mixture
        for lost in self._lost:
            out[lost] = 0.0
        return out

    def _lost_counts(self, shared: FloatArray, rows: IntArray, labels: IntArray) -> FloatArray:
        """Expected counts of each class from lost entries, (entries, C)."""
        return np.asarray(
            softmax(self._lost_logs(rows, labels), axis=1) * shared[rows, labels][:, None]
        )

    def _lost_logs(self, rows: IntArray, labels: IntArray) -> FloatArray:
        """E[ln Y] + E[ln T] of every class for lost entries, (entries, C)."""
        return np.asarray(self._class_logs[rows] + self._method.transition_logs[:, labels].T)


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
        spread = np.maximum(1.0 - mean, 1e-16)
        spread *= mean
        np.maximum(variance, 1e-16 * mean * spread, out=variance)
        size = spread / variance
        size -= 1.0
        return mean, variance, np.maximum(size, 1e-12, out=size)

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
    certain = np.nonzero(mean * size > 1e3)
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
    """The method of this name for these transitions; ``order`` matters to "taylor" only."""
    if name not in METHODS:
        raise ValueError(f"expected_log must be one of {sorted(METHODS)}; got {name!r}.")
    check_count("order", order)
    return METHODS[name](transitions, order)
