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

from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.tables.reading import Table, TableError

# Distinct values that a column of categories has at most.
_MOST_CATEGORIES: Final = 1000
# A column of texts has so many words in a cell, in the mean.
_WORDS: Final = 3.0
# What a column that names rows is often called.
_ID: Final = re.compile(r"(^|[ _.-])(id|ids|idx|index|key|uuid|row)$", re.IGNORECASE)
# Rows that decide what a column is.
_LOOKED_AT: Final = 10_000


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
    table: Table, exclude: Sequence[str] = ()
) -> tuple[tuple[Feature, ...], tuple[LeftOut, ...]]:
    """Features of a table, and the columns that are left out with the reason why."""
    features: list[Feature] = []
    left_out: list[LeftOut] = []
    for name in table.columns:
        if name in exclude:
            continue
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
    values = sorted(value for value in compute.unique(column).to_pylist() if value is not None)
    return Feature(name, "category", tuple(values))


def _words_or_numbers(column: Any, n_distinct: int) -> str:
    """Why a column of many texts is none of categories."""
    from pyarrow import compute

    numbers = compute.match_substring_regex(column, r"^[-+]?[\d.,]+$")
    n_numbers = compute.sum(numbers).as_py() or 0
    if n_numbers > len(column) // 2:
        odd = compute.filter(column, compute.invert(numbers)).drop_null()
        such = f", and others such as {odd[0].as_py()!r}" if len(odd) else ""
        return f"{n_numbers:,} of its {len(column):,} cells look like numbers{such}"
    return f"{n_distinct:,} different words in {len(column):,} rows name them"


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
    columns = [_values(table.column(feature.name), feature, table.name) for feature in features]
    if any(feature.kind == "text" for feature in features):
        out = np.empty((len(table), len(columns)), dtype=object)
        for k, column in enumerate(columns):
            out[:, k] = column
        return out
    return np.column_stack(columns)


def _values(column: Any, feature: Feature, file: str) -> AnyArray:
    import pyarrow as pa
    from pyarrow import compute, types

    try:
        if feature.kind == "text":
            return np.asarray(compute.fill_null(column.cast(pa.string()), "").to_numpy(), object)
        if feature.kind == "category":
            return _codes(column.cast(pa.string()), feature)
        if types.is_temporal(column.type):
            micro = column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64())
            return np.asarray(compute.divide(micro, 86_400e6).to_numpy())
        values = np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except pa.ArrowException as error:
        raise TableError(
            f"{file}: column {feature.name!r} was one of the kind {feature.kind!r}, and has other "
            f"cells here: {error}"
        ) from error
    infinite = np.isinf(values)
    if infinite.any():
        warn_user(
            f"Column {feature.name!r} has {int(infinite.sum())} infinite cells, which are taken as "
            "missing."
        )
        values[infinite] = np.nan
    return values


def _codes(texts: Any, feature: Feature) -> FloatArray:
    """Numbers of categories; those that were never seen are missing, and told of."""
    import pyarrow as pa
    from pyarrow import compute

    codes = compute.index_in(texts, pa.array(feature.categories, pa.string()))
    new = compute.filter(texts, compute.and_(compute.is_null(codes), compute.is_valid(texts)))
    if len(new):
        warn_user(
            f"Column {feature.name!r} has {len(new)} cells of categories that were never seen, the "
            f"first {new[0].as_py()!r}. They are taken as missing."
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
                f"Column {feature.name!r} alone tells the label of {told:.1%} of the labelled "
                "rows. If it is made from the label, leave it out with --exclude."
            )


def _majority(places: AnyArray, codes: AnyArray) -> FloatArray:
    """Rows of the most frequent code at each place."""
    from scipy import sparse

    counts = sparse.coo_array((np.ones(len(codes)), (places, codes))).tocsr()
    return np.asarray(counts.max(axis=1).todense()).ravel()
