"""Local step, merge, global step, over blocks of rows.

Given T every row of Y is a small problem of its own, and all that T needs from the rows is a sum of
(C, S) statistics: blocks of rows are updated where they lie, their statistics are added up in the
order of the blocks, and then T takes its step. Blocks run on several threads, since NumPy works
without the interpreter's lock; the answer depends neither on their size nor on the threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.inference.ascent import elbo
from decoupling.inference.ascent.class_prior import GammaPosterior, KnownGamma
from decoupling.inference.ascent.elbo import Terms
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.exact_log import Exact, concentration_range
from decoupling.inference.math.expected_log import make_method
from decoupling.inference.math.method import CoordinateMethod, Method
from decoupling.inference.rows.blocks import Blocks, nothing
from decoupling.inference.rows.rows import Rows

# Least and largest values.
Range = tuple[FloatArray, FloatArray]

# A step is halved at most so often before the row, or T, stays where it is.
_HALVINGS: Final = 12
# A trial step of T costs a pass over the rows, so after a success it grows with care.
_GROWTH: Final = 1.25
# Concentrations shrink at most by this factor in one step, so they stay positive.
_SHRINK: Final = 0.1
# Steps are extrapolated by at most this factor.
LONGEST_LEAP: Final = 100.0
# A fall of this size, relative to the objective, is rounding.
_ROUNDING: Final = 1e-13


@dataclass(frozen=True, eq=False)
class Problem:
    """What is given of all the rows together.

    Attributes
    ----------
    class_prior : KnownGamma or GammaPosterior
        Gamma, the Dirichlet prior of each row of Y, or where q(gamma) begins.
    transition_prior : DirichletRows
        Prior of T (A), in the units of the evidence.
    method, order : str, int
        How E[ln X] is evaluated.
    n_rows, total_evidence : float
        Number of rows, each as often as it stands there, and of observations in all.
    """

    class_prior: KnownGamma | GammaPosterior
    transition_prior: DirichletRows
    method: str
    order: int
    n_rows: float
    total_evidence: float


@dataclass(eq=False)
class State:
    """What is inferred of all the rows together, updated from step to step.

    Attributes
    ----------
    transitions : DirichletRows
        q(T).
    class_prior : KnownGamma or GammaPosterior
        Gamma, or q(gamma).
    transition_step : float
        Length of the next natural step of T, where it must be checked.
    """

    transitions: DirichletRows
    class_prior: KnownGamma | GammaPosterior
    transition_step: float = 1.0


def evaluator(problem: Problem, state: State, blocks: Blocks) -> Method:
    """E[ln X] for the state's distribution of T, ready for the rows."""
    method = make_method(problem.method, state.transitions, problem.order)
    prepare(method, blocks)
    return method


def prepare(method: Method, blocks: Blocks) -> None:
    """Tell a method that keeps tables where the rows are now."""
    if isinstance(method, Exact):
        method.prepare(*blocks.query(_concentration_range, _wider))


def _concentration_range(rows: Rows) -> Range:
    return concentration_range(rows.class_concentration)


def _wider(one: Range, other: Range) -> Range:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


@dataclass(frozen=True, eq=False)
class LocalStatistics:
    """What a block of rows contributes: its terms before the step, and the statistic for T."""

    before: Terms
    transition_statistic: FloatArray

    def merge(self, other: LocalStatistics) -> LocalStatistics:
        """Statistics of both blocks together."""
        return LocalStatistics(
            self.before + other.before, self.transition_statistic + other.transition_statistic
        )


def local_pass(
    state: State,
    method: Method,
    blocks: Blocks,
    *,
    longest_leap: float = 0.0,
    local_steps: int = 1,
) -> LocalStatistics:
    """Natural steps of every row of Y, in place, and the merged statistics."""
    gamma = state.class_prior.mean
    if isinstance(method, CoordinateMethod):
        step: Callable[[Rows], LocalStatistics] = partial(
            coordinate_step, method=method, gamma=gamma, longest_leap=longest_leap
        )
    else:
        step = partial(checked_step, method=method, gamma=gamma)
    return blocks.update(partial(several, step, local_steps), LocalStatistics.merge)


