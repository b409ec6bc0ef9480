r"""T once the classes of the rows are integrated out, instead of approximated.

q(Y) q(T) takes rows and T for independent, and its mean of T leans towards transitions that are
too clean or too rare. Without that assumption what rows say of T is

.. math:: \ln p(T) + \sum_i a_i \ln \int Dir(Y | \gamma) \prod_s (Y T)_s^{w_{is}} dY

with :math:`w_i` the evidence of a row times its p(s|x) and :math:`a_i` how much it counts in
learning T. Each integral is a mean over draws of Y from a mixture of Dirichlet distributions around
q(Y), which are kept while T moves: the sum is then a smooth function of T. It is maximised over
logarithms of T, where the maximum under a Dirichlet prior alone is its mean, and the curvature
there says how sure T is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize
from scipy.special import chdtri, ndtri, softmax
from scipy.stats import qmc

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.inference.errors.response import relative_weights
from decoupling.inference.math import dirichlet
from decoupling.inference.math.intervals import interval_by_moments
from decoupling.inference.rows.sample import RowSample

# Draws come from q(Y) as wide as the labels leave it, from a wider one, and from the prior.
_SHARES: Final = (0.6, 0.25, 0.15)
_WIDTHS: Final = (0.8, 0.2, 0.0)
# So many numbers of the largest intermediate array at a time.
_ENTRIES: Final = 2**20
# Labels of two classes that are all but the same leave a row at least this sure of its classes.
_LEAST_INFORMATION: Final = 0.02
# Draws of T around its maximum, from Student's t with so many degrees of freedom.
_DRAWS_OF_T: Final = 256
_DEGREES: Final = 7.0
# Draws of T that are worth fewer than so many are not relied upon.
_ENOUGH: Final = 20.0
# Rows are drawn anew so often, where T has come to.
_ROUNDS: Final = 2
# Quantiles of 0 and 1 are infinite.
_EDGE: Final = 1e-9
# Steps to the maximum at most; a few dozen are usual.
_MOST_STEPS: Final = 200
# Something to take the logarithm of.
_TINY: Final = 1e-290
# Directions in which the sum is flatter than this share of its steepest are not of T.
_FLAT: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Integrated:
    """Mean and variance of T and of the class balance.

    Attributes
    ----------
    transitions, transition_variance : arrays (C, S)
        Of T; the variance is 0 where it cannot vary.
    class_balance, class_balance_variance : arrays (C,)
        Of the share of each class among the rows.
    effective_draws : float
        What the draws of the median row are worth; few of them say that the integrals are rough.
    effective_transitions : float
        The same of the draws of T. Below 20 mean and variance are those of the curvature at the
        maximum, which does not see that few observations leave T skewed.

    Examples
    --------
    >>> from decoupling import TransitionPrior, infer
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.3, strength=20)
    >>> found = infer([[0.9, 0.1], [0.1, 0.9]] * 100, prior).integrated()
    >>> bool(found.transitions[0, 0] > 0.8)  # rows this clear speak against so much noise
    True
    >>> bool(found.transition_variance[0, 0] > 0)
    True
    """

    transitions: FloatArray
    transition_variance: FloatArray
    class_balance: FloatArray
    class_balance_variance: FloatArray
    effective_draws: float
    effective_transitions: float

    def transition_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for T, each (C, S).

        Equal tails of a Beta distribution with its mean and variance: steadier than quantiles of
        draws that are worth some dozens.
        """
        return interval_by_moments(self.transitions, self.transition_variance, level)

    def class_balance_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for the share of each class, each (C,)."""
        return interval_by_moments(self.class_balance, self.class_balance_variance, level)

    def widened(self, transitions: FloatArray, class_balance: FloatArray) -> Integrated:
        """The same with so much more variance, (C, S) and (C,)."""
        return replace(
            self,
            transition_variance=self.transition_variance + transitions,
            class_balance_variance=self.class_balance_variance + class_balance,
        )

    def over(self, labels: BoolArray) -> Integrated:
        """The same with columns for the labels that no class can get; ``labels`` (S,) can be."""
        mean, variance = np.zeros((2, len(self.transitions), len(labels)))
        mean[:, labels], variance[:, labels] = self.transitions, self.transition_variance
        return replace(self, transitions=mean, transition_variance=variance)


def integrate(
    sample: RowSample,
    counts: FloatArray,
    gamma: FloatArray,
    transitions: FloatArray,
    prior: FloatArray,
    free: BoolArray,
    *,
    n_rows: float,
    n_draws: int,
    rng: Generator,
    left_out: float = 0.0,
) -> Integrated:
    """Where T is, with the rows' classes integrated out.

    Parameters
    ----------
    sample : RowSample
        Rows, with q(Y) at ``transitions``.
    counts : array (n,)
        How much each counts in learning T (a).
    gamma : array (C,)
        Dirichlet prior of a row's classes.
    transitions : array (C, S)
        Where to start.
    prior : array (C, S)
        Dirichlet concentrations of T (A), in the units of ``counts``.
    free : bool array (C, S)
        Entries that can vary.
    n_rows : float
        Number of rows that the sample stands for.
    n_draws : int
        Draws of Y for each row.
    rng : Generator
        Where they come from.
    left_out : float
        Share of all rows that the sample stands for without holding them, 0 if it is complete: what
        they might have said otherwise widens the answer.
    """
    position = _Position(transitions, free)
    z, concentration = position.start, sample.concentration
    for _ in range(_ROUNDS):
        here = position.transitions(z)
        concentration = _settled(sample.weight, here, gamma, concentration)
        rows = _DrawnRows.of(sample.weight, counts, concentration, gamma, here, n_draws, rng)
        objective = _Objective(position, rows, np.where(free, prior, 0.0))
        if len(z):
            z = minimize(
                objective, z, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS}
            ).x
    here = position.transitions(z)
    curvature = rows.curvature(here, sample.share)
    root = _inverse_root(objective.precision(here, curvature))
    found = _moments(z, root, objective, sample.share, n_rows, curvature.effective, rng)
    moves = root.T @ position.project(here)
    return found.widened(*curvature.sampling_variance(moves, left_out))


def _moments(
    z: FloatArray,
    root: FloatArray,
    objective: _Objective,
    share: FloatArray,
    n_rows: float,
    effective_draws: float,
    rng: Generator,
) -> Integrated:
    """Means and variances by draws of T around the maximum, and what each of them is worth.

    ``root``, (free, directions), is that of the covariance of z by the curvature there. Few
    observations leave T skewed, which its curvature does not show.
    """
    # Student's t: tails no thinner than those of what is sought. Points that fill the space evenly
    # say more of the variance than as many random ones.
    even = qmc.Sobol(root.shape[1] + 1, seed=rng).random(_DRAWS_OF_T)
    scale = np.sqrt(_DEGREES / chdtri(_DEGREES, _inside(even[:, 0])))
    steps = ndtri(_inside(even[:, 1:])) * scale[:, None]
    proposed = -0.5 * (_DEGREES + root.shape[1]) * np.log1p((steps**2).sum(axis=1) / _DEGREES)
    points = z + steps @ root.T
    drawn = np.array([objective.position.transitions(point) for point in points])
    found = [objective.with_balance(transitions, share, n_rows) for transitions in drawn]
    values_there, balance, within = (np.array(part) for part in zip(*found, strict=True))
    worth = _worth(values_there - proposed)
    effective = float(1.0 / (worth**2).sum())
    mean = np.tensordot(worth, drawn, axes=1)
    variance = np.tensordot(worth, (drawn - mean) ** 2, axes=1)
    if effective < _ENOUGH:
        # Of many entries no draw is like the posterior in all: its curvature says more, and
        # draws are weighed as those of the normal distribution that has it.
        worth = _worth(-0.5 * (steps**2).sum(axis=1) - proposed)
        mean = objective.position.transitions(z)
        turned = objective.position.project(mean).T @ root  # (C S, directions): of ln T
        variance = mean**2 * (turned**2).sum(axis=1).reshape(mean.shape)
    middle = np.minimum(worth @ balance, 1.0)  # but for rounding it is
    # Entries that cannot vary are not off by rounding, either.
    mean = np.where(objective.position.free, np.minimum(mean, 1.0), objective.position.first)
    return Integrated(
        mean,
        variance,
        middle,
        worth @ ((balance - middle) ** 2 + within),
        effective_draws,
        effective,
    )


def _worth(logs: FloatArray) -> FloatArray:
    """Shares of draws with these logarithms of importance weights, the largest cut short."""
    worth = np.minimum(softmax(logs), len(logs) ** -0.5)
    return np.asarray(worth / worth.sum())


def _inside(uniform: FloatArray) -> FloatArray:
    """Away from 0 and 1, whose quantiles are infinite."""
    return np.clip(uniform, _EDGE, 1.0 - _EDGE)


@dataclass(frozen=True, eq=False)
class _Objective:
    """Minus the logarithm of p(T), with rows integrated out, and its slope, both by z.

    ``prior`` (C, S) is 0 where T cannot vary.
    """

    position: _Position
    rows: _DrawnRows
    prior: FloatArray

    def _log_prior(self, transitions: FloatArray) -> float:
        safe = np.where(self.prior > 0, np.maximum(transitions, _TINY), 1.0)
        return float((self.prior * np.log(safe)).sum())

    def with_balance(
        self, transitions: FloatArray, share: FloatArray, n_rows: float
    ) -> tuple[float, FloatArray, FloatArray]:
        """The logarithm at this T, and the balance of classes there: its mean and variance."""
        value, mean, variance = self.rows.with_balance(transitions, share, n_rows)
        return value + self._log_prior(transitions), mean, variance

    def __call__(self, z: FloatArray) -> tuple[float, FloatArray]:
        transitions = self.position.transitions(z)
        value, by_logs = self.rows.value(transitions)
        value += self._log_prior(transitions)
        return -value, -self.position.slope(transitions, by_logs + self.prior)

    def precision(self, transitions: FloatArray, curvature: _Curvature) -> FloatArray:
        """Negative second derivative by z."""
        slope = curvature.slopes.sum(axis=0).reshape(transitions.shape) + self.prior
        return self.position.of_logs(curvature.second, transitions, slope)


@dataclass(frozen=True, eq=False)
class _Position:
    """T by the logarithms of its free entries, each row up to a constant."""

    first: FloatArray
    free: BoolArray

    @property
    def index(self) -> IntArray:
        return np.flatnonzero(self.free)

    @property
    def start(self) -> FloatArray:
        return np.log(np.maximum(self.first[self.free], _TINY))

    def transitions(self, z: FloatArray) -> FloatArray:
        logs = np.full(self.first.shape, -np.inf)
        logs[self.free] = z
        taken = np.where(self.free, 0.0, self.first).sum(axis=1, keepdims=True)
        logs -= np.where(self.free.any(axis=1), logs.max(axis=1), 0.0)[:, None]
        out = np.exp(logs)
        total = np.maximum(out.sum(axis=1, keepdims=True), _TINY)
        return np.asarray(np.where(self.free, (1.0 - taken) * out / total, self.first))

    def _share(self, transitions: FloatArray) -> FloatArray:
        """Of each free entry in what the free ones of its class have together, (C, S)."""
        free = np.where(self.free, transitions, 0.0)
        return np.asarray(free / np.maximum(free.sum(axis=1, keepdims=True), _TINY))

    def slope(self, transitions: FloatArray, by_logs: FloatArray) -> FloatArray:
        """Slope by z, of one by ln T, (C, S)."""
        totals = np.where(self.free, by_logs, 0.0).sum(axis=1, keepdims=True)
        return np.asarray((by_logs - self._share(transitions) * totals)[self.free])

    def project(self, transitions: FloatArray) -> FloatArray:
        """Of ln T by z, transposed, (free, C S): moving z as a whole does not move T."""
        classes = np.nonzero(self.free)[0]
        same = classes[:, None] == classes
        out = np.zeros((len(classes), transitions.size))
        out[:, self.index] = (
            np.eye(len(classes)) - same * self._share(transitions)[self.free][:, None]
        )
        return out

    def of_logs(
        self, curvature: FloatArray, transitions: FloatArray, by_logs: FloatArray
    ) -> FloatArray:
        """Negative second derivative by z, of one by ln T and of its slope there."""
        turned = self.project(transitions)
        second = -turned @ curvature @ turned.T
        # ln T is itself curved: ln T_s = z_s - ln sum exp z.
        totals = np.where(self.free, by_logs, 0.0).sum(axis=1)
        classes, share = np.nonzero(self.free)[0], self._share(transitions)[self.free]
        same = classes[:, None] == classes
        second += totals[classes] * (np.diag(share) - same * np.outer(share, share))
        return np.asarray(second)


def _inverse_root(precision: FloatArray) -> FloatArray:
    """A root of the inverse, (free, directions), where there is something to invert.

    A row of logarithms may move as a whole, which leaves T where it is.
    """
    values, vectors = np.linalg.eigh(precision)
    kept = values > _FLAT * values.max(initial=0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _settled(
    weight: FloatArray, transitions: FloatArray, gamma: FloatArray, concentration: FloatArray
) -> FloatArray:
    """q(Y) at this T, near enough to draw from."""
    for _ in range(50):
        classes, ratio = relative_weights(concentration, weight, transitions)
        concentration = gamma + classes * (ratio @ transitions.T)
    return concentration


def _information(concentration: FloatArray, transitions: FloatArray) -> FloatArray:
    """Of what classes themselves would say of a row, the share that labels say, (n, 1)."""
    if len(transitions) == 1:
        return np.ones((len(concentration), 1))
    mean = dirichlet.mean(concentration)
    mixture = np.maximum(mean @ transitions, _TINY)
    root = np.sqrt(mean)[:, :, None] * transitions / np.sqrt(mixture)[:, None, :]
    shares = np.linalg.eigvalsh(root @ np.swapaxes(root, 1, 2))[:, :-1]
    floor = np.maximum(shares, _LEAST_INFORMATION)
    return np.asarray(np.exp(np.log(floor).mean(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class _DrawnRows:
    """Draws of Y for each row, (n, m, C), and the logarithms of their weights before T, (n, m)."""

    draws: FloatArray
    log_weight: FloatArray
    weight: FloatArray
    counts: FloatArray

    @cached_property
    def squares(self) -> FloatArray:
        return np.asarray(self.draws**2)

    @classmethod
    def of(
        cls,
        weight: FloatArray,
        counts: FloatArray,
        concentration: FloatArray,
        gamma: FloatArray,
        transitions: FloatArray,
        n_draws: int,
        rng: Generator,
    ) -> _DrawnRows:
        information = _information(concentration, transitions)
        numbers = [max(1, round(share * n_draws)) for share in _SHARES]
        parts = [gamma + width * information * (concentration - gamma) for width in _WIDTHS]
        shape = (len(weight), len(gamma))
        gammas = np.concatenate(
            [
                rng.gamma(np.broadcast_to(part[:, None, :], (shape[0], m, shape[1])))
                for part, m in zip(parts, numbers, strict=True)
            ],
            axis=1,
        )
        gammas = np.maximum(gammas, _TINY)
        draws = gammas / gammas.sum(axis=2, keepdims=True)
        logs = np.log(np.maximum(draws, _TINY))
        proposed = np.logaddexp.reduce(
            [
                np.log(m / sum(numbers)) + _log_density(logs, part)
                for part, m in zip(parts, numbers, strict=True)
            ]
        )
        target = _log_density(logs, np.broadcast_to(gamma, concentration.shape))
        return cls(draws, target - proposed, weight, counts)

    def _parts(self, entries: int = 0) -> Iterator[slice]:
        """Rows at a time, of which a draw makes so many numbers."""
        n_rows, n_draws, n_classes = self.draws.shape
        size = max(1, _ENTRIES // (n_draws * max(n_classes, self.weight.shape[1], entries)))
        return (slice(i, i + size) for i in range(0, n_rows, size))

    def _weighed(
        self, rows: slice, transitions: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mixtures (n, m, S), logarithms of the integrals (n,), and shares of the draws (n, m)."""
        mixture = np.maximum(self.draws[rows] @ transitions, _TINY)
        logs = (np.log(mixture) @ self.weight[rows][:, :, None])[:, :, 0] + self.log_weight[rows]
        most = logs.max(axis=1, keepdims=True)
        share = np.exp(logs - most)
        total = share.sum(axis=1, keepdims=True)
        return mixture, np.log(total[:, 0]) + most[:, 0], share / total

    def value(self, transitions: FloatArray) -> tuple[float, FloatArray]:
        """Sum over the rows, and its slope in ln T, (C, S)."""
        total, by_transitions = 0.0, np.zeros_like(transitions)
        for rows in self._parts():
            mixture, logs, share = self._weighed(rows, transitions)
            total += float(self.counts[rows] @ logs)
            ratio = self.weight[rows][:, None, :] / mixture
            ratio *= (share * self.counts[rows][:, None])[:, :, None]
            drawn = self.draws[rows].reshape(-1, len(transitions))
            by_transitions += drawn.T @ ratio.reshape(-1, transitions.shape[1])
        return total, by_transitions * transitions

    def with_balance(
        self, transitions: FloatArray, share: FloatArray, n_rows: float
    ) -> tuple[float, FloatArray, FloatArray]:
        """Sum over the rows, and the share of each class among ``n_rows``: mean, variance, (C,)."""
        total, mean, variance = 0.0, np.zeros(len(transitions)), np.zeros(len(transitions))
        for rows in self._parts():
            _, logs, weight = self._weighed(rows, transitions)
            own = (weight[:, None, :] @ self.draws[rows])[:, 0]  # (n, C)
            square = (weight[:, None, :] @ self.squares[rows])[:, 0]
            total += float(self.counts[rows] @ logs)
            mean += share[rows] @ own
            # Rows that are equal have one Y, and members of a row's classes by chance.
            variance += share[rows] ** 2 @ (square - own**2)
            variance += share[rows] @ (own - square) / n_rows
        return total, mean, variance

    def curvature(self, transitions: FloatArray, share: FloatArray) -> _Curvature:
        """Derivatives in ln T; rows have these shares, (n,), of the class balance.

        The second derivative of a row is the mean of that of its draws, and the covariance of their
        slopes.
        """
        n_classes, size = len(transitions), transitions.size
        direct, second = np.zeros((n_classes, *transitions.shape)), np.zeros((size, size))
        by_logs, diagonal = np.zeros((n_classes, size)), np.arange(n_classes)
        found: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for rows in self._parts(size):
            mixture, _, worth = self._weighed(rows, transitions)
            # Shares of each label's classes, (n, m, C, S), and the counts that follow.
            posterior = self.draws[rows][..., None] * transitions / mixture[:, :, None, :]
            own = self.weight[rows][:, None, None, :] * posterior
            mean = np.einsum("nm,nmcs->ncs", worth, own)
            counted = worth * self.counts[rows][:, None]
            direct -= np.einsum("nm,nmcs,nmds->cds", counted, own, posterior, optimize=True)
            direct[diagonal, diagonal] += np.tensordot(self.counts[rows], mean, axes=1)
            off = (own - mean[:, None]).reshape(-1, size)
            second += (off * counted.reshape(-1, 1)).T @ off
            shared = (worth * share[rows][:, None]).reshape(-1, 1)
            by_logs += (self.draws[rows].reshape(-1, n_classes) * shared).T @ off
            slopes = self.counts[rows][:, None] * mean.reshape(-1, size)
            classes = (worth[:, None, :] @ self.draws[rows])[:, 0]
            found.append((slopes, classes, 1.0 / (worth**2).sum(axis=1)))
        labels = np.eye(transitions.shape[1])
        second += np.einsum("cds,st->csdt", direct, labels).reshape(size, size)
        slopes, classes, effective = (np.concatenate(part) for part in zip(*found, strict=True))
        parts = share[:, None] * (classes - share @ classes)
        return _Curvature(transitions, second, slopes, by_logs, parts, float(np.median(effective)))


