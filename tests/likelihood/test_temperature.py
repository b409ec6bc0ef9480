"""The temperature of probabilities, by closed form and by a grid."""

import numpy as np
import pytest

from decoupling.likelihood.temperature import best_temperature, likely_temperatures, tempered


def test_tempered():
    proba = np.array([[0.8, 0.2], [0.5, 0.5]])
    np.testing.assert_allclose(tempered(proba, 1.0), proba)
    np.testing.assert_allclose(tempered(proba, 0.5), [[16 / 17, 1 / 17], [0.5, 0.5]])
    np.testing.assert_allclose(tempered(proba, 2.0), [[2 / 3, 1 / 3], [0.5, 0.5]])
    np.testing.assert_allclose(tempered(3 * proba, 2.0), tempered(proba, 2.0))
    assert np.isfinite(tempered(np.array([[1.0, 0.0]]), 0.05)).all()


SURE = np.log([[0.9, 0.1], [0.9, 0.1]])


@pytest.mark.parametrize("right", [0.6, 0.75, 0.99])
def test_best_temperature_in_closed_form(right):
    """Scores of 9 to 1, of which a share is right: 9 ** (1 / temperature) = right / wrong."""
    many = 1e9 * np.array([right, 1 - right])
    found = best_temperature(SURE, np.eye(2), many, coldest=1 / 20)
    assert found == pytest.approx(np.log(9) / np.log(right / (1 - right)), rel=1e-6)


@pytest.mark.parametrize("coldest", [1 / 20, 1.0])
@pytest.mark.parametrize("right", [0.05, 0.6, 0.99])
@pytest.mark.parametrize("n_rows", [1, 10, 100])
def test_the_most_probable_temperature(n_rows, right, coldest):
    """The largest of likelihood times prior on a fine grid, through labels that may be wrong."""
    emits = np.array([[0.8, 0.3], [0.2, 0.7]])
    weight = n_rows * np.array([right, 1 - right])
    grid = np.linspace(np.log(coldest), np.log(20), 20001)
    y = 1 / (1 + 9.0 ** -np.exp(-grid))
    seen = weight[0] * np.log(0.8 * y + 0.3 * (1 - y)) + weight[1] * np.log(0.2 * y + 0.7 * (1 - y))
    expected = np.exp(grid[np.argmax(seen - 0.5 * (grid / 0.5) ** 2)])
    found = best_temperature(SURE, emits, weight, coldest)
    assert found == pytest.approx(expected, rel=5e-4)


def test_few_labels_leave_probabilities_as_they_are():
    """All of three labels are right, or wrong, by chance alone."""
    logs = np.log([[0.9, 0.1]] * 3)
    for code in (0, 1):
        given = np.eye(2)[[code] * 3]
        assert 0.8 < best_temperature(logs, given, np.ones(3), coldest=1 / 20) < 2


@pytest.mark.parametrize(("code", "limit"), [(0, 1 / 20), (1, 20)])
def test_the_temperature_is_limited(code, limit):
    found = best_temperature(
        np.log([[0.55, 0.45]]), np.eye(2)[[code]], np.array([1e12]), coldest=1 / 20
    )
    assert found == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize("total", [1e-3, 1.0, 1e3, 1e9, 1e16, 1e100])
def test_temperatures_that_matter_are_near_the_most_probable_one(total):
    """Whatever the weight of the rows: the grid closes in on what there is."""
    weight = total * np.array([0.7, 0.3])
    found, log_mass = likely_temperatures(SURE, np.eye(2), weight, coldest=0.7)
    best = best_temperature(SURE, np.eye(2), weight, coldest=0.7)
    assert found.min() <= best * (1 + 1e-6)
    assert found.max() >= best * (1 - 1e-6)
    assert np.isfinite(log_mass).all()
    assert found[log_mass.argmax()] == pytest.approx(best, rel=0.2 if total <= 1 else 0.02)
