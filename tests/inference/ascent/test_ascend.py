"""The ascent: it never falls, both optimisers agree, and it says why it stopped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_problem
from sklearn.exceptions import ConvergenceWarning

from decoupling import TransitionPrior, infer
from decoupling.inference.ascent import ascend
from decoupling.inference.math.expected_log import METHODS


def assert_never_falls(trace):
    scale = 1 + np.abs([trace.likelihood, trace.prior, trace.entropy]).max()
    assert np.diff(trace.elbo).min(initial=0.0) >= -1e-11 * scale


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("optimiser", ["natural", "l-bfgs"])
@pytest.mark.parametrize("evidence", [1.0, 100.0])
def test_bound_never_falls(method, optimiser, evidence):
    for seed in range(2):
        problem = random_problem(seed)
        posterior = infer(
            problem.label_proba,
            problem.concentration,
            evidence=evidence,
            expected_log=method,
            order=3,
            optimiser=optimiser,
            max_iter=15,
        )
        assert_never_falls(posterior.trace)
        assert posterior.trace.elbo[-1] > posterior.trace.elbo[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(1, 5),
    n_labels=st.integers(1, 5),
    log_evidence=st.floats(-2, 4),
    log_strength=st.floats(-2, 4),
    log_mass=st.floats(-2, 2),
    method=st.sampled_from(["bound", "beta", "taylor", "exact"]),
    optimiser=st.sampled_from(["natural", "natural", "l-bfgs"]),
    learn=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_bound_never_falls_on_random_problems(
    seed, n_classes, n_labels, log_evidence, log_strength, log_mass, method, optimiser, learn
):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_labels, 0.3), 12)
    proba[0] = np.eye(n_labels)[0]
    mean = rng.dirichlet(np.full(n_labels, 0.5), n_classes) + 1e-6
    mean[rng.random(mean.shape) < 0.2] = 0.0
    mean[0] += 0.05  # some class can emit each label
    mean[:, 0] += 0.05
    strength = np.full(n_classes, 10**log_strength)
    strength[rng.random(n_classes) < 0.2] = np.inf
    posterior = infer(
        proba,
        TransitionPrior(mean / mean.sum(axis=1, keepdims=True), strength),
        class_prior=np.full(n_classes, 10**log_mass / n_classes),
        evidence=10**log_evidence,
        expected_log=method,
        optimiser=optimiser,
        learn_transitions=learn,
        max_iter=5 if method == "exact" else 25,
    )
    assert_never_falls(posterior.trace)
    for proba in (posterior.class_proba, posterior.transitions):
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_optimisers_agree(method):
    problem = random_problem(1, n_rows=6)
    ends = [
        infer(
            problem.label_proba,
            problem.concentration,
            evidence=2.0,
            expected_log=method,
            optimiser=optimiser,
            tol=1e-13,
            max_iter=20000,
        )
        for optimiser in ("natural", "l-bfgs")
    ]
    assert ends[0].trace.elbo[-1] == pytest.approx(ends[1].trace.elbo[-1], rel=1e-7)
    np.testing.assert_allclose(ends[0].class_proba, ends[1].class_proba, atol=2e-3)
    np.testing.assert_allclose(ends[0].transitions, ends[1].transitions, atol=2e-3)


@pytest.mark.parametrize("method", ["bound", "beta"])
def test_stopping_is_reported(method):
    problem = random_problem(2)
    posterior = infer(problem.label_proba, problem.concentration, expected_log=method)
    trace = posterior.trace
    assert trace.converged
    assert trace.stopped_because == "tolerance"
    assert len(trace.elbo) == trace.n_iter + 1
    rises = np.diff(trace.elbo)
    tolerance = 1e-6 * 100 * len(problem.label_proba)
    # The step that was under way when the bound stood still is the last one, whatever it gains.
    assert 0.0 <= rises[-2] <= tolerance
    assert rises[-1] >= 0.0
    if method == "beta":  # a small gain of plain steps of the bound may be a crawl, and is no end
        assert (rises[:-2] > tolerance).all()
    total = trace.likelihood + trace.prior + trace.entropy + trace.constant
    np.testing.assert_allclose(trace.elbo, total, rtol=1e-14)


@pytest.mark.parametrize("optimiser", ["natural", "l-bfgs"])
def test_limit_warns(optimiser):
    problem = random_problem(3)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        posterior = infer(
            problem.label_proba, problem.concentration, max_iter=2, optimiser=optimiser
        )
    assert not posterior.trace.converged
    assert posterior.trace.n_iter == 2
    assert posterior.trace.stopped_because == "max_iter"


@pytest.mark.parametrize("optimiser", ["natural", "l-bfgs"])
def test_callback_sees_every_iteration_and_can_stop(optimiser):
    problem = random_problem(4)
    seen = []

    def callback(iteration, terms):
        seen.append((iteration, terms.elbo))
        return iteration == 3

    posterior = infer(
        problem.label_proba, problem.concentration, callback=callback, optimiser=optimiser
    )
    assert posterior.trace.stopped_because == "callback"
    assert [iteration for iteration, _ in seen] == [0, 1, 2, 3]
    np.testing.assert_array_equal([value for _, value in seen], posterior.trace.elbo[:4])
    # The natural ascent has then already taken the next step of Y.
    assert posterior.trace.n_iter == (4 if optimiser == "natural" else 3)


def test_the_trace_ends_at_the_answer():
    # Whatever the reason for stopping, going on from the answer starts where the trace ended.
    problem = random_problem(5)
    arguments = (problem.label_proba, problem.concentration)
    for options in ({}, {"callback": lambda k, _: k == 4}):
        first = infer(*arguments, **options)
        again = infer(*arguments, warm_start=first)
        assert again.trace.elbo[0] == pytest.approx(first.trace.elbo[-1], rel=1e-12)


def test_warm_start_goes_on():
    problem = random_problem(6)
    with pytest.warns(ConvergenceWarning):
        half = infer(problem.label_proba, problem.concentration, max_iter=10)
    whole = infer(problem.label_proba, problem.concentration, tol=1e-12)
    rest = infer(problem.label_proba, problem.concentration, tol=1e-12, warm_start=half)
    np.testing.assert_allclose(half.trace.elbo, whole.trace.elbo[:11], rtol=1e-12)
    np.testing.assert_allclose(rest.trace.elbo[0], whole.trace.elbo[10], rtol=1e-12)
    # When to extrapolate depends on what was gained since the start, so the ways differ.
    np.testing.assert_allclose(rest.class_proba, whole.class_proba, atol=1e-6)


def test_no_iterations_is_the_start():
    problem = random_problem(7)
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        posterior = infer(problem.label_proba, problem.concentration, max_iter=0)
    assert posterior.trace.n_iter == 0
    np.testing.assert_allclose(posterior.class_proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("method", ["bound", "exact"])
def test_transitions_are_recovered(method):
    problem = random_problem(8, n_rows=2000, strength=50.0)
    posterior = infer(problem.label_proba, problem.concentration, expected_log=method)
    before = np.abs(problem.concentration / 50.0 - problem.transitions).max()
    assert np.abs(posterior.transitions - problem.transitions).max() < before / 2


def test_the_warning_points_at_the_caller():
    problem = random_problem(9)
    with pytest.warns(ConvergenceWarning) as caught:
        infer(problem.label_proba, problem.concentration, max_iter=1)
    assert caught[0].filename == __file__


def test_leaps_in_turn_inflate_nothing():
    # What is left of each way after the leaps and the steps between them.
    shrinkage = np.linspace(0.0, 1.0, 20_001)
    left = np.ones_like(shrinkage)
    for leap in ascend._LEAPS_IN_TURN:
        left *= shrinkage * (1.0 - leap * (1.0 - shrinkage)) ** 2
    assert np.abs(left).max() <= 1.0


@pytest.mark.parametrize("seed", [18, 28, 39, 50, 59])
def test_rounding_is_not_inflated(seed):
    # Small problems with weak priors and much evidence, where leaps of one length in all passes
    # made 1e-4 of 1e-16.
    rng = np.random.default_rng(seed)
    n_rows, n_classes = int(rng.choice([13, 40])), int(rng.integers(2, 6))
    n_labels, evidence = n_classes + int(rng.integers(0, 2)), 10.0 ** rng.integers(0, 6)
    proba = rng.dirichlet(np.full(n_labels, rng.choice([0.3, 2])), n_rows)
    prior = 10.0 ** rng.uniform(-1, 2) * rng.dirichlet(np.full(n_labels, 0.5), n_classes) + 1e-3
    options = {"evidence": evidence, "tol": 1e-9}
    whole = infer(proba, prior, **options)
    order = rng.permutation(n_rows)
    blocks = infer(proba, prior, block_size=7, **options)
    shuffled = infer(proba[order], prior, **options)
    np.testing.assert_allclose(blocks.class_proba, whole.class_proba, rtol=0, atol=1e-10)
    np.testing.assert_allclose(shuffled.class_proba, whole.class_proba[order], rtol=0, atol=1e-10)
