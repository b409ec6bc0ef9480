"""A first T: means over carriers, confident counts, and rates that are known."""

import numpy as np
import pytest

from decoupling.transitions import tasks
from decoupling.transitions.choice import in_order
from decoupling.transitions.estimate import (
    best_bin_rate,
    carried_transitions,
    confident_rows,
    confident_transitions,
    estimated_prior,
    estimated_transitions,
    with_rates,
)
from decoupling.transitions.projection import project

AB, ABC = ("a", "b"), ("a", "b", "c")

TASKS = {
    "supervised": tasks.supervised(ABC),
    "semi": tasks.semi_supervised(ABC),
    "pu": tasks.positive_unlabelled("yes", "no"),
    "multi-pu": tasks.multi_positive_unlabelled(ABC),
    "multi-pu noise": tasks.multi_positive_unlabelled(ABC, noise=True),
    "noisy": tasks.noisy(ABC),
    "noisy unlabelled": tasks.noisy(ABC, unlabelled=True),
    "cond": tasks.class_conditional_noise(ABC),
    "cond unlabelled": tasks.class_conditional_noise(ABC, unlabelled=True),
    "complementary": tasks.complementary(ABC),
    "complementary unlabelled": tasks.complementary(ABC, unlabelled=True),
}
ESTIMATES = [carried_transitions, confident_transitions]


def draw(task, seed=0, n_rows=60):
    """Random p(s|x), and labels drawn from it."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(len(task.labels)), n_rows)
    codes = (rng.random((n_rows, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    return proba, codes


def test_the_mean_over_the_carriers_of_a_label_by_hand():
    """Rows 1 and 2 carry "a", with weights 1 and 3; nobody carries "b"; "negative" has no label."""
    proba = np.array([[0.9, 0.1, 0.0], [0.5, 0.4, 0.1], [0.1, 0.8, 0.1]])
    task = tasks.multi_positive_unlabelled(AB)
    found = carried_transitions(task, proba, np.array([0, 1, 1]), np.array([1.0, 1.0, 3.0]))
    np.testing.assert_allclose(found, [[0, 0, 0], [0.8, 2.8, 0.4], [0, 0, 0]])


RAW = np.array(
    [
        [0.1, 0.8, 0.1],  # over the threshold of "a" alone
        [0.2, 0.2, 0.6],  # of "b" alone, which it does not carry
        [0.1, 0.45, 0.45],  # of none
        [0.2, 0.5, 0.3],  # exactly at that of "a"
        [0.0, 0.5, 0.5],  # of both, and equally
        [0.9, 0.1, 0.0],  # of none, unlabelled
        [0.0, 0.49, 0.51],  # of "b" alone, unlabelled
    ]
)
CODES = np.array([1, 1, 2, 1, 2, 0, 0])  # thresholds: "a" 1.5 / 3 = .5, "b" .95 / 2 = .475
SURE = np.array([0, 1, -1, 0, 0, -1, 1])


def test_confident_rows_by_hand():
    task = tasks.noisy(AB, unlabelled=True)
    np.testing.assert_array_equal(confident_rows(task, RAW, CODES, np.ones(7)), SURE)
    counts = confident_transitions(task, RAW, CODES, np.ones(7))
    np.testing.assert_array_equal(counts, [[0, 2, 1], [1, 1, 0]])


@pytest.mark.parametrize(("n_rows", "sure"), [(200, 100), (70, 40), (30, 20)])
def test_only_the_surest_rows_of_a_class_are_sure_by_hand(n_rows, sure):
    """Half of them, or forty; of thirty rows those above the mean, which are fewer."""
    score = 1 - np.linspace(0, 1, n_rows) ** 4
    raw = np.column_stack([score, 1 - score])
    codes, weight = np.zeros(n_rows, dtype=int), np.ones(n_rows)
    rows = confident_rows(tasks.noisy(AB), raw, codes, weight)
    np.testing.assert_array_equal(np.flatnonzero(rows == 0), np.arange(sure))
    assert (score >= score.mean()).sum() >= sure


def test_rows_that_are_as_sure_as_the_last_of_the_surest_are_sure():
    score = np.append(np.full(150, 0.9), np.full(50, 0.1))
    raw = np.column_stack([score, 1 - score])
    rows = confident_rows(tasks.noisy(AB), raw, np.zeros(200, dtype=int), np.ones(200))
    np.testing.assert_array_equal(np.flatnonzero(rows == 0), np.arange(150))


def test_unlabelled_rows_are_rows_of_their_class_too():
    """A third of all rows have a label: the surest of 300 rows are taken, not of 100."""
    score = 1 - np.linspace(0, 1, 300) ** 2
    score = np.append(score, 1 - score)
    raw = np.column_stack([np.zeros(600), score, 1 - score])
    codes = np.repeat([1, 2], 300)
    codes[np.arange(600) % 3 > 0] = 0
    rows = confident_rows(tasks.noisy(AB, unlabelled=True), raw, codes, np.ones(600))
    np.testing.assert_array_equal(np.bincount(rows + 1), [300, 150, 150])


@pytest.mark.parametrize("key", ["noisy", "noisy unlabelled", "cond"])
def test_the_surest_rows_do_not_depend_on_their_order_or_on_copies(key):
    task = TASKS[key]
    proba, codes = draw(task, n_rows=900)
    proba = proba.round(2)  # many are equally sure
    weight = np.random.default_rng(1).integers(0, 3, 900)
    copies = np.random.default_rng(2).permutation(np.repeat(np.arange(900), weight))
    weighted = confident_transitions(task, proba, codes, weight.astype(float))
    repeated = confident_transitions(task, proba[copies], codes[copies], np.ones(len(copies)))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
    assert weighted.sum() < 0.6 * len(copies)


def test_where_classes_overlap_the_surest_rows_blame_the_labeller_less():
    """Two normals, a fifth of the labels wrong, and p(s|x) as it is."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 20_000)
    x = rng.normal(2.0 * classes)
    wrong = rng.random(20_000) < 0.2
    codes = np.where(wrong, 1 - classes, classes)
    second = 1 / (1 + np.exp(2.0 - 2.0 * x))
    raw = np.column_stack([1 - second, second]) @ [[0.8, 0.2], [0.2, 0.8]]
    found, support = estimated_transitions(tasks.noisy(AB), raw, raw, codes, np.ones(20_000))
    above = [raw[codes == s, s].mean() for s in (0, 1)]
    at_mean = np.mean([(codes[raw[:, s] >= above[s]] != s).mean() for s in (0, 1)])
    assert 0.2 < found[0, 1] < at_mean - 0.01
    np.testing.assert_allclose(support, 5000, rtol=0.02)


