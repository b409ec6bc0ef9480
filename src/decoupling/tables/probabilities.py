"""Columns that hold p(label | x), known from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import check_label_proba
from decoupling.tables.label_column import label_reader
from decoupling.tables.reading import Table, TableError


def find_label_proba(
    table: Table, prefix: str, labels: AnyArray, others: Sequence[str]
) -> tuple[FloatArray, tuple[Any, ...], tuple[str, ...]]:
    """p(label | x), (N, S); label and name of each column, unlabelled first if it is there."""
    taken = set(others)
    columns = [name for name in table.columns if name.startswith(prefix) and name not in taken]
    if len(columns) < 2:
        raise TableError(
            f"{table.name} has {len(columns)} columns whose names begin with {prefix!r}, and "
            "p(label | x) needs one for each label. Its columns are: "
            f"{table.listed_columns()}."
        )
    known = {value for value in labels.tolist() if value is not None}
    read = label_reader(known)
    names = [read(column[len(prefix) :]) for column in columns]
    names = [None if name in ("", "unlabelled") and name not in known else name for name in names]
    without = sorted(map(str, known - set(names)))
    if without:
        raise TableError(
            f"{table.name} has no column of p(label | x) for the labels "
            f"{', '.join(map(repr, without))}: expected {prefix}{without[0]} and so on."
        )
    _refuse_unseen(table, labels, dict(zip(names, columns, strict=True)))
    order = sorted(range(len(columns)), key=lambda k: names[k] is not None)
    columns = [columns[k] for k in order]
    proba = proba_array(table, columns)
    check_label_proba(proba)
    return proba, tuple(names[k] for k in order), tuple(columns)


def _refuse_unseen(table: Table, labels: AnyArray, columns: dict[Any, str]) -> None:
    """An error if p(label | x) is given of a label that no row has."""
    seen = set(labels.tolist())
    unseen = [column for name, column in columns.items() if name not in seen]
    if unseen:
        raise TableError(
            f"{table.name}: p(label | x) is given in {', '.join(map(repr, unseen))}, and no row "
            "has such a label. Leave these columns out with --exclude, and divide the others by "
            "their sum."
        )


def proba_array(table: Table, columns: Sequence[str]) -> FloatArray:
    """p(label | x) in these columns, (N, S)."""
    return np.column_stack([_proba_column(table, name) for name in columns])


def _proba_column(table: Table, name: str) -> FloatArray:
    try:
        return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise TableError(
            f"{table.name}: p(label | x) must be numbers, and column {name!r} has others, of type "
            f"{table.column(name).type}."
        ) from error
