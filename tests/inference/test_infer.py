"""infer as its users meet it: exact limits, invariances, layouts, bad input."""

import warnings

import numpy as np
import pytest
from problems import random_problem
from sklearn.exceptions import ConvergenceWarning

from decoupling import TransitionPrior, infer
from decoupling.inference.math.expected_log import METHODS

NOT_TAYLOR = ["bound", "beta", "exact"]


# Exact limits


@pytest.mark.parametrize("method", NOT_TAYLOR)
@pytest.mark.parametrize("evidence", [1.0, 30.0])
def test_supervised(method, evidence):
    rng = np.random.default_rng(0)
    proba, gamma = rng.dirichlet(np.ones(3), 6), np.array([0.5, 1.0, 2.0])
    posterior = infer(
        proba, TransitionPrior(np.eye(3), np.inf), class_prior=gamma, evidence=evidence,
        expected_log=method, tol=1e-15, max_iter=2000,
    )  # fmt: skip
    np.testing.assert_allclose(posterior.class_concentration, gamma + evidence * proba, rtol=1e-6)


def semi_supervised(method, evidence):
    rng = np.random.default_rng(1)
    proba, gamma = rng.dirichlet([5.0, 1.0, 1.0, 1.0], 6), np.array([0.5, 1.0, 2.0])
    mean = np.hstack([np.full((3, 1), 0.8), 0.2 * np.eye(3)])
    posterior = infer(
        proba, TransitionPrior(mean, np.inf), class_prior=gamma, evidence=evidence,
        expected_log=method, tol=1e-15, max_iter=20_000,
    )  # fmt: skip
    return posterior, proba, gamma


@pytest.mark.parametrize("evidence", [1.0, 30.0])
def test_semi_supervised_with_equal_rates(evidence):
    posterior, proba, gamma = semi_supervised("exact", evidence)
    expected = gamma + evidence * proba[:, 1:]
    np.testing.assert_allclose(posterior.class_concentration, expected, rtol=1e-6)


@pytest.mark.parametrize("method", NOT_TAYLOR)
def test_semi_supervised_with_much_evidence_renormalises_the_labels(method):
    posterior, proba, _ = semi_supervised(method, 1e8)
    np.testing.assert_allclose(posterior.class_proba, proba[:, 1:] / (1 - proba[:, :1]), atol=1e-6)