def test_a_row_over_several_thresholds_goes_to_the_larger():
    raw = np.array([[0.4, 0.6], [0.3, 0.7], [0.2, 0.8]])
    rows = confident_rows(tasks.noisy(AB), raw, np.array([0, 0, 1]), np.ones(3))
    np.testing.assert_array_equal(rows, [0, -1, 1])  # thresholds .35 and .8
    rows = confident_rows(tasks.noisy(AB), raw, np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(rows, [0, 1, 1])  # thresholds .4 and .7
    rows = confident_rows(tasks.noisy(AB), raw, np.array([1, 1, 0]), np.ones(3))
    np.testing.assert_array_equal(rows, [0, 1, 1])  # thresholds .2 and .65: two rows are over both


@pytest.mark.parametrize("score", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("n_carriers", [3, 6, 49])
def test_carriers_with_equal_scores_are_all_sure(score, n_carriers):
    """Though the mean of the scores may be above each of them by rounding."""
    raw = np.tile([1 - score, score], (n_carriers, 1))
    task = tasks.positive_unlabelled()
    rows = confident_rows(task, raw, np.ones(n_carriers, int), np.full(n_carriers, 0.1))
    np.testing.assert_array_equal(rows, 1)


def test_a_label_that_nobody_carries_makes_nobody_sure():
    raw = np.array([[0.0, 1.0], [0.4, 0.6]])
    rows = confident_rows(tasks.noisy(AB), raw, np.array([0, 0]), np.ones(2))
    np.testing.assert_array_equal(rows, [-1, 0])


def test_nobody_is_sure_where_no_class_has_a_label_of_its_own():
    proba, codes = draw(TASKS["complementary"])
    rows = confident_rows(TASKS["complementary"], proba, codes, np.ones(60))
    np.testing.assert_array_equal(rows, -1)


def test_confident_counts_are_the_confusion_of_classes_that_can_be_told():
    """With p(s|x) of a class equal to its row of T, rows of a class are those that are sure."""
    rng = np.random.default_rng(0)
    T = np.array([[0.4, 0.5, 0.1, 0.0], [0.3, 0.1, 0.4, 0.2], [0.3, 0.0, 0.1, 0.6]])
    classes = rng.integers(0, 3, 300)
    proba = T[classes]
    codes = (rng.random((300, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    expected = np.zeros((3, 4))
    for c, s in zip(classes, codes, strict=True):
        expected[c, s] += 1
    counts = confident_transitions(TASKS["cond unlabelled"], proba, codes, np.ones(300))
    np.testing.assert_array_equal(counts, expected)


def test_carriers_of_clean_labels_have_the_rates_of_their_class():
    T = np.array([[1.0, 0.0, 0.0, 0.0], [0.8, 0.2, 0, 0], [0.3, 0, 0.7, 0], [0.5, 0, 0, 0.5]])
    classes = np.repeat(np.arange(4), 500)
    codes = np.where(np.arange(2000) % 10 == 0, classes, 0)  # any carriers will do
    found, support = estimated_transitions(
        TASKS["multi-pu"], T[classes], np.full((2000, 4), np.nan), codes, np.ones(2000)
    )
    np.testing.assert_allclose(found, T, atol=0.01)
    np.testing.assert_allclose(support, [0, 50, 50, 50])


def test_first_transitions_by_hand():
    """One more row for the possible labels, in equal parts; the rate of labelling stays."""
    pu = tasks.positive_unlabelled()
    proba = np.array([[0.6, 0.4], [0.2, 0.8], [0.9, 0.1]])
    codes = np.array([1, 1, 0])
    found, support = estimated_transitions(pu, proba, proba, codes, np.ones(3))
    np.testing.assert_allclose(found, [[1, 0], [0.4, 0.6]])
    np.testing.assert_allclose(support, [0, 2])

    noisy = tasks.class_conditional_noise(AB)
    raw = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9]])
    codes = np.array([0, 1, 0, 1])  # thresholds .8 and .55: rows 0 and 1, and row 3
    found, support = estimated_transitions(noisy, np.full((4, 2), np.nan), raw, codes, np.ones(4))
    np.testing.assert_allclose(found, [[1.2 / 2.2, 1 / 2.2], [0.25, 0.75]])  # halves, but own first
    np.testing.assert_allclose(support, [2, 1])


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([1, 1, 1, 2, 2], [0.125, 0.8125, 0.0625]),  # of three rows all have the label
        ([0, 0, 1, 2, 2], [2 / 3, 0.875 / 3, 0.125 / 3]),  # one has
        (
            [0, 0, 0, 1, 2],
            [0.875, 0.15 / 2.2, 0.125 / 2.2],
        ),  # none has; its carrier looks like a "b"
    ],
)
def test_no_class_is_always_or_never_labelled(codes, expected):
    """Unless it has to be: a zero would say that it is impossible."""
    task = tasks.multi_positive_unlabelled(AB, noise=True)
    raw = np.array([[0.1, 0.8, 0.1]] * 3 + [[0.1, 0.4, 0.5]] * 2)
    found, support = estimated_transitions(task, raw, raw, np.array(codes), np.ones(5))
    np.testing.assert_array_equal(support, [0, 3, 2])
    np.testing.assert_array_equal(found > 0, task.mask)
    np.testing.assert_allclose(found[1], expected)


