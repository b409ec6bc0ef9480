"""Local and global steps: blocks, backtracking, merging."""

import numpy as np
import pytest
from problems import random_problem

from decoupling.inference import steps
from decoupling.inference.blocks import BlockMap
from decoupling.inference.class_prior import KnownGamma
from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.expected_log import METHODS
from decoupling.inference.start import first_state
from decoupling.inference.steps import Problem


def problem_of(method, *, evidence=50.0, block_size=7, seed=0):
    drawn = random_problem(seed)
    rows = DirichletRows.free(drawn.concentration)
    gamma = KnownGamma(np.full(3, 1 / 3))
    return Problem(
        drawn.label_proba, np.ones(4, bool), np.array(evidence), gamma, rows, method, 2, block_size
    )


def start(problem, *, learn_transitions):
    with BlockMap(1) as blocks:
        return first_state(problem, blocks, learn_transitions=learn_transitions)


def test_blocks_cover_the_rows_once():
    blocks = problem_of("bound").blocks()
    rows = np.concatenate([np.arange(40)[block] for block in blocks])
    np.testing.assert_array_equal(rows, np.arange(40))


def test_weights_are_normalised_rows_times_evidence():
    drawn = random_problem(1)
    evidence = np.linspace(1.0, 4.0, 40)
    rows = DirichletRows.free(drawn.concentration)
    proba, labels = 1.0005 * drawn.label_proba, np.ones(4, bool)
    problem = Problem(proba, labels, evidence, KnownGamma(np.ones(3)), rows, "bound", 2, 7)
    weight = problem.weight(slice(7, 14))
    np.testing.assert_allclose(weight, evidence[7:14, None] * drawn.label_proba[7:14], rtol=1e-12)
    assert problem.total_evidence == pytest.approx(evidence.sum())


@pytest.mark.parametrize("leap", [0.0, steps.LONGEST_LEAP])
@pytest.mark.parametrize("method", METHODS)
def test_a_local_step_raises_every_row(method, leap):
    problem = problem_of(method)
    state = start(problem, learn_transitions=True)
    evaluator = problem.evaluator(state)
    weight = problem.weight(slice(None))

    gamma = state.class_prior.mean

    def terms():
        return steps._row_terms(gamma, evaluator, state.class_concentration, weight)

    with BlockMap(1) as blocks:
        if method != "bound":
            steps.begin_backtracking(problem, state, evaluator, blocks)
        for _ in range(5):
            before = terms()
            statistics = steps.local_pass(problem, state, evaluator, blocks, longest_leap=leap)
            after = terms()
            assert (after.sum(axis=1) >= before.sum(axis=1) - 1e-9).all()
            assert statistics.before.elbo == pytest.approx(before.sum(), rel=1e-12)
            if state.backtracking is not None:
                np.testing.assert_allclose(state.backtracking.row_terms, after, rtol=1e-9)


def test_extrapolation_finds_the_limit_of_shrinking_steps():
    limit, offset = np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, -0.25, 1.0]])
    path = [limit + 0.9**k * offset for k in range(3)]
    np.testing.assert_allclose(path[0] + steps.leap_of(*path), limit, rtol=1e-12)
    np.testing.assert_array_equal(steps.leap_of(limit, limit, limit), 0.0)


def test_extrapolation_needs_fewer_steps():
    problem = problem_of("bound", evidence=100.0)
    reached = []
    for leap in (0.0, steps.LONGEST_LEAP):
        state = start(problem, learn_transitions=False)
        evaluator = problem.evaluator(state)
        with BlockMap(1) as blocks:
            for _ in range(30):
                steps.local_pass(problem, state, evaluator, blocks, longest_leap=leap)
            reached.append(steps.total_terms(problem, state, evaluator, blocks).elbo)
            for _ in range(2000):
                steps.local_pass(problem, state, evaluator, blocks)
            limit = steps.total_terms(problem, state, evaluator, blocks).elbo
    plain, extrapolated = (limit - value for value in reached)
    assert extrapolated < 0.1 * plain


@pytest.mark.parametrize("method", METHODS)
def test_a_global_step_raises_the_bound(method):
    problem = problem_of(method)
    state = start(problem, learn_transitions=True)
    evaluator = problem.evaluator(state)
    with BlockMap(1) as blocks:
        if method != "bound":
            steps.begin_backtracking(problem, state, evaluator, blocks)
        before = steps.total_terms(problem, state, evaluator, blocks).elbo
        statistic = steps.local_pass(problem, state, evaluator, blocks).transition_statistic
        evaluator = steps.global_step(problem, state, evaluator, statistic, blocks)
        after = steps.total_terms(problem, state, evaluator, blocks).elbo
        likelihood = steps.row_likelihood(problem, state, evaluator, blocks)
    assert after > before
    assert evaluator.transitions is state.transitions
    if state.backtracking is not None:
        np.testing.assert_allclose(state.backtracking.row_terms[:, 0], likelihood, rtol=1e-12)


@pytest.mark.parametrize("method", ["beta", "taylor"])
@pytest.mark.parametrize("factor", [-30.0, 30.0])
def test_a_global_step_that_would_fall_is_shortened_or_refused(method, factor):
    problem = problem_of(method)
    state = start(problem, learn_transitions=True)
    evaluator = problem.evaluator(state)
    with BlockMap(1) as blocks:
        steps.begin_backtracking(problem, state, evaluator, blocks)
        statistic = steps.local_pass(problem, state, evaluator, blocks).transition_statistic
        before = steps.total_terms(problem, state, evaluator, blocks).elbo
        evaluator = steps.global_step(problem, state, evaluator, factor * statistic, blocks)
        after = steps.total_terms(problem, state, evaluator, blocks).elbo
    assert after >= before - 1e-9 * abs(before)
    assert state.backtracking.transition_step < 1.0


def test_merging_does_not_depend_on_how_rows_are_split():
    results = []
    for block_size in (1, 7, 100):
        problem = problem_of("bound", block_size=block_size)
        state = start(problem, learn_transitions=True)
        with BlockMap(2, len(problem.blocks())) as blocks:
            results.append(steps.local_pass(problem, state, problem.evaluator(state), blocks))
    for result in results[1:]:
        assert result.before.elbo == pytest.approx(results[0].before.elbo, rel=1e-13)
        np.testing.assert_allclose(
            result.transition_statistic, results[0].transition_statistic, rtol=1e-12
        )


def test_a_step_never_leaves_the_positive_numbers():
    concentration = np.array([[1.0, 2.0], [1.0, 2.0]])
    direction = np.array([[-10.0, 1.0], [5.0, 5.0]])
    length = steps.longest_step(concentration, direction)
    np.testing.assert_allclose(length, [0.09, 1.0])
    assert (concentration + length[:, None] * direction > 0).all()
