"""Rows of T that are pooled."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from decoupling.transitions.pooling import even_noise, learned_strength, pooled


def test_even_noise_is_one_rate():
    counts = np.array([[70.0, 20.0, 10.0], [0.0, 50.0, 0.0], [5.0, 5.0, 40.0]])
    T = even_noise(counts, np.arange(3))
    np.testing.assert_allclose(np.diag(T), 160 / 200)
    np.testing.assert_allclose(T.sum(axis=1), 1.0)
    assert len(np.unique(T.round(12))) == 2


def test_own_labels_may_stand_anywhere():
    T = even_noise(np.array([[1.0, 9.0], [8.0, 2.0]]), np.array([1, 0]))
    assert T.argmax(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("right", [True, False])
def test_no_rate_is_0_or_1(right):
    counts = 10.0 * (np.eye(2) if right else 1.0 - np.eye(2))
    T = even_noise(counts, np.arange(2))
    assert 0 < T.min() < T.max() < 1


def log_marginal(strength, counts, centre):
    """Of one row of two labels, by quadrature over the Beta distribution of its T."""
    a, b = strength * centre
    norm = gammaln(a + b) - gammaln(a) - gammaln(b)
    n, k = counts
    value = quad(
        lambda t: np.exp(norm + (a + n - 1) * np.log(t) + (b + k - 1) * np.log1p(-t)), 0, 1
    )
    return np.log(value[0])


def test_the_strength_makes_the_counts_most_probable():
    counts = np.array([[18.0, 2.0], [12.0, 8.0]])
    centre = np.array([[0.75, 0.25], [0.75, 0.25]])
    found = learned_strength(counts, centre)

    def total(strength):
        return sum(log_marginal(strength, n, c) for n, c in zip(counts, centre, strict=True))

    assert 2.0 < found < 200.0
    assert total(found) > max(total(0.9 * found), total(1.1 * found))


def test_rows_that_differ_by_chance_are_pooled():
    rng = np.random.default_rng(0)
    T = even_noise(np.array([[80.0, 20.0], [20.0, 80.0]]), np.arange(2))
    counts = np.array([rng.multinomial(100, row) for row in T], dtype=float)
    np.testing.assert_allclose(pooled(counts, T), T, atol=0.01)


def test_rows_that_differ_for_sure_are_not():
    counts = np.array([[[900.0, 100.0]], [[500.0, 500.0]]])  # two groups of one class
    T = pooled(counts, np.array([[0.7, 0.3]]))
    np.testing.assert_allclose(T, [[[0.9, 0.1]], [[0.5, 0.5]]], atol=0.01)


def test_a_class_without_rows_is_at_the_centre():
    centre = np.array([[0.8, 0.2], [0.3, 0.7]])
    T = pooled(np.array([[80.0, 20.0], [0.0, 0.0]]), centre)
    np.testing.assert_allclose(T[1], centre[1], atol=1e-3)
    assert (T > 0).all()
