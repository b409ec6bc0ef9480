"""Ends of intervals against distributions whose quantiles are known."""

import numpy as np
import pytest
from scipy.stats import beta

from decoupling.inference.math.intervals import beta_interval, interval_by_moments


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2.0, 7.0), (300.0, 1.0)])
def test_a_beta_distribution_by_its_moments(a, b):
    found = interval_by_moments(beta.mean(a, b), beta.var(a, b), 0.8)
    expected = beta.ppf(0.1, a, b), beta.ppf(0.9, a, b)
    # The mean is not left out, wherever the tails are.
    expected = min(expected[0], beta.mean(a, b)), max(expected[1], beta.mean(a, b))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(beta_interval(np.array([a, b]), 0.8)[0][0], beta.ppf(0.1, a, b))


def test_what_cannot_vary_is_its_own_interval():
    mean, variance = np.array([0.0, 1.0, 0.3]), np.array([0.1, 0.1, 0.0])
    for end in interval_by_moments(mean, variance, 0.9):
        np.testing.assert_array_equal(end, mean)


def test_more_variance_than_there_can_be():
    low, high = interval_by_moments(np.array([0.3]), np.array([0.5]), 0.9)
    assert low == pytest.approx(0.0)
    assert high == pytest.approx(1.0)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, "0.9", np.nan])
def test_levels_are_probabilities(level):
    for find in (
        lambda: beta_interval(np.ones(2), level),
        lambda: interval_by_moments(np.array([0.5]), np.array([0.1]), level),
    ):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            find()
