"""E[ln X] by every method: references, bounds, gradients, extremes."""

import json
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_rows

from decoupling import TransitionPrior, expected_log
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import METHODS, make_method

CASES = json.loads((Path(__file__).parents[2] / "data/expected_log_reference.json").read_text())

# Pi, column of Theta, row sums, then: exact, Taylor K = 2, 3, 4, 6, beta, bound.
TABLE = [
    ([50, 2, 1, 1], [70, 2, 5, 1], 100, -0.43361, [-0.434] * 4, -0.4336, -0.4350),
    (
        [0.2, 0.2, 1.2, 0.1],
        [5, 1, 0.1, 0.1],
        100,
        -6.14969,
        [-5.884, -3.261, -16.6, -569],
        -6.1999,
        -8.4734,
    ),
    (
        [2, 3, 4, 1],
        [3, 1, 0.5, 8],
        10,
        -1.77265,
        [-1.765, -1.741, -1.780, -1.793],
        -1.7761,
        -2.2049,
    ),
]


@pytest.mark.parametrize(("pi", "column", "total", "exact", "taylor", "beta", "bound"), TABLE)
def test_reference_table(pi, column, total, exact, taylor, beta, bound):
    theta = np.array([[x, total - x] for x in column], dtype=float)

    def value(method, order=2):
        return expected_log([pi], theta, method, order)[0, 0]

    assert value("exact") == pytest.approx(exact, abs=5.1e-6)
    assert value("beta") == pytest.approx(beta, abs=5.1e-5)
    assert value("bound") == pytest.approx(bound, abs=5.1e-5)
    for order, expected in zip((2, 3, 4, 6), taylor, strict=True):
        assert value("taylor", order) == pytest.approx(expected, abs=5.1e-4, rel=3e-3)


def rows_of(case):
    """The case's column of T with a second label that takes the rest of each row."""
    known, column = np.array(case["known"]), np.array(case["theta_column"])
    rest = np.where(known, 1.0 - column, np.array(case["theta_total"]) - column)
    parameters = np.stack([column, rest], axis=1)
    single = np.count_nonzero(parameters, axis=1) == 1
    parameters = np.where(
        single[:, None], parameters / parameters.sum(1, keepdims=True), parameters
    )
    rows = DirichletRows(parameters, known | single)
    return rows.columns(rows.possible_labels)


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_exact_is_within_1e_8_and_bound_never_above(case):
    pi, rows = np.array([case["pi"]]), rows_of(case)
    exact = make_method("exact", rows, 2).value(pi)[0, 0]
    assert exact == pytest.approx(case["value"], abs=1e-8, rel=1e-13)
    assert make_method("bound", rows, 2).value(pi)[0, 0] <= case["value"] + 1e-12
    assert np.isfinite(make_method("beta", rows, 2).value(pi)).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(1, 5))
def test_exact_in_the_collapsed_case(seed, n_classes):
    # With Theta_c0 = Pi_c the products g_c T_c are Gamma(Theta_cs) and E[ln X] is closed.
    rng = np.random.default_rng(seed)
    pi = 10 ** rng.uniform(-2, 6, n_classes)
    theta = pi[:, None] * rng.dirichlet([1.0, 1.0, 1.0], n_classes)
    theta = np.maximum(theta, 1e-3)
    pi = theta.sum(axis=1)
    closed = dirichlet.mean_log(theta.sum(axis=0))
    np.testing.assert_allclose(expected_log([pi], theta)[0], closed, atol=1e-8, rtol=1e-13)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 4), sure=st.booleans())
def test_bound_never_above_exact(seed, n_classes, sure):
    rng = np.random.default_rng(seed)
    pi = 10 ** rng.uniform(-1.5, 3, (3, n_classes))
    theta = 10 ** rng.uniform(-1.5, 3, (n_classes, 3))
    strength = np.inf if sure else theta.sum(axis=1)
    prior = TransitionPrior(dirichlet.mean(theta), strength)
    assert (expected_log(pi, prior, "bound") <= expected_log(pi, prior, "exact") + 1e-8).all()


