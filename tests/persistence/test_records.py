"""Records as JSON and arrays, and back."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from decoupling import ClassPrior, DecouplingClassifier, SetredClassifier, TransitionPrior
from decoupling.persistence.archive import array_of
from decoupling.persistence.records import Reader, Writer
from decoupling.persistence.skops_files import NotKept
from decoupling.transitions.tasks import Task, noisy


def there_and_back(value, hint=Any):
    writer = Writer()
    tree = json.loads(json.dumps(writer.tree(value, hint), allow_nan=False))
    assert writer.lost == []
    arrays = {name: array_of(data) for name, data in writer.members.items()}
    return Reader(arrays, {}).value(tree, hint)


names = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.text(),
    st.characters(categories=["Cs"]),
)
values = st.recursive(
    names,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(names, inner, max_size=3),
    ),
    max_leaves=8,
)


@given(values)
@settings(max_examples=50, deadline=None)
def test_plain_values_come_back_with_their_types(value):
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        np.float32(0.1),
        np.int8(3),
        np.bool_(True),
        np.datetime64("2020-01-01"),
        np.array(["a", None, 1, True, 1.0, ("x", 2)], dtype=object)[[0, 1, 2, 3, 4, 0]],
        np.array([], dtype=object),
        np.array([[1, 2], [3, 4]], dtype=">i2"),
    ],
)
def test_scalars_and_arrays_come_back(value):
    again = there_and_back(value)
    assert type(again) is type(value)
    assert again.dtype == value.dtype
    assert repr(again) == repr(value)


def test_nan_comes_back():
    assert np.isnan(there_and_back(float("nan")))


def test_equal_arrays_are_there_once():
    writer = Writer()
    tree = writer.tree((np.eye(2), np.eye(2), np.eye(2) * 2))
    assert len(writer.members) == 2
    assert tree["tuple"][0] == tree["tuple"][1]


@pytest.mark.parametrize(
    "prior",
    [
        TransitionPrior(
            [[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]], [3, np.inf], labels=[None, "a", 2.5]
        ),
        TransitionPrior.positive_unlabelled(0.3),
    ],
)
def test_a_prior_comes_back_bit_by_bit(prior):
    again = there_and_back(prior, TransitionPrior)
    np.testing.assert_array_equal(again.mean, prior.mean)
    np.testing.assert_array_equal(again.strength, prior.strength)
    assert (again.classes, again.labels) == (prior.classes, prior.labels)
    assert not again.mean.flags.writeable


def test_a_class_prior_by_names_comes_back():
    prior = ClassPrior.proportions({"a": 0.25, 3: 0.75})
    assert repr(there_and_back(prior, ClassPrior)) == repr(prior)


def test_an_isotonic_map_comes_back():
    rng = np.random.default_rng(0)
    x = rng.random(50)
    model = IsotonicRegression(out_of_bounds="clip", y_min=0.0).fit(x, rng.random(50) < x)
    points = np.linspace(-0.5, 1.5, 101)
    np.testing.assert_array_equal(there_and_back(model).predict(points), model.predict(points))


def test_an_estimator_that_was_never_fitted_comes_back():
    model = SetredClassifier(start=DecouplingClassifier(noise={"a": 0.1, "b": 0.2}), theta=0.2)
    assert repr(there_and_back(model, SetredClassifier)) == repr(model)


@pytest.mark.parametrize("name", [Decimal(1), date(2020, 1, 1), b"bytes", frozenset()])
def test_other_names_are_refused(name):
    task = noisy([name, "b"])
    with pytest.raises(TypeError, match="Names of classes and labels may be strings"):
        Writer().tree(task, Task)


def test_what_was_lost_stays_lost():
    writer = Writer()
    tree = writer.tree([NotKept("some.Thing"), (n for n in range(3))])
    assert writer.lost == ["some.Thing", "builtins.generator"]
    again = Reader({}, {}).value(tree)
    assert [lost.what for lost in again] == writer.lost


GOOD = Writer().tree(DecouplingClassifier())


@pytest.mark.parametrize(
    "tree",
    [
        {"record": "Popen", "fields": {}},
        {"record": "Task", "fields": {"name": "a"}},
        {"record": "Round", "fields": {"extra": 1}},
        {"record": "Task"},
        {"estimator": "LogisticRegression", "params": {}, "fitted": {}},
        {**GOOD, "params": {**GOOD["params"], "__class__": 1}},
        {**GOOD, "params": {**GOOD["params"], "task": 3}},
        {**GOOD, "fitted": {"predict": 1}},
        {**GOOD, "fitted": {"n_iter_": 1}},
        {"array": "arrays/000000.npy"},
        {"model": "models/000000.skops"},
        {"float": "1e5"},
        {"isotonic": {}},
        {"unknown": 1},
        {},
        [1],
    ],
    ids=str,
)
def test_what_is_no_record_is_refused(tree):
    with pytest.raises((ValueError, KeyError, TypeError)):
        Reader({}, {}).value(tree)


def test_parameters_that_came_later_have_their_defaults():
    old = {**GOOD, "params": {"rounds": 3}}
    assert repr(Reader({}, {}).value(old)) == "DecouplingClassifier(rounds=3)"
