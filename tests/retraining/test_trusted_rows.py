"""Who takes part in retraining, and with what weight."""

import numpy as np
import pytest

from decoupling.retraining.trusted_rows import (
    in_expected_shares,
    keep_most_probable,
    training_weights,
)
from decoupling.transitions import tasks
from decoupling.transitions.tasks import Task

AB = ("a", "b")
SEMI = tasks.noisy(AB, unlabelled=True)
PU = tasks.positive_unlabelled("yes", "no")


@pytest.mark.parametrize(
    ("weight", "amount", "kept"),
    [
        ([1, 1, 1, 1], 2, [0, 1, 0, 1]),
        ([1, 1, 1, 1], 2.5, [0.5, 1, 0, 1]),
        ([1, 1, 1, 1], 0, [0, 0, 0, 0]),
        ([1, 1, 1, 1], 9, [1, 1, 1, 1]),
        ([5, 2, 1, 3], 6, [1, 2, 0, 3]),
        ([5, 2, 1, 0], 6, [4, 2, 0, 0]),
    ],
)
def test_the_most_probable_rows_are_kept(weight, amount, kept):
    proba = np.array([0.5, 0.9, 0.1, 0.7])
    weight = np.array(weight, dtype=float)
    np.testing.assert_allclose(keep_most_probable(proba, weight, amount), kept)


