"""Whether a reported distribution of T covers its posterior."""

import numpy as np
import pytest

from decoupling import TransitionPrior, infer
from decoupling.inference.errors import overlap
from decoupling.inference.errors.overlap import affordable, transition_tail
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.posterior import posterior_parts

PRIOR = DirichletRows.free(np.array([[2.0, 6.0], [5.0, 3.0]]))


def tail(factor, n=20_000):
    """k-hat of the prior itself, `factor` times as sure, where rows say nothing."""
    rng = np.random.default_rng(0)
    reported = PRIOR.replace(factor * PRIOR.parameters)
    draws = np.stack([rng.dirichlet(row, n) for row in reported.parameters], axis=1)
    return transition_tail(
        draws, reported, PRIOR, np.ones((1, 2)), np.zeros(1), np.array([0.5, 0.5])
    )


def test_the_posterior_itself_has_no_tail():
    assert tail(1.0) == -np.inf


def test_too_sure_has_a_tail_and_too_unsure_has_none():
    # Near 0 a Beta(a) from draws of a Beta(4 a) has weights of shape 1 - 1/4, and where several
    # entries are near 0 more: a variance that is not finite in any case.
    assert tail(4.0) > 0.7
    assert tail(0.5) < 0.3


def test_numbers_of_classes_that_overflow_are_too_many():
    assert not affordable(10, 5000)


def of_rows(prior, rows=((0.7, 0.3), (1.0, 0.0), (0.9, 0.1)), times=60, **options):
    return infer(np.array(rows * times), prior, **options)


@pytest.fixture
def positive_unlabelled():
    return TransitionPrior.positive_unlabelled(labelled=0.3, strength=30)


def test_it_is_the_same_each_time_and_for_new_rows(positive_unlabelled):
    one, other = (of_rows(positive_unlabelled) for _ in range(2))
    assert one.transition_k_hat == other.transition_k_hat < 0.7
    assert one.predict([[0.8, 0.2]]).transition_k_hat == one.transition_k_hat


def test_repeated_rows_are_the_same_as_rows_that_count_for_more(positive_unlabelled):
    rows = [[0.7, 0.3], [1.0, 0.0], [0.9, 0.1]]
    counted = infer(rows, positive_unlabelled, sample_weight=[60, 60, 60], tol=1e-12)
    repeated = of_rows(positive_unlabelled, tol=1e-12)
    assert counted.transition_k_hat == pytest.approx(repeated.transition_k_hat, abs=1e-3)


@pytest.mark.parametrize("evidence", [5, 20])
def test_error_bars_that_are_ten_times_too_short_are_found(positive_unlabelled, evidence):
    options = {"evidence": evidence, "transition_evidence": evidence}
    posterior = of_rows(positive_unlabelled, expected_log="exact", **options)
    assert posterior.transition_k_hat < 0.7
    draws = posterior.draw(500, 0)[1]
    reported, parts = posterior._wide_transitions, posterior_parts(posterior)
    short = reported.replace(100 * reported.parameters)
    mean = reported.mean()
    found = transition_tail(
        mean + (draws - mean) / 10,
        short,
        parts.transition_prior,
        parts.sample.weight,
        parts.sample.share * posterior.row_counts.sum(),
        posterior.class_prior,
    )
    assert found > 0.7


def test_there_may_be_nothing_to_say(positive_unlabelled, monkeypatch):
    posterior = of_rows(positive_unlabelled)
    assert posterior.supported_by([10, 10]).transition_k_hat is None
    assert of_rows(positive_unlabelled, learn_transitions=False).transition_k_hat is None
    assert of_rows(np.eye(2), rows=((0.5, 0.5),)).transition_k_hat is None  # T is known
    monkeypatch.setattr(overlap, "_MOST", 1e4)
    assert of_rows(positive_unlabelled).transition_k_hat is None


def test_a_sample_of_the_rows_will_not_do(positive_unlabelled):
    assert of_rows(positive_unlabelled, times=700).transition_k_hat is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("strength", "options"), [(30.0, {"class_prior": [1e4, 1.0]}), (1e-12, {})]
)
def test_no_number_for_what_is_extreme(strength, options):
    prior = TransitionPrior.noisy(["a", "b"], noise=0.2, strength=strength)
    tail = of_rows(prior, times=20, **options).transition_k_hat
    assert tail is None or np.isfinite(tail)
