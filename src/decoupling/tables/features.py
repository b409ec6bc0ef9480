"""Columns of a table as features: numbers, categories or texts.

A table becomes one array, in which categories are numbers, so that nothing but numbers and texts
goes into a model, and new rows are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.tables.cells import DATE_LIKE, NUMBER_LIKE, numbers_in
from decoupling.tables.reading import Table, TableError

# Distinct values that a column of categories has at most.
_MOST_CATEGORIES: Final = 1000
# More of them are doubtful where they look like numbers.
_MANY_CATEGORIES: Final = 50
# A column of texts has so many words in a cell, in the mean.
_WORDS: Final = 3.0
# What a column that names rows is often called.
_ID: Final = re.compile(r"(^|[ _.-])(id|ids|idx|index|key|uuid|row)$", re.IGNORECASE)
# Rows that decide what a column is.
_LOOKED_AT: Final = 10_000
# Trees compare features in single precision, and others square them.
_SINGLE: Final = np.finfo(np.float32)


@dataclass(frozen=True)
class Feature:
    """What a column means.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"number", "category", "text"}
        What its cells are; times are numbers, in days.
    categories : tuple of str
        Of a category: its values, which are numbered in this order.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """A column that is no feature.

    Attributes
    ----------
    name : str
        Name of the column.
    reason : str
        Why it is none.
    """

    name: str
    reason: str


def find_features(
    table: Table,
    exclude: Sequence[str] = (),
    *,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
) -> tuple[tuple[Feature, ...], tuple[LeftOut, ...]]:
    """Features of a table, and the columns that are left out with the reason why.

    Columns that are said to be ``categorical`` or ``numeric`` are so, whatever their cells look
    like.
    """
    features: list[Feature] = []
    left_out: list[LeftOut] = []
    for name in table.columns:
        if name in exclude:
            continue
        if name in categorical:
            found: Feature | LeftOut = _categories(name, category_cells(table, name))
        elif name in numeric:
            found = Feature(name, "number")
        else:
            found = _feature(name, table.column(name))
        if isinstance(found, Feature):
            features.append(found)
        else:
            left_out.append(found)
    return tuple(features), tuple(left_out)