def several(step: Callable[[Rows], LocalStatistics], times: int, rows: Rows) -> LocalStatistics:
    """Take a step several times: terms before the first, the statistic of the last."""
    first = last = step(rows)
    for _ in range(times - 1):
        last = step(rows)
    return LocalStatistics(first.before, last.transition_statistic)


def coordinate_step(
    rows: Rows, method: CoordinateMethod, gamma: FloatArray, longest_leap: float = 0.0
) -> LocalStatistics:
    """Full step of a block, in place: Pi <- gamma + expected counts.

    With a ``longest_leap`` the step is taken from further ahead, row by row: from where two steps
    seem to lead if the bound is no lower there, else from one step ahead.
    """
    weight, concentration = rows.weight(), rows.class_concentration
    logs = dirichlet.expected_log(concentration)
    seen = method.rows(logs)
    terms = _terms_from(gamma, seen.value(), concentration, logs, weight)
    if longest_leap > 0.0:
        once = seen.class_counts(weight) + gamma
        once_logs = dirichlet.expected_log(once)
        twice = method.rows(once_logs).class_counts(weight) + gamma
        leap = leap_of(concentration, once, twice, longest_leap)
        ahead = np.maximum(concentration + leap, gamma)
        logs = dirichlet.expected_log(ahead)
        ahead_terms = _terms_from(gamma, method.rows(logs).value(), ahead, logs, weight)
        no_lower = dirichlet.row_sum(ahead_terms) >= _no_lower_than(terms)
        seen = method.rows(np.where(no_lower[:, None], logs, once_logs))
    np.add(seen.class_counts(weight), gamma, out=concentration)
    before = Terms(*rows.repeated(terms).sum(axis=0).tolist())
    return LocalStatistics(before, seen.transition_counts(rows.repeated(weight)))


def leap_of(
    start: FloatArray, once: FloatArray, twice: FloatArray, longest: float = LONGEST_LEAP
) -> FloatArray:
    r"""How far and where the steps of each row lead, guessed from two of them, (n, C).

    Steps that shrink by a constant factor lead by :math:`2 a r + a^2 v`, with the first step r, the
    change v of the second, and :math:`a = |r| / |v|`: the squared iterative method of Varadhan and
    Roland (2008). It may overshoot, so the caller checks. a = 1 leads to ``twice``; a is at least
    1, and at most ``longest``, since rounding errors of a step grow with its square.
    """
    first = once - start
    change = twice - once
    change -= first
    squares = dirichlet.row_sum(change * change)
    # A row that stands still has no change; its length does not matter.
    length = np.sqrt(dirichlet.row_sum(first * first) / np.where(squares > 0, squares, np.inf))
    length = np.clip(length, 1.0, longest)[:, None]
    first *= 2.0
    change *= length
    change += first
    change *= length
    return change


def checked_step(rows: Rows, method: Method, gamma: FloatArray) -> LocalStatistics:
    r"""Natural step of a block, in place: Pi <- (1 - r) Pi + r (gamma + F(Pi)^-1 g).

    Each row's r is halved until the row's own part of the bound does not fall.
    """
    assert rows.step is not None
    assert rows.terms is not None
    weight, concentration = rows.weight(), rows.class_concentration
    before = Terms(*rows.repeated(rows.terms).sum(axis=0).tolist())
    slopes = method.slopes(concentration, rows.repeated(weight))
    by_class = slopes.by_class / rows.multiplicity[..., None]
    direction = dirichlet.fisher_solve(concentration, by_class)
    direction += gamma
    direction -= concentration
    length = np.minimum(rows.step, longest_step(concentration, direction, method.bounds))
    _backtrack_rows(gamma, method, weight, concentration, direction, length, rows.step, rows.terms)
    return LocalStatistics(before, slopes.by_transition)


def _row_terms(
    gamma: FloatArray, method: Method, concentration: FloatArray, weight: FloatArray
) -> FloatArray:
    """Likelihood, prior and entropy of each row, (n, 3)."""
    logs = dirichlet.expected_log(concentration)
    return _terms_from(gamma, method.value(concentration), concentration, logs, weight)


