"""Signs that an answer may be wrong, as messages."""

import numpy as np
import pytest

from decoupling.diagnostics.warnings import collapsed, few_rows, unbalanced, unseen_classes
from decoupling.transitions import tasks

TASK = tasks.noisy(["a", "b", "c"])


def test_a_class_that_is_nobodys_argmax():
    found = collapsed(TASK, np.array([[0.6, 0.2, 0.2], [0.2, 0.5, 0.3]]))
    assert found.code == "collapse"
    assert str(found).startswith("No row has 'c' as its most probable class")


def test_rates_from_few_rows():
    found = few_rows(TASK, np.array([12.2, 30.0, 0.0]), np.array([40.0, 30.0, 3.0]))
    assert found.code == "few-rows"
    assert "fewer than 30 rows for 'a' (12), 'c' (0): take" in str(found)


def test_of_many_classes_the_first_few_are_named():
    found = few_rows(tasks.noisy(range(9)), np.r_[np.ones(8), 99.0], np.full(9, 40.0))
    assert found.fields["classes"] == "0 (1), 1 (1), 2 (1), 3 (1), 4 (1) and 3 more"


@pytest.mark.parametrize("rows", [[40.0, 30.0, 29.0], [29.0, 29.0, 29.0]])
def test_no_word_of_few_rows_if_there_are_enough_or_never_enough(rows):
    support = np.array([40.0, 40.0, 40.0]) if rows[0] > 30 else np.zeros(3)
    assert few_rows(TASK, support, np.array(rows)) is None


def test_a_label_that_no_row_has():
    found = unseen_classes(TASK, np.array([3.0, 0.0, 1.0]))
    assert found.code == "unseen-classes"
    assert str(found).startswith("No row has the label of 'b'")
    assert unseen_classes(TASK, np.ones(3)) is None


def test_a_share_that_is_far_off():
    conditional = np.array([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]])
    found = unbalanced(TASK, np.array([0.4, 0.3, 0.3]), conditional, np.ones(2))
    assert found.code == "unbalanced"
    assert found.fields["expected"] == pytest.approx(0.4)
    assert str(found).startswith("Class 'a' is expected in 40.0% of the rows, and found in 70.0%")


@pytest.mark.parametrize(
    "found",
    [
        collapsed(TASK, np.eye(3)),
        unbalanced(TASK, None, np.eye(3), np.ones(3)),
        unbalanced(TASK, np.full(3, 1 / 3), np.eye(3), np.ones(3)),
    ],
    ids=["argmax", "nothing expected", "balanced"],
)
def test_no_sign_no_message(found):
    assert found is None
