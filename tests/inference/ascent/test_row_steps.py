"""Steps of rows: blocks, backtracking, extrapolation, merging."""

import numpy as np
import pytest
from problems import ascent_problem, in_blocks, random_problem, started_at

from decoupling.inference.ascent import elbo, row_steps, shared_steps
from decoupling.inference.ascent.lengths import LONGEST_LEAP
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import METHODS


def test_blocks_cover_the_rows_once():
    _, blocks = ascent_problem()
    covered = np.concatenate([part.label_proba for part in blocks.parts])
    np.testing.assert_array_equal(covered, random_problem(0).label_proba)


def test_weights_are_normalised_rows_times_evidence():
    drawn = random_problem(1)
    evidence = np.linspace(1.0, 4.0, 40)
    prior = DirichletRows.free(drawn.concentration)
    _, blocks = in_blocks(1.0005 * drawn.label_proba, prior, np.ones(3), evidence=evidence)
    expected = evidence[7:14, None] * drawn.label_proba[7:14]
    np.testing.assert_allclose(blocks.parts[1].weight(), expected, rtol=1e-12)
    assert blocks.rows.total_evidence == pytest.approx(evidence.sum())


@pytest.mark.parametrize("leap", [0.0, LONGEST_LEAP])
@pytest.mark.parametrize("method", METHODS)
def test_a_local_step_raises_every_row(method, leap):
    problem, blocks = ascent_problem()
    rows = blocks.rows
    with blocks:
        state, evaluator = started_at(method, problem, blocks)

        def terms():
            gamma = state.class_prior.mean
            return elbo.row_terms(
                gamma, evaluator.value(pi := rows.class_concentration), pi, rows.weight()
            )

        if method != "bound":
            shared_steps.begin_backtracking(state, evaluator, blocks)
        for _ in range(5):
            before = terms()
            statistics = row_steps.local_pass(
                state.class_prior.mean, evaluator, blocks, longest_leap=leap
            )
            after = terms()
            assert (after.sum(axis=1) >= before.sum(axis=1) - 1e-9).all()
            assert statistics.before.elbo == pytest.approx(before.sum(), rel=1e-12)
            if method != "bound":
                noted = np.concatenate([part.terms for part in blocks.parts])
                np.testing.assert_allclose(noted, after, rtol=1e-9)


def test_extrapolation_that_overshoots_is_one_more_step(monkeypatch):
    """Rows that would be thrown far from where they are take two plain steps instead."""

    def settled(leap, passes):
        problem, blocks = ascent_problem()
        with blocks:
            state, evaluator = started_at("bound", problem, blocks)
            for _ in range(20):
                row_steps.local_pass(state.class_prior.mean, evaluator, blocks)
            for _ in range(passes):
                row_steps.local_pass(state.class_prior.mean, evaluator, blocks, longest_leap=leap)
            return blocks.rows.class_concentration.copy()

    monkeypatch.setattr(row_steps, "leap_of", lambda start, *_: 1e3 * np.roll(start, 1, axis=1))
    np.testing.assert_allclose(settled(1.0, 1), settled(0.0, 2), rtol=1e-12)


def test_extrapolation_needs_fewer_steps():
    reached = []
    for leap in (0.0, LONGEST_LEAP):
        problem, blocks = ascent_problem(evidence=100.0)
        with blocks:
            state, evaluator = started_at("bound", problem, blocks, learn_transitions=False)
            for _ in range(30):
                row_steps.local_pass(state.class_prior.mean, evaluator, blocks, longest_leap=leap)
            reached.append(shared_steps.total_terms(problem, state, evaluator, blocks).elbo)
            for _ in range(2000):
                row_steps.local_pass(state.class_prior.mean, evaluator, blocks)
            limit = shared_steps.total_terms(problem, state, evaluator, blocks).elbo
    plain, extrapolated = (limit - value for value in reached)
    assert extrapolated < 0.1 * plain


def test_merging_does_not_depend_on_how_rows_are_split():
    results = []
    for block_size in (1, 7, 100):
        problem, blocks = ascent_problem(block_size=block_size, n_threads=2)
        with blocks:
            state, evaluator = started_at("bound", problem, blocks)
            results.append(row_steps.local_pass(state.class_prior.mean, evaluator, blocks))
    for result in results[1:]:
        assert result.before.elbo == pytest.approx(results[0].before.elbo, rel=1e-13)
        np.testing.assert_allclose(
            result.transition_statistic, results[0].transition_statistic, rtol=1e-12
        )
