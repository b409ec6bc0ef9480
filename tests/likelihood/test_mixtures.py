"""Shares of a mixture beside those of a grid, and shares of classes that are held."""

import numpy as np
import pytest

from decoupling.likelihood.mixtures import mixture_shares, with_shares


def test_shares_are_held():
    rng = np.random.default_rng(0)
    proba, weight = rng.dirichlet([1, 2, 5], 500), rng.random(500)
    shares = np.array([0.5, 0.3, 0.2])
    found = with_shares(proba, weight, shares)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(np.average(found, axis=0, weights=weight), shares, atol=0.01)
    odds = (found[:, 0] / found[:, 1]) / (proba[:, 0] / proba[:, 1])
    np.testing.assert_allclose(odds, odds[0])  # one factor for each class
    same = with_shares(proba, weight, np.average(proba, axis=0, weights=weight))
    np.testing.assert_allclose(same, proba)
    none = with_shares(np.eye(3)[[0, 1, 1]], np.ones(3), np.array([0.5, 0.5, 0.0]))
    np.testing.assert_allclose(none, np.eye(3)[[0, 1, 1]])
    sudden = with_shares(np.eye(3)[[0, 1, 2]], np.ones(3), np.array([0.5, 0.5, 0.0]))
    np.testing.assert_allclose(sudden, np.eye(3))  # a class that was nobody's at first


def test_shares_of_a_mixture_are_those_of_a_grid():
    rng = np.random.default_rng(0)
    likelihood, weight = rng.random((2, 40)) * [[1.0], [0.7]], rng.integers(1, 4, 40)
    grid = np.linspace(0.001, 0.999, 999)
    mixed = grid[:, None] * likelihood[0] + (1 - grid[:, None]) * likelihood[1]
    goodness = np.log(mixed) @ weight + np.log(grid) + np.log(1 - grid)
    found = mixture_shares(likelihood, weight)
    assert found[0] == pytest.approx(grid[goodness.argmax()], abs=0.01)
    assert found.sum() == pytest.approx(1)
    never = mixture_shares(np.array([[1.0, 1.0], [0.0, 0.0]]), np.ones(2))
    np.testing.assert_allclose(never, [0.75, 0.25])  # of two rows nothing is certain
    np.testing.assert_allclose(mixture_shares(np.zeros((2, 3)), np.ones(3)), 0.5)
    np.testing.assert_allclose(mixture_shares(np.ones((1, 3)), np.ones(3)), 1)
