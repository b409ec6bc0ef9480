"""The first guess: rough weights, settled rows, warm starts."""

import numpy as np
import pytest
from problems import random_problem
from scipy.special import psi

from decoupling import TransitionPrior, infer
from decoupling.datasets import four_normals
from decoupling.inference import dirichlet
from decoupling.inference.blocks import BlockMap
from decoupling.inference.class_prior import KnownGamma
from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.start import first_state, rough_exp_digamma, warm_state
from decoupling.inference.steps import Problem, _row_terms


def problem_of(method, evidence, gamma=0.1):
    drawn = random_problem(0)
    rows = DirichletRows.free(drawn.concentration)
    prior, weight = KnownGamma(np.full(3, gamma)), np.array(evidence)
    return Problem(drawn.label_proba, np.ones(4, bool), weight, prior, rows, method, 2, 7)


def start(problem, *, learn_transitions):
    with BlockMap(1) as blocks:
        return first_state(problem, blocks, learn_transitions=learn_transitions)


def test_rough_exp_digamma():
    x = 10.0 ** np.linspace(-1.5, 6.0, 500)
    np.testing.assert_allclose(rough_exp_digamma(x), np.exp(psi(x)), rtol=2e-5)


def test_rough_exp_digamma_of_nothing_left():
    assert rough_exp_digamma(np.array([1e-3]))[0] == 0.0


@pytest.mark.parametrize("method", ["bound", "beta", "exact", "taylor"])
@pytest.mark.parametrize("evidence", [1e-3, 1.0, 100.0, 1e5])
def test_start_is_valid_and_keeps_the_counts(method, evidence):
    problem = problem_of(method, evidence)
    state = start(problem, learn_transitions=True)
    assert (state.class_concentration >= problem.class_prior.mean).all()
    total = state.class_concentration.sum(axis=1) - problem.class_prior.mean.sum()
    np.testing.assert_allclose(total, evidence, rtol=1e-9)


def test_rows_start_near_their_end():
    problem = problem_of("bound", 1.0)
    state = start(problem, learn_transitions=False)
    end = infer(
        problem.label_proba,
        TransitionPrior.from_concentration(problem.transition_prior.parameters),
        class_prior=problem.class_prior.mean,
        evidence=1.0,
        learn_transitions=False,
        tol=1e-12,
    ).class_concentration
    uninformed = problem.class_prior.mean + 1.0 / len(problem.class_prior.mean)
    left = np.abs(state.class_concentration - end).mean()
    assert left < 0.1 * np.abs(uninformed - end).mean()


def test_tiny_priors_of_classes_give_finite_starts():
    problem = problem_of("bound", 1.0, gamma=1e-3)
    state = start(problem, learn_transitions=True)
    assert np.isfinite(state.class_concentration).all()


def test_warm_state_keeps_the_zeros_of_its_own_prior():
    problem = problem_of("bound", 1.0)
    cold = start(problem, learn_transitions=True)
    other = cold.transitions.parameters + 1.0
    other[0, 1] = 0.0
    state = warm_state(
        problem,
        cold.class_concentration,
        cold.transitions.replace(other),
        cold.class_prior,
        learn_transitions=True,
    )
    expected = other.copy()
    expected[0, 1] = cold.transitions.parameters[0, 1]
    np.testing.assert_array_equal(state.transitions.parameters, expected)
    assert state.class_concentration is not cold.class_concentration


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
    rows = DirichletRows.free(5e4 * np.array(mean))
    gamma = KnownGamma(np.full(4, 0.25))
    problem = Problem(vague, np.ones(4, bool), np.array(evidence), gamma, rows, "bound", 2, 500)
    state = start(problem, learn_transitions=True)
    method, weight = problem.evaluator(state), problem.weight(slice(None))

    def settled(concentration):
        for _ in range(200):
            seen = method.rows(dirichlet.expected_log(concentration))
            concentration = seen.class_counts(weight) + gamma.mean
        return _row_terms(gamma.mean, method, concentration, weight).sum(axis=1)

    undecided = np.full_like(state.class_concentration, 0.25 + evidence / 4)
    fell_short = settled(undecided) - settled(state.class_concentration)
    assert fell_short.max() < 2.0