def _terms_from(
    gamma: FloatArray,
    value: FloatArray,
    concentration: FloatArray,
    logs: FloatArray,
    weight: FloatArray,
) -> FloatArray:
    """The same from E[ln X], the ``value``, and E[ln Y], the ``logs``."""
    prior, entropy = elbo.class_rows(concentration, logs, gamma)
    return np.stack([elbo.likelihood_rows(value, weight), prior, entropy], axis=1)


def _backtrack_rows(
    gamma: FloatArray,
    method: Method,
    weight: FloatArray,
    concentration: FloatArray,
    direction: FloatArray,
    length: FloatArray,
    row_step: FloatArray,
    row_terms: FloatArray,
) -> None:
    """Move each row along its direction, by ``length`` or as far as its objective does not fall.

    Writes to ``concentration``, ``row_step`` and ``row_terms``.
    """
    floor = _no_lower_than(row_terms)
    np.minimum(1.0, 2.0 * length, out=row_step)
    pending: IntArray | slice = slice(None)
    for _ in range(_HALVINGS):
        trial = concentration[pending] + length[pending, None] * direction[pending]
        terms = _row_terms(gamma, method, trial, weight[pending])
        # Written so that a comparison with NaN refuses the step.
        accepted = dirichlet.row_sum(terms) >= floor[pending]
        if isinstance(pending, slice) and accepted.all():
            concentration[:], row_terms[:] = trial, terms
            return
        pending = np.arange(len(concentration))[pending]
        concentration[pending[accepted]] = trial[accepted]
        row_terms[pending[accepted]] = terms[accepted]
        pending = pending[~accepted]
        if len(pending) == 0:
            return
        length[pending] *= 0.5
        row_step[pending] = length[pending]


def _no_lower_than(row_terms: FloatArray) -> FloatArray:
    """Objective of each row less what may be rounding, (n,).

    Without it rounding would decide on rows that have arrived, and blocks of other sizes round in
    other ways.
    """
    floor = dirichlet.row_sum(row_terms)
    floor -= _ROUNDING * (1.0 + dirichlet.row_sum(np.abs(row_terms)))
    return floor


