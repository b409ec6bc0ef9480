"""Local step, merge, global step, over blocks of rows.

Given T every row of Y is a small problem of its own, and all that T needs from the rows is a sum of
(C, S) statistics: blocks of rows are updated where they lie, their statistics are added up in the
order of the blocks, and then T takes its step. Blocks run on several threads, since NumPy works
without the interpreter's lock; the answer depends neither on their size nor on the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Final

import numpy as np

from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling.inference import dirichlet, elbo
from decoupling.inference.blocks import BlockMap
from decoupling.inference.class_prior import GammaPosterior, KnownGamma
from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.elbo import Terms
from decoupling.inference.expected_log import make_method
from decoupling.inference.method import CoordinateMethod, Method

# A block has at most so many entries: few enough for its temporaries to stay near the processor,
# enough for threads not to queue for the interpreter's lock.
_BLOCK_ENTRIES: Final = 2**17
# Fewer entries than these are not worth a second thread.
_ONE_BLOCK: Final = 2**16
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
_ALL_ROWS: Final = slice(None)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is given: label distributions, how much they count, and the priors.

    Attributes
    ----------
    label_proba : array (N, S)
        p(s|x) in the caller's dtype; rows are normalised block by block.
    labels : bool array (S,)
        The labels that some class can emit: only they take part.
    evidence : array () or (N,)
        How many observations a row counts for.
    class_prior : KnownGamma or GammaPosterior
        Gamma, the Dirichlet prior of each row of Y, or where q(gamma) begins.
    transition_prior : DirichletRows
        Prior of T (A), in the units of the evidence.
    method, order : str, int
        How E[ln X] is evaluated.
    block_size : int
        Rows per block.
    multiplicity : array () or (N,)
        How many equal rows a row stands for.
    """

    label_proba: AnyArray
    labels: BoolArray
    evidence: FloatArray
    class_prior: KnownGamma | GammaPosterior
    transition_prior: DirichletRows
    method: str
    order: int
    block_size: int
    multiplicity: FloatArray = field(default_factory=lambda: np.array(1.0))

    def blocks(self) -> list[slice]:
        """Slices of rows."""
        size = self.block_size
        return [slice(i, i + size) for i in range(0, len(self.label_proba), size)]

    def weight(self, rows: slice | IntArray) -> FloatArray:
        """Evidence times p(s|x) of these rows, (n, S)."""
        block = self.label_proba[rows]
        if not self.labels.all():
            block = block[:, self.labels]
        block = np.ascontiguousarray(block, dtype=np.float64)
        scale = _of_rows(self.evidence, rows) / dirichlet.row_sum(block)
        return block * scale[:, None]

    def repeated(self, values: FloatArray, rows: slice = _ALL_ROWS) -> FloatArray:
        """Values of these rows, (n, ...), times how often each row stands there."""
        if self.multiplicity.ndim == 0:
            return values if self.multiplicity == 1.0 else values * self.multiplicity
        count = self.multiplicity[rows]
        return values * count.reshape(-1, *[1] * (values.ndim - 1))

    @property
    def n_rows(self) -> float:
        """Number of rows, each as often as it stands there."""
        return float(np.broadcast_to(self.multiplicity, (len(self.label_proba),)).sum())

    @property
    def total_evidence(self) -> float:
        """Number of observations in all."""
        per_row = np.broadcast_to(self.evidence, (len(self.label_proba),))
        return float(self.repeated(per_row).sum())

    def evaluator(self, state: State) -> Method:
        """E[ln X] for the state's distribution of T, ready for its rows of Y."""
        method = make_method(self.method, state.transitions, self.order)
        method.prepare(state.class_concentration)
        return method


def _of_rows(values: FloatArray, rows: slice | IntArray) -> FloatArray:
    return values if values.ndim == 0 else values[rows]


