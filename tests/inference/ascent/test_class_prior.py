"""The class prior: what is said of it, q(gamma), and what the inference makes of it."""

import numpy as np
import oracle
import pytest
from problems import random_problem
from scipy.special import gammaln, psi

from decoupling import ClassPrior, TransitionPrior, infer
from decoupling.inference.ascent.gamma_posterior import GammaPosterior, KnownGamma
from decoupling.inference.math.conjugate import DirP
from decoupling.inference.math.expected_log import METHODS
from decoupling.inference.posterior import posterior_parts

UNCONVERGED = "ignore::sklearn.exceptions.ConvergenceWarning"
CLEAN = {c: TransitionPrior(np.eye(c), np.inf) for c in (1, 2, 3, 4)}


def draw(seed, gamma, n_rows=500, evidence=20):
    """Label frequencies of rows whose classes are drawn from Dir(gamma)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(evidence, rng.dirichlet(gamma, n_rows)) / evidence


def posterior_of(n_classes=3, *, shares=None, eta=2.0):
    prior = DirP(eta * (psi(2.0) - psi(np.linspace(0.3, 0.9, n_classes))), eta)
    return GammaPosterior.start(prior, shares)


# What users say


def test_fixed_priors():
    names = ("a", "b")
    assert (ClassPrior.symmetric(3.0).start(names).mean == 1.5).all()
    np.testing.assert_allclose(ClassPrior.known([0.2, 2.0]).start(names).mean, [0.2, 2.0])
    for shares in ([0.1, 0.9], {"b": 0.9, "a": 0.1}):
        found = ClassPrior.proportions(shares, 2.0).start(names)
        assert isinstance(found, KnownGamma)
        np.testing.assert_allclose(found.mean, [0.2, 1.8])


def test_fixed_priors_are_what_an_array_is():
    problem = random_problem(0)
    gamma = np.array([0.4, 0.3, 0.3])
    as_array = infer(problem.label_proba, problem.concentration, class_prior=gamma)
    for prior in (ClassPrior.known(gamma), ClassPrior.proportions(gamma, 1.0)):
        same = infer(problem.label_proba, problem.concentration, class_prior=prior)
        np.testing.assert_allclose(same.class_concentration, as_array.class_concentration)


def test_default_is_highest_at_symmetry_with_mass_one():
    prior = ClassPrior.learned(eta=3.0).start(("a", "b", "c"))
    np.testing.assert_allclose(prior.prior.mode(), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ClassPrior.known([1.0, 0.0]), "gamma: 0 at row 1 is not positive"),
        (lambda: ClassPrior.symmetric(0), "mass must be a positive, finite number; got 0"),
        (lambda: ClassPrior.symmetric("much"), "mass must be a positive"),
        (lambda: ClassPrior.symmetric(True), "finite number; got True"),
        (lambda: ClassPrior.proportions({"a": 0.5, "b": 0.6}), "their sum is 1.1"),
        (lambda: ClassPrior.proportions([1.0, 0.0]), "shares must be positive"),
        (lambda: ClassPrior.learned([np.inf, 1.0]), "rate: inf at row 0 is not finite"),
        (lambda: ClassPrior.learned([1.0, np.nan]), "rate: nan at row 1 is not finite"),
        (lambda: ClassPrior.learned(np.log(2.0) + 1e-12).start((0, 1)), "it is 1. Raise"),
        (lambda: ClassPrior.proportions([0.5, 0.6]), "shares must sum to 1; their sum is 1.1"),
        (lambda: ClassPrior.learned(eta=-1), "eta must be a finite number, 0 or more; got -1"),
        (lambda: ClassPrior.learned(eta=0), "no default rate"),
        (lambda: ClassPrior.learned([[1.0]]), "rate must have 1 axes"),
        (lambda: ClassPrior.learned([1, 2, 3]).start((0, 1)), "one entry per class, 2; got 3"),
        (lambda: ClassPrior.learned(0.1).start((0, 1)), "no finite integral"),
        (lambda: ClassPrior.known([1.0]).start((0, 1)), r"shape \(2,\); got \(1,\)"),
        (lambda: ClassPrior.proportions({"x": 1.0}).start((0, 1)), "shares must have the names"),
        (lambda: ClassPrior.learned(shares=[1.0]).start((0, 1)), "shares must be a number"),
    ],
)
def test_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_representation():
    shown = [
        ClassPrior.known([1.0, 2.0]),
        ClassPrior.symmetric(2.0),
        ClassPrior.proportions([0.5, 0.5], 3.0),
        ClassPrior.learned([1.0, 2.0], 0.5),
        ClassPrior.learned(shares=[0.5, 0.5]),
    ]
    for prior in shown:
        again = eval(repr(prior), {"ClassPrior": ClassPrior})  # our own words
        assert repr(again) == repr(prior)


# q(gamma)


@pytest.mark.parametrize("shares", [None, np.array([0.2, 0.3, 0.5])])
def test_terms_against_draws(shares):
    q = posterior_of(shares=shares)
    q = q.raised(np.array([-9.0, -8.0, -7.0]), 5.0)
    terms, rng = q.terms(5.0), np.random.default_rng(0)
    drawn = rng.gamma(q.shape, size=(400_000, len(q.shape))) * q.location / q.shape
    gamma = q.share * drawn[:, q.factor]
    log_beta = gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
    values = -(5.0 + q.prior.eta) * log_beta - gamma @ q.prior.rate
    assert abs(values.mean() - terms.prior) < 4 * values.std() / np.sqrt(len(values))
    np.testing.assert_allclose(gamma.mean(axis=0), q.mean, rtol=0.01)


@pytest.mark.parametrize("shares", [None, np.array([0.2, 0.3, 0.5])])
def test_gradients_agree_with_differences(shares):
    q = posterior_of(shares=shares)
    log_sum, n_rows = np.array([-9.0, -8.0, -7.0]), 5.0
    by_shape, by_location = q.gradient(log_sum, n_rows)

    def objective(shape, location):
        other = GammaPosterior(q.prior, shape, location, q.factor, q.share, q.heading)
        return other._objective(log_sum, n_rows)

    difference = oracle.central_difference(lambda a: objective(a, q.location), q.shape)
    np.testing.assert_allclose(by_shape, difference, rtol=1e-6, atol=1e-8)
    difference = oracle.central_difference(lambda m: objective(q.shape, m), q.location)
    np.testing.assert_allclose(by_location, difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shares", [None, np.array([0.2, 0.3, 0.5])])
@pytest.mark.parametrize("n_rows", [0.0, 3.0, 1e5])
def test_steps_end_where_the_gradient_is_none(shares, n_rows):
    log_sum = n_rows * (psi([0.2, 0.5, 3.0]) - psi(3.7))
    q = posterior_of(shares=shares)
    for _ in range(5):
        q = q.raised(log_sum, n_rows)
    by_shape, by_location = q.gradient(log_sum, n_rows)
    # In units of the spread of each.
    assert np.abs(by_shape * q.shape).max() < 1e-5
    assert np.abs(by_location * q.location / np.sqrt(q.shape)).max() < 1e-4


def test_without_draws_it_is_exponential():
    q = GammaPosterior.start(DirP(np.array([2.0, 0.5]), 0.0), None).raised(np.zeros(2), 0.0)
    np.testing.assert_allclose(q.shape, 1.0, rtol=1e-6)
    np.testing.assert_allclose(q.mean, [0.5, 2.0], rtol=1e-6)
    # It is the prior itself: prior and entropy cancel, with the constant.
    assert q.terms(0.0).elbo == pytest.approx(0.0, abs=1e-6)


def test_gamma_factors_are_near_the_true_posterior():
    # Two classes, gamma on a grid: means to 2% of their spread.
    gamma, n_rows = np.array([0.4, 0.8]), 50.0
    log_sum = n_rows * (psi(gamma) - psi(gamma.sum()))
    q = ClassPrior.learned().start((0, 1)).raised(log_sum, n_rows)
    axis = np.exp(np.linspace(-4.0, 2.5, 600))
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    logs = q.prior.log_density(grid) + grid @ log_sum + np.log(grid).sum(axis=-1)
    logs += -n_rows * (gammaln(grid).sum(axis=-1) - gammaln(grid.sum(axis=-1)))
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    mean = np.einsum("ij,ijk->k", weight, grid)
    spread = np.sqrt(np.einsum("ij,ijk->k", weight, (grid - mean) ** 2))
    assert (np.abs(q.mean - mean) < 0.1 * spread).all()


# Inference


@pytest.mark.filterwarnings(UNCONVERGED)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("optimiser", ["natural", "l-bfgs"])
@pytest.mark.parametrize("shares", [None, [0.5, 0.3, 0.2]])
def test_bound_never_falls(method, optimiser, shares):
    problem = random_problem(3, n_rows=25)
    posterior = infer(
        problem.label_proba, problem.concentration, class_prior=ClassPrior.learned(shares=shares),
        evidence=20.0, expected_log=method, optimiser=optimiser, max_iter=15,
    )  # fmt: skip
    trace = posterior.trace
    scale = 1 + np.abs([trace.likelihood, trace.prior, trace.entropy]).max()
    assert np.diff(trace.elbo).min() >= -1e-11 * scale
    assert trace.elbo[-1] > trace.elbo[0]


def test_both_optimisers_agree():
    proba = draw(0, [0.5, 0.3, 0.9], n_rows=30)
    natural, other = (
        infer(
            proba, CLEAN[3], class_prior=ClassPrior.learned(), evidence=20.0,
            optimiser=optimiser, tol=1e-12, max_iter=3000,
        )
        for optimiser in ("natural", "l-bfgs")
    )  # fmt: skip
    np.testing.assert_allclose(natural.class_prior, other.class_prior, rtol=1e-3)
    assert natural.trace.elbo[-1] == pytest.approx(other.trace.elbo[-1], rel=1e-7)


def test_a_sharp_prior_is_a_known_gamma():
    problem, gamma = random_problem(4), np.array([0.6, 0.3, 1.1])
    eta = 1e6
    sharp = ClassPrior.learned(eta * (psi(gamma.sum()) - psi(gamma)), eta)
    options = {"evidence": 10.0, "tol": 1e-13, "max_iter": 5000}
    learned = infer(problem.label_proba, problem.concentration, class_prior=sharp, **options)
    known = infer(problem.label_proba, problem.concentration, class_prior=gamma, **options)
    np.testing.assert_allclose(learned.class_prior, gamma, rtol=1e-4)
    np.testing.assert_allclose(learned.class_proba, known.class_proba, atol=1e-4)
    low, high = learned.class_prior_interval(0.9)
    np.testing.assert_allclose(high / low, 1.0, atol=0.01)


@pytest.mark.parametrize("gamma", [[0.5, 0.2], [0.7, 0.1, 0.3], [2.0, 1.0, 1.0, 0.5]])
def test_gamma_is_recovered(gamma):
    hits, mean_field = [], []
    for seed in range(12):
        proba = draw(seed, gamma)
        posterior = infer(proba, CLEAN[len(gamma)], class_prior=ClassPrior.learned(), evidence=20.0)
        low, high = posterior.class_prior_interval(0.95)
        hits.append((low < gamma) & (gamma < high))
        q = posterior_parts(posterior).class_prior
        reach = 1.96 * q.location / np.sqrt(q.shape)
        mean_field.append(np.abs(q.location - gamma) < reach)
    assert np.mean(hits) >= 0.85
    # What the factorised posterior by itself would say is less.
    assert np.mean(mean_field) < np.mean(hits)


def test_only_the_mass_is_learned_in_given_shares():
    proba = draw(1, [0.6, 0.2, 0.2], n_rows=2000)
    prior = ClassPrior.learned(shares={0: 0.6, 1: 0.2, 2: 0.2})
    posterior = infer(proba, CLEAN[3], class_prior=prior, evidence=20.0)
    np.testing.assert_allclose(posterior.class_prior / posterior.class_prior.sum(), [0.6, 0.2, 0.2])
    low, high = posterior.class_prior_interval(0.99)
    assert (low < [0.6, 0.2, 0.2]).all()
    assert (high > [0.6, 0.2, 0.2]).all()


def test_a_known_gamma_is_its_own_interval():
    problem = random_problem(0)
    posterior = infer(problem.label_proba, problem.concentration)
    for end in posterior.class_prior_interval():
        np.testing.assert_array_equal(end, posterior.class_prior)


def test_new_rows_take_the_gamma_that_was_learned():
    proba = draw(2, [2.0, 0.5])
    posterior = infer(proba, CLEAN[2], class_prior=ClassPrior.learned(), evidence=20.0)
    again = posterior.predict(proba[:10])
    np.testing.assert_array_equal(again.class_prior, posterior.class_prior)
    np.testing.assert_allclose(
        again.class_concentration, posterior.class_prior + 20.0 * proba[:10], rtol=1e-9
    )


def test_warm_start_goes_on_with_gamma():
    proba = draw(2, [2.0, 0.5])
    options = {"class_prior": ClassPrior.learned(), "evidence": 20.0}
    first = infer(proba, CLEAN[2], **options)
    second = infer(proba, CLEAN[2], warm_start=first, **options)
    assert second.trace.n_iter <= 4 < first.trace.n_iter
    np.testing.assert_allclose(second.class_prior, first.class_prior, rtol=1e-2)


@pytest.mark.parametrize(
    ("gamma", "options"),
    [([0.5, 0.3, 0.7], {"eta": 1e-6}), ([0.5, 0.7], {"rate": np.log(2) + 1e-5})],
    ids=["few draws", "nearly improper"],
)
def test_vague_priors_find_the_same(gamma, options):
    """Of three classes one that is nearly improper takes a minute to normalise."""
    prior, clean = ClassPrior.learned(**options), CLEAN[len(gamma)]
    proba = draw(0, gamma, n_rows=200)
    found = infer(proba, clean, class_prior=prior, evidence=20.0)
    usual = infer(proba, clean, class_prior=ClassPrior.learned(), evidence=20.0)
    np.testing.assert_allclose(found.class_prior, usual.class_prior, rtol=0.1)


@pytest.mark.parametrize("optimiser", ["natural", "l-bfgs"])
def test_an_unsupported_class_under_both_optimisers(optimiser):
    proba = np.column_stack([draw(5, [0.5, 0.5], 100), np.zeros(100)])
    with pytest.warns(UserWarning, match="No row has 2"):
        posterior = infer(
            proba, CLEAN[3], class_prior=ClassPrior.learned(), evidence=20.0, optimiser=optimiser,
            max_iter=2000,
        )  # fmt: skip
    np.testing.assert_allclose(posterior.class_prior[:2], 0.5, rtol=0.3)
    assert posterior.class_prior[2] < 0.02


# Degenerate cases


def test_one_class():
    posterior = infer(np.ones((5, 1)), [[3.0]], class_prior=ClassPrior.learned())
    np.testing.assert_array_equal(posterior.class_proba, 1.0)
    assert np.isfinite(posterior.class_prior_interval()).all()
    assert np.isfinite(posterior.trace.elbo).all()
    np.testing.assert_array_equal(posterior.class_balance, 1.0)
    for end in posterior.class_balance_interval():
        np.testing.assert_array_equal(end, 1.0)


def test_fewer_rows_than_classes():
    proba = np.array([[0.9, 0.1, 0.0, 0.0], [0.1, 0.9, 0.0, 0.0]])
    with pytest.warns(UserWarning, match=r"No row has 2, 3 as its most probable class"):
        posterior = infer(proba, CLEAN[4], class_prior=ClassPrior.learned(), evidence=20.0)
    low, high = posterior.class_prior_interval()
    assert (low > 0).all()
    assert np.isfinite(high).all()


def test_a_class_that_nothing_supports():
    proba = np.column_stack([draw(5, [0.5, 0.5], 300), np.zeros(300)])
    with pytest.warns(UserWarning, match="No row has 2 as its most probable class"):
        posterior = infer(proba, CLEAN[3], class_prior=ClassPrior.learned(), evidence=20.0)
    assert posterior.class_prior[2] < 0.01
    assert posterior.class_balance[2] < 0.001
    low, high = posterior.class_balance_interval(0.9)
    assert (0 <= low).all()
    assert (low <= posterior.class_balance).all()
    assert (posterior.class_balance <= high).all()
    assert high[2] < 0.01


def test_little_evidence_and_an_unequal_gamma_are_warned_of():
    proba = np.tile([[0.6, 0.4]], (50, 1))
    with pytest.warns(UserWarning, match="raise evidence"):
        infer(proba, CLEAN[2], class_prior=ClassPrior.proportions([0.9, 0.1]), evidence=1.0)