def test_a_class_gets_its_own_label_most_often():
    """A classifier that is sure of the wrong labels only would turn the classes round."""
    raw = np.array([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]])[[0, 0, 0, 1, 1, 1, 2, 2, 2]]
    codes = np.array([1, 1, 0, 0, 0, 1, 2, 2, 2])
    task = tasks.class_conditional_noise(("a", "b", "c"))
    found, _ = estimated_transitions(task, np.full((9, 3), np.nan), raw, codes, np.ones(9))
    for c in (0, 1):
        other = np.delete(found[c], c)
        assert found[c, c] == pytest.approx(1.2 * other.max())
        assert other[0] / other[1] == pytest.approx((2 + 1 / 3) / (1 / 3), rel=1e-6)
    assert found[2].tolist() == pytest.approx([1 / 12, 1 / 12, 10 / 12])
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_class_that_nobody_carries_has_the_rate_of_the_others():
    proba = np.array([[0.2, 0.7, 0.1], [0.4, 0.5, 0.1], [0.9, 0.05, 0.05]])
    codes = np.array([1, 1, 0])
    found, support = estimated_transitions(
        tasks.semi_supervised(AB), proba, proba, codes, np.ones(3)
    )
    np.testing.assert_allclose(found, [[0.3, 0.7, 0], [0.3, 0, 0.7]])
    np.testing.assert_allclose(support, [2, 0])


