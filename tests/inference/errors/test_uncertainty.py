"""Error bars class by class against those of all entries of T together."""

import numpy as np
import pytest
from problems import random_problem

from decoupling import ClassPrior, TransitionPrior, infer
from decoupling.inference.ascent.ascend import settled
from decoupling.inference.ascent.gamma_posterior import KnownGamma
from decoupling.inference.errors import leading_classes
from decoupling.inference.errors import uncertainty as error_bars
from decoupling.inference.errors.leading_classes import LeadingClasses
from decoupling.inference.errors.response import respond
from decoupling.inference.errors.uncertainty import all_together, by_leading_classes
from decoupling.inference.math.bound import Bound
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.posterior import posterior_parts
from decoupling.inference.rows.sample import RowSample


def drawn(prior, seed=0, n_rows=300):
    """Label distributions of rows and of a T that the prior allows."""
    rng = np.random.default_rng(seed)
    n_classes = len(prior.classes)
    transitions = np.where(prior.mean > 0, rng.gamma(30 * prior.mean + 1e-9), 0.0)
    transitions /= transitions.sum(axis=1, keepdims=True)
    balance = rng.dirichlet(np.ones(n_classes)) + 0.02
    return rng.dirichlet(balance, n_rows) @ transitions


def both(proba, prior, **options):
    """Error bars in both ways."""
    posterior = infer(proba, prior, **options)
    parts = posterior_parts(posterior)
    transitions, gamma = parts.transitions, KnownGamma(posterior.class_prior)
    sample = settled(parts.sample, transitions, gamma, Bound(transitions))
    logs, reported = transitions.expected_log(), posterior._reported
    return all_together(sample, logs, reported), by_leading_classes(sample, logs, reported)


@pytest.mark.parametrize("class_prior", [None, ClassPrior.learned()], ids=["known", "learned"])
def test_a_single_row_of_t_to_learn_is_the_same_in_both_ways(class_prior):
    prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=40)
    whole, found = both(drawn(prior), prior, class_prior=class_prior)
    assert whole.inflation.max() > 1.2
    for name in ("inflation", "gamma", "balance"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-6)


@pytest.mark.parametrize(
    ("prior", "least"),
    [
        (TransitionPrior.semi_supervised(range(12), 0.3), 0.85),
        (TransitionPrior.multi_positive_unlabelled(range(8)), 0.85),
        (TransitionPrior.noisy(range(8), 0.2, 0.5), 0.1),
    ],
    ids=["semi-supervised", "multi-positive-unlabelled", "noisy"],
)
def test_what_is_missing_between_classes_is_little(prior, least):
    whole, found = both(drawn(prior), prior)
    ratio = np.sqrt(found.inflation / whole.inflation)
    assert np.median(ratio) > 0.95
    assert least < ratio.min()
    assert ratio.max() < 1.2
    ratio = np.sqrt(found.balance / whole.balance)
    assert 0.6 < ratio.min() <= ratio.max() < 1.5
    assert 0.85 < np.median(ratio) < 1.15


def sample_of(seed=0, n_rows=25, evidence=20.0):
    problem = random_problem(seed, n_rows=n_rows)
    prior = TransitionPrior(problem.transitions, np.inf)
    posterior = infer(problem.label_proba, prior, evidence=evidence, tol=1e-14, max_iter=3000)
    share = np.random.default_rng(seed).dirichlet(np.ones(n_rows))
    weight = evidence * problem.label_proba
    return RowSample(weight, posterior.class_concentration, share), np.log(problem.transitions)


def test_responses_are_those_of_all_entries():
    sample, logs = sample_of()
    whole, leading = respond(sample, logs), LeadingClasses.of(sample, logs)
    by_gamma = leading.by_gamma()
    np.testing.assert_allclose(by_gamma[0], whole.log_by_gamma, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(by_gamma[1], whole.mean_by_gamma, rtol=1e-8, atol=1e-10)
    counts = whole.counts_by_transitions.reshape(3, 4, 3, 4)
    for c, found in enumerate(leading.by_class()):
        order = found.labels
        assert sorted(order) == [0, 1, 2, 3]
        for slope, of_all in (
            (found.log, whole.log_by_transitions),
            (found.mean, whole.mean_by_transitions),
        ):
            expected = of_all.reshape(3, 3, 4)[:, c, order]
            np.testing.assert_allclose(slope, expected, rtol=1e-8, atol=1e-10)
        expected = counts[c, :, c, :][np.ix_(order, order)]
        np.testing.assert_allclose(found.counts, expected, rtol=1e-8, atol=1e-10)


def test_few_classes_lead_and_the_others_hardly_matter(monkeypatch):
    prior = TransitionPrior.semi_supervised(range(12), 0.3)
    proba = drawn(prior)
    _, full = both(proba, prior)
    monkeypatch.setattr(leading_classes, "_CLASSES", 8)
    _, few = both(proba, prior)
    np.testing.assert_allclose(few.inflation, full.inflation, rtol=0.05)
    np.testing.assert_allclose(few.balance, full.balance, rtol=0.05)


def test_labels_that_do_not_lead_vary_too(monkeypatch):
    prior = TransitionPrior.noisy(range(6), 0.3, 0.5)
    proba = drawn(prior)
    _, full = both(proba, prior)
    monkeypatch.setattr(leading_classes, "_LABELS", 3)
    _, few = both(proba, prior)
    assert (few.inflation >= 1 - 1e-9).all()
    assert 0.7 < np.median(np.sqrt(few.inflation / full.inflation)) < 1.1


def test_a_row_of_two_labels_widens_as_one():
    """Less of one label is more of the other: both come from the rate of labelling."""
    given = DirichletRows.free(np.array([[400.0, 100.0]])).parameters[0]
    own = 1.0 / given - 1.0 / given.sum()  # variances of large concentrations
    covariance, variance = error_bars._widened_row(
        own, -1.0 / given.sum(), np.array([0]), np.array([[0.5 / own[0]]]), np.zeros(2)
    )
    np.testing.assert_allclose(covariance, [[2 * own[0]]])
    np.testing.assert_allclose(variance, 2 * own)


def test_nothing_shared_has_nothing_missing():
    prior = TransitionPrior([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], 20.0)
    whole, found = both(drawn(prior), prior, class_prior=ClassPrior.learned())
    np.testing.assert_allclose(found.inflation, 1.0)
    np.testing.assert_allclose(found.gamma, whole.gamma, rtol=1e-6)
    np.testing.assert_allclose(found.balance, whole.balance, rtol=1e-6)


def test_many_classes_are_taken_one_by_one():
    problem = random_problem(0, n_rows=60, n_classes=24, n_labels=26, strength=50.0)
    posterior = infer(problem.label_proba, problem.concentration)
    assert (posterior._uncertainty.inflation >= 1 - 1e-9).all()
    low, high = posterior.transition_interval()
    assert ((0 <= low) & (low <= posterior.transitions) & (posterior.transitions <= high)).all()


def test_a_thousand_classes_have_intervals():
    prior = TransitionPrior.semi_supervised(range(1000), 0.3)
    proba = np.random.default_rng(0).dirichlet(np.full(1000, 0.01), 60) @ prior.mean
    posterior = infer(proba, prior, max_iter=3, tol=1e-3)
    low, high = posterior.transition_interval()
    assert low.shape == high.shape == (1000, 1001)
    low, high = posterior.class_balance_interval()
    assert ((0 <= low) & (low <= high) & (high <= 1)).all()