def longest_step(
    concentration: FloatArray,
    direction: FloatArray,
    bounds: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Longest step of each row, at most 1, that leaves every entry a share `_SHRINK` of itself.

    With ``bounds`` on the entries and their sum the step keeps to them as well.
    """
    if bounds is None and (direction >= (_SHRINK - 1.0) * concentration).all():
        return np.ones(len(concentration))
    room = np.where(direction < 0, (1.0 - _SHRINK) * concentration, np.inf)
    change = np.abs(direction)
    if bounds is not None:
        values = np.column_stack([concentration, concentration.sum(axis=1)])
        change = np.column_stack([direction, direction.sum(axis=1)])
        limit = np.where(change < 0, values - bounds[0], bounds[1] - values)
        room = np.minimum(np.column_stack([room, np.full(len(room), np.inf)]), limit)
        change = np.abs(change)
    # A step of 1 is the longest: dividing only where less room is left cannot overflow.
    reach = np.divide(room, change, out=np.ones_like(change), where=room < change)
    return np.asarray(reach.min(axis=-1))


def global_step(
    problem: Problem, state: State, method: Method, statistic: FloatArray, blocks: Blocks
) -> Method:
    r"""Natural step of T: Theta <- (1 - r) Theta + r (A + F(Theta)^-1 g).

    Unless the method always ascends, r is halved until the bound does not fall. Updates ``state``
    and returns the method for the new T.
    """
    old, prior = state.transitions, problem.transition_prior
    if isinstance(method, CoordinateMethod):
        counts = method.transition_matrix(statistic)
        state.transitions = old.replace(prior.parameters + counts)
        return evaluator(problem, state, blocks)
    target = prior.parameters + old.fisher_solve(statistic)
    direction = np.where(old.known[:, None], 0.0, target - old.parameters)
    current = Terms(blocks.query(_noted_likelihood, add))
    current += elbo.transition_terms(old, prior)
    floor = current.elbo - _ROUNDING * (1.0 + abs(current.likelihood) + abs(current.prior))
    length = min(state.transition_step, float(longest_step(old.parameters, direction).min()))
    for _ in range(_HALVINGS):
        state.transitions = old.replace(old.parameters + length * direction)
        trial = evaluator(problem, state, blocks)
        likelihood = blocks.update(partial(_note_likelihood, method=trial), add)
        terms = Terms(likelihood) + elbo.transition_terms(state.transitions, prior)
        if terms.elbo >= floor:
            state.transition_step = min(1.0, _GROWTH * length)
            return trial
        length *= 0.5
    state.transitions, state.transition_step = old, length
    method = evaluator(problem, state, blocks)
    blocks.update(partial(_note_likelihood, method=method), add)
    return method


def class_prior_step(problem: Problem, state: State, method: Method, blocks: Blocks) -> float:
    """Step of q(gamma), given the rows of Y; updates ``state`` and returns how far it went.

    In standard deviations of gamma given the rows.
    """
    old = state.class_prior
    if isinstance(old, KnownGamma):
        return 0.0
    state.class_prior = old.stepped(class_log_sum(blocks), problem.n_rows)
    if not isinstance(method, CoordinateMethod):
        blocks.update(partial(_note_prior, gamma=state.class_prior.mean), nothing)
    return state.class_prior.moved_from(old)


def suit_class_prior(problem: Problem, state: State, blocks: Blocks) -> None:
    """Put q(gamma) where it suits the rows best; updates ``state``."""
    if isinstance(state.class_prior, KnownGamma):
        return
    log_sum = class_log_sum(blocks)
    if np.isfinite(log_sum).all():
        state.class_prior = state.class_prior.raised(log_sum, problem.n_rows)


def class_log_sum(blocks: Blocks) -> FloatArray:
    """Sum of E[ln Y] over the rows, (C,): all that gamma needs of them."""
    return blocks.query(_log_sum, np.add)


def _log_sum(rows: Rows) -> FloatArray:
    expected = dirichlet.expected_log(rows.class_concentration)
    return np.asarray(rows.repeated(expected).sum(axis=0))


def begin_backtracking(state: State, method: Method, blocks: Blocks) -> None:
    """Take notes of the present state for checked steps."""
    blocks.update(partial(_note_all, method=method, gamma=state.class_prior.mean), nothing)
    state.transition_step = 1.0


def _note_all(rows: Rows, method: Method, gamma: FloatArray) -> None:
    rows.terms = _row_terms(gamma, method, rows.class_concentration, rows.weight())
    rows.step = np.ones(len(rows))


def _note_likelihood(rows: Rows, method: Method) -> float:
    assert rows.terms is not None
    rows.terms[:, 0] = elbo.likelihood_rows(method.value(rows.class_concentration), rows.weight())
    return _noted_likelihood(rows)


def _note_prior(rows: Rows, gamma: FloatArray) -> None:
    assert rows.terms is not None
    logs = dirichlet.expected_log(rows.class_concentration)
    rows.terms[:, 1] = logs @ gamma - dirichlet.row_sum(logs)


def _noted_likelihood(rows: Rows) -> float:
    assert rows.terms is not None
    return float(rows.repeated(rows.terms[:, 0]).sum())


def total_terms(problem: Problem, state: State, method: Method, blocks: Blocks) -> Terms:
    """All terms of the bound at this state."""
    terms = partial(block_terms, method=method, gamma=state.class_prior.mean)
    return blocks.query(terms, Terms.__add__) + shared_terms(problem, state)


def block_terms(rows: Rows, method: Method, gamma: FloatArray) -> Terms:
    """Terms of a block of rows."""
    by_row = _row_terms(gamma, method, rows.class_concentration, rows.weight())
    return Terms(*rows.repeated(by_row).sum(axis=0).tolist())


def shared_terms(problem: Problem, state: State) -> Terms:
    """Terms that do not belong to a row: those of T and of gamma."""
    own = state.class_prior.terms(problem.n_rows)
    return own + elbo.transition_terms(state.transitions, problem.transition_prior)