@pytest.mark.parametrize("key", TASKS)
def test_the_first_transitions_obey_the_task(key):
    task = TASKS[key]
    proba, codes = draw(task)
    found, support = estimated_transitions(task, proba, proba, codes, np.ones(60))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(found > 0, task.mask)
    np.testing.assert_allclose(project(task, found), found, rtol=1e-9)
    assert ((support > 0) == (task.own >= 0)).all()


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("key", ["multi-pu", "noisy unlabelled", "cond"])
def test_a_weight_is_so_many_equal_rows_and_none_is_no_row(key, estimate):
    task = TASKS[key]
    proba, codes = draw(task)
    weight = np.random.default_rng(1).integers(0, 4, 60)
    copies = np.random.default_rng(2).permutation(np.repeat(np.arange(60), weight))
    weighted = estimate(task, proba, codes, weight.astype(float))
    repeated = estimate(task, proba[copies], codes[copies], np.ones(len(copies)))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
    assert weighted.any()


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_order_of_classes(estimate):
    """The class without a label comes first in one task, and between the others in the other."""
    first = tasks.multi_positive_unlabelled(("a", "z"), "m")
    between = in_order(first)
    assert between.classes == ("a", "m", "z")
    proba, codes = draw(first)
    found = [estimate(task, proba, codes, np.ones(60)) for task in (first, between)]
    np.testing.assert_array_equal(found[1], found[0][[1, 0, 2]])


# Rates that are known

T_NOISY = np.array([[0.5, 0.4, 0.1], [0.2, 0.2, 0.6]])
T_PU = np.array([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.5, 0.0, 0.5]])
NOISY = tasks.class_conditional_noise(AB, unlabelled=True)
PU = tasks.multi_positive_unlabelled(AB)


@pytest.mark.parametrize(
    ("task", "transitions", "rates", "expected"),
    [
        (NOISY, T_NOISY, {}, T_NOISY),
        (PU, T_PU, {}, T_PU),
        (NOISY, T_NOISY, {"labelled": 0.8}, [[0.2, 0.64, 0.16], [0.2, 0.2, 0.6]]),
        (NOISY, T_NOISY, {"labelled": [1, 0.4]}, [[0, 0.8, 0.2], [0.6, 0.1, 0.3]]),
        (NOISY, T_NOISY, {"labelled": {"b": 0.4, "a": 1}}, [[0, 0.8, 0.2], [0.6, 0.1, 0.3]]),
        (NOISY, T_NOISY, {"noise": 0.1}, [[0.5, 0.45, 0.05], [0.2, 0.08, 0.72]]),
        (NOISY, T_NOISY, {"noise": {"b": 0, "a": 0.5}}, [[0.5, 0.25, 0.25], [0.2, 0, 0.8]]),
        (
            NOISY,
            T_NOISY,
            {"noise": [[0.9, 0.1], [0.2, 0.8]], "labelled": 0.5},
            [[0.5, 0.45, 0.05], [0.5, 0.1, 0.4]],
        ),
        (NOISY, T_NOISY, {"noise": [[0, 0.2], [0.5, 0]]}, [[0.5, 0.4, 0.1], [0.2, 0.4, 0.4]]),
        # The class that is never labelled has no rate, and stays as it is.
        (PU, T_PU, {"labelled": [0.1, 0.2]}, [[1, 0, 0], [0.9, 0.1, 0], [0.8, 0, 0.2]]),
        (PU, T_PU, {"labelled": {"a": 0.1, "b": 0.2}}, [[1, 0, 0], [0.9, 0.1, 0], [0.8, 0, 0.2]]),
        (
            tasks.noisy(AB),
            T_NOISY[:, 1:] / T_NOISY[:, 1:].sum(axis=1, keepdims=True),
            {"labelled": 1, "noise": 0.25},
            [[0.75, 0.25], [0.25, 0.75]],
        ),
        (
            tasks.multi_positive_unlabelled(ABC, noise=True),
            np.array([[1, 0, 0, 0], [0.5, 0.3, 0.1, 0.1], [0.5, 0, 0.5, 0], [0.5, 0, 0, 0.5]]),
            {"noise": 0.4},
            [[1, 0, 0, 0], [0.5, 0.3, 0.1, 0.1], [0.5, 0.1, 0.3, 0.1], [0.5, 0.1, 0.1, 0.3]],
        ),
    ],
)
def test_known_rates_take_the_place_of_those_estimated(task, transitions, rates, expected):
    before = transitions.copy()
    found = with_rates(task, transitions, rates.get("labelled"), rates.get("noise"))
    np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_array_equal(transitions, before)


