"""A table with bad labels as a problem to solve: labels, features and names of rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import check_label_proba
from decoupling.tables.features import (
    Feature,
    LeftOut,
    feature_array,
    find_features,
    refuse_tiny,
    warn_of_leaks,
)
from decoupling.tables.images import ImageColumn
from decoupling.tables.reading import Table, TableError

# What a column of labels is often called; the first that is there is taken.
_LABEL_NAMES: Final = ("label", "labels", "class", "target", "category", "given_label")
# What is written in a column of labels where there is none, besides nothing.
_NO_LABEL: Final = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")
# Whole numbers as labels; longer ones, or with a sign or zeros in front, are names.
_WHOLE: Final = re.compile(r"-?(0|[1-9]\d{0,17})\Z")
# A column of labels that is guessed has so many different ones at most.
_MOST_LABELS: Final = 100
# Columns that are no features of which an error says why.
_MOST_REASONS: Final = 5


@dataclass(frozen=True, eq=False)
class Problem:
    """What is known of the rows.

    Attributes
    ----------
    labels : array (N,) of object
        Given labels; None where there is none.
    label : str
        Name of their column.
    X : array (N, D)
        Features, or p(label | x) where that is known.
    features : tuple of Feature
        Columns of X; none if X is p(label | x).
    label_names : tuple
        Labels that the columns of p(label | x) stand for, None for unlabelled; else none.
    proba_columns : tuple of str
        Names of these columns.
    left_out : tuple of LeftOut
        Columns that are not used.
    row_names : list of str or None
        What rows are called in the column of ids.
    images : sequence or None
        A thumbnail of each row.
    guesses : dict of str to str
        What was not said and had to be guessed.
    """

    labels: AnyArray
    label: str
    X: AnyArray
    features: tuple[Feature, ...]
    label_names: tuple[Any, ...] = ()
    proba_columns: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    row_names: list[str] | None = None
    images: Sequence[Any] | None = None
    guesses: dict[str, str] = field(default_factory=dict)


def pose(
    table: Table,
    *,
    label: str | None = None,
    id_column: str | None = None,
    exclude: Sequence[str] = (),
    unlabelled: str | None = None,
    label_proba: str | None = None,
    image: str | None = None,
    folder: Path = Path(),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
) -> Problem:
    """Find labels, features and names of rows in a table.

    Parameters
    ----------
    table : Table
        As read.
    label : str, optional
        Column of the labels; by default one that is called so, or the last column.
    id_column : str, optional
        Column of names of the rows.
    exclude : sequence of str
        Columns that are no features.
    unlabelled : str, optional
        Value that means unlabelled, besides an empty cell.
    label_proba : str, optional
        Columns whose names begin so are p(label | x), and what follows is the label; nothing or
        "unlabelled" for p(unlabelled | x). There are no features then.
    image : str, optional
        Column of images, or of the paths of their files, which begin at ``folder``.
    categorical, numeric : sequence of str
        Features that are categories, or numbers, whatever their cells look like.
    """
    guesses = dict(table.guesses)
    others = [*exclude, *(name for name in (id_column, image) if name is not None)]
    for name in (*others, *categorical, *numeric):
        table.column(name)  # a name that is not there is a mistake
    if label is None:
        label = _guess_label(table, others, label_proba)
        guesses["label column"] = label
    if label in others:
        raise TableError(f"The column {label!r} cannot be that of the labels and another one too.")
    _refuse_twice([label, *others], categorical, numeric)
    labels = _labels(table, label, unlabelled, guesses)
    row_names = None if id_column is None else _row_names(table, id_column)
    images = None if image is None else ImageColumn(table.column(image), folder)
    common: dict[str, Any] = {
        "labels": labels, "label": label, "row_names": row_names, "images": images,
        "guesses": guesses,
    }  # fmt: skip
    if label_proba is not None:
        X, names, columns = _label_proba(table, label_proba, labels, [label, *others])
        return Problem(X=X, features=(), label_names=names, proba_columns=columns, **common)
    features, left_out = find_features(
        table, [label, *others], categorical=categorical, numeric=numeric
    )
    if not features:
        reasons = "; ".join(
            f"{column.name}: {column.reason}" for column in left_out[:_MOST_REASONS]
        )
        told = f" ({reasons}). --numeric or --categorical take one as a feature all the same"
        raise TableError(
            f"{table.name} has no features beside the labels{told if left_out else ''}."
        )
    X = feature_array(table, features)
    refuse_tiny(table, X, features)
    warn_of_leaks(X, features, labels.tolist())
    return Problem(X=X, features=features, left_out=left_out, **common)


def _refuse_twice(others: Sequence[str], *declared: Sequence[str]) -> None:
    """An error if a column is said to be a feature and something else, or both kinds of one."""
    named = Counter(name for names in (others, *declared) for name in set(names))
    twice = [name for names in declared for name in names if named[name] > 1]
    if twice:
        raise TableError(
            f"The column {twice[0]!r} is said to be two things at once: a feature is either "
            "--categorical or --numeric, and the column of labels or ids is none."
        )


def _row_names(table: Table, name: str) -> list[str]:
    names = ["" if v is None else str(v) for v in table.as_written(name).to_pylist()]
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise TableError(
            f"{table.name}: {len(twice)} names in the column {name!r} are those of several rows, "
            f"the first {twice[0]!r}. Choose another --id, or none."
        )
    return names


def _guess_label(table: Table, others: Sequence[str], prefix: str | None) -> str:
    from pyarrow import compute, types

    left = [name for name in table.columns if name not in others]
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


def _labels(table: Table, name: str, unlabelled: str | None, guesses: dict[str, str]) -> AnyArray:
    labels = np.empty(len(table), dtype=object)
    labels[:] = [_label(value) for value in table.as_written(name).to_pylist()]
    if table.texts is not None:
        words = Counter(value for value in labels.tolist() if value in _NO_LABEL)
        labels[np.isin(labels.astype(str), list(words))] = None
        if words:
            told = (f"{word!r} {number:,}" for word, number in words.items())
            guesses["unlabelled"] = ", ".join(told)
        if all(value is None or _WHOLE.match(value) for value in labels.tolist()):
            labels[:] = [None if value is None else int(value) for value in labels.tolist()]
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
    if len(seen) > max(_MOST_LABELS / 5, (len(labels) - gaps) / 2):
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


def _label(value: object) -> Any:
    """A cell as a label: a text, a whole number or a truth value; anything else as its text."""
    if value is None or value != value:  # NaN
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str | int):
        return value
    if isinstance(value, list | dict | bytes):
        raise TableError(f"Cells of type {type(value).__name__} are no labels.")
    return str(value)


def as_label(text: str, known: Iterable[object]) -> Any:
    """What was typed, as a label: the one that is written so, or of the type of the others.

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
    by_text = {str(label): label for label in known}
    kinds = {type(label) for label in by_text.values()}
    if text in by_text:
        return by_text[text]
    if kinds == {bool}:
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if kinds == {int} and number.is_integer() else text


def _label_proba(
    table: Table, prefix: str, labels: AnyArray, others: Sequence[str]
) -> tuple[FloatArray, tuple[Any, ...], tuple[str, ...]]:
    """p(label | x), (N, S); label and name of each column, unlabelled first if it is there."""
    columns = [name for name in table.columns if name.startswith(prefix) and name not in others]
    if len(columns) < 2:
        raise TableError(
            f"{table.name} has {len(columns)} columns whose names begin with {prefix!r}, and "
            "p(label | x) needs one for each label. Its columns are: "
            f"{table.listed_columns()}."
        )
    known = {value for value in labels.tolist() if value is not None}
    names = [as_label(column[len(prefix) :], known) for column in columns]
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
    try:
        return np.column_stack(
            [np.asarray(table.column(name).to_numpy(), dtype=np.float64) for name in columns]
        )
    except ValueError as error:
        raise TableError(f"{table.name}: p(label | x) must be numbers: {error}") from error
