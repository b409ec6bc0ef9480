"""Integrals over class distributions against closed forms."""

import numpy as np
import pytest
from scipy.special import gammaln

from decoupling.inference.errors import marginal
from decoupling.inference.errors.marginal import log_marginal, simplex_nodes


def log_beta(a):
    return gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))


@pytest.mark.parametrize("gamma", [[0.5, 0.5], [0.2, 0.3, 1.5], [1.0, 2.0, 0.1, 0.4]])
def test_nodes_have_the_moments_of_a_dirichlet(gamma):
    gamma = np.array(gamma)
    points, shares = simplex_nodes(gamma, 4)
    np.testing.assert_allclose(points.sum(axis=1), 1.0)
    for power in np.random.default_rng(0).multinomial(7, gamma / gamma.sum(), size=10):
        expected = np.exp(log_beta(gamma + power) - log_beta(gamma))
        assert shares @ np.prod(points**power, axis=1) == pytest.approx(expected, rel=1e-9)


def test_labels_that_are_classes():
    """With T = I the integral is that of a Dirichlet-multinomial."""
    gamma = np.array([0.3, 0.4, 0.3])
    weight = np.array([[5.0, 0.0, 2.0], [0.0, 7.0, 0.0], [3.0, 3.0, 1.0]])
    repeats = np.array([1.0, 2.0, 0.5])
    found = log_marginal(np.eye(3)[None], weight, repeats, simplex_nodes(gamma, 4))
    assert found == pytest.approx(repeats @ (log_beta(gamma + weight) - log_beta(gamma)), rel=1e-9)


def test_one_observation_sees_the_mean_of_the_rows():
    gamma, transitions = np.array([0.2, 0.8]), np.array([[0.9, 0.1], [0.3, 0.7]])
    found = log_marginal(transitions[None], np.eye(2), np.ones(2), simplex_nodes(gamma, 1))
    assert found == pytest.approx(np.log(gamma @ transitions).sum())


def test_chunks_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    transitions, weight = rng.dirichlet([1.0, 1.0, 1.0], (3, 2)), 20 * rng.dirichlet([1, 1, 1], 11)
    nodes = simplex_nodes(np.array([0.5, 0.5]), 10)
    whole = log_marginal(transitions, weight, np.ones(11), nodes)
    monkeypatch.setattr(marginal, "_ENTRIES", 40)
    np.testing.assert_allclose(log_marginal(transitions, weight, np.ones(11), nodes), whole)
