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

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize
from scipy.special import chdtri, ndtri, softmax
from scipy.stats import qmc

from decoupling._text import Message
from decoupling._typing import BoolArray, FloatArray
from decoupling._validation import warn_user
from decoupling.inference.errors.drawn_rows import DrawnRows
from decoupling.inference.errors.log_transitions import Objective, Position
from decoupling.inference.errors.reported import TOGETHER, LearnedTransitions, Reported
from decoupling.inference.errors.response import relative_weights
from decoupling.inference.math.intervals import interval_by_moments
from decoupling.inference.rows.sample import RowSample

# Draws of T around its maximum: variances are off by some 10% of themselves where all of the draws
# count alike.
_DRAWS_OF_T: Final = 256
# Degrees of freedom of Student's t that they come from: tails no thinner than those of what is
# sought, and few draws far out.
_DEGREES: Final = 7.0
# Draws of T that are worth fewer than so many are not relied upon.
_ENOUGH: Final = 20.0
# Draws of the classes of the median row that are worth less than so many make a rough integral.
_ENOUGH_OF_ROWS: Final = 4.0
# Rows are drawn so often, each time around the T that was found before.
_ROUNDS: Final = 2
# Iterations in which q(Y) of the rows nears its fixed point before they are drawn from it.
_SETTLING: Final = 50
# Quantiles are taken no nearer to 0 and 1 than this, where they are infinite.
_EDGE: Final = 1e-9
# Steps to the maximum at most; a few dozen are usual.
_MOST_STEPS: Final = 200
# Directions in which the sum is flatter than this share of its steepest do not move T.
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
        What the draws of the median row are worth: if few, integrals are rough.
    effective_transitions : float
        What the draws of T are worth. Below 20 mean and variance are those of the curvature at the
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
        """Add to the variances, (C, S) and (C,)."""
        return replace(
            self,
            transition_variance=self.transition_variance + transitions,
            class_balance_variance=self.class_balance_variance + class_balance,
        )

    def over(self, labels: BoolArray) -> Integrated:
        """Add columns for labels that no class can get; ``labels`` (S,) says which it can."""
        mean, variance = np.zeros((2, len(self.transitions), len(labels)))
        mean[:, labels], variance[:, labels] = self.transitions, self.transition_variance
        return replace(self, transitions=mean, transition_variance=variance)


@dataclass(frozen=True, eq=False)
class MarginalProblem:
    """p(T) with the rows' classes integrated out: what it is made of.

    Attributes
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
    left_out : float
        Share of all rows that the sample stands for without holding them, 0 if it is complete: what
        they might have said otherwise widens the answer.
    """

    sample: RowSample
    counts: FloatArray
    gamma: FloatArray
    transitions: FloatArray
    prior: FloatArray
    free: BoolArray
    n_rows: float
    left_out: float = 0.0


def integrated_over_rows(
    learned: LearnedTransitions,
    reported: Reported,
    sample: RowSample,
    n_counting: int,
    n_draws: int,
    rng: Generator,
) -> Integrated:
    """T and the class balance of a posterior, with the rows' classes integrated out.

    Parameters
    ----------
    learned : LearnedTransitions
        q(T) and p(T).
    reported : Reported
        What error bars start from, for the labels that can be seen.
    sample : RowSample
        Some of the rows.
    n_counting : int
        Rows of which it is a sample.
    n_draws : int
        Draws of the classes of each row.
    rng : Generator
        Where they come from.
    """
    possible = learned.posterior.possible_labels
    n_entries = len(learned.prior_share) * np.count_nonzero(possible)
    if n_entries > TOGETHER:
        raise ValueError(
            f"T has {n_entries} entries; classes can be integrated out for up to {TOGETHER}. "
            "transition_interval and class_balance_interval serve any number."
        )
    prior = learned.prior.parameters * learned.share * learned.prior_share
    problem = MarginalProblem(
        sample,
        sample.share * reported.n_rows * reported.row_share,
        reported.class_prior.mean,
        learned.posterior.mean()[:, possible],
        prior[:, possible],
        reported.free,
        reported.n_rows,
        1.0 - len(sample.share) / n_counting,
    )
    found = integrate(problem, n_draws, rng)
    if found.effective_draws < _ENOUGH_OF_ROWS:
        warn_user(
            Message(
                "few-draws",
                "{n_draws} draws of the classes of a row are worth no more than "
                "{effective:.1f}: integrals over them are rough. Raise n_draws.",
                n_draws=n_draws,
                effective=found.effective_draws,
            )
        )
    return found.over(possible)


def integrate(problem: MarginalProblem, n_draws: int, rng: Generator) -> Integrated:
    """Find T with the rows' classes integrated out, by ``n_draws`` of each row."""
    sample, gamma = problem.sample, problem.gamma
    position = Position(problem.transitions, problem.free)
    z, concentration = position.start, sample.concentration
    for _ in range(_ROUNDS):
        here = position.transitions(z)
        concentration = _settled(sample.weight, here, gamma, concentration)
        rows = DrawnRows.of(sample.weight, problem.counts, concentration, gamma, here, n_draws, rng)
        objective = Objective(position, rows, np.where(problem.free, problem.prior, 0.0))
        if len(z):
            z = minimize(
                objective, z, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS}
            ).x
    here = position.transitions(z)
    curvature = rows.curvature(here, sample.share)
    root = inverse_root(objective.precision(here, curvature))
    found = _moments(z, root, objective, sample.share, problem.n_rows, curvature.effective, rng)
    moves = root.T @ position.project(here)
    return found.widened(*curvature.sampling_variance(moves, problem.left_out))


def _moments(
    z: FloatArray,
    root: FloatArray,
    objective: Objective,
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
        # If T has many entries, no draw is near the posterior in all of them. Then variances come
        # from the curvature at the maximum, and draws are weighed by the normal distribution with
        # that curvature.
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
    """Shares of draws, from the logarithms of their importance weights; large ones are cut."""
    worth = np.minimum(softmax(logs), len(logs) ** -0.5)
    return np.asarray(worth / worth.sum())


def _inside(uniform: FloatArray) -> FloatArray:
    """Keep numbers away from 0 and 1, whose quantiles are infinite."""
    return np.clip(uniform, _EDGE, 1.0 - _EDGE)


def inverse_root(precision: FloatArray) -> FloatArray:
    """A root of the inverse, (free, directions), where there is something to invert.

    A row of logarithms may move as a whole, which leaves T where it is.
    """
    values, vectors = np.linalg.eigh(precision)
    kept = values > _FLAT * values.max(initial=0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _settled(
    weight: FloatArray, transitions: FloatArray, gamma: FloatArray, concentration: FloatArray
) -> FloatArray:
    """q(Y) of the rows at this T, near enough to its fixed point to draw from."""
    for _ in range(_SETTLING):
        classes, ratio = relative_weights(concentration, weight, transitions)
        concentration = gamma + classes * (ratio @ transitions.T)
    return concentration
