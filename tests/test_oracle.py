"""The oracles agree with closed forms, with one another and with printed values."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracle import (
    agreement_by_enumeration,
    central_difference,
    closed_form,
    compositions,
    dirichlet_entropy_monte_carlo,
    dirichlet_entropy_quadrature,
    dirichlet_kl_quadrature,
    expected_log_monte_carlo,
    expected_log_product_rule,
    expected_log_reference,
    load_expected_log_cases,
    log_evidence,
    mixture_identity,
    rising_factorial,
)
from scipy import special

CASES = load_expected_log_cases()

# The example of the paper: E[X^p] for p = 1 to 8, to five digits.
AGREEMENT = {
    (10, 1): [0.87190, 0.76752, 0.68126, 0.60907, 0.54802, 0.49589, 0.45100, 0.41205],
    (1, 10): [0.53719, 0.31298, 0.19403, 0.12633, 0.08559, 0.05993, 0.04315, 0.03180],
    (1, 1): [0.70455, 0.52189, 0.40127, 0.31759, 0.25725, 0.21237, 0.17812, 0.15142],
    (4, 4): [0.70455, 0.51066, 0.37905, 0.28712, 0.22134, 0.17327, 0.13749, 0.11043],
    (25, 25): [0.70455, 0.50604, 0.36990, 0.27474, 0.20708, 0.15819, 0.12235, 0.09572],
    (0.35, 0.35): [0.70455, 0.53476, 0.42677, 0.35287, 0.29949, 0.25928, 0.22799, 0.20300],
}


# Agreement terms.


def test_rising_factorial_is_a_ratio_of_gammas():
    for base in (0.3, 1.0, 7.5):
        assert [rising_factorial(base, k) for k in range(6)] == pytest.approx(
            special.poch(base, np.arange(6)), rel=1e-14
        )
    assert rising_factorial(0.0, 0) == 1
    assert rising_factorial(0.0, 3) == 0


def test_compositions_are_all_there():
    found = list(compositions(5, 4))
    assert len(set(found)) == len(found) == math.comb(8, 3)
    assert {sum(beta) for beta in found} == {5}


def test_agreement_of_the_example():
    terms = agreement_by_enumeration(list(AGREEMENT), [[10, 1], [4, 4]], 8)
    assert terms.shape == (8, 6, 2)
    assert_allclose(terms[:, :, 0].T, list(AGREEMENT.values()), atol=5.01e-6)


def test_first_agreement_term_is_the_product_of_means():
    rng = np.random.default_rng(0)
    pi, theta = rng.gamma(1, size=(3, 4)), rng.gamma(1, size=(4, 5))
    means = pi / pi.sum(1, keepdims=True) @ (theta / theta.sum(1, keepdims=True))
    assert_allclose(agreement_by_enumeration(pi, theta, 1)[0], means, rtol=1e-13)


def test_agreement_of_draws():
    rng = np.random.default_rng(1)
    pi, theta = np.array([0.5, 2, 1]), np.array([[3, 0, 1], [0.5, 1, 1], [0.2, 0.3, 0.5]])
    y = rng.dirichlet(pi, 200_000)
    t = [rng.dirichlet([3, 1], 200_000), rng.dirichlet(theta[1], 200_000)]
    x = y[:, 0] * t[0][:, 1] + y[:, 1] * t[1][:, 2] + y[:, 2] * 0.5  # the last label
    terms = agreement_by_enumeration(pi, theta, 4, known=[False, False, True])[:, 0, 2]
    for p, term in enumerate(terms, start=1):
        assert abs((x**p).mean() - term) < 4.5 * (x**p).std() / math.sqrt(len(x))


def test_agreement_of_zeros_and_constants():
    pi = [[1.5, 0.5]]
    zeros = agreement_by_enumeration(pi, [[0, 2], [3, 0]], 3)
    beta = [rising_factorial(1.5, p) / rising_factorial(2.0, p) for p in (1, 2, 3)]
    assert_allclose(zeros[:, 0, 1], beta, rtol=1e-14)  # X = Y_0
    constants = agreement_by_enumeration(pi, [[0.3, 0.7], [0.3, 0.7]], 3, known=[True, True])
    assert_allclose(constants[:, 0], [[0.3**p, 0.7**p] for p in (1, 2, 3)], rtol=1e-14)


# Gradients.


def test_central_difference():
    x = np.array([[0.5, 2.0, 7.0], [1e-3, 40.0, 1.0]])
    gradient = central_difference(lambda z: special.gammaln(z).sum(), x)
    assert_allclose(gradient, special.digamma(x), rtol=1e-10)


def test_central_difference_is_exact_for_quartics():
    x = np.array([0.0, -3.0, 2.0])
    weights = np.array([1.0, 2.0, -5.0])
    gradient = central_difference(lambda z: float(weights @ (z**4 + z)), x, step=0.1)
    assert_allclose(gradient, weights * (4 * x**3 + 1), rtol=1e-12)


# The expected logarithm.


@pytest.mark.parametrize(
    ("pi", "column", "total", "printed"),
    [
        ([50, 2, 1, 1], [70, 2, 5, 1], 100, -0.43361),
        ([0.2, 0.2, 1.2, 0.1], [5, 1, 0.1, 0.1], 100, -6.14969),
        ([2, 3, 4, 1], [3, 1, 0.5, 8], 10, -1.77265),
    ],
)
def test_stored_values_of_the_three_examples(pi, column, total, printed):
    (case,) = (c for c in CASES if c.pi.tolist() == pi and c.theta_column.tolist() == column)
    assert set(case.theta_total) == {total}
    assert case.value == pytest.approx(printed, abs=5.01e-6)


def test_table_covers_the_range():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
    assert {len(case.pi) for case in CASES} == {1, 2, 3, 4, 5}
    assert min(case.pi.min() for case in CASES) == 1e-3
    assert max(case.pi.max() for case in CASES) == 1e6
    assert {case.known.mean() in (0, 1) for case in CASES} == {True, False}
    assert all(case.check and case.method for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_stored_values_meet_bounds_and_closed_forms(case):
    form = closed_form(*case.arguments)
    if form is not None:
        assert case.value == pytest.approx(form[1], rel=1e-15, abs=1e-17)
    # Jensen above; below, ln X >= ln of any one term, for instance the best on average.
    used = case.theta_column > 0
    pi, total = case.pi[used], np.where(case.known, 1, case.theta_total)[used]
    column = np.minimum(case.theta_column[used], total)
    known = (case.known | (case.theta_column == case.theta_total))[used]
    upper = math.log((pi * column / total).sum() / case.pi.sum())
    log_t = np.where(
        known, np.log(column / total), special.digamma(column) - special.digamma(total)
    )
    log_y = special.digamma(pi) - special.digamma(case.pi.sum())
    slack = 1e-12 * max(1, abs(case.value))
    assert special.logsumexp(log_y + log_t) - slack <= case.value <= upper + slack


CHEAP = [
    "known, five classes",
    "known, ones and zeros",
    "two classes",
    "mixed knowledge, two classes",
]


@pytest.mark.parametrize("case", [c for c in CASES if c.name in CHEAP], ids=lambda case: case.name)
def test_recomputed_values(case):
    assert expected_log_reference(*case.arguments) == pytest.approx(case.value, rel=1e-15)


def test_both_factors_agree():
    arguments = [0.7], [2.0], [3.0]
    for method in ("hypergeometric", "nested"):
        value = expected_log_reference(*arguments, dps=20, method=method)
        assert value == pytest.approx(-0.5, rel=1e-13)
    with pytest.raises(ValueError, match="unknown method"):
        expected_log_reference(*arguments, method="guess")


def test_mixture_identity():
    arguments = [0.3, 5.0, 0.01], [0.9, 0.01, 0.3], [1.0, 1.0, 1.0], [True, True, True]
    assert mixture_identity(*arguments) == pytest.approx(
        expected_log_reference(*arguments), rel=1e-15
    )


def test_impossible_label():
    assert expected_log_reference([1, 2], [0, 0], [3, 3]) == -math.inf


def suits_the_product_rule(case):
    """Two classes, no slow tails, and no concentrations that cost digits."""
    pi, column, total, known = case.arguments
    free = np.concatenate([pi, column[~known], (total - column)[~known]])
    return len(pi) == 2 and free.min() >= 0.5 and free.max() <= 1e5


@pytest.mark.parametrize(
    "case", list(filter(suits_the_product_rule, CASES)), ids=lambda case: case.name
)
def test_product_rule(case):
    value = expected_log_product_rule(*case.arguments, step=0.25)
    assert value == pytest.approx(case.value, rel=2e-13, abs=1e-13)


@pytest.mark.parametrize("case", CASES[::6], ids=lambda case: case.name)
def test_monte_carlo(case):
    pi, column, total, known = case.arguments
    mean, error = expected_log_monte_carlo(pi, column, total, 20_000, 5, known)
    assert abs(mean - case.value) <= 4.5 * error + 1e-12


# Dirichlet distributions.

PAIRS = [(2, 3), (1, 1), (0.5, 0.5), (1e-3, 2.0), (1e-3, 1e-3), (1e4, 30.0)]


@pytest.mark.parametrize("a", PAIRS)
def test_dirichlet_entropy(a):
    a = np.array(a, dtype=float)
    quadrature = dirichlet_entropy_quadrature(a)
    closed = special.betaln(*a) - (a - 1) @ (special.digamma(a) - special.digamma(a.sum()))
    assert quadrature == pytest.approx(closed, rel=1e-10, abs=1e-10)
    mean, error = dirichlet_entropy_monte_carlo(a, 50_000, 3)
    assert abs(mean - quadrature) <= 4.5 * error + 1e-10


def test_dirichlet_entropy_of_the_uniform_simplex():
    mean, error = dirichlet_entropy_monte_carlo([1, 1, 1, 1], 100, 0)
    assert mean == pytest.approx(-math.log(6))  # the density is 3!
    assert error == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("a", PAIRS)
def test_dirichlet_kl(a):
    assert dirichlet_kl_quadrature(a, a) == pytest.approx(0, abs=1e-12)
    # Against the uniform distribution the divergence is minus the entropy.
    entropy = dirichlet_entropy_quadrature(a)
    assert dirichlet_kl_quadrature(a, [1, 1]) == pytest.approx(-entropy, rel=1e-10, abs=1e-10)
    assert dirichlet_kl_quadrature(a, [0.7, 30]) > 0


# The evidence.


def test_evidence_of_the_identity():
    gamma, weights = np.array([0.7, 1.6]), np.array([[2.3, 0.4], [0.2, 0.8]])
    closed = special.betaln(*(gamma + weights).T) - special.betaln(*gamma)
    value = log_evidence(weights, gamma, np.eye(2), known=[True, True])
    assert value == pytest.approx(closed.sum(), rel=1e-13)
    impossible = log_evidence(weights, gamma, [[3, 0], [0, 5]])
    assert impossible == pytest.approx(value, rel=1e-13)


@pytest.mark.parametrize("known", [(False, False), (True, False), (True, True)])
def test_evidence_of_whole_counts(known):
    gamma, theta = [2, 1.5], np.array([[3, 1.5], [2, 5]])
    theta = np.where(np.array(known)[:, None], theta / theta.sum(1, keepdims=True), theta)
    terms = agreement_by_enumeration([gamma], theta, 3, known=known)
    for s, count in ((0, 1), (1, 2), (0, 3)):
        weights = np.zeros((1, 2))
        weights[0, s] = count
        value = log_evidence(weights, gamma, theta, known=known)
        assert value == pytest.approx(math.log(terms[count - 1, 0, s]), rel=1e-12)


def test_evidence_of_two_rows_by_jacobi_rules():
    gamma, theta, weights = (2, 1), ((3, 1), (2, 5)), ((2, 1), (0, 3))

    def rule(a, b):  # exact for polynomials of degree 23
        x, w = special.roots_jacobi(12, b - 1, a - 1)
        y = (1 + x) / 2
        return np.stack([y, 1 - y], axis=1), w / w.sum()

    (y, v), (t0, w0), (t1, w1) = rule(*gamma), rule(*theta[0]), rule(*theta[1])
    x = (
        np.einsum("y,as->yas", y[:, 0], t0)[:, :, None]
        + np.einsum("y,bs->ybs", y[:, 1], t1)[:, None]
    )
    rows = [np.einsum("y,yab->ab", v, (x ** np.array(w)).prod(-1)) for w in weights]
    exact = math.log(w0 @ (rows[0] * rows[1]) @ w1)
    assert log_evidence(weights, gamma, theta) == pytest.approx(exact, rel=1e-12)


def test_evidence_has_settled():
    problem = [[0.3, 0.7], [0.9, 0.1]], [0.5, 1], [[0.8, 0.2], [1, 0.5]], [True, False]
    assert log_evidence(*problem) == pytest.approx(log_evidence(*problem, step=0.2), rel=1e-12)
