"""How rows respond: slopes against differences, and intervals against truth."""

import numpy as np
import pytest
from problems import random_problem

from decoupling import ClassPrior, TransitionPrior, infer
from decoupling.inference.errors.response import respond
from decoupling.inference.math import dirichlet
from decoupling.inference.posterior import posterior_parts
from decoupling.inference.rows.sample import RowSample, pick_rows

STEP = 1e-4


def solved(problem, transitions, gamma, evidence):
    """Rows of Y under the bound, with T and gamma known."""
    return infer(
        problem.label_proba, TransitionPrior(transitions, np.inf), class_prior=gamma,
        evidence=evidence, learn_transitions=False, tol=1e-15, max_iter=5000,
    )  # fmt: skip


def logs_and_means(posterior):
    logs = dirichlet.mean_log(posterior.class_concentration)
    return logs.mean(axis=0), posterior.class_proba.mean(axis=0)


@pytest.mark.parametrize("evidence", [2.0, 30.0])
def test_slopes_agree_with_differences(evidence):
    problem = random_problem(1, n_rows=30)
    gamma, transitions = np.array([0.6, 0.9, 0.7]), problem.transitions
    posterior = solved(problem, transitions, gamma, evidence)
    rows = posterior_parts(posterior).transitions
    sample = RowSample(
        evidence * problem.label_proba, posterior.class_concentration, np.full(30, 1 / 30)
    )
    found = respond(sample, rows.expected_log())
    for c in range(3):
        ahead, behind = (
            logs_and_means(solved(problem, transitions, gamma + d * np.eye(3)[c], evidence))
            for d in (STEP, -STEP)
        )
        logs, means = ((a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True))
        np.testing.assert_allclose(found.log_by_gamma[:, c], logs, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(found.mean_by_gamma[:, c], means, rtol=1e-3, atol=1e-5)
    # T moves along a direction that keeps its rows distributions.
    for c, direction in [(0, [1.0, -1.0, 0.0, 0.0]), (2, [0.0, 1.0, 0.5, -1.5])]:
        change = np.zeros_like(transitions)
        change[c] = direction
        change *= 0.1
        ahead, behind = (
            logs_and_means(solved(problem, transitions + d * change, gamma, evidence))
            for d in (STEP, -STEP)
        )
        logs, means = ((a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True))
        in_logs = (change / transitions).reshape(-1)
        for slope, difference in [
            (found.log_by_transitions, logs),
            (found.mean_by_transitions, means),
        ]:
            np.testing.assert_allclose(slope @ in_logs, difference, rtol=1e-3, atol=1e-5)


def counts_of(posterior, problem, transitions, evidence):
    """Expected counts of (class, label), the mean over the rows."""
    classes = np.exp(dirichlet.mean_log(posterior.class_concentration))
    joint = classes[:, :, None] * transitions
    joint *= evidence * (problem.label_proba / joint.sum(axis=1))[:, None, :]
    return joint.mean(axis=0).reshape(-1)


def test_counts_respond_to_t_with_the_rows():
    problem, evidence = random_problem(1, n_rows=30), 5.0
    gamma, T = np.array([0.6, 0.9, 0.7]), problem.transitions
    posterior = solved(problem, T, gamma, evidence)
    sample = RowSample(
        evidence * problem.label_proba, posterior.class_concentration, np.full(30, 1 / 30)
    )
    found = respond(sample, np.log(T)).counts_by_transitions
    np.testing.assert_allclose(found, found.T, atol=1e-10)
    change = np.zeros_like(T)
    change[1] = [0.03, -0.05, 0.04, -0.02]
    ahead, behind = (
        counts_of(
            solved(problem, T + d * change, gamma, evidence), problem, T + d * change, evidence
        )
        for d in (STEP, -STEP)
    )
    slope = found @ (change / T).reshape(-1)
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * STEP), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("learn", [False, True])
def test_share_of_positives_is_as_uncertain_as_the_rate_of_labelling(learn):
    # One row in two may be positive; some 30% of positives are labelled, known as from 40 rows.
    proba = np.repeat([[0.85, 0.15], [1.0, 0.0]], 500, axis=0)
    prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=40)
    posterior = infer(proba, prior, learn_transitions=learn)
    low, high = posterior.class_balance_interval(0.9)
    assert low[1] < 0.25 < high[1]
    rate_low, rate_high = posterior.transition_interval(0.9)
    ratio = (high[1] - low[1]) / (0.075 / rate_low[1, 1] - 0.075 / rate_high[1, 1])
    assert 0.7 < ratio < 1.3
    np.testing.assert_allclose(low + high[::-1], 1.0, atol=1e-6)