def test_many_rows_over_a_wide_range_equal_single_rows():
    rng = np.random.default_rng(7)
    pi = 10 ** rng.uniform(-1, 3, (50, 3))
    theta = np.array([[300.0, 5.0, 0.3], [4.0, 4000.0, 60.0], [0.5, 0.5, 30.0]])
    together = expected_log(pi, theta)
    alone = np.concatenate([expected_log(row[None], theta) for row in pi])
    np.testing.assert_allclose(together, alone, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_gradients_agree_with_differences(method, order):
    rows = random_rows(8)
    rng = np.random.default_rng(9)
    pi = rng.gamma(1.0, 2.0, (4, 3)) + 0.1
    weight = rng.random((4, 4))
    free = (rows.parameters > 0) & ~rows.known[:, None]
    evaluator = make_method(method, rows, order)

    def of_theta(x):
        parameters = rows.parameters.copy()
        parameters[free] = x
        other = make_method(method, DirichletRows(parameters, rows.known), order)
        return float((weight * other.value(pi)).sum())

    value, (by_class, by_transition) = evaluator.value(pi), evaluator.slopes(pi, weight)
    np.testing.assert_allclose(value, evaluator.value(pi), rtol=1e-12)
    difference = oracle.central_difference(lambda x: float((weight * evaluator.value(x)).sum()), pi)
    np.testing.assert_allclose(by_class, difference, rtol=1e-6, atol=1e-6)
    difference = oracle.central_difference(of_theta, rows.parameters[free])
    np.testing.assert_allclose(by_transition[free], difference, rtol=1e-6, atol=1e-6)
    assert (by_transition[~free] == 0).all()


def test_counts_are_the_natural_gradient():
    rows = random_rows(10)
    rng = np.random.default_rng(11)
    pi = rng.gamma(1.0, 2.0, (4, 3)) + 0.1
    weight = rng.random((4, 4))
    evaluator = make_method("bound", rows, 2)
    seen = evaluator.rows(dirichlet.mean_log(pi))
    by_class = seen.class_counts(weight)
    by_transition = evaluator.transition_matrix(seen.transition_counts(weight))
    np.testing.assert_allclose(by_class.sum(axis=1), weight.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(by_transition.sum(axis=0), weight.sum(axis=0), rtol=1e-12)
    slopes = evaluator.slopes(pi, weight)
    solved = dirichlet.fisher_solve(pi, slopes.by_class)
    np.testing.assert_allclose(solved, by_class, rtol=1e-8)
    solved = rows.fisher_solve(slopes.by_transition)
    np.testing.assert_allclose(solved[[0, 2]], by_transition[[0, 2]], rtol=1e-8, atol=1e-12)


def test_beta_is_exact_when_transitions_are_zero_or_one():
    prior = TransitionPrior([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], np.inf)
    pi = [[0.3, 2.0, 0.01], [40.0, 1.0, 3.0]]
    np.testing.assert_allclose(
        expected_log(pi, prior, "beta"), expected_log(pi, prior, "exact"), atol=1e-8
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_label_that_says_nothing_has_its_own_logarithm(method):
    prior = TransitionPrior([[0.3, 0.7], [0.3, 0.7]], np.inf)
    if method == "bound":
        assert (expected_log([[0.5, 2.0]], prior, method) < np.log([0.3, 0.7])).all()
    else:
        value = expected_log([[0.5, 2.0]], prior, method, 4)
        np.testing.assert_allclose(value, [np.log([0.3, 0.7])], atol=1e-8)


def test_bound_with_tiny_concentrations_is_finite_and_right():
    # Both exponentials underflow: exp(psi(1e-3)) is exp(-1000).
    pi, theta = np.array([[1e-3, 5.0]]), np.array([[5.0, 5.0], [1e-3, 5.0]])
    evaluator = make_method("bound", DirichletRows.free(theta), 2)
    logs = dirichlet.mean_log(pi)[0][:, None] + dirichlet.mean_log(theta)
    np.testing.assert_allclose(evaluator.value(pi)[0], np.logaddexp(*logs), rtol=1e-12)
    seen, weight = evaluator.rows(dirichlet.mean_log(pi)), np.array([[2.0, 1.0]])
    expected = np.exp(logs - np.logaddexp(*logs)) * weight
    np.testing.assert_allclose(seen.class_counts(weight)[0], expected.sum(axis=1), rtol=1e-12)
    found = evaluator.transition_matrix(seen.transition_counts(weight))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-280)


def test_impossible_label_is_minus_infinity():
    value = expected_log([[1.0, 2.0]], [[1.0, 0.0], [3.0, 0.0]])
    assert value[0, 0] == pytest.approx(0.0, abs=1e-8)
    assert value[0, 1] == -np.inf


def test_unknown_method_is_refused():
    with pytest.raises(ValueError, match="expected_log must be one of"):
        expected_log([[1.0]], [[1.0, 1.0]], "guess")
