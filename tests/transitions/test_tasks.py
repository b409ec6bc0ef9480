"""Tasks: which labels a class may get, and which rates are equal."""

import dataclasses

import numpy as np
import pytest
from patterns import ABC, TASKS

from decoupling.transitions import tasks
from decoupling.transitions.tasks import Task


@pytest.mark.parametrize(
    ("key", "name", "labels", "mask", "own", "tied"),
    [
        ("supervised", "supervised", ABC, ["100", "010", "001"], [0, 1, 2], ["...", "...", "..."]),
        (
            "semi",
            "semi-supervised",
            (None, *ABC),
            ["1100", "1010", "1001"],
            [1, 2, 3],
            ["uo..", "u.o.", "u..o"],
        ),
        ("pu", "positive-unlabelled", (None, "yes"), ["10", "11"], [-1, 1], ["..", ".."]),
        (
            "multi-pu",
            "multi-positive-unlabelled",
            (None, *ABC),
            ["1000", "1100", "1010", "1001"],
            [-1, 1, 2, 3],
            ["....", "....", "....", "...."],
        ),
        (
            "multi-pu noise",
            "multi-positive-unlabelled",
            (None, *ABC),
            ["1000", "1111", "1111", "1111"],
            [-1, 1, 2, 3],
            ["....", "..pp", ".q.q", ".rr."],
        ),
        ("noisy", "noisy", ABC, ["111", "111", "111"], [0, 1, 2], ["oww", "wow", "wwo"]),
        (
            "noisy unlabelled",
            "noisy",
            (None, *ABC),
            ["1111", "1111", "1111"],
            [1, 2, 3],
            ["uoww", "uwow", "uwwo"],
        ),
        (
            "cond unlabelled",
            "class-conditional-noise",
            (None, *ABC),
            ["1110", "1011", "1101"],
            [1, 2, 3],
            ["u...", "u...", "u..."],
        ),
        (
            "complementary",
            "complementary",
            ABC,
            ["011", "101", "110"],
            [-1, -1, -1],
            [".ww", "w.w", "ww."],
        ),
        (
            "complementary unlabelled",
            "complementary",
            (None, *ABC),
            ["1011", "1101", "1110"],
            [-1, -1, -1],
            ["u.ww", "uw.w", "uww."],
        ),
        ("custom", "custom", (None, "a", "x"), ["010", "111"], [1, -1], ["...", "..."]),
    ],
)
def test_patterns(key, name, labels, mask, own, tied):
    """The letters of `tied` stand for groups; a dot is free."""
    task = TASKS[key]
    assert task.name == name
    assert task.labels == labels
    np.testing.assert_array_equal(task.mask, [[cell == "1" for cell in row] for row in mask])
    np.testing.assert_array_equal(task.own, own)
    letters = np.array([list(row) for row in tied])
    np.testing.assert_array_equal(task.tied < 0, letters == ".")
    pairs = set(zip(letters.flat, task.tied.flat, strict=True))
    assert len(pairs) == len({letter for letter, _ in pairs}) == len({group for _, group in pairs})


def test_the_negative_class_is_first():
    assert TASKS["pu"].classes == ("no", "yes")
    assert TASKS["multi-pu noise"].classes == ("none", *ABC)


@pytest.mark.parametrize(
    ("key", "has_unlabelled", "clean", "complete", "rate_tied"),
    [
        ("supervised", False, True, True, True),
        ("semi", True, True, True, True),
        ("pu", True, True, False, False),
        ("multi-pu", True, True, False, False),
        ("multi-pu noise", True, False, False, False),
        ("noisy", False, False, True, True),
        ("noisy unlabelled", True, False, True, True),
        ("cond unlabelled", True, False, True, True),
        ("complementary", False, False, False, True),
        ("custom", True, False, False, False),
    ],
)
def test_properties(key, has_unlabelled, clean, complete, rate_tied):
    task = TASKS[key]
    assert task.has_unlabelled is has_unlabelled
    assert task.clean is clean
    assert task.complete is complete
    assert task.rate_tied is rate_tied


def test_a_label_that_the_class_cannot_get_is_not_its_own():
    task = tasks.custom([[0, 1], [1, 0]], ["a", "b"], ["a", "b"])
    np.testing.assert_array_equal(task.own, [-1, -1])
    assert not task.clean


def test_it_is_immutable_and_keeps_no_view():
    mask = np.ones((2, 2), dtype=bool)
    task = tasks.custom(mask, [0, 1], [0, 1])
    mask[0, 0] = False
    assert task.mask[0, 0]
    with pytest.raises(ValueError, match="read-only"):
        task.tied[0, 0] = 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.name = "other"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tasks.supervised("ab"), r"classes must be a sequence .* use \['ab'\]"),
        (lambda: tasks.supervised([]), r"classes is empty"),
        (lambda: tasks.noisy(["a", "a"], False), r"classes must be distinct; repeated: a"),
        (lambda: tasks.semi_supervised(["a", None]), r"classes: None at place 1\. None is reserv"),
        (lambda: tasks.multi_positive_unlabelled(["a", "b"], "a"), r"distinct; repeated: a"),
        (lambda: tasks.complementary(["a"]), r"at least 2 classes; got 1"),
        (lambda: tasks.custom([1, 0], "ab", "ab"), r"mask must have shape \(classes, labels\)"),
        (
            lambda: tasks.custom([[1, 0], [0, 0]], "ab", "ab"),
            r"mask: 0 at row 1 is the number of labels of a class",
        ),
        (lambda: tasks.custom([[1, 0]], "ab", "ab"), r"mask has shape \(1, 2\); .* is \(2, 2\)"),
        (lambda: tasks.custom(np.eye(2), "ab", ["a", None]), r"labels: None at place 1"),
    ],
)
def test_bad_tasks(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_repr_can_be_read():
    shown = "Task(name='positive-unlabelled', classes=('no', 'yes'), labels=(None, 'yes'))"
    assert repr(TASKS["pu"]) == shown


@pytest.mark.parametrize(
    ("mask", "tied", "message"),
    [
        (np.ones((2, 2)), [[0, -1], [-1, -1], [-1, -1]], r"tied must have the shape of mask"),
        (np.eye(2), [[-1, 0], [-1, -1]], r"tied: 0 at row 0, column 1 is .* impossible"),
        (np.ones((2, 2)), [[0, 0], [0, -1]], r"as many cells in every class"),
        ([[1, 0], [1, 1]], [[0, -1], [0, -1]], r"all classes or none"),
    ],
)
def test_ties_that_rows_cannot_obey(mask, tied, message):
    with pytest.raises(ValueError, match=message):
        Task("custom", (0, 1), (0, 1), mask, [0, 1], tied)