def test_rates_go_by_class_where_the_negative_stands_between_the_others():
    task = in_order(tasks.multi_positive_unlabelled(("a", "z"), "m"))
    found = with_rates(task, T_PU[[1, 0, 2]], {"z": 0.2, "a": 0.1}, None)
    np.testing.assert_allclose(found, [[0.9, 0.1, 0], [1, 0, 0], [0.8, 0, 0.2]], atol=1e-15)


@pytest.mark.parametrize(
    ("task", "labelled", "noise", "message"),
    [
        (tasks.noisy(AB), 0.9, None, "labelled is below 1, but no row is unlabelled"),
        (NOISY, 0.0, None, "labelled: 0 for class 'a', 'b'"),
        (NOISY, 1.2, None, "labelled: 1.2 for class 'a' is not a probability"),
        (NOISY, None, [0.1, 0.2, 0.3], r"noise must be a number, one per class \(2: 'a', 'b'\)"),
        (NOISY, None, np.eye(3), r"noise must have shape \(2, 2\)"),
        (PU, {"negative": 0.1, "a": 0.1, "b": 0.1}, None, "unknown: 'negative'"),
        (tasks.positive_unlabelled("yes"), None, 0.1, "Wrong labels need at least 2 classes"),
        (tasks.complementary(AB), None, 0.1, "class 'a' would get the label 'a', .* 'complementar"),
    ],
)
def test_bad_rates(task, labelled, noise, message):
    T = project(task, np.zeros(task.mask.shape))
    with pytest.raises(ValueError, match=message):
        with_rates(task, T, labelled, noise)


# As a prior


@pytest.mark.parametrize("name", TASKS)
def test_the_prior_is_as_strong_as_the_rows_of_a_class(name):
    task = TASKS[name]
    proba, codes = draw(task)
    weight = np.linspace(0.5, 1.5, len(codes))
    prior, support = estimated_prior(task, proba, proba, codes, weight, labelled=None, noise=None)
    single = np.count_nonzero(prior.mean, axis=1) == 1
    np.testing.assert_array_equal(np.isinf(prior.strength), single)
    np.testing.assert_allclose(prior.strength[~single], weight.sum() / len(task.classes))
    assert (prior.classes, prior.labels) == (task.classes, task.labels)
    expected = estimated_transitions(task, proba, proba, codes, weight)
    np.testing.assert_array_equal(support, expected[1])
    if support.any():
        np.testing.assert_allclose(prior.mean, expected[0], rtol=1e-12, atol=1e-15)


def test_the_prior_has_the_rates_that_are_known():
    task = TASKS["noisy unlabelled"]
    proba, codes = draw(task)
    weight = np.ones(len(codes))
    prior, _ = estimated_prior(task, proba, proba, codes, weight, labelled=0.3, noise=0.1)
    np.testing.assert_allclose(prior.mean[:, 0], 0.7)
    np.testing.assert_allclose(np.diagonal(prior.mean[:, 1:]), 0.3 * 0.9)


def test_labels_that_stand_for_no_class_still_say_how_many_rows_are_labelled():
    task = TASKS["complementary unlabelled"]
    proba, codes = draw(task)
    prior, support = estimated_prior(
        task, proba, proba, codes, np.ones(len(codes)), labelled=None, noise=None
    )
    assert not support.any()
    np.testing.assert_allclose(1 - prior.mean[:, 0], np.mean(codes > 0))