def default_block_size(n_rows: int, n_classes: int, n_labels: int) -> int:
    """Rows per block: an even number of blocks as equal as can be, so that threads end together."""
    entries = n_rows * max(n_classes, n_labels)
    if entries <= _ONE_BLOCK:
        return max(1, n_rows)
    pairs = -(-entries // (2 * _BLOCK_ENTRIES))
    return -(-n_rows // (2 * pairs))


@dataclass(eq=False)
class State:
    """What is inferred, updated from step to step.

    Attributes
    ----------
    class_concentration : array (N, C)
        Pi, updated in place.
    transitions : DirichletRows
        q(T).
    class_prior : KnownGamma or GammaPosterior
        Gamma, or q(gamma).
    backtracking : Backtracking or None
        Notes for steps that must be checked.
    """

    class_concentration: FloatArray
    transitions: DirichletRows
    class_prior: KnownGamma | GammaPosterior
    backtracking: Backtracking | None = None


@dataclass(eq=False)
class Backtracking:
    """What checked steps remember, so that nothing is evaluated twice.

    Attributes
    ----------
    row_step : array (N,)
        Length of each row's next natural step.
    transition_step : float
        The same for T.
    row_terms : array (N, 3)
        Likelihood, prior and entropy of each row at the present state.
    """

    row_step: FloatArray
    transition_step: float
    row_terms: FloatArray


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
    problem: Problem, state: State, method: Method, blocks: BlockMap, *, longest_leap: float = 0.0
) -> LocalStatistics:
    """Natural steps of every row of Y, in place, and the merged statistics."""

    def step(rows: slice) -> LocalStatistics:
        if isinstance(method, CoordinateMethod):
            return coordinate_step(problem, state, method, rows, longest_leap)
        return checked_step(problem, state, method, rows)

    return reduce(LocalStatistics.merge, blocks(step, problem.blocks()))


def coordinate_step(
    problem: Problem,
    state: State,
    method: CoordinateMethod,
    rows: slice,
    longest_leap: float = 0.0,
) -> LocalStatistics:
    """Full step of a block, in place: Pi <- gamma + expected counts.

    With a ``longest_leap`` the step is taken from further ahead, row by row: from where two steps
    seem to lead if the bound is no lower there, else from one step ahead.
    """
    gamma, weight = state.class_prior.mean, problem.weight(rows)
    concentration = state.class_concentration[rows]
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
    before = Terms(*problem.repeated(terms, rows).sum(axis=0).tolist())
    return LocalStatistics(before, seen.transition_counts(problem.repeated(weight, rows)))


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


def checked_step(problem: Problem, state: State, method: Method, rows: slice) -> LocalStatistics:
    r"""Natural step of a block, in place: Pi <- (1 - r) Pi + r (gamma + F(Pi)^-1 g).

    Each row's r is halved until the row's own part of the bound does not fall.
    """
    assert state.backtracking is not None
    weight, concentration = problem.weight(rows), state.class_concentration[rows]
    row_terms, row_step = state.backtracking.row_terms[rows], state.backtracking.row_step[rows]
    before = Terms(*problem.repeated(row_terms, rows).sum(axis=0).tolist())
    slopes = method.slopes(concentration, problem.repeated(weight, rows))
    by_class = slopes.by_class / _of_rows(problem.multiplicity, rows)[..., None]
    direction = dirichlet.fisher_solve(concentration, by_class)
    gamma = state.class_prior.mean
    direction += gamma
    direction -= concentration
    length = np.minimum(row_step, longest_step(concentration, direction, method.bounds))
    _backtrack_rows(gamma, method, weight, concentration, direction, length, row_step, row_terms)
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
    problem: Problem, state: State, method: Method, statistic: FloatArray, blocks: BlockMap
) -> Method:
    r"""Natural step of T: Theta <- (1 - r) Theta + r (A + F(Theta)^-1 g).

    Unless the method always ascends, r is halved until the bound does not fall. Updates ``state``
    and returns the method for the new T.
    """
    old, prior = state.transitions, problem.transition_prior
    if isinstance(method, CoordinateMethod):
        counts = method.transition_matrix(statistic)
        state.transitions = old.replace(prior.parameters + counts)
        return problem.evaluator(state)
    notes = state.backtracking
    assert notes is not None
    target = prior.parameters + old.fisher_solve(statistic)
    direction = np.where(old.known[:, None], 0.0, target - old.parameters)
    current = Terms(float(problem.repeated(notes.row_terms[:, 0]).sum()))
    current += elbo.transition_terms(old, prior)
    floor = current.elbo - _ROUNDING * (1.0 + abs(current.likelihood) + abs(current.prior))
    length = min(notes.transition_step, float(longest_step(old.parameters, direction).min()))
    for _ in range(_HALVINGS):
        state.transitions = old.replace(old.parameters + length * direction)
        trial = problem.evaluator(state)
        likelihood = row_likelihood(problem, state, trial, blocks)
        terms = Terms(float(problem.repeated(likelihood).sum())) + elbo.transition_terms(
            state.transitions, prior
        )
        if terms.elbo >= floor:
            notes.row_terms[:, 0] = likelihood
            notes.transition_step = min(1.0, _GROWTH * length)
            return trial
        length *= 0.5
    state.transitions, notes.transition_step = old, length
    return problem.evaluator(state)


