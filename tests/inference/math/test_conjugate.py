"""DirP: normaliser against brute force, mode, and when there is none."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad, tplquad
from scipy.special import gammaln, psi

from decoupling.inference.math.conjugate import DirP, solve_less_rank_one


def test_density_is_that_of_the_formula():
    prior = DirP(np.array([2.0, 3.0]), 1.5)
    gamma = np.array([[0.4, 0.7], [2.0, 5.0]])
    log_beta = gammaln(gamma).sum(axis=1) - gammaln(gamma.sum(axis=1))
    np.testing.assert_allclose(prior.log_density(gamma), -1.5 * log_beta - gamma @ [2.0, 3.0])


@pytest.mark.parametrize(
    ("rate", "eta"),
    [([2.0, 3.0], 1.0), ([0.8, 0.9], 1.0), ([5.0, 0.5], 0.3), ([1.0, 2.0], 0.0)],
)
def test_normaliser_of_two_classes(rate, eta):
    prior = DirP(np.array(rate), eta)

    def integrand(u, v):
        return np.exp(prior.log_density(np.exp([u, v])) + u + v)

    expected = np.log(dblquad(integrand, -45.0, 7.0, -45.0, 7.0, epsabs=1e-9)[0])
    assert prior.log_normaliser() == pytest.approx(expected, abs=1e-6)


def test_normaliser_of_three_classes():
    # With eta = 1 and Gamma(S) = integral of t^(S-1) exp(-t) the classes separate.
    rate = np.array([2.0, 2.0, 3.0])

    def separated(log_t):
        parts = [
            quad(lambda g, r=r: np.exp(g * (log_t - r) - gammaln(g)), 0.0, np.inf, epsabs=1e-12)[0]
            for r in rate
        ]
        return np.prod(parts) * np.exp(-np.exp(log_t))

    expected = np.log(quad(separated, -40.0, 4.0, epsabs=1e-12, limit=200)[0])
    assert DirP(rate, 1.0).log_normaliser() == pytest.approx(expected, abs=1e-6)


def test_normaliser_of_three_classes_by_brute_force():
    prior = DirP(np.array([9.0, 12.0, 10.0]), 6.0)

    def integrand(w, v, u):
        return np.exp(prior.log_density(np.exp([u, v, w])) + u + v + w + 13.0)

    ends = (-5.0, 2.0)
    brute = tplquad(integrand, *ends, *ends, *ends, epsabs=1e-5, epsrel=1e-5)[0]
    assert prior.log_normaliser() == pytest.approx(np.log(brute) - 13.0, abs=1e-4)


def test_normaliser_without_draws_is_that_of_exponentials():
    rate = np.array([0.5, 2.0, 3.0])
    assert DirP(rate, 0.0).log_normaliser() == pytest.approx(-np.log(rate).sum(), abs=1e-7)
    assert DirP(rate[:1], 5.0).log_normaliser() == pytest.approx(-np.log(0.5))


def test_normaliser_of_many_classes_is_near_for_sharp_priors():
    # Laplace's method where the integral is known to be exact for three classes.
    gamma, eta = np.array([0.8, 1.5, 0.6]), 400.0
    rate = eta * (psi(gamma.sum()) - psi(gamma))
    exact = DirP(rate, eta).log_normaliser()
    prior = DirP(rate, eta)
    top = prior._highest(jacobian=1.0)
    half = -0.5 * np.linalg.slogdet(prior._log_curvature(top) / (2 * np.pi))[1]
    assert prior._log_integrand(np.log(top)) + half == pytest.approx(exact, abs=5e-3)
    four = np.array([0.8, 1.5, 0.6, 0.3])
    assert np.isfinite(DirP(eta * (psi(four.sum()) - psi(four)), eta).log_normaliser())


def test_normaliser_along_a_ray():
    prior, shares = DirP(np.array([2.0, 3.0]), 1.5), (0.3, 0.7)

    def integrand(u):
        return np.exp(prior.log_density(np.exp(u) * np.array(shares)) + u)

    expected = np.log(quad(integrand, -40.0, 6.0, epsabs=1e-12)[0])
    assert prior.log_normaliser(shares) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("gamma", [[1.0, 2.0], [1e-3, 5.0, 0.2], [1e4, 1e4], [0.1] * 10])
def test_mode(gamma):
    gamma = np.array(gamma)
    prior = DirP(3.0 * (psi(gamma.sum()) - psi(gamma)), 3.0)
    np.testing.assert_allclose(prior.mode(), gamma, rtol=1e-6)


def test_mode_without_draws_or_with_one_class():
    assert (DirP(np.array([1.0, 2.0]), 0.0).mode() == 0).all()
    assert (DirP(np.array([1.0]), 2.0).mode() == 0).all()


@pytest.mark.parametrize(
    ("rate", "eta", "words"),
    [
        ([0.5, 0.5], 1.0, r"below 1; it is 1\.21"),
        ([np.log(2.0), np.log(2.0)], 1.0, "below 1"),
        ([1.0, 0.0], 0.0, "every rate must be positive; the least is 0"),
    ],
)
def test_no_finite_integral(rate, eta, words):
    with pytest.raises(ValueError, match=words):
        DirP(np.array(rate), eta)


def test_solve_less_rank_one():
    diagonal, target = np.array([3.0, 5.0, 2.0]), np.array([1.0, -2.0, 0.5])
    found = solve_less_rank_one(diagonal, 0.4, target)
    np.testing.assert_allclose((np.diag(diagonal) - 0.4) @ found, target, rtol=1e-12)