def _feature(name: str, column: Any) -> Feature | LeftOut:
    import pyarrow as pa
    from pyarrow import compute, types

    kind = column.type
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    timed = types.is_date(kind) or types.is_timestamp(kind)
    texts = types.is_string(kind) or types.is_large_string(kind)
    if not (numeric or timed or texts or types.is_boolean(kind)):
        return LeftOut(name, f"cells of type {kind} are no features")
    n_distinct = compute.count_distinct(column).as_py()
    if n_distinct <= 1:
        return LeftOut(name, "all its cells are alike" if n_distinct else "it is empty")
    if types.is_integer(kind) and _numbers_rows(name, column, n_distinct):
        return LeftOut(name, "it numbers the rows")
    if numeric or timed:
        return Feature(name, "number")
    if types.is_boolean(kind):
        return Feature(name, "category", ("false", "true"))
    column = column.cast(pa.string())
    some = column.slice(0, _LOOKED_AT)
    words = compute.mean(compute.add(compute.count_substring_regex(some, r"\S\s+\S"), 1)).as_py()
    if words and words >= _WORDS and n_distinct > len(column) // 10:
        return Feature(name, "text")
    if n_distinct > min(_MOST_CATEGORIES, len(column) // 2):
        return LeftOut(name, _words_or_numbers(column, n_distinct))
    if n_distinct > _MANY_CATEGORIES and (odd := _odd_numbers(column)) is not None:
        text = "Column {name!r} is taken as {n} categories. {odd}."
        warn_user(Message("many-categories", text, name=name, n=n_distinct, odd=odd))
    return _categories(name, column)


def _categories(name: str, column: Any) -> Feature:
    from pyarrow import compute

    values = sorted(value for value in compute.unique(column).to_pylist() if value is not None)
    return Feature(name, "category", tuple(values))


def category_cells(table: Table, name: str) -> Any:
    """Cells of a column of categories, as texts."""
    import pyarrow as pa
    from pyarrow import types

    column = table.column(name)
    cells = column if types.is_boolean(column.type) else table.as_written(name)
    try:
        return cells.cast(pa.string())
    except pa.ArrowException as error:
        raise TableError(
            f"{table.name}: cells of type {cells.type} in the column {name!r} are no categories."
        ) from error


def _words_or_numbers(column: Any, n_distinct: int) -> str:
    """Why a column of many texts is none of categories."""
    return (
        _odd_numbers(column) or f"{n_distinct:,} different words in {len(column):,} rows name them"
    )


def _odd_numbers(column: Any) -> str | None:
    """What is to be said of texts most of which look like numbers, or like dates."""
    from pyarrow import compute

    for pattern, what, advice in (
        (DATE_LIKE, "dates", "write them like 2020-01-31"),
        (NUMBER_LIKE, "numbers", "--numeric takes them as such"),
    ):
        alike = compute.match_substring_regex(column, pattern)
        n_alike = compute.sum(alike).as_py() or 0
        if n_alike > len(column) // 2:
            first = column.filter(alike)[0].as_py()
            odd = column.filter(compute.invert(alike)).drop_null()
            others = f", and others like {odd[0].as_py()!r}" if len(odd) else ""
            return (
                f"{n_alike:,} of its {len(column):,} cells look like {what}, such as {first!r}"
                f"{others}: {advice}"
            )
    return None


def _numbers_rows(name: str, column: Any, n_distinct: int) -> bool:
    """Whether whole numbers go up by one from row to row, or are all different and called ids."""
    from pyarrow import compute

    if column.null_count or n_distinct < len(column):
        return False
    steps = compute.pairwise_diff(column.combine_chunks(), 1)
    return bool(compute.all(compute.equal(steps, 1)).as_py()) or bool(_ID.search(name))


def feature_array(table: Table, features: Sequence[Feature]) -> AnyArray:
    """Cells as numbers, (N, D); an array of objects if there are texts among them.

    A category that was never seen, and a cell without a value, is NaN.
    """
    columns = [_values(table, feature) for feature in features]
    if any(feature.kind == "text" for feature in features):
        out = np.empty((len(table), len(columns)), dtype=object)
        for k, column in enumerate(columns):
            out[:, k] = column
        return out
    return np.column_stack(columns)


def _values(table: Table, feature: Feature) -> AnyArray:
    import pyarrow as pa
    from pyarrow import compute, types

    column = table.column(feature.name)
    try:
        if feature.kind == "text":
            return np.asarray(compute.fill_null(column.cast(pa.string()), "").to_numpy(), object)
        if feature.kind == "category":
            return _codes(category_cells(table, feature.name), feature)
        if types.is_string(column.type) or types.is_large_string(column.type):
            column = _read_numbers(column.cast(pa.string()), feature.name, table.decimal)
        if types.is_temporal(column.type):
            micro = column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64())
            return np.asarray(compute.divide(micro, 86_400e6).to_numpy())
        values = np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except pa.ArrowException as error:
        raise TableError(
            f"{table.name}: column {feature.name!r} should be one of the kind {feature.kind!r}, "
            f"and has other cells: {error}"
        ) from error
    infinite = np.isinf(values)
    if infinite.any():
        warn_user(
            Message(
                "infinite-cells",
                "Column {name!r} has {n} infinite cells, which are taken as missing.",
                name=feature.name,
                n=int(infinite.sum()),
            )
        )
        values[infinite] = np.nan
    _refuse_huge(table, feature, values)
    return values


def _refuse_huge(table: Table, feature: Feature, values: FloatArray) -> None:
    huge = np.flatnonzero(np.abs(values) > _SINGLE.max)
    if len(huge):
        raise TableError(
            f"{table.name}: column {feature.name!r} has {values[huge[0]]:.6g} in row {huge[0]}, "
            f"beyond the {_SINGLE.max:.2g} that classifiers can work with ({len(huge)} such cells "
            "in all). Correct them, write the column in another unit, or leave it out with "
            "--exclude."
        )