def class_prior_step(problem: Problem, state: State, blocks: BlockMap) -> float:
    """Step of q(gamma), given the rows of Y; updates ``state`` and returns how far it went.

    In standard deviations of gamma given the rows.
    """
    old = state.class_prior
    if isinstance(old, KnownGamma):
        return 0.0
    log_sum = class_log_sum(problem, state, blocks)
    state.class_prior = old.stepped(log_sum, problem.n_rows)
    if state.backtracking is not None:
        for rows in problem.blocks():
            logs = dirichlet.expected_log(state.class_concentration[rows])
            prior = logs @ state.class_prior.mean - dirichlet.row_sum(logs)
            state.backtracking.row_terms[rows, 1] = prior
    return state.class_prior.moved_from(old)


def suit_class_prior(problem: Problem, state: State, blocks: BlockMap) -> None:
    """Put q(gamma) where it suits the rows best; updates ``state``."""
    if isinstance(state.class_prior, KnownGamma):
        return
    log_sum = class_log_sum(problem, state, blocks)
    if np.isfinite(log_sum).all():
        state.class_prior = state.class_prior.raised(log_sum, problem.n_rows)


def class_log_sum(problem: Problem, state: State, blocks: BlockMap) -> FloatArray:
    """Sum of E[ln Y] over the rows, (C,): all that gamma needs of them."""

    def logs(rows: slice) -> FloatArray:
        expected = dirichlet.expected_log(state.class_concentration[rows])
        return np.asarray(problem.repeated(expected, rows).sum(axis=0))

    return np.asarray(reduce(np.add, blocks(logs, problem.blocks())))


def begin_backtracking(problem: Problem, state: State, method: Method, blocks: BlockMap) -> None:
    """Take notes of the present state for checked steps."""

    def terms(rows: slice) -> FloatArray:
        concentration, weight = state.class_concentration[rows], problem.weight(rows)
        return _row_terms(state.class_prior.mean, method, concentration, weight)

    row_terms = np.concatenate(list(blocks(terms, problem.blocks())))
    state.backtracking = Backtracking(np.ones(len(row_terms)), 1.0, row_terms)


def row_likelihood(problem: Problem, state: State, method: Method, blocks: BlockMap) -> FloatArray:
    """Likelihood of every row, (N,)."""

    def likelihood(rows: slice) -> FloatArray:
        value = method.value(state.class_concentration[rows])
        return elbo.likelihood_rows(value, problem.weight(rows))

    return np.concatenate(list(blocks(likelihood, problem.blocks())))


def total_terms(problem: Problem, state: State, method: Method, blocks: BlockMap) -> Terms:
    """All terms of the bound at this state."""

    def terms(rows: slice) -> Terms:
        concentration, weight = state.class_concentration[rows], problem.weight(rows)
        by_row = _row_terms(state.class_prior.mean, method, concentration, weight)
        return Terms(*problem.repeated(by_row, rows).sum(axis=0).tolist())

    return sum(blocks(terms, problem.blocks()), shared_terms(problem, state))


def shared_terms(problem: Problem, state: State) -> Terms:
    """Terms that do not belong to a row: those of T and of gamma."""
    own = state.class_prior.terms(problem.n_rows)
    return own + elbo.transition_terms(state.transitions, problem.transition_prior)