@pytest.mark.parametrize("method", NOT_TAYLOR)
def test_positive_unlabelled_is_elkan_and_noto(method):
    rate, positive = 0.25, np.array([0.02, 0.1, 0.5, 0.9])
    proba = np.stack([1 - rate * positive, rate * positive], axis=1)
    prior = TransitionPrior([[1.0, 0.0], [1 - rate, rate]], np.inf)
    posterior = infer(proba, prior, evidence=1e8, expected_log=method, tol=1e-17, max_iter=20_000)
    np.testing.assert_allclose(posterior.class_proba[:, 1], positive, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_no_information_leaves_the_prior(method):
    gamma = np.array([0.5, 1.0, 2.0]) if method != "bound" else np.full(3, 0.7)
    prior = TransitionPrior(np.tile([0.2, 0.3, 0.5], (3, 1)), np.inf)
    proba = np.random.default_rng(2).dirichlet(np.ones(3), 5)
    posterior = infer(
        proba, prior, class_prior=gamma, evidence=50.0, expected_log=method, tol=1e-15
    )
    if method != "bound":
        np.testing.assert_allclose(posterior.class_concentration, np.tile(gamma, (5, 1)), rtol=1e-6)
    # The bound gives the rows counts that tell nothing: the mean stays.
    np.testing.assert_allclose(
        posterior.class_proba, np.tile(gamma / gamma.sum(), (5, 1)), atol=1e-6
    )


@pytest.mark.parametrize("method", METHODS)
def test_infinite_strength_is_the_limit_of_large_strength(method):
    problem = random_problem(3, n_rows=8)

    def run(strength):
        return infer(
            problem.label_proba, TransitionPrior(problem.transitions, strength), evidence=5.0,
            transition_evidence=5.0, expected_log=method, tol=1e-11, max_iter=5000,
        )  # fmt: skip

    known, strong, stronger = run(np.inf), run(1e4), run(1e6)
    for name, tolerance in [("transitions", 1e-5), ("class_proba", 1e-4)]:
        far, near = (
            np.abs(getattr(p, name) - getattr(known, name)).max() for p in (strong, stronger)
        )
        assert near < far
        assert near < tolerance


def test_large_evidence_solves_the_linear_equations():
    problem = random_problem(4, n_rows=10)
    posterior = infer(
        problem.label_proba,
        TransitionPrior(problem.transitions, np.inf),
        evidence=1e8,
        tol=1e-16,
        max_iter=50_000,
    )
    np.testing.assert_allclose(
        posterior.class_proba @ posterior.transitions, problem.label_proba, atol=1e-5
    )


# Invariances


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_block_size_threads_and_order_of_rows_do_not_matter(method):
    n_rows = 12 if method == "exact" else 33  # of which each row takes long
    problem = random_problem(5, n_rows=n_rows)
    rng = np.random.default_rng(6)
    evidence = rng.uniform(0.5, 20.0, n_rows)
    order = rng.permutation(n_rows)

    def run(rows=slice(None), **options):
        return infer(
            problem.label_proba[rows], problem.concentration, evidence=evidence[rows],
            expected_log=method, max_iter=20, tol=0.0, **options,
        )  # fmt: skip

    whole = run()
    for other in (
        run(block_size=1),
        run(block_size=7, n_threads=1),
        run(block_size=7, n_threads=3),
    ):
        np.testing.assert_allclose(other.class_proba, whole.class_proba, atol=1e-10)
        np.testing.assert_allclose(other.transitions, whole.transitions, atol=1e-10)
    shuffled = run(order)
    np.testing.assert_allclose(shuffled.class_proba, whole.class_proba[order], atol=1e-10)
    np.testing.assert_allclose(shuffled.transitions, whole.transitions, atol=1e-10)


def test_threads_give_the_same_bits():
    problem = random_problem(7, n_rows=50)
    one, four = (
        infer(problem.label_proba, problem.concentration, block_size=8, n_threads=n) for n in (1, 4)
    )
    np.testing.assert_array_equal(one.class_concentration, four.class_concentration)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_permuting_classes_and_labels_permutes_the_answer(method):
    problem = random_problem(8, n_rows=20)
    gamma = np.array([0.2, 0.3, 0.5])
    classes, labels = np.array([2, 0, 1]), np.array([3, 1, 0, 2])
    options = {"evidence": 10.0, "expected_log": method, "max_iter": 15, "tol": 0.0}
    plain = infer(problem.label_proba, problem.concentration, class_prior=gamma, **options)
    permuted = infer(
        problem.label_proba[:, labels],
        problem.concentration[np.ix_(classes, labels)],
        class_prior=gamma[classes],
        **options,
    )
    np.testing.assert_allclose(permuted.class_proba, plain.class_proba[:, classes], atol=1e-9)
    np.testing.assert_allclose(
        permuted.transitions, plain.transitions[np.ix_(classes, labels)], atol=1e-9
    )


def test_evidence_is_repetition():
    problem = random_problem(9, n_rows=6)
    options = {"learn_transitions": False, "tol": 1e-12}
    weights = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    heavy = infer(problem.label_proba, problem.concentration, evidence=weights, **options)
    for row, weight in enumerate(weights):
        alone = infer(
            problem.label_proba[row : row + 1], problem.concentration, evidence=weight, **options
        )
        np.testing.assert_allclose(heavy.class_proba[row], alone.class_proba[0], atol=1e-4)


def test_transition_evidence_scales_the_prior():
    problem = random_problem(10, n_rows=50)
    one = infer(problem.label_proba, problem.concentration, evidence=10, transition_evidence=2)
    other = infer(
        problem.label_proba, 5 * problem.concentration, evidence=10, transition_evidence=10
    )
    np.testing.assert_allclose(one.class_proba, other.class_proba, rtol=1e-12)
    np.testing.assert_allclose(one.transitions, other.transitions, rtol=1e-12)
    # Each row counted 2 for T: the reported counts are the prior's and 2 per row.
    total = one.transition_concentration.sum() - problem.concentration.sum()
    assert total == pytest.approx(2 * 50, rel=1e-6)


def test_fixed_transitions_stay():
    problem = random_problem(11)
    posterior = infer(problem.label_proba, problem.concentration, learn_transitions=False)
    np.testing.assert_allclose(
        posterior.transition_concentration, problem.concentration, rtol=1e-12
    )


def test_auto_evidence_is_one_hundred():
    problem = random_problem(12)
    auto, hundred = (
        infer(problem.label_proba, problem.concentration, evidence=e) for e in ("auto", 100)
    )
    np.testing.assert_array_equal(auto.class_concentration, hundred.class_concentration)
    assert auto.evidence == 100


# Layouts


def layouts(proba):
    read_only = proba.copy()
    read_only.flags.writeable = False
    wide = np.zeros((2 * len(proba), 2 * proba.shape[1]))
    wide[::2, 1::2] = proba
    return {
        "read-only": read_only,
        "fortran": np.asfortranarray(proba),
        "strided": wide[::2, 1::2],
        "list": proba.tolist(),
    }


@pytest.mark.parametrize("layout", ["read-only", "fortran", "strided", "list"])
def test_layout_does_not_matter_and_input_is_left_alone(layout):
    problem = random_problem(13)
    proba = layouts(problem.label_proba)[layout]
    before = np.array(proba)
    expected = infer(problem.label_proba, problem.concentration)
    answer = infer(proba, problem.concentration)
    np.testing.assert_array_equal(answer.class_concentration, expected.class_concentration)
    np.testing.assert_array_equal(np.array(proba), before)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_single_precision_is_read_and_left_alone(dtype):
    problem = random_problem(14)
    single, prior = problem.label_proba.astype(dtype), problem.concentration.astype(dtype)
    before = single.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # half precision misses 1 by 1e-4
        answer = infer(single, prior)
        same = infer(single.astype(np.float64), prior.astype(np.float64))
    np.testing.assert_array_equal(answer.class_concentration, same.class_concentration)
    np.testing.assert_array_equal(single, before)
    assert answer.class_concentration.dtype == np.float64
    if dtype is np.float32:
        double = infer(problem.label_proba, problem.concentration)
        np.testing.assert_allclose(answer.class_proba, double.class_proba, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_exact_zeros_and_ones_are_fine(method):
    proba = np.vstack([np.eye(3), [[0.5, 0.5, 0.0]]])
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        posterior = infer(proba, np.eye(3) * 5 + 0.5, expected_log=method)
    assert np.isfinite(posterior.class_proba).all()
    assert np.isfinite(posterior.trace.elbo).all()
    np.testing.assert_array_equal(posterior.class_proba[:3].argmax(axis=1), [0, 1, 2])


def test_a_label_nobody_can_emit_and_nobody_has_is_dropped():
    proba = np.array([[0.7, 0.0, 0.3], [0.1, 0.0, 0.9]])
    concentration = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 3.0]])
    with_label = infer(proba, concentration)
    without = infer(proba[:, [0, 2]], concentration[:, [0, 2]])
    np.testing.assert_array_equal(with_label.class_proba, without.class_proba)
    assert (with_label.transitions[:, 1] == 0).all()
    assert with_label.transitions.shape == (2, 3)


