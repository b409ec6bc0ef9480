"""Steps of T: they raise the bound, or are shortened."""

import pytest
from problems import ascent_problem, started_at

from decoupling.inference.ascent import row_steps, shared_steps
from decoupling.inference.math.expected_log import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_global_step_raises_the_bound(method):
    problem, blocks = ascent_problem()
    with blocks:
        state, evaluator = started_at(method, problem, blocks)
        if method != "bound":
            shared_steps.begin_backtracking(state, evaluator, blocks)
        before = shared_steps.total_terms(problem, state, evaluator, blocks).elbo
        statistic = row_steps.local_pass(
            state.class_prior.mean, evaluator, blocks
        ).transition_statistic
        evaluator = shared_steps.global_step(problem, state, evaluator, statistic, blocks)
        after = shared_steps.total_terms(problem, state, evaluator, blocks)
    assert after.elbo > before
    assert evaluator.transitions is state.transitions
    if method != "bound":
        noted = sum(part.terms[:, 0].sum() for part in blocks.parts)
        assert noted == pytest.approx(after.likelihood, rel=1e-12)


@pytest.mark.parametrize("method", ["beta", "taylor"])
@pytest.mark.parametrize("factor", [-30.0, 30.0])
def test_a_global_step_that_would_fall_is_shortened_or_refused(method, factor):
    problem, blocks = ascent_problem()
    with blocks:
        state, evaluator = started_at(method, problem, blocks)
        shared_steps.begin_backtracking(state, evaluator, blocks)
        statistic = row_steps.local_pass(
            state.class_prior.mean, evaluator, blocks
        ).transition_statistic
        before = shared_steps.total_terms(problem, state, evaluator, blocks).elbo
        evaluator = shared_steps.global_step(problem, state, evaluator, factor * statistic, blocks)
        after = shared_steps.total_terms(problem, state, evaluator, blocks)
    assert after.elbo >= before - 1e-9 * abs(before)
    assert state.transition_step < 1.0
    noted = sum(part.terms[:, 0].sum() for part in blocks.parts)
    assert noted == pytest.approx(after.likelihood, rel=1e-12)