# The best bin


def overlapping(n_rows, seed=0, rate=0.2):
    """Rows of which two fifths are members, and scores by which few are told with certainty."""
    rng = np.random.default_rng(seed)
    member = rng.random(n_rows) < 0.4
    score = rng.normal(size=n_rows) + 2.0 * member
    return score, member & (rng.random(n_rows) < rate)


def by_loop(score, labelled):
    """As the docstring has it, one threshold after the other."""
    n, m = labelled.sum(), (~labelled).sum()
    chance = 0.2 * np.sqrt(np.log(40) / 2) * (n**-0.5 + (m + 1) ** -0.5)
    found = []
    for z in score[labelled]:
        a = np.mean(score[labelled] >= z)
        b = (np.sum(score[~labelled] >= z) + 1) / (m + 1)
        found.append(((b + chance) / a, min(b / a, 1.0)))
    return n / (n + min(found)[1] * m)


@pytest.mark.parametrize("n_rows", [30, 400])
def test_the_best_bin_by_hand(n_rows):
    score, labelled = overlapping(n_rows)
    assert best_bin_rate(score, labelled, np.ones(n_rows)) == pytest.approx(
        by_loop(score, labelled)
    )
    few = score.round()  # many are equal
    assert best_bin_rate(few, labelled, np.ones(n_rows)) == pytest.approx(by_loop(few, labelled))


def test_the_best_bin_comes_nearer_the_more_rows_there_are():
    """The mean over carriers does not, where classes overlap."""
    odds = np.exp(2.0 * (overlapping(100_000)[0] - 1.0)) * (0.4 / 0.6)
    score, labelled = overlapping(100_000)
    carriers_mean = 0.2 * np.mean((odds / (1 + odds))[labelled])  # of the true p(labelled | x)
    assert carriers_mean < 0.17
    assert best_bin_rate(score, labelled, np.ones(100_000)) == pytest.approx(0.2, rel=0.05)
    few = [best_bin_rate(*overlapping(1000, seed), np.ones(1000)) for seed in range(50)]
    assert np.mean(few) == pytest.approx(0.2, rel=0.15)


def test_the_unit_of_weights_does_not_matter_to_the_best_bin_rate():
    score, labelled = overlapping(200)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    one = best_bin_rate(score, labelled, weight)
    for unit in (1e-150, 1e3, 1e150):
        assert best_bin_rate(score, labelled, unit * weight) == pytest.approx(one)
    even = best_bin_rate(score, labelled, np.full(200, 7.0))
    assert even == pytest.approx(by_loop(score, labelled))


def test_rows_without_weight_have_no_part_in_the_best_bin_rate():
    score, labelled = overlapping(200)
    weight = np.random.default_rng(1).integers(0, 3, 200).astype(float)
    some = weight > 0
    assert best_bin_rate(score, labelled, weight) == pytest.approx(
        best_bin_rate(score[some], labelled[some], weight[some])
    )


@pytest.mark.parametrize(
    "score", [np.zeros(50), np.arange(50.0), -np.arange(50.0)], ids=["none", "best last", "best"]
)
@pytest.mark.parametrize("n_labelled", [1, 2, 9])
def test_the_best_bin_of_a_few_rows_is_a_rate(score, n_labelled):
    rate = best_bin_rate(score, np.arange(50) < n_labelled, np.ones(50))
    assert n_labelled / 50 <= rate < 1


def test_a_known_rate_is_not_estimated():
    task = TASKS["pu"]
    proba, codes = draw(task)
    options = {"labelled": 0.3, "noise": None}
    one, other = (
        estimated_prior(task, proba, proba, codes, np.ones(60), by_best_bin=by_bin, **options)[0]
        for by_bin in (False, True)
    )
    np.testing.assert_array_equal(one.mean, other.mean)
    free = estimated_prior(
        task, proba, proba, codes, np.ones(60), labelled=None, noise=None, by_best_bin=True
    )[0]
    positive = task.own.tolist().index(1)
    carried = estimated_transitions(task, proba, proba, codes, np.ones(60))[0][positive, 1]
    rate = np.sqrt(carried * best_bin_rate(proba[:, 1], codes == 1, np.ones(60)))
    np.testing.assert_allclose(free.mean[positive], [1 - rate, rate])