def refuse_tiny(table: Table, X: AnyArray, features: Sequence[Feature]) -> None:
    """Refuse a feature of which classifiers would not see that it is not 0 in every row.

    That is for the rows to learn from: among new ones such a number may well be one of many sizes.
    """
    for k, feature in enumerate(features):
        if feature.kind != "number":
            continue
        size = np.abs(np.asarray(X[:, k], dtype=np.float64))
        there = np.flatnonzero(size > 0)  # neither 0 nor missing
        if len(there) and size[there].max() < _SINGLE.tiny:
            raise TableError(
                f"{table.name}: column {feature.name!r} has {X[there[0], k]:.6g} in row "
                f"{there[0]}, and none of its {len(there)} cells that are not 0 is larger than "
                f"{size[there].max():.2g}: for classifiers all of them are 0. Write the column in "
                "another unit, or leave it out with --exclude."
            )


def _read_numbers(column: Any, name: str, decimal: str) -> Any:
    """Numbers out of texts; those that are none are missing, and told of."""
    import pyarrow as pa

    numbers, odd = numbers_in(column, decimal)
    if odd and len(odd) == len(column) - column.null_count:
        raise pa.ArrowInvalid(f"none is a number, the first is {odd[0]!r}")
    if odd:
        warn_user(
            Message(
                "cells-no-numbers",
                "Column {name!r} has {n} cells that are no numbers, the first {first!r}. They are "
                "taken as missing.",
                name=name,
                n=len(odd),
                first=odd[0],
            )
        )
    return pa.chunked_array([pa.array(numbers, pa.float64())])


def _codes(texts: Any, feature: Feature) -> FloatArray:
    """Numbers of categories; those that were never seen are missing, and told of."""
    import pyarrow as pa
    from pyarrow import compute

    codes = compute.index_in(texts, pa.array(feature.categories, pa.string()))
    new = compute.filter(texts, compute.and_(compute.is_null(codes), compute.is_valid(texts)))
    if len(new):
        warn_user(
            Message(
                "new-categories",
                "Column {name!r} has {n} cells of categories that were never seen, the first "
                "{first!r}. They are taken as missing.",
                name=feature.name,
                n=len(new),
                first=new[0].as_py(),
            )
        )
    return np.asarray(codes.cast(pa.float64()).to_numpy(), dtype=np.float64)


def warn_of_leaks(
    X: AnyArray, features: Sequence[Feature], labels: Sequence[object], allowed: float = 0.999
) -> None:
    """Warn of a feature that tells the label of nearly every labelled row by itself."""
    given = np.array([label is not None for label in labels])
    if given.sum() < 20:
        return
    _, codes = np.unique(
        np.array([str(label) for label, has in zip(labels, given, strict=True) if has]),
        return_inverse=True,
    )
    if codes.max() == 0:
        return
    for k, feature in enumerate(features):
        if feature.kind == "text":
            continue
        values = np.asarray(X[given, k], dtype=np.float64)
        _, places = np.unique(values, return_inverse=True)
        if places.max() + 1 > len(values) // 5:
            continue  # nearly every row has its own value
        told = _majority(places, codes).sum() / len(codes)
        if told >= allowed:
            warn_user(
                Message(
                    "leak",
                    "Column {name!r} alone tells the label of {share:.1%} of the labelled rows. If "
                    "it is made from the label, leave it out with --exclude.",
                    name=feature.name,
                    share=told,
                )
            )


def _majority(places: AnyArray, codes: AnyArray) -> FloatArray:
    """Rows of the most frequent code at each place."""
    from scipy import sparse

    counts = sparse.coo_array((np.ones(len(codes)), (places, codes))).tocsr()
    return np.asarray(counts.max(axis=1).todense()).ravel()
