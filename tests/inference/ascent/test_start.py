"""The first guess: rough weights, settled rows, warm starts."""

from functools import partial

import numpy as np
import pytest
from problems import in_blocks, random_problem
from scipy.special import psi

from decoupling import TransitionPrior, infer
from decoupling.datasets import four_normals
from decoupling.inference.ascent import elbo
from decoupling.inference.ascent.start import cold_state, warm_state
from decoupling.inference.math import dirichlet
from decoupling.inference.math.bound import Bound, rough_exp_digamma
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import make_method


def started(method, evidence, gamma=0.1, *, learn_transitions):
    drawn = random_problem(0)
    prior = DirichletRows.free(drawn.concentration)
    problem, blocks = in_blocks(drawn.label_proba, prior, np.full(3, gamma), evidence=evidence)
    make = partial(make_method, method, order=2)
    with blocks:
        state = cold_state(problem, make, blocks, learn_transitions=learn_transitions)
    return problem, state, blocks.rows


def test_rough_exp_digamma():
    x = 10.0 ** np.linspace(-1.5, 6.0, 500)
    np.testing.assert_allclose(rough_exp_digamma(x), np.exp(psi(x)), rtol=2e-5)


def test_rough_exp_digamma_of_nothing_left():
    assert rough_exp_digamma(np.array([1e-3]))[0] == 0.0


@pytest.mark.parametrize("method", ["bound", "beta", "exact", "taylor"])
@pytest.mark.parametrize("evidence", [1e-3, 1.0, 100.0, 1e5])
def test_start_is_valid_and_keeps_the_counts(method, evidence):
    problem, _, rows = started(method, evidence, learn_transitions=True)
    assert (rows.class_concentration >= problem.class_prior.mean).all()
    total = rows.class_concentration.sum(axis=1) - problem.class_prior.mean.sum()
    np.testing.assert_allclose(total, evidence, rtol=1e-9)


def test_rows_start_near_their_end():
    problem, _, rows = started("bound", 1.0, learn_transitions=False)
    end = infer(
        rows.label_proba,
        TransitionPrior.from_concentration(problem.transition_prior.parameters),
        class_prior=problem.class_prior.mean,
        evidence=1.0,
        learn_transitions=False,
        tol=1e-12,
    ).class_concentration
    uninformed = problem.class_prior.mean + 1.0 / len(problem.class_prior.mean)
    left = np.abs(rows.class_concentration - end).mean()
    assert left < 0.1 * np.abs(uninformed - end).mean()


def test_tiny_priors_of_classes_give_finite_starts():
    _, _, rows = started("bound", 1.0, gamma=1e-3, learn_transitions=True)
    assert np.isfinite(rows.class_concentration).all()


def test_warm_state_keeps_the_zeros_of_its_own_prior():
    problem, cold, _ = started("bound", 1.0, learn_transitions=True)
    other = cold.transitions.parameters + 1.0
    other[0, 1] = 0.0
    state = warm_state(
        problem, cold.transitions.replace(other), cold.class_prior, learn_transitions=True
    )
    expected = other.copy()
    expected[0, 1] = cold.transitions.parameters[0, 1]
    np.testing.assert_array_equal(state.transitions.parameters, expected)


def test_a_leap_that_leads_nowhere_is_not_taken():
    """The first row settles at once; what is left of its steps is rounding, and points anywhere."""
    rows = [[0.0, 1.0], [0.5, 0.5], [0.3, 0.7]]
    options = {"class_prior": [0.1, 0.1], "learn_transitions": False}
    posterior = infer(rows, [[1.0, 0.01], [0.01, 1.0]], **options)
    np.testing.assert_allclose(posterior.class_proba.sum(axis=1), 1.0)
    alone = infer(rows[:1], [[1.0, 0.01], [0.01, 1.0]], **options)
    np.testing.assert_allclose(posterior.class_proba[0], alone.class_proba[0], atol=1e-6)


@pytest.mark.parametrize("sharpness", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("evidence", [1.0, 100.0, 1551.0, 1e5])
@pytest.mark.parametrize("gamma", [1e-3, 0.01, 0.5])
def test_certain_rows_among_others(sharpness, evidence, gamma):
    rows = np.stack([np.linspace(0, 1, 41), 1 - np.linspace(0, 1, 41)], axis=1)
    concentration = [[1.0, sharpness], [sharpness, 1.0]]
    posterior = infer(rows, concentration, evidence=evidence, class_prior=[gamma, gamma])
    assert np.isfinite(posterior.trace.elbo).all()
    np.testing.assert_allclose(posterior.class_proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("evidence", [100.0, 300.0])
def test_no_row_leaps_into_the_wrong_corner(evidence):
    """A leap may overshoot, and under the bound a row does not come back from a wrong corner."""
    labels = four_normals(500, random_state=0).label_posterior
    vague = 0.7 * labels + 0.3 * labels.mean(axis=0)
    mean = [[0.985, 0.005, 0.005, 0.005], *(np.eye(4)[1:] * 0.15 + [0.7, 0.05, 0.05, 0.05])]
    prior, gamma = DirichletRows.free(5e4 * np.array(mean)), np.full(4, 0.25)
    problem, blocks = in_blocks(vague, prior, gamma, evidence=evidence, block_size=500)
    with blocks:
        state = cold_state(problem, Bound, blocks, learn_transitions=True)
    method = Bound(state.transitions)
    weight = blocks.rows.weight()

    def settled(concentration):
        for _ in range(200):
            seen = method.rows(dirichlet.mean_log(concentration))
            concentration = seen.class_counts(weight) + gamma
        value = method.value(concentration)
        return elbo.row_terms(gamma, value, concentration, weight).sum(axis=1)

    started = blocks.rows.class_concentration
    undecided = np.full_like(started, 0.25 + evidence / 4)
    fell_short = settled(undecided) - settled(started)
    assert fell_short.max() < 2.0
