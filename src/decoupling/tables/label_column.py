"""The column of labels: which one it is, and its cells as labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from decoupling._typing import AnyArray
from decoupling.tables.reading import Table, TableError

# Names that a column of labels often has, in lower case. The first one that a table has is taken:
# the clearest names come first.
_LABEL_NAMES: Final = ("label", "labels", "class", "target", "category", "given_label")
# Words that stand for no label in a text file, besides an empty cell. "None" is not among them: it
# is an answer in many a questionnaire.
_NO_LABEL: Final = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")
# Whole numbers as labels. Up to 18 digits fit 64 bits; longer ones, and those with a plus or zeros
# in front, are names.
_WHOLE: Final = re.compile(r"-?(0|[1-9]\d{0,17})\Z")
# Different values that the last column has at most to be taken for labels. With twice as many a
# column of measurements in a small table would pass.
_MOST_LABELS: Final = 100
# Characters of the longest label. Each stands in tables as often as there are labels; with a label
# of 15 MB a run took a minute and wrote 400 MB.
_LONGEST: Final = 200_000
# So many different labels are always believed. More must be fewer than half of the labelled rows:
# otherwise most have one row, and nothing can be learned of them.
_BELIEVED: Final = 20


def guess_label(table: Table, others: Sequence[str], prefix: str | None) -> str:
    """Name of the column of labels: one called label or class, or else the last, if that may be it.

    Columns among ``others``, and columns whose names begin with ``prefix``, cannot be it.
    """
    from pyarrow import compute, types

    taken = set(others)
    left = [name for name in table.columns if name not in taken]
    if prefix is not None:
        left = [name for name in left if not name.startswith(prefix)] or left
    by_name = {name.lower(): name for name in left}
    for name in _LABEL_NAMES:
        if name in by_name:
            return by_name[name]
    last = table.column(left[-1]) if left else None
    if last is not None and not types.is_nested(last.type) and not types.is_null(last.type):
        if compute.count_distinct(last).as_py() <= _MOST_LABELS:
            return left[-1]
    raise TableError(
        f"{table.name}: no column is called label or class, and the last one holds no labels or "
        f"more than {_MOST_LABELS} different ones. Say which column holds the labels with --label: "
        f"{table.listed_columns()}."
    )


def find_labels(
    table: Table, name: str, unlabelled: str | None, guesses: dict[str, str]
) -> AnyArray:
    """Labels of a column, (N,) of object; None where there is none.

    What was taken for no label goes into ``guesses``. A column whose cells cannot be labels is
    refused.
    """
    cells = _cells(table.as_written(name))
    labels = np.empty(len(table), dtype=object)
    labels[:] = _from_values(cells) if table.texts is None else _from_texts(cells, guesses)
    for row, value in enumerate(labels.tolist()):
        if isinstance(value, str) and len(value) > _LONGEST:
            raise TableError(
                f"{table.name}: the label of row {row} in column {name!r} has {len(value):,} "
                f"characters, and {_LONGEST:,} at most can be a name. Is it the column of labels?"
            )
    if unlabelled is not None:
        known = {value for value in labels.tolist() if value is not None}
        meant = labels == as_label(unlabelled, known)
        if not meant.any():
            raise TableError(
                f"{table.name}: no label in column {name!r} is {unlabelled!r}, which --unlabelled "
                "names."
            )
        labels[meant] = None
    seen = {value for value in labels.tolist() if value is not None}
    if not seen:
        raise TableError(
            f"{table.name}: column {name!r} has no label in any row. --label says which column "
            f"holds them: {table.listed_columns()}."
        )
    gaps = sum(value is None for value in labels.tolist())
    if len(seen) > max(_BELIEVED, (len(labels) - gaps) / 2):
        raise TableError(
            f"{table.name}: column {name!r} has {len(seen):,} different values in "
            f"{len(labels) - gaps:,} rows: these are no labels but numbers or names. Say which "
            f"column holds the labels with --label: {table.listed_columns()}."
        )
    if len(seen) == 1 and not gaps:
        raise TableError(
            f"{table.name}: all labels in column {name!r} are {seen.pop()!r}, and no row is "
            "without one: there is nothing to tell apart. If a value means unlabelled, name it "
            "with --unlabelled."
        )
    return labels


def _cells(column: Any) -> list[Any]:
    """Cells as Python has them; numbers of single precision with as many digits as they have."""
    from pyarrow import types

    if types.is_float32(column.type) or types.is_float16(column.type):
        return [float(str(value)) for value in column.to_numpy()]  # NaN where there is none
    return list(column.to_pylist())


def _from_texts(cells: list[str | None], guesses: dict[str, str]) -> list[Any]:
    """Labels of a text file: whole numbers if all of them are, without words for no label."""
    words = Counter(cell for cell in cells if cell in _NO_LABEL)
    if words:
        guesses["unlabelled"] = ", ".join(f"{word!r} {n:,}" for word, n in words.items())
    labels = [None if cell in words else cell for cell in cells]
    if all(label is None or _WHOLE.match(label) for label in labels):
        return [None if label is None else int(label) for label in labels]
    return labels


def _from_values(cells: list[Any]) -> list[Any]:
    """Labels of a Parquet file: texts, whole numbers or truth values; anything else as its text."""
    kept = [None if cell is None or cell != cell else cell for cell in cells]  # NaN is no label
    if all(isinstance(cell, float) and cell.is_integer() for cell in kept if cell is not None):
        return [None if cell is None else int(cell) for cell in kept]
    return [cell if cell is None or isinstance(cell, str | int) else _text(cell) for cell in kept]


def _text(cell: object) -> str:
    if isinstance(cell, list | dict | bytes):
        raise TableError(f"Cells of type {type(cell).__name__} are no labels.")
    return str(cell)


def as_label(text: str, known: Iterable[object]) -> Any:
    """Turn a typed text into a label.

    It is the known label that is written like the text. If there is none, the text becomes a label
    of the type that the known ones have.

    Examples
    --------
    >>> (
    ...     as_label("1", [1, 2]),
    ...     as_label("-1.0", [1, 2]),
    ...     as_label("TRUE", [False]),
    ...     as_label("a", [1]),
    ... )
    (1, -1, True, 'a')
    """
    return label_reader(known)(text)


def label_reader(known: Iterable[object]) -> Callable[[str], Any]:
    """A function that does what `as_label` does for one text after the other.

    Examples
    --------
    >>> read = label_reader([1, 2])
    >>> read("1"), read("x")
    (1, 'x')
    """
    by_text = {str(label): label for label in known}
    kinds = {type(label) for label in by_text.values()}

    def read(text: str) -> Any:
        if text in by_text:
            return by_text[text]
        if kinds == {bool}:
            return {"true": True, "false": False}.get(text.lower(), text)
        try:
            number = float(text)
        except ValueError:
            return text
        return int(number) if kinds == {int} and number.is_integer() else text

    return read
