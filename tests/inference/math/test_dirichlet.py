"""The Dirichlet against mpmath, quadrature, Monte Carlo and differences."""

import mpmath
import numpy as np
import oracle
import pytest
from problems import random_rows
from scipy.stats import dirichlet as scipy_dirichlet

from decoupling import TransitionPrior
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows

ROW = np.array([0.7, 3.0, 0.05, 20.0])
WITH_ZERO = np.array([0.7, 0.0, 3.0, 0.05])


def test_trigamma_to_the_last_digits():
    x = np.concatenate([np.logspace(-8, 8, 300), np.random.default_rng(0).uniform(0.5, 20, 100)])
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.psi(1, mpmath.mpf(v))) for v in x.tolist()])
    assert np.abs(dirichlet.trigamma(x) / exact - 1).max() < 1e-14


def test_trigamma_keeps_shape_and_input():
    x = np.asfortranarray(np.arange(1.0, 13.0).reshape(3, 4))[:, ::2]
    before = x.copy()
    assert dirichlet.trigamma(x).shape == x.shape
    np.testing.assert_allclose(dirichlet.trigamma(x)[1, 1], dirichlet.trigamma(x[1:2, 1:])[0, 0])
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("a", [ROW, ROW * 50, np.array([1e-3, 2e-3, 5.0])])
def test_entropy_equals_scipy(a):
    assert dirichlet.entropy(a) == pytest.approx(scipy_dirichlet(a).entropy(), rel=1e-12)


def test_entropy_against_monte_carlo():
    mean, error = oracle.dirichlet_entropy_monte_carlo(ROW, 200_000, 0)
    assert abs(dirichlet.entropy(ROW) - mean) < 5 * error


def test_log_normaliser_of_two_is_the_beta_function():
    a, b = 0.3, 4.0
    expected = float(mpmath.log(mpmath.beta(a, b)))
    assert dirichlet.log_normaliser(np.array([a, b])) == pytest.approx(expected, rel=1e-14)


def test_structural_zero_is_the_smaller_distribution():
    small, keep = WITH_ZERO[[0, 2, 3]], [0, 2, 3]
    for function in (dirichlet.log_normaliser, dirichlet.entropy):
        assert function(WITH_ZERO) == pytest.approx(function(small), rel=1e-14)
    np.testing.assert_allclose(dirichlet.mean(WITH_ZERO)[keep], dirichlet.mean(small), rtol=1e-13)
    assert dirichlet.mean(WITH_ZERO)[1] == 0
    np.testing.assert_allclose(dirichlet.mean_log(WITH_ZERO)[keep], dirichlet.mean_log(small))
    assert dirichlet.mean_log(WITH_ZERO)[1] == -np.inf
    assert (dirichlet.moments(WITH_ZERO, 3)[:, 1] == 0).all()
    v = np.array([1.0, 99.0, -2.0, 0.3])
    for function in (dirichlet.fisher_product, dirichlet.fisher_solve):
        np.testing.assert_allclose(
            function(WITH_ZERO, v)[keep], function(small, v[keep]), rtol=1e-10
        )
        assert function(WITH_ZERO, v)[1] == 0


def test_single_component_is_a_constant():
    only = np.array([0.0, 3.0])
    assert dirichlet.entropy(only) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_array_equal(dirichlet.fisher_solve(only, np.array([1.0, 2.0])), [0.0, 0.0])


@pytest.mark.parametrize("a", [ROW, WITH_ZERO])
def test_gradients_agree_with_differences(a):
    positive = a > 0
    w = np.array([0.3, -1.0, 2.0, 0.7])
    wm = np.random.default_rng(1).normal(size=(3, 4))

    def check(function, gradient):
        def restricted(x):
            full = np.zeros(4)
            full[positive] = x
            return float(function(full))

        difference = oracle.central_difference(restricted, a[positive])
        np.testing.assert_allclose(gradient[positive], difference, rtol=1e-6, atol=1e-8)
        assert (gradient[~positive] == 0).all()

    logs = np.where(positive, w, 0.0)
    check(dirichlet.log_normaliser, np.where(positive, dirichlet.mean_log(a), 0.0))
    check(
        lambda x: (logs * np.where(x > 0, dirichlet.mean_log(x), 0.0)).sum(),
        dirichlet.fisher_product(a, logs),
    )
    check(lambda x: (wm * dirichlet.moments(x, 3)).sum(), dirichlet.moments_gradient(a, wm))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6, 1e9])
def test_fisher_solve_inverts_the_product_at_every_scale(scale):
    a = ROW * scale
    with mpmath.workdps(50):
        diagonal = [mpmath.psi(1, mpmath.mpf(v)) for v in a.tolist()]
        matrix = mpmath.diag(diagonal) - mpmath.psi(1, mpmath.fsum(map(mpmath.mpf, a.tolist())))
        v = mpmath.matrix([1.0, -0.5, 0.25, 2.0])
        exact = np.array([float(x) for x in mpmath.lu_solve(matrix, v)])
    solved = dirichlet.fisher_solve(a, np.array([1.0, -0.5, 0.25, 2.0]))
    np.testing.assert_allclose(solved, exact, rtol=1e-9)


def test_moments_are_those_of_the_beta_marginals():
    a = np.array([2.0, 3.0, 5.0])
    expected = [[0.2, 0.3, 0.5], [2 * 3 / 110, 3 * 4 / 110, 5 * 6 / 110]]
    np.testing.assert_allclose(dirichlet.moments(a, 2), expected, rtol=1e-14)


def test_known_rows_are_constants():
    rows = random_rows(0)
    t = rows.parameters[1]
    np.testing.assert_allclose(rows.mean()[1], t)
    np.testing.assert_allclose(rows.expected_log()[1], np.log(t))
    np.testing.assert_allclose(rows.moments(3)[:, 1], [t, t**2, t**3])
    assert rows.entropy()[1] == 0
    assert rows.log_normaliser()[1] == 0
    ones = np.ones_like(rows.parameters)
    assert (rows.fisher_product(ones)[1] == 0).all()
    assert (rows.fisher_solve(ones)[1] == 0).all()
    assert (rows.moments_gradient(np.ones((2, *ones.shape)))[1] == 0).all()


def test_rows_of_a_prior():
    prior = TransitionPrior([[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]], [10, 10, np.inf])
    rows = DirichletRows.of_means(prior.mean, 3.0 * prior.strength)
    np.testing.assert_array_equal(rows.known, [False, True, True])
    np.testing.assert_allclose(rows.parameters, [[15, 15], [1, 0], [0.2, 0.8]])
    np.testing.assert_allclose(rows.mean(), prior.mean)
