"""Agreement terms: the reference table, enumeration, gradients."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_rows

from decoupling import TransitionPrior, agreement_terms
from decoupling.inference.math.agreement_series import AgreementSeries
from decoupling.inference.math.dirichlet import DirichletRows

# Theta = [[10, 1], [4, 4]], label 0, orders 1 to 8: the example of the paper.
TABLE = {
    (10, 1): [0.87190, 0.76752, 0.68126, 0.60907, 0.54802, 0.49589, 0.45100, 0.41205],
    (1, 10): [0.53719, 0.31298, 0.19403, 0.12633, 0.08559, 0.05993, 0.04315, 0.03180],
    (1, 1): [0.70455, 0.52189, 0.40127, 0.31759, 0.25725, 0.21237, 0.17812, 0.15142],
    (4, 4): [0.70455, 0.51066, 0.37905, 0.28712, 0.22134, 0.17327, 0.13749, 0.11043],
    (25, 25): [0.70455, 0.50604, 0.36990, 0.27474, 0.20708, 0.15819, 0.12235, 0.09572],
    (0.35, 0.35): [0.70455, 0.53476, 0.42677, 0.35287, 0.29949, 0.25928, 0.22799, 0.20300],
}


def test_reference_table():
    terms = agreement_terms(list(TABLE), [[10, 1], [4, 4]], 8)[:, :, 0]
    np.testing.assert_allclose(terms.T, list(TABLE.values()), atol=5.1e-6, rtol=0)


@settings(max_examples=40, deadline=None)
@given(
    n_rows=st.integers(1, 3),
    n_classes=st.integers(1, 5),
    n_labels=st.integers(1, 4),
    order=st.integers(1, 6),
    seed=st.integers(0, 10**6),
)
def test_enumeration(n_rows, n_classes, n_labels, order, seed):
    rng = np.random.default_rng(seed)
    pi = rng.gamma(0.8, 3.0, (n_rows, n_classes)) + 1e-3
    theta = rng.gamma(0.8, 5.0, (n_classes, n_labels)) + 1e-3
    theta[rng.random(theta.shape) < 0.2] = 0.0
    theta[:, 0] += 0.1  # every class keeps a label
    slow = oracle.agreement_by_enumeration(pi, theta, order)
    np.testing.assert_allclose(agreement_terms(pi, theta, order), slow, rtol=1e-12, atol=1e-12)


def test_enumeration_with_known_rows():
    rows = random_rows(3)
    pi = np.random.default_rng(4).gamma(1.0, 2.0, (4, 3)) + 0.01
    slow = oracle.agreement_by_enumeration(pi, rows.parameters, 5, known=rows.known)
    np.testing.assert_allclose(AgreementSeries.of(rows, 5).terms(pi), slow, rtol=1e-12)


def test_known_prior_equals_powers_when_there_is_one_class():
    prior = TransitionPrior([[0.3, 0.7]], np.inf)
    terms = agreement_terms([[2.0]], prior, 4)
    np.testing.assert_allclose(terms[:, 0, 0], 0.3 ** np.arange(1, 5), rtol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_gradients_agree_with_differences(order):
    rows = random_rows(5)
    rng = np.random.default_rng(6)
    pi = rng.gamma(1.0, 2.0, (3, 3)) + 0.1
    weight = rng.normal(size=(order, 3, 4))
    free = (rows.parameters > 0) & ~rows.known[:, None]

    def of_theta(x):
        parameters = rows.parameters.copy()
        parameters[free] = x
        terms = AgreementSeries.of(DirichletRows(parameters, rows.known), order).terms(pi)
        return float((weight * terms).sum())

    series = AgreementSeries.of(rows, order)
    by_class, by_transition = series.gradients(pi, weight)
    difference = oracle.central_difference(lambda x: float((weight * series.terms(x)).sum()), pi)
    np.testing.assert_allclose(by_class, difference, rtol=1e-6, atol=1e-8)
    difference = oracle.central_difference(of_theta, rows.parameters[free])
    np.testing.assert_allclose(by_transition[free], difference, rtol=1e-6, atol=1e-8)
    assert (by_transition[~free] == 0).all()


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"class_concentration: 0 at row 0, column 1"):
        agreement_terms([[1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]], 2)
    with pytest.raises(ValueError, match="number of classes"):
        agreement_terms([[1.0, 2.0, 3.0]], [[1.0, 1.0], [1.0, 1.0]], 2)
    with pytest.raises(ValueError, match="order must be an integer, at least 1"):
        agreement_terms([[1.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]], 0)