@pytest.mark.parametrize("with_unlabelled", [False, True])
def test_training_weights_by_hand(with_unlabelled):
    """Twenty rows stand behind each.

    Of the carriers of "a" 18 + 6 + 12 are expected to be "a", with a variance of 10.8, and so
    36 - 3.3 = 33 are kept; of those of "b" 19 - 1.0 = 19.
    """
    conditional = np.array(
        [
            [0.9, 0.1],  # a: kept
            [0.3, 0.7],  # a: too unlikely, and not a "b" either, since it is labelled
            [0.6, 0.4],  # a: kept in part
            [0.05, 0.95],  # b: kept in part
            [0.78, 0.22],  # unlabelled: a member of its class
            [0.72, 0.28],  # unlabelled: not sure enough
        ]
    )
    codes = np.array([1, 1, 1, 2, 0, 0])
    unlabelled = [20, 0] if with_unlabelled else [0, 0]
    expected = [[20, 0], [0, 0], [13, 0], [0, 19], unlabelled, [0, 0]]
    found = training_weights(
        SEMI, conditional, codes, np.full(6, 20.0), with_unlabelled=with_unlabelled
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_little_more_is_asked_of_unlabelled_rows_where_a_class_has_no_label():
    """Again twenty rows stand behind each; the last is not sure enough."""
    conditional = np.array([[0.0, 1.0], [0.85, 0.15], [0.15, 0.85], [0.78, 0.22]])
    codes = np.array([1, 0, 0, 0])
    found = training_weights(PU, conditional, codes, np.full(4, 20.0))
    np.testing.assert_allclose(found, [[0, 20], [20, 0], [0, 20], [0, 0]])


def test_a_starved_class_gets_its_most_probable_unlabelled_rows():
    """Nobody is surely "no": 24 of the expected 30 rows take part, the most probable first."""
    no = np.linspace(0.7, 0.5, 50)
    conditional = np.column_stack([np.append(no, 0.0), np.append(1 - no, 1.0)])
    codes = np.append(np.zeros(50, int), 1)
    weight = np.append(np.ones(50), 20.0)
    found = training_weights(PU, conditional, codes, weight)
    np.testing.assert_allclose(found[:, 0], np.arange(51) < 24)
    np.testing.assert_allclose(found[:, 1], [*np.zeros(50), 20])


def test_a_starved_class_gets_ten_rows_at_least_and_its_own_besides():
    """The first row would be the most probable "a", but it carries "b"; the last carries "a"."""
    proba = np.linspace(0.04, 0.0, 42)
    conditional = np.column_stack([proba, 1 - proba])
    conditional[41] = [1, 0]
    codes = np.array([2, *np.zeros(40, int), 1])
    found = training_weights(SEMI, conditional, codes, np.ones(42))
    expected = np.tile([0, 1], (42, 1))
    expected[1:11, 0] = 1
    expected[41] = [1, 0]
    np.testing.assert_allclose(found, expected)


def test_a_starved_class_gets_labelled_rows_where_there_are_no_others():
    task = tasks.noisy(AB)
    conditional = np.column_stack([np.linspace(0.4, 0.0, 40), np.linspace(0.6, 1.0, 40)])
    found = training_weights(task, conditional, np.ones(40, int), np.ones(40))
    np.testing.assert_allclose(found[:, 0], np.arange(40) < 10)  # 8 are expected
    assert (np.diff(found[:, 1]) >= 0).all()
    assert 25 < found[:, 1].sum() < 33  # 32 are expected


def test_classes_train_in_the_shares_that_are_expected_of_them():
    """Of "b" a third of the expected rows is trusted, of "a" all."""
    trust = np.array([[1.0, 0.0]] * 30 + [[0.0, 1.0]] * 20 + [[0.0, 0.0]] * 40)
    conditional = np.array([[1.0, 0.0]] * 30 + [[0.0, 1.0]] * 60)
    found = in_expected_shares(trust, conditional.sum(axis=0))
    np.testing.assert_allclose(found.sum(axis=0) / found.sum(), [1 / 3, 2 / 3])
    assert found.sum() == pytest.approx(trust.sum())
    assert len(np.unique(found[:30, 0])) == len(np.unique(found[30:50, 1])) == 1


def test_a_class_that_is_hardly_expected_keeps_the_few_rows_that_it_was_left_with():
    trust = np.repeat([[1.0, 0.0], [0.0, 1.0]], [100, 10], axis=0)
    found = in_expected_shares(trust, np.array([110.0, 1e-12]))
    np.testing.assert_allclose(found.sum(axis=0) / found.sum(), [11 / 12, 1 / 12])
    nothing = np.zeros((3, 2))
    np.testing.assert_array_equal(in_expected_shares(nothing, np.ones(2)), nothing)


def draw(task, seed=0, n_rows=80):
    """p(y|s,x) that is mostly sure, so that all rules apply, and labels of any kind."""
    rng = np.random.default_rng(seed)
    codes = rng.choice([0, 0, 0, *range(len(task.labels))], n_rows)
    return rng.dirichlet(np.full(len(task.classes), 0.2), n_rows), codes


TASKS = {
    "noisy": tasks.noisy(("a", "b", "c")),
    "noisy unlabelled": tasks.noisy(("a", "b", "c"), unlabelled=True),
    "multi-pu": tasks.multi_positive_unlabelled(AB),
    "complementary": tasks.complementary(("a", "b", "c")),
}


@pytest.mark.parametrize("n_rows", [20, 200])
@pytest.mark.parametrize("key", TASKS)
def test_training_weights_do_not_depend_on_the_order_of_classes_or_rows(key, n_rows):
    task = TASKS[key]
    conditional, codes = draw(task, n_rows=n_rows)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, n_rows)
    found = training_weights(task, conditional, codes, weight)
    assert (found[:, task.own < 0].sum(axis=0) > 0).all()
    order = [2, 0, 1]
    other = Task(
        task.name,
        tuple(task.classes[c] for c in order),
        task.labels,
        task.mask[order],
        task.own[order],
        task.tied[order],
    )
    permuted = training_weights(other, conditional[:, order], codes, weight)
    np.testing.assert_allclose(permuted, found[:, order])
    rows = np.random.default_rng(2).permutation(n_rows)
    permuted = training_weights(task, conditional[rows], codes[rows], weight[rows])
    np.testing.assert_allclose(permuted, found[rows], atol=1e-12)


@pytest.mark.parametrize("key", TASKS)
def test_a_weight_is_so_many_equal_rows_and_none_is_no_row(key):
    task = TASKS[key]
    conditional, codes = draw(task)
    weight = np.random.default_rng(1).integers(0, 4, len(codes))
    copies = np.repeat(np.arange(len(codes)), weight)
    weighted = training_weights(task, conditional, codes, weight.astype(float))
    repeated = training_weights(task, conditional[copies], codes[copies], np.ones(len(copies)))
    together = np.zeros_like(weighted)
    np.add.at(together, copies, repeated)
    np.testing.assert_allclose(weighted, together, atol=1e-9)
