"""ln E[(1 + t T)^-pi] against mpmath's hypergeometric function and differences."""

import mpmath
import numpy as np
import oracle
import pytest

from decoupling.inference.math.beta_laplace import BetaCell, _geometric

CELLS = [(0.5, 3.0), (13.0, 600.0), (1e-3, 2.0), (0.05, 1e-3), (40.0, 0.3), (900.0, 400.0)]


@pytest.mark.parametrize(("own", "rest"), CELLS)
def test_against_the_hypergeometric_function(own, rest):
    log_t = np.array([-6.0, -1.0, 0.5, 4.0, 12.0])
    pi = np.array([1e-3, 0.2, 1.7, 30.0])
    values = BetaCell.of(own, rest).log_transform(log_t, pi)[0]
    with mpmath.workdps(40):
        for q, u in enumerate(log_t.tolist()):
            for d, p in enumerate(pi.tolist()):
                exact = mpmath.hyp2f1(p, own, mpmath.mpf(own) + rest, -mpmath.exp(u))
                assert np.exp(values[d, q]) == pytest.approx(float(exact), abs=1e-13, rel=1e-9)


@pytest.mark.parametrize(("own", "rest"), [(1e-3, 2.0), (0.02, 50.0)])
@pytest.mark.parametrize("log_t", [90.0, 300.0, 5000.0])
def test_far_tail_against_its_asymptotic_series(own, rest, log_t):
    # 2F1(p, a; c; -t) for large t is a sum of two powers of t, up to a relative 1 / t.
    pi = np.array([0.004, 0.3])
    values = BetaCell.of(own, rest).log_transform(np.array([log_t]), pi)[0, :, 0]
    with mpmath.workdps(60):
        a, c, u = mpmath.mpf(own), mpmath.mpf(own) + rest, mpmath.mpf(log_t)
        for p, value in zip(pi.tolist(), values, strict=True):
            first = mpmath.gammaprod([c, a - p], [a, c - p]) * mpmath.exp(-p * u)
            second = mpmath.gammaprod([c, p - a], [p, c - a]) * mpmath.exp(-a * u)
            assert value == pytest.approx(float(mpmath.log(first + second)), abs=1e-11, rel=1e-11)


@pytest.mark.parametrize(("own", "rest"), [(0.5, 3.0), (13.0, 600.0), (0.03, 2.0)])
@pytest.mark.parametrize("log_t", [-2.0, 3.0, 150.0])
def test_derivatives_agree_with_differences(own, rest, log_t):
    # Where E[...] is below 1e-21 it is as good as 0 and its logarithm is not meant to be right.
    u, pi = np.array([log_t]), np.array([0.1, 2.0 if log_t < 100 else 0.3])
    values = BetaCell.of(own, rest).log_transform(u, pi)
    for d in range(2):

        def value(x, d=d):
            return float(BetaCell.of(x[0], x[1]).log_transform(u, pi)[0, d, 0])

        difference = oracle.central_difference(value, np.array([own, rest]), step=1e-3)
        np.testing.assert_allclose(values[1:, d, 0], difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rate", [0.0, 1e-12, 0.3, -0.3, 5.0, -5.0, 1e5, -1e5])
def test_geometric_sums(rate):
    log_sum, centre = _geometric(rate, 0.5, 7)
    exponents = rate * 0.5 * np.arange(7)
    weights = np.exp(exponents - exponents.max())
    assert log_sum == pytest.approx(np.log(weights.sum()) + exponents.max(), rel=1e-9)
    expected = 0.5 * (weights @ np.arange(7)) / weights.sum()
    assert centre == pytest.approx(expected, rel=1e-6, abs=1e-12)
