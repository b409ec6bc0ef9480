"""What a column means, and its cells as numbers."""

import numpy as np
import pyarrow as pa
import pytest

from decoupling.tables.features import Feature, LeftOut, feature_array, find_features, warn_of_leaks
from decoupling.tables.reading import Table, TableError

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
    assert left.reason == "39 of its 40 cells look like numbers, and others such as 'unknown'"


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
    with pytest.raises(TableError, match="column 'x' was one of the kind 'category'"):
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
    with pytest.raises(TableError, match="column 'x' was one of the kind 'number'"):
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
