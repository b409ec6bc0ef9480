"""Signs that an answer may be wrong."""

import warnings

import numpy as np
import pytest

from decoupling.diagnostics.warnings import (
    warn_of_balance,
    warn_of_collapse,
    warn_of_few,
)
from decoupling.transitions import tasks

TASK = tasks.noisy(["a", "b", "c"])


def test_a_class_that_is_nobodys_argmax():
    with pytest.warns(UserWarning, match="No row has 'c' as its most probable class"):
        warn_of_collapse(TASK, np.array([[0.6, 0.2, 0.2], [0.2, 0.5, 0.3]]))


def test_rates_from_few_rows():
    with pytest.warns(UserWarning, match=r"fewer than 30 rows for 'a' \(12\), 'c' \(0\): take"):
        warn_of_few(TASK, np.array([12.2, 30.0, 0.0]), np.array([40.0, 30.0, 3.0]))


def test_of_many_classes_the_first_few_are_named():
    task = tasks.noisy(range(9))
    with pytest.warns(UserWarning, match=r"'?0'? \(1\), .* and 3 more: take"):
        warn_of_few(task, np.r_[np.ones(8), 99.0], np.full(9, 40.0))


@pytest.mark.parametrize("rows", [[40.0, 30.0, 29.0], [29.0, 29.0, 29.0]])
def test_no_word_of_few_rows_if_there_are_enough_or_never_enough(rows):
    support = np.array([40.0, 40.0, 40.0]) if rows[0] > 30 else np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert warn_of_few(TASK, support, np.array(rows)) is None


def test_a_share_that_is_far_off():
    found = np.array([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]])
    with pytest.warns(UserWarning, match=r"Class 'a' is expected in 40.0% of the rows, and found"):
        warn_of_balance(TASK, np.array([0.4, 0.3, 0.3]), found, np.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: warn_of_collapse(TASK, np.eye(3)),
        lambda: warn_of_balance(TASK, None, np.eye(3), np.ones(3)),
        lambda: warn_of_balance(TASK, np.full(3, 1 / 3), np.eye(3), np.ones(3)),
    ],
    ids=["argmax", "nothing expected", "balanced"],
)
def test_no_sign_no_warning(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught == []
