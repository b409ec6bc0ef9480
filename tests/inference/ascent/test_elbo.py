"""The bound: against closed forms, Monte Carlo, the exact evidence, and differences."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from problems import in_blocks, random_problem, random_rows

from decoupling import TransitionPrior, infer
from decoupling.inference.ascent import elbo, shared_steps
from decoupling.inference.ascent.lbfgs import total_gradient
from decoupling.inference.ascent.state import State
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import METHODS, make_method


def make_problem(*, seed=0, n_rows=4, prior=None, evidence=2.0):
    """A small problem with a structural zero and a known row, at a random state."""
    rng = np.random.default_rng(seed)
    rows = random_rows(seed) if prior is None else prior
    proba = rng.dirichlet(np.ones(rows.parameters.shape[1]), n_rows)
    gamma = rng.gamma(2.0, 0.5, len(rows.parameters)) + 0.1
    problem, blocks = in_blocks(proba, rows, gamma, evidence=evidence, block_size=3)
    blocks.rows.class_concentration[:] = rng.gamma(1.0, 2.0, (n_rows, len(gamma))) + 0.2
    other = rows.replace(rows.parameters * rng.uniform(0.5, 2.0, rows.parameters.shape))
    return problem, State(other, problem.class_prior), blocks


def terms_of(method, problem, state, blocks):
    with blocks:
        method = shared_steps.evaluator(make_method(method, state.transitions, 2), state, blocks)
        return shared_steps.total_terms(problem, state, method, blocks)


def test_terms_add_up():
    total = Terms(1.0, 2.0, 3.0, 4.0) + Terms(0.5, 0.5, 0.5, 0.5)
    assert (total.likelihood, total.prior, total.entropy, total.constant) == (1.5, 2.5, 3.5, 4.5)
    assert total.elbo == 12.0


def test_bound_is_the_mean_of_ln_p_less_ln_q():
    problem, state, blocks = make_problem()
    terms = terms_of("exact", problem, state, blocks)
    rng, n = np.random.default_rng(1), 20_000
    prior, q = problem.transition_prior, state.transitions
    likelihood, log_prior, log_q = np.zeros(n), np.zeros(n), np.zeros(n)
    transitions = np.zeros((n, *prior.parameters.shape))
    for c in range(len(prior.parameters)):
        keep = prior.parameters[c] > 0
        if prior.known[c]:
            transitions[:, c] = prior.parameters[c]
            continue
        draws = rng.dirichlet(q.parameters[c, keep], n)
        transitions[:, c, keep] = draws
        log_prior += log_density(draws, prior.parameters[c, keep])
        log_q += log_density(draws, q.parameters[c, keep])
    for i, row in enumerate(blocks.rows.class_concentration):
        draws = rng.dirichlet(row, n)
        log_prior += log_density(draws, problem.class_prior.mean)
        log_q += log_density(draws, row)
        mixture = np.einsum("kc,kcs->ks", draws, transitions)
        likelihood += 2.0 * np.log(mixture) @ blocks.rows.label_proba[i]
    for drawn, term in [
        (likelihood, terms.likelihood),
        (log_prior, terms.prior + terms.constant),
        (-log_q, terms.entropy),
        (likelihood + log_prior - log_q, terms.elbo),
    ]:
        assert abs(drawn.mean() - term) < 5 * drawn.std() / np.sqrt(n)


def log_density(draws, a):
    return np.log(draws) @ (a - 1) - dirichlet.log_normaliser(a)


def test_supervised_bound_is_the_evidence():
    # With T = I the posterior is Dirichlet, q is exact, and the bound is tight.
    rng = np.random.default_rng(2)
    proba, gamma = rng.dirichlet(np.ones(3), 5), np.array([0.5, 1.0, 2.0])
    prior = TransitionPrior(np.eye(3), np.inf)
    posterior = infer(proba, prior, class_prior=gamma, evidence=7.0, tol=0, max_iter=50)
    evidence = dirichlet.log_normaliser(gamma + 7.0 * proba) - dirichlet.log_normaliser(gamma)
    assert posterior.trace.elbo[-1] == pytest.approx(evidence.sum(), rel=1e-12)


@pytest.mark.parametrize("method", ["bound", "exact"])
@pytest.mark.parametrize("n_rows", [1, 2])
@pytest.mark.parametrize("known", [None, [True, True], [False, True]])
def test_bound_is_below_the_evidence(method, n_rows, known):
    proba = np.array([[0.7, 0.3], [0.2, 0.8]])[:n_rows]
    theta, gamma = np.array([[4.0, 1.5], [1.0, 3.0]]), np.array([0.8, 1.3])
    strength = theta.sum(axis=1)
    if known is not None:
        strength = np.where(known, np.inf, strength)
        theta = np.where(np.array(known)[:, None], dirichlet.mean(theta), theta)
    prior = TransitionPrior(dirichlet.mean(theta), strength)
    posterior = infer(
        proba, prior, class_prior=gamma, evidence=3.0, transition_evidence=3.0,
        expected_log=method, tol=1e-12,
    )  # fmt: skip
    evidence = oracle.log_evidence(3.0 * proba, gamma, theta, known)
    gap = evidence - posterior.trace.elbo[-1]
    assert 0 < gap < (0.2 if method == "exact" else 2.0)


def test_exact_bound_is_the_tighter_one():
    problem = random_problem(3, n_rows=10)
    ends = {
        m: infer(problem.label_proba, problem.concentration, evidence=1, expected_log=m).trace.elbo[
            -1
        ]
        for m in ("bound", "exact")
    }
    assert ends["bound"] < ends["exact"]


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_constants_make_priors_comparable():
    # The prior that the data came from has the higher bound.
    problem = random_problem(4, n_rows=300)
    right = TransitionPrior(problem.transitions, np.inf)
    wrong = TransitionPrior(problem.transitions[[1, 2, 0]][:, [0, 2, 3, 1]], np.inf)
    strong, weak = (
        infer(problem.label_proba, prior, evidence=20).trace.elbo[-1] for prior in (right, wrong)
    )
    assert strong > weak
    vague = infer(problem.label_proba, np.ones((3, 4)), evidence=20).trace.elbo[-1]
    assert strong > vague


@pytest.mark.parametrize("method", METHODS)
def test_gradients_agree_with_differences(method):
    problem, state, blocks = make_problem(seed=5)
    free = (problem.transition_prior.parameters > 0) & ~problem.transition_prior.known[:, None]
    classes = blocks.rows.class_concentration.copy()

    def of_classes(x):
        blocks.rows.class_concentration[:] = x
        return terms_of(method, problem, state, blocks).elbo

    def of_transitions(x):
        parameters = state.transitions.parameters.copy()
        parameters[free] = x
        other = replace(state, transitions=state.transitions.replace(parameters))
        return terms_of(method, problem, other, blocks).elbo

    with blocks:
        evaluator = make_method(method, state.transitions, 2)
        terms, by_class, by_transition = total_gradient(problem, state, evaluator, blocks)
    assert terms.elbo == pytest.approx(terms_of(method, problem, state, blocks).elbo, rel=1e-10)
    difference = oracle.central_difference(of_classes, classes)
    np.testing.assert_allclose(by_class, difference, rtol=1e-6, atol=1e-6)
    blocks.rows.class_concentration[:] = classes
    difference = oracle.central_difference(of_transitions, state.transitions.parameters[free])
    np.testing.assert_allclose(by_transition[free], difference, rtol=1e-6, atol=1e-6)


def test_kl_of_classes_and_transitions_is_that_of_quadrature():
    pi, gamma = np.array([[0.6, 2.0]]), np.array([1.5, 0.7])
    prior, entropy = elbo.class_rows(pi, dirichlet.mean_log(pi), gamma)
    total = prior[0] + entropy[0] + elbo.class_constant(1, gamma).elbo
    assert total == pytest.approx(-oracle.dirichlet_kl_quadrature(pi[0], gamma), rel=1e-9)
    q, p = DirichletRows.free(np.array([[4.0, 1.0]])), DirichletRows.free(np.array([[0.9, 2.0]]))
    expected = -oracle.dirichlet_kl_quadrature(q.parameters[0], p.parameters[0])
    assert elbo.transition_terms(q, p).elbo == pytest.approx(expected, rel=1e-9)
