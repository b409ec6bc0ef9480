"""Columns of a table as features: numbers, categories or texts.

What a column means is found out once, from the rows to learn from, and kept with the model. New
rows are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from decoupling._text import Message
from decoupling._validation import warn_user
from decoupling.tables.cells import DATE_LIKE, NUMBER_LIKE
from decoupling.tables.reading import Table, TableError
from decoupling.tables.units import first_of, units_of

# Distinct values that a column of categories has at most. Each becomes a column of the classifier,
# or a branch of a tree; with more of them hardly any has the rows to learn from.
_MOST_CATEGORIES: Final = 1000
# Above so many distinct values, categories that look like numbers or dates are warned of. Fewer are
# usual for codes; months or scores of a survey would be warned of with half as many.
_MANY_CATEGORIES: Final = 50
# Words in a cell, in the mean, from which on a column is one of texts. Names of people and places
# have two; with twice as many short comments would be categories.
_WORDS: Final = 3.0
# Endings of the name of a column that names rows.
_ID: Final = re.compile(r"(^|[ _.-])(id|ids|idx|index|key|uuid|row)$", re.IGNORECASE)
# Rows from the beginning whose words are counted. Twice as many take twice as long and say the
# same.
_LOOKED_AT: Final = 10_000


@dataclass(frozen=True)
class Feature:
    """What a column means.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"number", "category", "text"}
        What its cells are for the classifier; times are numbers, in days.
    categories : tuple of str
        Of a category: its values, which are numbered in this order.
    unit : str
        Of a number: what one of it is, see `units_of`. Empty where that is not known, as in models
        of earlier versions.
    low, high : float or None
        Of a number: the least and the largest of the rows that were learned from; None where there
        was none, or where that is not known.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    unit: str = ""
    low: float | None = None
    high: float | None = None


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
    # Sets: a wide table may have as many columns in each of these.
    excluded, categories, numbers = set(exclude), set(categorical), set(numeric)
    features: list[Feature] = []
    left_out: list[LeftOut] = []
    for name in table.columns:
        if name in excluded:
            continue
        if name in categories:
            found: Feature | LeftOut = _categories(name, category_cells(table, name))
        elif name in numbers:
            found = _number(name, table.column(name))
        else:
            found = _feature(name, table.column(name))
        if isinstance(found, Feature):
            features.append(found)
        else:
            left_out.append(found)
    return tuple(features), tuple(left_out)


def _feature(name: str, column: Any) -> Feature | LeftOut:
    """What the cells of a column make of it."""
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
        return _number(name, column)
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


def _number(name: str, column: Any) -> Feature:
    """A feature of numbers; a warning if its cells are in several units."""
    units = units_of(column)
    if len(units) > 1:
        examples = " and ".join(repr(first_of(cells)) for cells in units.values())
        text = (
            "Column {name!r} has cells in several units, {examples}: they are taken for one unit."
        )
        warn_user(Message("mixed-units", text, name=name, examples=examples))
        return Feature(name, "number")
    return Feature(name, "number", unit="".join(units))


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
    """Say why a column with many different texts is not one of categories."""
    return (
        _odd_numbers(column) or f"{n_distinct:,} different words in {len(column):,} rows name them"
    )


def _odd_numbers(column: Any) -> str | None:
    """Say of texts that most of them look like numbers, or like dates; None if they do not."""
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
