"""Gamma variables: expectations against quadrature and draws, gradients against differences."""

import mpmath as mp
import numpy as np
import oracle
import pytest
from scipy.special import gammaln
from scipy.stats import gamma as gamma_distribution

from decoupling.inference.math import gamma


def quadrature(shape, mean):
    """E[ln Gamma(x)] of one variable, in the logarithm of x."""
    rate, middle = shape / mean, float(np.log(mean))
    below, above = (60.0 / shape, 6.0) if shape < 50 else (14.0 / np.sqrt(shape),) * 2

    def integrand(u):
        log_density = shape * (mp.log(rate) + u) - rate * mp.exp(u) - mp.loggamma(shape)
        return mp.loggamma(mp.exp(u)) * mp.exp(log_density)

    with mp.workdps(25):
        return float(mp.quad(integrand, mp.linspace(middle - below, middle + above, 25)))


@pytest.mark.parametrize(
    ("shape", "mean"),
    [
        (0.1, 1.0), (0.5, 2.0), (1.0, 1e-6), (3.0, 0.01), (5.0, 0.5),
        (100.0, 1e6), (2500.0, 0.05), (5000.0, 1e-6), (1e6, 1e5),
    ],
)  # fmt: skip
def test_expected_gammaln_of_one_variable(shape, mean):
    found = gamma.expected_gammaln(np.array([shape]), np.array([mean])).value
    np.testing.assert_allclose(found, quadrature(shape, mean), rtol=1e-10, atol=1e-10)


def test_expected_gammaln_of_a_sum_against_draws():
    shape, mean = np.array([3.0, 50.0, 0.7]), np.array([0.2, 1.5, 4.0])
    rng = np.random.default_rng(0)
    draws = gammaln((rng.gamma(shape, size=(400_000, 3)) * mean / shape).sum(axis=1))
    error = draws.std() / np.sqrt(len(draws))
    found = gamma.expected_gammaln(shape, mean).value
    assert abs(found - draws.mean()) < 4 * error


def test_equal_scales_add_up_to_one_variable():
    # Gamma variables of the same scale have a Gamma sum.
    shape = np.array([2.0, 0.5, 7.0])
    several = gamma.expected_gammaln(shape, 0.3 * shape).value
    one = gamma.expected_gammaln(shape.sum(keepdims=True), 0.3 * shape.sum(keepdims=True)).value
    np.testing.assert_allclose(several, one, rtol=1e-13)


def test_rows_are_independent():
    shape, mean = np.array([[3.0, 5.0], [400.0, 2.0]]), np.array([[0.1, 7.0], [2.0, 0.5]])
    together = gamma.expected_gammaln(shape, mean)
    for i in range(2):
        alone = gamma.expected_gammaln(shape[i], mean[i])
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-11)


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_gradients_of_expected_gammaln(size):
    shape, mean = size * np.array([3.0, 50.0, 0.7]), np.array([0.2, 1.5, 4.0])
    found = gamma.expected_gammaln(shape, mean)
    by_shape = oracle.central_difference(lambda a: gamma.expected_gammaln(a, mean).value, shape)
    by_mean = oracle.central_difference(lambda m: gamma.expected_gammaln(shape, m).value, mean)
    np.testing.assert_allclose(found.by_shape, by_shape, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(found.by_mean, by_mean, rtol=1e-6)


def test_entropy_and_its_gradient():
    shape, mean = np.array([0.3, 2.0, 500.0]), np.array([1.0, 0.01, 30.0])
    expected = gamma_distribution.entropy(shape, scale=mean / shape)
    np.testing.assert_allclose(gamma.gamma_entropy(shape, mean), expected, rtol=1e-10)
    by_shape, by_mean = gamma.gamma_entropy_gradient(shape, mean)
    difference = oracle.central_difference(lambda a: gamma.gamma_entropy(a, mean).sum(), shape)
    np.testing.assert_allclose(by_shape, difference, rtol=1e-6)
    difference = oracle.central_difference(lambda m: gamma.gamma_entropy(shape, m).sum(), mean)
    np.testing.assert_allclose(by_mean, difference, rtol=1e-6)


def test_information_of_the_shape():
    for shape in (0.2, 5.0, 999.0, 1001.0, 1e5, 1e9):
        with mp.workdps(40):
            expected = float(mp.polygamma(1, shape) - 1 / mp.mpf(shape))
        found = gamma.shape_information(np.array(shape))
        np.testing.assert_allclose(found, expected, rtol=1e-8)
