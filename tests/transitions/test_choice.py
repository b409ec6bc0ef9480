"""The task that labels call for, and the names of classes."""

import numpy as np
import pytest

from decoupling import TransitionPrior
from decoupling.labels.observed import read_labels
from decoupling.transitions import tasks
from decoupling.transitions.choice import (
    TASKS,
    choose_task,
    class_array,
    encode,
    in_order,
    negative_name,
)

FULL, GAPS, ONE = ["b", "a", "b"], ["b", None, "a"], ["b", None, "b"]
PU, MULTI, CONDITIONAL = TASKS[3], TASKS[4], TASKS[6]


def choose(name, y, *, noise=False, **options):
    return choose_task(name, read_labels(y), noise=noise, **options)


@pytest.mark.parametrize(
    ("name", "y", "noise", "chosen", "labels", "clean"),
    [
        ("auto", FULL, False, "noisy", ("a", "b"), False),
        ("auto", GAPS, False, "noisy", (None, "a", "b"), False),
        ("auto", ONE, False, PU, (None, "b"), True),
        ("supervised", FULL, False, "supervised", ("a", "b"), True),
        ("supervised", FULL, True, "noisy", ("a", "b"), False),
        ("semi-supervised", GAPS, False, "semi-supervised", (None, "a", "b"), True),
        ("semi-supervised", GAPS, True, "noisy", (None, "a", "b"), False),
        ("semi-supervised", FULL, False, "supervised", ("a", "b"), True),
        ("semi-supervised", FULL, True, "noisy", ("a", "b"), False),
        ("noisy", FULL, False, "noisy", ("a", "b"), False),
        ("noisy", GAPS, True, "noisy", (None, "a", "b"), False),
        (CONDITIONAL, FULL, False, CONDITIONAL, ("a", "b"), False),
        (CONDITIONAL, GAPS, True, CONDITIONAL, (None, "a", "b"), False),
        ("complementary", FULL, False, "complementary", ("a", "b"), False),
        ("complementary", GAPS, False, "complementary", (None, "a", "b"), False),
        (PU, ONE, False, PU, (None, "b"), True),
        (MULTI, GAPS, False, MULTI, (None, "a", "b"), True),
        (MULTI, ONE, False, MULTI, (None, "b"), True),
        (MULTI, GAPS, True, MULTI, (None, "a", "b"), False),
    ],
)
def test_the_task_for_the_labels(name, y, noise, chosen, labels, clean):
    task = choose(name, y, noise=noise)
    assert task.name == chosen
    assert task.labels == labels
    assert task.clean is clean
    negative = ("negative",) if "positive" in chosen else ()
    assert task.classes == tuple(sorted({*labels} - {None})) + negative
    # Each class owns the label of its name, wherever it stands.
    for name_of_class, own in zip(task.classes, task.own, strict=True):
        if own >= 0:
            assert task.labels[own] == name_of_class
    assert (task.own < 0).sum() == (2 if chosen == "complementary" else len(negative))


def test_the_order_of_rows_does_not_matter():
    for name in TASKS[4:]:  # those that take labels and gaps
        one, other = (choose(name, y) for y in (GAPS, GAPS[::-1]))
        assert one.classes == other.classes
        assert one.labels == other.labels
        np.testing.assert_array_equal(one.mask, other.mask)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("semi", GAPS, "task must be one of auto, supervised, .* TransitionPrior; got 'semi'"),
        ("supervised", GAPS, 'y has 1 unlabelled rows, .* Use task="semi-supervised"'),
        ("auto", ["b", "b"], "y has only 1 class, 'b', and task 'noisy' needs at least two"),
        ("semi-supervised", ONE, "y has only 1 class, 'b', and task 'semi-supervised'"),
        ("complementary", ONE, "y has only 1 class"),
        (PU, FULL, "needs unlabelled rows, and every row of y has a label"),
        (MULTI, FULL, "needs unlabelled rows"),
        (PU, GAPS, r"has a single label, and y has 2: 'a' \(1\), 'b' \(1\)"),
    ],
)
def test_labels_that_contradict_the_task(name, y, message):
    with pytest.raises(ValueError, match=message):
        choose(name, y)


@pytest.mark.parametrize(
    ("labels", "negative", "expected"),
    [
        (["spam"], "negative", "negative"),
        (["spam"], "ham", "ham"),
        ([1], "negative", 0),
        ([1.0], "negative", 0.0),
        ([1, 2], -1, -1),
        ([1, 2], "rest", "rest"),
        ([0], "negative", -1),
        ([-3, 0, 4], "negative", -4),
        ([True], "negative", False),
        ([False], "negative", True),
        ([False, True], "negative", "negative"),
    ],
)
def test_the_name_of_the_negative_class(labels, negative, expected):
    found = negative_name(labels, negative)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("labels", "negative"), [(["a", "negative"], "negative"), ([0, 1], 0)])
