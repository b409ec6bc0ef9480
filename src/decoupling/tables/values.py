"""Cells of features as one array of numbers, or of objects where there are texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.tables.cells import numbers_in
from decoupling.tables.features import Feature, category_cells
from decoupling.tables.ranges import warn_if_far
from decoupling.tables.reading import Table, TableError
from decoupling.tables.units import NUMBER, TIME, TRUTH, agree, first_of, units_of

# Limits of single precision. Trees compare features in it, and other classifiers square them:
# beyond its largest number they would compute with infinity, below its smallest normal one with 0.
SINGLE: Final = np.finfo(np.float32)
# Units in words; any other is the sign of one.
_WORDS: Final = {NUMBER: "plain numbers", TIME: "times", TRUTH: "truth values"}


def feature_array(table: Table, features: Sequence[Feature]) -> AnyArray:
    """Cells as numbers, (N, D); an array of objects if there are texts among them.

    A category that was never seen, and a cell without a value, is NaN. New rows are read by the
    features of a model: numbers in another unit than its own are refused, and numbers far outside
    its range are warned of.
    """
    columns = [_values(table, feature) for feature in features]
    if any(feature.kind == "text" for feature in features):
        X = np.empty((len(table), len(columns)), dtype=object)
        for k, column in enumerate(columns):
            X[:, k] = column
    else:
        X = np.column_stack(columns)
    warn_if_far(X, features)
    return X


def _values(table: Table, feature: Feature) -> AnyArray:
    import pyarrow as pa
    from pyarrow import compute, types

    column = table.column(feature.name)
    if feature.kind == "number" and feature.unit:
        _check_units(table, feature, column)
    try:
        if feature.kind == "text":
            return _texts(table, feature)
        if feature.kind == "category":
            return _codes(category_cells(table, feature.name), feature)
        if types.is_string(column.type) or types.is_large_string(column.type):
            column = _read_numbers(table, feature, column.cast(pa.string()))
        if types.is_temporal(column.type):
            micro = column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64())
            return np.asarray(compute.divide(micro, 86_400e6).to_numpy())
        values = np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except pa.ArrowException as error:
        raise _other_kind(table, feature, f"is one of type {column.type}") from error
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


def _other_kind(table: Table, feature: Feature, what: str) -> TableError:
    return TableError(
        f"{table.name}: column {feature.name!r} should be one of the kind {feature.kind!r}, and "
        f"{what}."
    )


def _check_units(table: Table, feature: Feature, column: Any) -> None:
    """Refuse numbers in another unit than the model has learned from; truth values are 0 and 1."""
    for unit, cells in units_of(column).items():
        if agree(unit, feature.unit):
            continue
        if (unit, feature.unit) == (TRUTH, NUMBER):
            text = "Column {name!r} has truth values, and had numbers: they are taken as 0 and 1."
            warn_user(Message("truth-values", text, name=feature.name))
            continue
        here, before = (_WORDS.get(one, f"numbers in {one}") for one in (unit, feature.unit))
        raise TableError(
            f"{table.name}: column {feature.name!r} has {here}, such as {first_of(cells)!r}, and "
            f"had {before} in the rows that the model learned from. Write it as it was there."
        )


def _texts(table: Table, feature: Feature) -> AnyArray:
    """Cells as they are written; a warning if all of them are numbers or times."""
    import pyarrow as pa
    from pyarrow import compute, types

    column = table.column(feature.name)
    texts = table.as_written(feature.name).cast(pa.string())
    if not types.is_string(column.type) and texts.null_count < len(texts):
        text = "Column {name!r} has no words, such as {first!r}, and had texts."
        warn_user(Message("no-words", text, name=feature.name, first=texts.drop_null()[0].as_py()))
    return np.asarray(compute.fill_null(texts, "").to_numpy(), dtype=object)


def _refuse_huge(table: Table, feature: Feature, values: FloatArray) -> None:
    huge = np.flatnonzero(np.abs(values) > SINGLE.max)
    if len(huge):
        raise TableError(
            f"{table.name}: column {feature.name!r} has {values[huge[0]]:.6g} in row {huge[0]}, "
            f"beyond the {SINGLE.max:.2g} that classifiers can work with ({len(huge)} such cells "
            "in all). Correct them, write the column in another unit, or leave it out with "
            "--exclude."
        )


def _read_numbers(table: Table, feature: Feature, column: Any) -> Any:
    """Numbers out of texts; those that are none are missing, and told of."""
    import pyarrow as pa

    numbers, odd = numbers_in(column, table.decimal)
    if odd and len(odd) == len(column) - column.null_count:
        raise _other_kind(table, feature, f"none of its cells is a number, the first is {odd[0]!r}")
    if odd:
        warn_user(
            Message(
                "cells-no-numbers",
                "Column {name!r} has {n} cells that are no numbers, the first {first!r}. They are "
                "taken as missing.",
                name=feature.name,
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
