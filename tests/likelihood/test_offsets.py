"""Temperature and offsets that make labels most probable, beside a search."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import softmax

from decoupling.likelihood.offsets import best_calibration

# Each class is called by 9 to 1, and either label is seen.
CALLED = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]])


def objective(point, logs, emits, weight):
    """As the docstring has it, of ln t and b; in plain numbers."""
    total = -(point[0] ** 2) / (2 * 0.5**2) - (point[1:] ** 2).sum() / (2 * 0.3**2)
    for row, emit, w in zip(logs, emits, weight, strict=True):
        q = np.exp((row + point[1:]) / np.exp(point[0]))
        total += w * np.log((q / q.sum() * emit).sum())
    return total


def problem(n_classes, seed=0, n_rows=60):
    rng = np.random.default_rng(seed)
    logs = np.log(rng.dirichlet(np.full(n_classes, 0.5), n_rows).clip(1e-9))
    emits = rng.uniform(0.01, 1.0, (n_rows, n_classes))
    return logs, emits, rng.uniform(0.5, 2.0, n_rows)


@pytest.mark.parametrize("soften", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_best_calibration_is_that_of_a_search(n_classes, soften):
    logs, emits, weight = problem(n_classes)
    temperature, offsets = best_calibration(logs, emits, weight, soften=soften)
    found = np.append(np.log(temperature), offsets)

    def loss(point):
        return -objective(point, logs, emits, weight)

    hottest = None if soften else 0.0
    bounds = [(0.0, hottest), *[(None, None)] * n_classes]
    best = minimize(loss, np.zeros(n_classes + 1), bounds=bounds, method="L-BFGS-B")
    np.testing.assert_allclose(found, best.x, atol=1e-3)
    assert loss(found) <= best.fun + 1e-9
    slope = approx_fprime(found, loss, 1e-6)
    free = slice(int(temperature == 1), None)
    np.testing.assert_allclose(slope[free], 0, atol=1e-4)
    assert temperature >= 1
    if soften:
        assert slope[0] > -1e-4  # if 1, then since it would sharpen


def test_a_few_rows_leave_probabilities_as_they_are():
    found = best_calibration(np.log(CALLED[:2]), np.eye(2)[[1, 1]], np.ones(2))
    assert found[0] < 2
    assert np.abs(found[1]).max() < 0.5


def test_neither_the_order_of_rows_nor_copies_of_them_matter():
    logs, emits, _ = problem(3)
    weight = np.random.default_rng(1).integers(0, 4, len(logs))
    one = best_calibration(logs, emits, weight.astype(float))
    copies = np.random.default_rng(2).permutation(np.repeat(np.arange(len(logs)), weight))
    other = best_calibration(logs[copies], emits[copies], np.ones(len(copies)))
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    np.testing.assert_allclose(one[1], other[1], atol=1e-12)


@pytest.mark.parametrize("soften", [True, False])
def test_but_for_the_prior_classes_are_as_large_before_the_labels_as_after(soften):
    logs, emits, weight = problem(3, n_rows=4000)
    temperature, offsets = best_calibration(logs, emits, weight, soften=soften)
    q = softmax((logs + offsets) / temperature, axis=1)
    after = q * emits / (q * emits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weight @ (after - q) / temperature, offsets / 0.3**2, atol=1e-6)