def test_a_negative_class_that_is_a_label(labels, negative):
    with pytest.raises(ValueError, match=f"called {negative!r}, .* pass unlabelled={negative!r}"):
        negative_name(labels, negative)


def test_classes_in_order_keep_their_rows():
    task = tasks.multi_positive_unlabelled(("a", "b", "z"), "m", noise=True)
    ordered = in_order(task)
    assert ordered.classes == ("a", "b", "m", "z")
    assert ordered.labels == task.labels
    order = [1, 2, 0, 3]
    np.testing.assert_array_equal(ordered.mask, task.mask[order])
    np.testing.assert_array_equal(ordered.own, [1, 2, -1, 3])
    np.testing.assert_array_equal(ordered.tied, task.tied[order])


def test_classes_that_cannot_be_sorted_stay_in_place():
    task = choose(PU, [7, None], negative="other")
    assert task.classes == ("other", 7)
    np.testing.assert_array_equal(task.own, [-1, 1])


@pytest.mark.parametrize(
    ("task", "y", "codes"),
    [
        (tasks.noisy(["a", "b"]), ["b", "a", "b"], [1, 0, 1]),
        (tasks.noisy(["b", "a"]), ["b", "a", "b"], [0, 1, 0]),
        (tasks.noisy(["a", "b"], unlabelled=True), ["b", None, "a"], [2, 0, 1]),
        (tasks.multi_positive_unlabelled([2, 1], 0), [1, np.nan, 2], [2, 0, 1]),
        (TransitionPrior.semi_supervised(["z", "b", "a"]).task, ["a", "b", None], [3, 2, 0]),
    ],
)
def test_labels_find_their_columns_by_name(task, y, codes):
    np.testing.assert_array_equal(encode(task, y), codes)


def test_a_value_that_means_unlabelled():
    task = tasks.semi_supervised([0, 1])
    np.testing.assert_array_equal(encode(task, [1, -1, 0], unlabelled=-1), [2, 0, 1])


@pytest.mark.parametrize(
    ("task", "y", "message"),
    [
        (tasks.noisy(["a", "b"]), ["a", "c"], "'c'"),
        (
            tasks.noisy(["a", "b"]),
            ["a", None, "b", None],
            r"2 unlabelled rows \(first: row 1\), and the transition prior has no column for them",
        ),
    ],
)
def test_labels_without_a_column(task, y, message):
    with pytest.raises(ValueError, match=message):
        encode(task, y)


@pytest.mark.parametrize(
    ("y", "gap", "negative", "dtype", "expected"),
    [
        (np.array([3, 5, -1]), -1, "negative", "int64", [0, 3, 5]),
        (np.array([3, 5, -1], dtype="int8"), -1, "negative", "int8", [0, 3, 5]),
        (np.array([3, 5, -1], dtype="int8"), -1, 300, "int64", [3, 5, 300]),
        (np.array([3, 5, 9], dtype="uint8"), 9, -1, "int64", [-1, 3, 5]),
        (np.array([3.0, 5.0, np.nan]), None, "negative", "float64", [0.0, 3.0, 5.0]),
        (np.array([3, 5, -1]), -1, "none", "object", ["none", 3, 5]),
        (np.array(["no", "yes", "?"]), "?", "negative", "<U8", ["negative", "no", "yes"]),
        (np.array(["no", "yes", None]), None, "negative", "object", ["negative", "no", "yes"]),
        ([True, None, True], None, "negative", "bool", [False, True]),
        ([True, None, False], None, "negative", "object", ["negative", False, True]),
        ([("a", 1), None, ("b", 2)], None, "rest", "object", ["rest", ("a", 1), ("b", 2)]),
        ([("a", 1), None, ("b", 2)], None, ("c", 3), "object", [("a", 1), ("b", 2), ("c", 3)]),
        (np.array([3, 5, -1]), -1, ("x", 1), "object", [("x", 1), 3, 5]),
    ],
)
def test_classes_have_the_type_of_the_labels(y, gap, negative, dtype, expected):
    observed = read_labels(y, unlabelled=gap)
    task = choose_task(MULTI, observed, negative=negative, noise=False)
    names = class_array(task, observed.values)
    assert names.dtype == dtype
    assert names.tolist() == expected