@dataclass(frozen=True, eq=False)
class _Curvature:
    """How the sum over rows, and the class balance, change with ln T.

    Attributes
    ----------
    transitions : array (C, S)
        At this T.
    second : array (C S, C S)
        Second derivative of the sum.
    slopes : array (n, C S)
        Slope of each row's part.
    balance_by_logs : array (C, C S)
        Slope of the class balance.
    balance_parts : array (n, C)
        What each row adds to the class balance beyond its mean.
    effective : float
        What the draws of the median row are worth.
    """

    transitions: FloatArray
    second: FloatArray
    slopes: FloatArray
    balance_by_logs: FloatArray
    balance_parts: FloatArray
    effective: float

    def sampling_variance(
        self, moves: FloatArray, left_out: float
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of T, (C, S), and of the balance, (C,), since rows were left out.

        They may pull T elsewhere, and hold other classes, as those here do among themselves.
        ``moves``, (directions, C S), is a root of the covariance of ln T by the curvature.
        """
        pulls = self.slopes - self.slopes.mean(axis=0)
        of_logs = pulls @ moves.T @ moves  # (n, C S): how far each row pulls ln T
        balance = self.balance_parts + of_logs @ self.balance_by_logs.T
        variance = self.transitions**2 * (of_logs**2).sum(axis=0).reshape(self.transitions.shape)
        return left_out * variance, left_out * (balance**2).sum(axis=0)


def _log_density(logs: FloatArray, concentration: FloatArray) -> FloatArray:
    """Of Dir(concentration), (n, C), at draws with these logarithms, (n, m, C)."""
    powers = (logs @ (concentration - 1.0)[:, :, None])[:, :, 0]
    return np.asarray(powers - dirichlet.log_normaliser(concentration)[:, None])