# Bad input: what, where, how many, what to do


def bad(proba, row, column, value):
    out = proba.copy()
    out[row, column] = value
    return out


GOOD = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
PRIOR = np.array([[3.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize(
    ("proba", "message"),
    [
        (bad(GOOD, 1, 0, np.nan), r"label_proba: nan at row 1, column 0 is not finite \(1 such"),
        (bad(GOOD, 2, 1, np.inf), r"label_proba: inf at row 2, column 1 is not finite"),
        (bad(GOOD, 0, 1, -0.1), r"label_proba: -0.1 at row 0, column 1 .* logits"),
        (100 * GOOD, r"label_proba: 20 at row 0, column 0 .*6 such entries .* percentages"),
        (1000 * GOOD, r"label_proba: .* counts"),
        (0.9 * GOOD, r"label_proba: 0.9 at row 0 is the sum of a row .*3 such .* logits"),
        (GOOD[0], r"label_proba must have 2 axes; got shape \(2,\)"),
        (np.zeros((0, 2)), r"label_proba is empty"),
        (np.zeros((3, 0)), r"label_proba is empty"),
        (np.full((2, 3), 1 / 3), r"label_proba has 3 columns, transitions has 2 labels"),
        ([["a", "b"]], r"label_proba must be an array of numbers"),
        ([[0.5 + 1j, 0.5]], r"label_proba must be an array of real numbers; got dtype complex128"),
        ([[2.5, 4.1]], r"label_proba: 2.5 at row 0, column 0 .* logits or counts"),
        (
            np.ma.masked_greater(GOOD, 0.85),
            r"label_proba: 1 entries are masked, .* row 2, column 0",
        ),
    ],
)
def test_bad_label_proba(proba, message):
    with pytest.raises(ValueError, match=message):
        infer(proba, PRIOR)


def test_rows_that_nearly_sum_to_one_are_renormalised_with_a_warning():
    with pytest.warns(UserWarning, match=r"1 rows miss 1 by up to 0.0005 \(worst: row 2"):
        posterior = infer(np.vstack([GOOD[:2], [[0.9, 0.1005]]]), PRIOR)
    exact = infer(np.vstack([GOOD[:2], [[0.9 / 1.0005, 0.1005 / 1.0005]]]), PRIOR)
    np.testing.assert_allclose(posterior.class_proba, exact.class_proba, rtol=1e-9)


@pytest.mark.parametrize(
    ("concentration", "message"),
    [
        (bad(PRIOR, 0, 1, np.nan), r"transitions: nan at row 0, column 1 is not finite"),
        (bad(PRIOR, 0, 1, np.inf), r"transitions: inf .* TransitionPrior\(mean, strength=inf\)"),
        (bad(PRIOR, 1, 0, -1.0), r"transitions: -1 at row 1, column 0 is negative"),
        (
            np.array([[1.0, 1.0], [0.0, 0.0]]),
            r"transitions: .* row 1 .* without any possible label",
        ),
        (PRIOR[0], r"transitions must have 2 axes"),
    ],
)
def test_bad_transitions(concentration, message):
    with pytest.raises(ValueError, match=message):
        infer(GOOD, concentration)


def test_a_seen_label_that_no_class_can_emit():
    concentration = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 3.0]])
    proba = np.array([[0.7, 0.0, 0.3], [0.1, 0.2, 0.7], [0.1, 0.3, 0.6]])
    message = r"label_proba, column 1: 0.2 at row 1 is .* no class can emit \(2 such"
    with pytest.raises(ValueError, match=message):
        infer(proba, concentration)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_prior": [1.0, 0.0]}, r"class_prior: 0 at row 1 is not positive"),
        ({"class_prior": [1.0, -2.0]}, r"class_prior: -2 at row 1 is not positive"),
        ({"class_prior": [1.0, np.nan]}, r"class_prior: nan at row 1 is not finite"),
        ({"class_prior": [1.0, 1.0, 1.0]}, r"class_prior must have one entry per class"),
        ({"class_prior": 1.0}, r"class_prior must have 1 axes"),
        ({"evidence": np.nan}, r"evidence: nan at row 0 is not finite"),
        ({"evidence": 0.0}, r"evidence: 0 at row 0 is not positive"),
        ({"evidence": [1.0, np.inf, 1.0]}, r"evidence: inf at row 1 is not finite"),
        ({"evidence": [1.0, 1.0]}, r"evidence must be a number or one per row, shape \(3,\)"),
        ({"evidence": "lots"}, r'evidence must be "auto"'),
        ({"transition_evidence": -1.0}, r"transition_evidence: -1"),
        ({"transition_evidence": [1.0, 2.0, 3.0]}, r"transition_evidence must be a number"),
        ({"expected_log": "guess"}, r"expected_log must be one of"),
        ({"optimiser": "adam"}, r"optimiser must be one of"),
        ({"order": 0}, r"order must be an integer, at least 1; got 0"),
        ({"block_size": 0}, r"block_size must be an integer, at least 1"),
        ({"n_threads": 0}, r"n_threads must be an integer, at least 1"),
        ({"max_iter": -1}, r"max_iter must be an integer, at least 0"),
        ({"order": 2.0}, r"order must be an integer"),
        ({"max_iter": None}, r"max_iter must be an integer"),
        ({"tol": None}, r"tol must be a number"),
        ({"warm_start": 3}, r"warm_start must be a Posterior; got int"),
        ({"tol": -1.0}, r"tol must be a number, 0 or more"),
        ({"tol": np.nan}, r"tol must be a number, 0 or more"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        infer(GOOD, PRIOR, **options)


def test_warm_start_of_another_problem_is_refused():
    other = infer(GOOD[:2], PRIOR)
    with pytest.raises(
        ValueError, match=r"warm_start has .* \(2, 2, 2\), this problem \(3, 2, 2\)"
    ):
        infer(GOOD, PRIOR, warm_start=other)


def test_more_strength_than_the_evidence_can_move_is_knowledge():
    problem = random_problem(16, n_rows=30)
    known = infer(problem.label_proba, TransitionPrior(problem.transitions, np.inf))
    for strength in (1e10, 1e14):
        strong = infer(problem.label_proba, TransitionPrior(problem.transitions, strength))
        np.testing.assert_array_equal(strong.class_concentration, known.class_concentration)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("optimiser", ["natural", "l-bfgs"])
@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_warm_start_from_a_prior_with_other_zeros(method, optimiser):
    rng = np.random.default_rng(17)
    proba = rng.dirichlet([3.0, 1.0, 1.0], 8)
    full, sparse = np.full((3, 3), 10.0), np.array([[50.0, 5, 0], [10, 50, 5], [10, 5, 50]])
    options = {"evidence": 3.0, "expected_log": method, "optimiser": optimiser, "tol": 1e-5}
    warm = infer(proba, sparse, warm_start=infer(proba, full, **options), **options)
    assert warm.transitions[0, 2] == 0.0
    back = infer(proba, full, warm_start=infer(proba, sparse, **options), **options)
    assert np.isfinite(back.trace.elbo).all()
    assert back.transitions[0, 2] > 0.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_many_more_labels_than_classes_and_the_other_way_round():
    rng = np.random.default_rng(15)
    for n_classes, n_labels in [(2, 9), (9, 2), (1, 3), (3, 1)]:
        proba = rng.dirichlet(np.ones(n_labels), 7)
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            posterior = infer(proba, rng.gamma(1.0, 2.0, (n_classes, n_labels)) + 0.1)
        np.testing.assert_allclose(posterior.class_proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_few_rows(n_rows):
    posterior = infer(GOOD[:n_rows], PRIOR)
    assert posterior.class_proba.shape == (n_rows, 2)


def test_convergence_warning_is_the_one_of_scikit_learn():
    with pytest.warns(ConvergenceWarning):
        infer(GOOD, PRIOR, max_iter=1)


# Weights of rows


@pytest.mark.parametrize(
    ("method", "optimiser"),
    [("bound", "natural"), ("beta", "natural"), ("exact", "natural"), ("beta", "l-bfgs")],
)
def test_weights_are_repetitions(method, optimiser):
    problem = random_problem(20, n_rows=15 if method == "exact" else 40)
    count = np.random.default_rng(21).integers(0, 4, len(problem.label_proba))
    options = {"expected_log": method, "optimiser": optimiser, "tol": 1e-8, "max_iter": 3000}
    weighted = infer(
        problem.label_proba, problem.concentration, sample_weight=count, block_size=7, **options
    )
    repeated = infer(problem.label_proba.repeat(count, axis=0), problem.concentration, **options)
    # L-BFGS has other variables here and there, and stops somewhere along a flat ridge.
    close = 1e-3 if optimiser == "l-bfgs" else 1e-4
    np.testing.assert_allclose(weighted.transitions, repeated.transitions, atol=close)
    np.testing.assert_allclose(weighted.trace.elbo[0], repeated.trace.elbo[0], rtol=1e-9)
    np.testing.assert_allclose(weighted.trace.elbo[-1], repeated.trace.elbo[-1], rtol=1e-6)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, 2.0], "one entry per row"),
        ([1.0, -1.0, 1.0], "-1 at row 1 is not a finite number of 0 or more"),
        ([1.0, np.nan, 1.0], "nan at row 1"),
        ([0.0, 0.0, 0.0], "0 for every row"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        infer(np.full((3, 2), 0.5), [[1.0, 1.0]], sample_weight=weight)


def test_a_row_of_weight_two_is_two_rows_also_with_evidence_per_row():
    problem = random_problem(3, n_rows=6)
    evidence, count = np.array([1.0, 2.0, 5.0, 100.0, 300.0, 1000.0]), np.array([3, 1, 1, 1, 1, 2])
    weighted = infer(
        problem.label_proba, problem.concentration, evidence=evidence, sample_weight=count, tol=1e-9
    )
    repeated = infer(
        np.repeat(problem.label_proba, count, axis=0),
        problem.concentration,
        evidence=np.repeat(evidence, count),
        tol=1e-9,
    )
    np.testing.assert_allclose(weighted.transitions, repeated.transitions, atol=1e-10)
    assert weighted.evidence == pytest.approx(repeated.evidence)
    assert weighted.trace.elbo[-1] == pytest.approx(repeated.trace.elbo[-1])


def test_a_row_of_weight_zero_is_no_row_whatever_its_evidence():
    problem = random_problem(3, n_rows=6)
    evidence = np.array([1.0, 2.0, 5.0, 100.0, 300.0, 1e5])
    without = infer(problem.label_proba[:5], problem.concentration, evidence=evidence[:5], tol=1e-9)
    with_it = infer(
        problem.label_proba,
        problem.concentration,
        evidence=evidence,
        sample_weight=[1, 1, 1, 1, 1, 0],
        tol=1e-9,
    )
    np.testing.assert_allclose(with_it.transitions, without.transitions, atol=1e-10)
