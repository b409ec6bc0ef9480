"""Local step, merge, global step, over blocks of rows.

Given T every row of Y is a small problem of its own, and all that T needs from the rows is a sum of
(C, S) statistics: blocks of rows are updated where they lie, their statistics are added up in the
order of the blocks, and then T takes its step. Blocks run on several threads, since NumPy works
without the interpreter's lock; the answer depends neither on their size nor on the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, TypeVar

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from decoupling._typing import AnyArray, BoolArray, FloatArray
from decoupling.inference import dirichlet, elbo
from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.elbo import Terms
from decoupling.inference.expected_log import Method, make_method

Result = TypeVar("Result")

# A block of every (rows, C) or (rows, S) temporary stays in the second-level cache.
_BLOCK_ENTRIES: Final = 32768
# A step is halved at most so often before the row, or T, stays where it is.
_HALVINGS: Final = 12
# Concentrations shrink at most by this factor in one step, so they stay positive.
_SHRINK: Final = 0.1
# A fall of this size, relative to the objective, is rounding.
_ROUNDING: Final = 1e-13


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
    class_prior : array (C,)
        Dirichlet prior of each row of Y (gamma).
    transition_prior : DirichletRows
        Prior of T (A), in the units of the evidence.
    method, order : str, int
        How E[ln X] is evaluated.
    block_size : int
        Rows per block.
    """

    label_proba: AnyArray
    labels: BoolArray
    evidence: FloatArray
    class_prior: FloatArray
    transition_prior: DirichletRows
    method: str
    order: int
    block_size: int

    def blocks(self) -> list[slice]:
        """Slices of rows."""
        size = self.block_size
        return [slice(i, i + size) for i in range(0, len(self.label_proba), size)]

    def weight(self, rows: slice) -> FloatArray:
        """Evidence times p(s|x) of these rows, (n, S)."""
        block = self.label_proba[rows]
        if not self.labels.all():
            block = block[:, self.labels]
        block = np.array(block, dtype=np.float64, order="C")
        evidence = self.evidence if self.evidence.ndim == 0 else self.evidence[rows]
        block *= (evidence / block.sum(axis=1))[:, None]
        return block

    @property
    def total_evidence(self) -> float:
        """Number of observations in all."""
        n_rows = len(self.label_proba)
        return float(np.broadcast_to(self.evidence, (n_rows,)).sum())

    def evaluator(self, state: State) -> Method:
        """E[ln X] for the state's distribution of T, ready for its rows of Y."""
        method = make_method(self.method, state.transitions, self.order)
        method.prepare(state.class_concentration)
        return method


def default_block_size(n_classes: int, n_labels: int) -> int:
    """Rows per block that keep every temporary in cache."""
    return max(64, _BLOCK_ENTRIES // max(n_classes, n_labels))


@dataclass(eq=False)
class State:
    """What is inferred, and the lengths of the last steps.

    ``class_concentration`` (Pi, (N, C)) is updated in place; ``row_step`` (N,) and
    ``transition_step`` are the natural step lengths that were last accepted.
    """

    class_concentration: FloatArray
    transitions: DirichletRows
    row_step: FloatArray | None = None
    transition_step: float = 1.0


@dataclass(frozen=True, eq=False)
class LocalStatistics:
    """What a block of rows contributes: terms of the bound, and the statistic that T needs.

    ``before`` holds the terms of the rows as they came, ``likelihood`` that after their step.
    """

    before: Terms
    likelihood: float
    transition_statistic: FloatArray

    def merge(self, other: LocalStatistics) -> LocalStatistics:
        """Statistics of both blocks together."""
        return LocalStatistics(
            self.before + other.before,
            self.likelihood + other.likelihood,
            self.transition_statistic + other.transition_statistic,
        )


class BlockMap:
    """Applies a function to every block, on threads, and hands results back in order.

    By default there are as many threads as linear algebra may use, so that the limits of a cluster
    or of an outer parallel loop hold here too; within a block it then runs on one.
    """

    def __init__(self, n_threads: int | None = None, n_blocks: int = 1) -> None:
        self.n_threads = min(n_threads or linear_algebra_threads(), n_blocks)

    def __enter__(self) -> BlockMap:
        """Start the threads."""
        self._stack = ExitStack()
        self._map: Callable[..., Iterable[Any]] = map
        if self.n_threads > 1:
            self._stack.enter_context(threadpool_limits(1, user_api="blas"))
            self._map = self._stack.enter_context(ThreadPoolExecutor(self.n_threads)).map
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop them."""
        self._stack.close()

    def __call__(
        self, function: Callable[[slice], Result], blocks: list[slice]
    ) -> Iterable[Result]:
        """Results in the order of the blocks."""
        return self._map(function, blocks)


def linear_algebra_threads() -> int:
    """Threads that the linear algebra of NumPy may use."""
    libraries = [x for x in threadpool_info() if x["user_api"] == "blas"]
    return max((int(x["num_threads"]) for x in libraries), default=1)


def local_pass(problem: Problem, state: State, method: Method, blocks: BlockMap) -> LocalStatistics:
    """One natural step of every row of Y, in place, and the merged statistics."""

    def step(rows: slice) -> LocalStatistics:
        concentration = state.class_concentration[rows]
        row_step = None if state.row_step is None else state.row_step[rows]
        return local_step(problem, rows, concentration, row_step, method)

    return reduce(LocalStatistics.merge, blocks(step, problem.blocks()))


def local_step(
    problem: Problem,
    rows: slice,
    concentration: FloatArray,
    row_step: FloatArray | None,
    method: Method,
) -> LocalStatistics:
    r"""Natural step of a block: Pi <- (1 - r) Pi + r (gamma + F(Pi)^-1 g), in place.

    With ``row_step`` each row's r is halved until the row's own part of the bound does not fall;
    without it r = 1, for methods that always ascend.
    """
    weight, gamma = problem.weight(rows), problem.class_prior
    logs = dirichlet.expected_log(concentration)
    value, direction, statistic = method.natural(concentration, logs, weight)
    likelihood = elbo.likelihood_rows(value, weight)
    prior, entropy = elbo.class_rows(concentration, logs, gamma)
    before = Terms(float(likelihood.sum()), float(prior.sum()), float(entropy.sum()))
    direction += gamma
    if row_step is None:
        concentration[:] = direction
        return LocalStatistics(before, before.likelihood, statistic)
    direction -= concentration
    after = _backtrack_rows(
        concentration,
        direction,
        np.minimum(row_step, longest_step(concentration, direction, method.bounds)),
        row_step,
        likelihood,
        prior + entropy,
        lambda trial, which: _row_objective(method, trial, weight[which], gamma),
    )
    return LocalStatistics(before, float(after.sum()), statistic)


def _row_objective(
    method: Method, trial: FloatArray, weight: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Likelihood, and prior plus entropy, of each row, each (n,)."""
    likelihood = elbo.likelihood_rows(method.value(trial), weight)
    prior, entropy = elbo.class_rows(trial, dirichlet.expected_log(trial), gamma)
    return likelihood, prior + entropy


def _backtrack_rows(
    concentration: FloatArray,
    direction: FloatArray,
    length: FloatArray,
    row_step: FloatArray,
    likelihood: FloatArray,
    rest: FloatArray,
    objective: Callable[[FloatArray, AnyArray], tuple[FloatArray, FloatArray]],
) -> FloatArray:
    """Move each row along its direction, by ``length`` or as far as its objective does not fall.

    Writes to ``concentration`` and ``row_step``; returns the likelihood of each row afterwards.
    """
    likelihood = likelihood.copy()
    floor = likelihood + rest
    floor -= _ROUNDING * (1.0 + np.abs(likelihood) + np.abs(rest))
    np.minimum(1.0, 2.0 * length, out=row_step)
    pending = np.arange(len(concentration))
    for _ in range(_HALVINGS):
        trial = concentration[pending] + length[pending, None] * direction[pending]
        new_likelihood, new_rest = objective(trial, pending)
        # Written so that a comparison with NaN refuses the step.
        accepted = new_likelihood + new_rest >= floor[pending]
        done = pending[accepted]
        concentration[done] = trial[accepted]
        likelihood[done] = new_likelihood[accepted]
        pending = pending[~accepted]
        if len(pending) == 0:
            break
        length[pending] *= 0.5
        row_step[pending] = length[pending]
    return likelihood


def longest_step(
    concentration: FloatArray,
    direction: FloatArray,
    bounds: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Longest step of each row, at most 1, that leaves every entry a share `_SHRINK` of itself.

    With ``bounds`` on the entries and their sum the step keeps to them as well.
    """
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
    problem: Problem, state: State, method: Method, statistics: LocalStatistics, blocks: BlockMap
) -> Method:
    r"""Natural step of T: Theta <- (1 - r) Theta + r (A + F(Theta)^-1 g).

    Unless the method always ascends, r is halved until the bound does not fall. Updates ``state``
    and returns the method for the new T.
    """
    old, prior = state.transitions, problem.transition_prior
    target = prior.parameters + method.transition_direction(statistics.transition_statistic)
    if method.always_ascends:
        state.transitions = old.replace(target)
        return problem.evaluator(state)
    direction = np.where(old.known[:, None], 0.0, target - old.parameters)
    current = Terms(statistics.likelihood) + elbo.transition_terms(old, prior)
    floor = current.elbo - _ROUNDING * (1.0 + abs(current.likelihood) + abs(current.prior))
    length = min(state.transition_step, float(longest_step(old.parameters, direction).min()))
    for _ in range(_HALVINGS):
        state.transitions = old.replace(old.parameters + length * direction)
        trial = problem.evaluator(state)
        likelihood = total_likelihood(problem, state, trial, blocks)
        terms = Terms(likelihood) + elbo.transition_terms(state.transitions, prior)
        if terms.elbo >= floor:
            state.transition_step = min(1.0, 2.0 * length)
            return trial
        length *= 0.5
    state.transitions, state.transition_step = old, length
    return problem.evaluator(state)


def total_likelihood(problem: Problem, state: State, method: Method, blocks: BlockMap) -> float:
    """Likelihood term of all rows."""

    def likelihood(rows: slice) -> float:
        value = method.value(state.class_concentration[rows])
        return float(elbo.likelihood_rows(value, problem.weight(rows)).sum())

    return sum(blocks(likelihood, problem.blocks()))


def total_terms(problem: Problem, state: State, method: Method, blocks: BlockMap) -> Terms:
    """All terms of the bound at this state."""

    def terms(rows: slice) -> Terms:
        concentration = state.class_concentration[rows]
        logs = dirichlet.expected_log(concentration)
        prior, entropy = elbo.class_rows(concentration, logs, problem.class_prior)
        value = method.value(concentration)
        likelihood = elbo.likelihood_rows(value, problem.weight(rows))
        return Terms(float(likelihood.sum()), float(prior.sum()), float(entropy.sum()))

    of_rows = sum(blocks(terms, problem.blocks()), Terms())
    return of_rows + shared_terms(problem, state)


def shared_terms(problem: Problem, state: State) -> Terms:
    """Terms that do not belong to a row: those of T, and the constants."""
    constant = elbo.class_constant(len(problem.label_proba), problem.class_prior)
    return constant + elbo.transition_terms(state.transitions, problem.transition_prior)
