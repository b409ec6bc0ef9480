"""What a column means, and its cells as numbers."""

import re

import numpy as np
import pyarrow as pa
import pytest

from decoupling.tables.doubts import warn_of_leaks
from decoupling.tables.features import Feature, LeftOut, find_features
from decoupling.tables.reading import Table, TableError
from decoupling.tables.values import feature_array

N = 40
RNG = np.random.default_rng(0)


def table_of(**columns):
    return Table(pa.table(columns), "table.csv")


def test_kinds():
    words = [f"{a} {b} and {c}" for a, b, c in RNG.integers(0, 99, size=(N, 3))]
    table = table_of(
        number=RNG.normal(size=N),
        whole=RNG.integers(0, 9, N),
        day=pa.array(range(N), pa.timestamp("s")),
        truth=RNG.random(N) < 0.5,
        colour=["red", "blue"] * (N // 2),
        text=words,
        empty=pa.nulls(N, pa.float64()),
        picture=[bytes([k]) for k in range(N)],
        constant=["x"] * N,
        counter=range(5, 5 + N),
        customer_id=RNG.permutation(N),
        valid=RNG.permutation(N),
        name=[f"row{k}" for k in range(N)],
        nested=[[1, 2]] * (N - 1) + [[3]],
        label=["a", "b"] * (N // 2),
    )
    features, left_out = find_features(table, ["label"])
    assert {feature.name: feature.kind for feature in features} == {
        "number": "number",
        "whole": "number",
        "day": "number",
        "valid": "number",
        "truth": "category",
        "colour": "category",
        "text": "text",
    }
    assert features[4].categories == ("blue", "red")
    assert {column.name: column.reason for column in left_out} == {
        "empty": "it is empty",
        "constant": "all its cells are alike",
        "counter": "it numbers the rows",
        "customer_id": "it numbers the rows",
        "name": "40 different words in 40 rows name them",
        "picture": "cells of type binary are no features",
        "nested": "cells of type list<item: int64> are no features",
    }
    assert isinstance(left_out[0], LeftOut)


def test_values():
    table = table_of(
        x=[1.5, None],
        day=pa.array([0, 36 * 3600], pa.timestamp("s")),
        colour=["red", "green"],
        truth=[True, None],
    )
    features = [
        Feature("x", "number"),
        Feature("day", "number"),
        Feature("colour", "category", ("blue", "red")),
        Feature("truth", "category", ("false", "true")),
    ]
    with pytest.warns(UserWarning, match="Column 'colour' has 1 cells .* the first 'green'"):
        X = feature_array(table, features)
    np.testing.assert_array_equal(X, [[1.5, 0.0, 1.0, 1.0], [np.nan, 1.5, np.nan, np.nan]])


def test_cells_that_are_no_numbers_are_told_of():
    cells = [f"{k}.5" for k in range(N - 1)] + ["unknown"]
    (), (left,) = find_features(table_of(x=cells))
    assert left.reason == (
        "39 of its 40 cells look like numbers, such as '0.5', and others like 'unknown': --numeric "
        "takes them as such"
    )


@pytest.mark.parametrize(
    ("write", "told"),
    [
        ("{},5".format, "look like numbers, such as '0,5': --numeric takes them as such"),
        ("1,{:03}.50".format, "look like numbers, such as '1,000.50'"),
        ("{}%".format, "look like numbers, such as '0%'"),
        ("$ {}".format, "look like numbers"),
        (lambda k: f"{k % 12 + 1}/{k % 28 + 1}/2020", "look like dates, such as '1/1/2020': write"),
    ],
)
def test_many_categories_that_look_like_numbers(write, told):
    cells = [write(k) for k in range(60)] * 4
    with pytest.warns(UserWarning, match=re.escape(told)):
        (feature,), () = find_features(table_of(x=cells))
    assert feature.kind == "category"
    find_features(table_of(x=cells[:40] * 4))  # few enough to be codes


def test_what_is_said_of_a_column_holds():
    table = Table(
        pa.table(
            {
                "zip": [10115, 20095] * 20,
                "price": ["$1,234.50", "12%", "n.d.", None] * 10,
                "id": range(40),
            }
        ),
        "table.csv",
    )
    with pytest.warns(UserWarning, match="'price' has cells in several units, '12%' and '\\$1,234"):
        features, left_out = find_features(table, categorical=["zip"], numeric=["price", "id"])
    assert [feature.kind for feature in features] == ["category", "number", "number"]
    assert features[0].categories == ("10115", "20095")
    assert left_out == ()
    with pytest.warns(UserWarning, match="Column 'price' has 10 cells that are no numbers"):
        X = feature_array(table, features)
    np.testing.assert_array_equal(X[:4, 1], [1234.5, 12, np.nan, np.nan])
    np.testing.assert_array_equal(X[:2, 0], [0, 1])
    european = Table(pa.table({"price": ["1.234,50", "3"]}), "table.csv", decimal=",")
    np.testing.assert_array_equal(feature_array(european, features[1:2])[:, 0], [1234.5, 3])
    with pytest.raises(TableError, match="in the column 'x' are no categories"):
        find_features(table_of(x=[[1], [2]]), categorical=["x"])


def test_whole_numbers_too_long_for_a_float():
    X = feature_array(table_of(x=[2**60 + 1, 3]), [Feature("x", "number")])
    assert X[0, 0] == 2.0**60


@pytest.mark.parametrize(
    "column",
    [pa.array([1, 2], pa.time64("us")), pa.array([1, 2], pa.duration("s")), [{"a": 1}, {"a": 2}]],
    ids=str,
)
def test_other_types_are_left_out(column):
    (), (left,) = find_features(table_of(x=column))
    assert "are no features" in left.reason
    with pytest.raises(TableError, match="in the column 'x' are no categories"):
        feature_array(table_of(x=[[1], [2]]), [Feature("x", "category", ("a",))])


def test_texts_among_numbers():
    table = table_of(x=[1, 2], text=["one two three", None])
    X = feature_array(table, [Feature("x", "number"), Feature("text", "text")])
    assert X.dtype == object
    assert X.tolist() == [[1.0, "one two three"], [2.0, ""]]


def test_infinite_cells_are_missing():
    with pytest.warns(UserWarning, match="Column 'x' has 2 infinite cells"):
        X = feature_array(table_of(x=[1.0, np.inf, -np.inf]), [Feature("x", "number")])
    np.testing.assert_array_equal(X, [[1.0], [np.nan], [np.nan]])


def test_words_where_numbers_were():
    with pytest.raises(TableError, match="column 'x' should be one of the kind 'number'"):
        feature_array(table_of(x=["a", "b"]), [Feature("x", "number")])


def test_a_feature_that_tells_the_label():
    labels = ["a", "b"] * 20
    X = np.column_stack([np.tile([3.0, 7.0], 20), RNG.integers(0, 3, 40), RNG.normal(size=40)])
    features = [Feature(name, "number") for name in ("leak", "few", "many")]
    with pytest.warns(UserWarning, match="Column 'leak' alone tells the label of 100.0%"):
        warn_of_leaks(X, features, labels)
    warn_of_leaks(X[:, 1:], features[1:], labels)
    warn_of_leaks(X[:10], features, labels[:10])  # too few to tell
    warn_of_leaks(X, features, ["a", None] * 20)  # a single label