def test_share_is_certain_where_t_and_rows_are():
    proba = np.eye(2)[(np.arange(400) % 4 == 0).astype(int)]
    posterior = infer(proba, TransitionPrior(np.eye(2), np.inf), evidence=1e4)
    low, high = posterior.class_balance_interval(0.99)
    np.testing.assert_allclose(posterior.class_balance, [0.75, 0.25], atol=1e-3)
    assert ((high - low) < 0.01).all()


def test_what_labels_cannot_tell_they_do_not_narrow():
    # Labels say nothing of the rate beyond its prior, however many rows there are.
    proba = np.repeat([[0.85, 0.15], [1.0, 0.0]], 2000, axis=0)
    width = []
    for strength in (10, 100, 1000):
        prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=strength)
        posterior = infer(proba, prior)
        (low, high), (less, more) = (
            posterior.transition_interval(0.9), posterior.class_balance_interval(0.9),
        )  # fmt: skip
        width.append((high[1, 1] - low[1, 1], more[1] - less[1]))
    width = np.array(width)
    assert (width[:-1] > 2 * width[1:]).all()


def test_labels_that_tell_do_narrow():
    # With clean labels T is seen as in a table of counts.
    proba = np.tile(np.eye(2), (500, 1))
    posterior = infer(proba, [[8.0, 2.0], [2.0, 8.0]], evidence=1e4, transition_evidence=1e4)
    mixed = infer(proba * 0.0 + 0.5, [[8.0, 2.0], [2.0, 8.0]])
    narrow, wide = (np.subtract(*p.transition_interval()[::-1]).max() for p in (posterior, mixed))
    assert narrow < 0.02
    assert wide > 0.1


def test_coverage_of_the_share():
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(40):
        rate = rng.beta(0.3 * 60, 0.7 * 60)
        positive = rng.beta(0.15, 0.35, 600)
        proba = np.column_stack([1.0 - rate * positive, rate * positive])
        prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=60)
        low, high = infer(proba, prior).class_balance_interval(0.9)
        hits.append(low[1] < positive.mean() < high[1])
    assert np.mean(hits) >= 0.75


@pytest.mark.parametrize("method", ["beta", "exact"])
def test_other_methods_have_sound_intervals(method):
    T, rng = np.eye(3) * 0.7 + 0.1, np.random.default_rng(0)
    proba = rng.multinomial(20, rng.dirichlet([0.5, 0.3, 0.7], 200) @ T) / 20
    posterior = infer(
        proba, TransitionPrior(T, np.inf), class_prior=ClassPrior.learned(), evidence=20.0,
        expected_log=method, max_iter=2000,
    )  # fmt: skip
    low, high = posterior.class_balance_interval(0.9)
    assert ((high - low) < 0.3).all()
    low, high = posterior.class_prior_interval(0.9)
    assert (high / low < 10).all()


def test_rows_of_a_sample():
    counts = np.tile([0.0, 1.0, 2.0], 2000)
    rows = pick_rows(counts, len(counts))
    assert len(set(rows)) == 2000
    assert (counts[rows] > 0).all()
    # Not in step with what repeats itself.
    assert abs(np.mean(counts[rows] == 1.0) - 0.5) < 0.1
    np.testing.assert_array_equal(pick_rows(counts[:9], 9), np.flatnonzero(counts[:9]))
    # Rows that count alike are not listed, and are picked as if they were.
    for n in (9, len(counts)):
        alike = pick_rows(np.array(3.0), n)
        np.testing.assert_array_equal(alike, pick_rows(np.full(n, 3.0), n))


def test_tiny_concentrations_have_intervals():
    posterior = infer(
        np.eye(3)[[0, 1, 0, 1]], TransitionPrior(np.eye(3), np.inf),
        class_prior=ClassPrior.symmetric(1e-3),
    )  # fmt: skip
    low, high = posterior.class_balance_interval()
    assert ((0 <= low) & (low <= high) & (high <= 1)).all()


def test_weights_count_rows():
    problem = random_problem(2)
    weight = np.random.default_rng(0).integers(1, 4, 40)
    rows = np.repeat(np.arange(40), weight)
    weighed = infer(problem.label_proba, problem.concentration, sample_weight=weight, tol=1e-10)
    repeated = infer(problem.label_proba[rows], problem.concentration, tol=1e-10)
    np.testing.assert_allclose(weighed.class_balance, repeated.class_balance, atol=1e-6)
    for a, b in zip(
        weighed.class_balance_interval(), repeated.class_balance_interval(), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("level", [0, 1, "most", None])
def test_levels_are_checked(level):
    problem = random_problem(2)
    posterior = infer(problem.label_proba, problem.concentration)
    for interval in (posterior.class_balance_interval, posterior.class_prior_interval):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            interval(level)
