"""How rows respond: slopes against differences, and intervals against truth."""

import numpy as np
import pytest
from problems import random_problem

from decoupling import TransitionPrior, infer
from decoupling.inference import dirichlet
from decoupling.inference.response import RowSample, respond

STEP = 1e-4


def solved(problem, transitions, gamma, evidence):
    """Rows of Y under the bound, with T and gamma known."""
    return infer(
        problem.label_proba, TransitionPrior(transitions, np.inf), class_prior=gamma,
        evidence=evidence, learn_transitions=False, tol=1e-15, max_iter=5000,
    )  # fmt: skip


def logs_and_means(posterior):
    logs = dirichlet.expected_log(posterior.class_concentration)
    return logs.mean(axis=0), posterior.class_proba.mean(axis=0)


@pytest.mark.parametrize("evidence", [2.0, 30.0])
def test_slopes_agree_with_differences(evidence):
    problem = random_problem(1, n_rows=30)
    gamma, transitions = np.array([0.6, 0.9, 0.7]), problem.transitions
    posterior = solved(problem, transitions, gamma, evidence)
    rows = posterior._transitions
    sample = RowSample(
        evidence * problem.label_proba, posterior.class_concentration, np.full(30, 1 / 30)
    )
    found = respond(sample, rows)
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
        for slope, difference in [
            (found.log_by_transitions, logs),
            (found.mean_by_transitions, means),
        ]:
            np.testing.assert_allclose(
                np.einsum("cks,ks->c", slope, change), difference, rtol=1e-3, atol=1e-5
            )


def test_share_of_positives_is_as_uncertain_as_the_rate_of_labelling():
    # One row in two may be positive; some 30% of positives are labelled, known as from 40 rows.
    proba = np.repeat([[0.85, 0.15], [1.0, 0.0]], 500, axis=0)
    prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=40)
    posterior = infer(proba, prior, learn_transitions=False)
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
