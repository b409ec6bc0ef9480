"""What a file may hold, and the types of its parts."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from decoupling import DecouplingClassifier, SetredClassifier
from decoupling._typing import BoolArray, FloatArray
from decoupling.persistence.kinds import FITTED, fits
from decoupling.persistence.skops_files import NotKept
from decoupling.transitions.tasks import Task


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, float, True),
        (True, float, False),
        ("a", float, False),
        (None, int | None, True),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ([1, 2], tuple[int, ...], False),
        ([1, 2], Sequence[int], True),
        (["a"], Sequence[int], False),
        ({"a": 1}, Mapping[Hashable, float], True),
        ([1], Mapping[Hashable, float] | None, False),
        ([1], Hashable, False),
        (np.eye(2), FloatArray, True),
        (np.eye(2, dtype=bool), FloatArray, False),
        (np.eye(2, dtype=bool), BoolArray, True),
        ("a", FloatArray, False),
        (NotKept("x"), Task, False),
        (NotKept("x"), Any, True),
    ],
)
def test_types_are_those_of_annotations(value, hint, expected):
    assert fits(value, hint) is expected


def test_all_that_a_fit_leaves_is_listed():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), np.tile([0.0, 1.0], 20)
    y[::3] = np.nan
    for model in (DecouplingClassifier(cv=2, rounds=0), SetredClassifier(max_iter=1)):
        before = set(vars(model))
        new = set(vars(model.fit(X, y)))
        assert new - before | {"feature_names_in_"} == set(FITTED[type(model)])
