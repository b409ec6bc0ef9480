"""Steps of T and of gamma, given the rows of Y, and the terms of the bound over all of them."""

from __future__ import annotations

from functools import partial
from operator import add
from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.ascent import elbo
from decoupling.inference.ascent.lengths import HALVINGS, ROUNDING, longest_step
from decoupling.inference.ascent.state import AscentProblem, State
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math import dirichlet
from decoupling.inference.math.method import CoordinateMethod, Method, Range, concentration_range
from decoupling.inference.rows.block import Blocks, Rows, nothing

# A step of T that was taken may be longer by this factor next time, if it was cut short. Each trial
# costs a pass over the rows: doubling it, as rows do with theirs, would fail every second time.
_GROWTH: Final = 1.25


def evaluator(method: Method, state: State, blocks: Blocks) -> Method:
    """The method for the state's distribution of T, ready for the rows."""
    method = method.of(state.transitions)
    prepare(method, blocks)
    return method


def prepare(method: Method, blocks: Blocks) -> None:
    """Tell a method that keeps tables where the rows are now."""
    if method.keeps_tables:
        method.prepare(*blocks.query(_concentration_range, _wider))


def _concentration_range(rows: Rows) -> Range:
    return concentration_range(rows.class_concentration)


def _wider(one: Range, other: Range) -> Range:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


def global_step(
    problem: AscentProblem, state: State, method: Method, statistic: FloatArray, blocks: Blocks
) -> Method:
    r"""Natural step of T: Theta <- (1 - r) Theta + r (A + F(Theta)^-1 g).

    Unless the method always ascends, r is halved until the bound does not fall. Updates ``state``
    and returns the method for the new T.
    """
    old, prior = state.transitions, problem.transition_prior
    if isinstance(method, CoordinateMethod):
        counts = method.transition_matrix(statistic)
        state.transitions = old.replace(prior.parameters + counts)
        return evaluator(method, state, blocks)
    target = prior.parameters + old.fisher_solve(statistic)
    direction = np.where(old.known[:, None], 0.0, target - old.parameters)
    current = Terms(blocks.query(_noted_likelihood, add))
    current += elbo.transition_terms(old, prior)
    size = abs(current.likelihood) + abs(current.together) + abs(current.constant)
    floor = current.elbo - ROUNDING * (1.0 + size)
    length = min(state.transition_step, float(longest_step(old.parameters, direction).min()))
    for _ in range(HALVINGS):
        state.transitions = old.replace(old.parameters + length * direction)
        trial = evaluator(method, state, blocks)
        likelihood = blocks.update(partial(_note_likelihood, method=trial), add)
        terms = Terms(likelihood) + elbo.transition_terms(state.transitions, prior)
        if terms.elbo >= floor:
            state.transition_step = min(1.0, _GROWTH * length)
            return trial
        length *= 0.5
    state.transitions, state.transition_step = old, length
    method = evaluator(method, state, blocks)
    blocks.update(partial(_note_likelihood, method=method), add)
    return method


def class_prior_step(problem: AscentProblem, state: State, method: Method, blocks: Blocks) -> float:
    """Step of q(gamma), given the rows of Y; updates ``state`` and returns how far it went.

    In standard deviations of gamma given the rows.
    """
    old = state.class_prior
    if not old.learned:
        return 0.0
    state.class_prior = old.stepped(class_log_sum(blocks), problem.n_rows)
    if not isinstance(method, CoordinateMethod):
        blocks.update(partial(_note_prior, gamma=state.class_prior.mean), nothing)
    return state.class_prior.moved_from(old)


def suit_class_prior(problem: AscentProblem, state: State, blocks: Blocks) -> None:
    """Put q(gamma) where it suits the rows best; updates ``state``."""
    if not state.class_prior.learned:
        return
    log_sum = class_log_sum(blocks)
    if np.isfinite(log_sum).all():
        state.class_prior = state.class_prior.raised(log_sum, problem.n_rows)


def class_log_sum(blocks: Blocks) -> FloatArray:
    """Sum of E[ln Y] over the rows, (C,): all that gamma needs of them."""
    return blocks.query(_log_sum, np.add)


def _log_sum(rows: Rows) -> FloatArray:
    expected = dirichlet.mean_log(rows.class_concentration)
    return np.asarray(rows.repeated(expected).sum(axis=0))


def begin_backtracking(state: State, method: Method, blocks: Blocks) -> None:
    """Take notes of the present state for checked steps."""
    blocks.update(partial(_note_all, method=method, gamma=state.class_prior.mean), nothing)
    state.transition_step = 1.0


def _note_all(rows: Rows, method: Method, gamma: FloatArray) -> None:
    rows.terms = _row_terms(rows, method, gamma)
    rows.step = np.ones(len(rows))


def _row_terms(rows: Rows, method: Method, gamma: FloatArray) -> FloatArray:
    value = method.value(rows.class_concentration)
    return elbo.row_terms(gamma, value, rows.class_concentration, rows.weight())


def _note_likelihood(rows: Rows, method: Method) -> float:
    assert rows.terms is not None
    rows.terms[:, 0] = elbo.likelihood_rows(method.value(rows.class_concentration), rows.weight())
    return _noted_likelihood(rows)


def _note_prior(rows: Rows, gamma: FloatArray) -> None:
    assert rows.terms is not None
    logs = dirichlet.mean_log(rows.class_concentration)
    rows.terms[:, 1] = logs @ gamma - dirichlet.row_sum(logs)


def _noted_likelihood(rows: Rows) -> float:
    assert rows.terms is not None
    return float(rows.repeated(rows.terms[:, 0]).sum())


def total_terms(problem: AscentProblem, state: State, method: Method, blocks: Blocks) -> Terms:
    """All terms of the bound at this state."""
    terms = partial(block_terms, method=method, gamma=state.class_prior.mean)
    return blocks.query(terms, Terms.__add__) + shared_terms(problem, state)


def block_terms(rows: Rows, method: Method, gamma: FloatArray) -> Terms:
    """Terms of a block of rows."""
    by_row = _row_terms(rows, method, gamma)
    return Terms(*rows.repeated(by_row).sum(axis=0).tolist())


def shared_terms(problem: AscentProblem, state: State) -> Terms:
    """Terms that do not belong to a row: those of T and of gamma."""
    own = state.class_prior.terms(problem.n_rows)
    return own + elbo.transition_terms(state.transitions, problem.transition_prior)
