"""Distinct entries of a column of labels: gaps among them, their one type, and their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, BoolArray, IntArray
from decoupling._validation import is_gap
from decoupling.labels.frames import objects_of
from decoupling.labels.wording import label_shown, rows_text


def factorise(array: AnyArray) -> tuple[AnyArray, IntArray]:
    """Distinct entries, gaps among them, and the index (N,) of each row's entry.

    Objects are told apart by type and value, since 1, 1.0 and True are equal; by a dictionary,
    which is several times faster than sorting strings.
    """
    if array.dtype.kind != "O":
        distinct, inverse = np.unique(array, return_inverse=True)
        return distinct, inverse
    objects = array.tolist()
    try:
        index = {entry: i for i, entry in enumerate(dict.fromkeys(_typed(objects)))}
    except TypeError:
        row, bad = next((i, v) for i, v in enumerate(objects) if not _is_hashable(v))
        raise ValueError(
            f"y: {label_shown(bad)} at row {row} cannot be a label, since it is not hashable. "
            "Pass one string or number per row."
        ) from None
    inverse = np.fromiter(map(index.__getitem__, _typed(objects)), np.int64, len(objects))
    return objects_of([value for _, value in index]), inverse


def _typed(objects: list[Any]) -> Iterator[tuple[type, Any]]:
    # Made anew for each pass: a million pairs at once would keep the garbage collector busy.
    return zip(map(type, objects), objects, strict=True)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def missing_entries(distinct: AnyArray, unlabelled: Hashable) -> BoolArray:
    """Entries that mean unlabelled, (L,)."""
    if not isinstance(unlabelled, Hashable):
        raise ValueError(f"unlabelled must be one value; got {label_shown(unlabelled)}.")
    if distinct.dtype.kind == "O":
        missing = np.array([is_gap(value) for value in distinct])
    else:
        missing = np.asarray(distinct != distinct)  # NaN and NaT
    if is_gap(unlabelled):
        return missing
    if distinct.dtype.kind in "OU":
        return missing | [_is_same(value, unlabelled) for value in distinct]
    if _kind(distinct.dtype.type) == _kind(type(unlabelled)):
        missing |= distinct == unlabelled
    return missing


def _is_same(value: Any, unlabelled: Hashable) -> bool:
    """Whether a label is the value that means unlabelled; "" stands for spaces too."""
    if isinstance(value, str) and isinstance(unlabelled, str) and unlabelled == "":
        return not value.strip()
    return key_of(value) == key_of(unlabelled)


def _kind(of: type) -> str:
    """Kind of a type: labels of one column must be of one kind."""
    if issubclass(of, str):
        return "str"
    if issubclass(of, (bool, np.bool_)):
        return "bool"
    if issubclass(of, Real) and not issubclass(of, np.timedelta64):  # to numpy an integer
        return "number"
    return of.__name__


def key_of(value: Hashable) -> tuple[str, Hashable]:
    """Equal for equal labels of one kind: 1 and 1.0, but not 1 and True."""
    return _kind(type(value)), value


def check_one_kind(observed: AnyArray, rows: IntArray) -> str:
    """The kind of all labels, or a ValueError if there are several, or one that is no label."""
    seen: dict[type, list[int]] = defaultdict(list)
    if observed.dtype.kind == "O":
        for i, value in enumerate(observed):
            seen[type(value)].append(i)
    else:
        seen[observed.dtype.type] = list(range(len(observed)))
    kinds = {_kind(of) for of in seen}
    if len(kinds) > 1:
        examples = [
            f"{of.__name__}, such as {label_shown(observed[places[0]])} "
            f"({rows_text(rows[places].sum())})"
            for of, places in seen.items()
        ]
        raise ValueError(
            Message(
                "mixed-labels",
                "{y|The column of labels} mixes labels of several types: {examples}. "
                "{Convert them to one type, for example with [str(label) for label in y]; if|If} "
                "one of them means unlabelled, {pass|give} it as {@unlabelled:=}{...|.}",
                examples="; ".join(examples),
            )
        )
    refused = [of for of in seen if issubclass(of, (bytes, complex, np.complexfloating, np.void))]
    if refused:
        raise ValueError(
            Message(
                "labels-of-type",
                "{y|The column of labels} holds labels of type {kind}, such as {label}, which is "
                "not supported. Convert them to strings or integers; bytes with label.decode().",
                kind=refused[0].__name__,
                label=label_shown(observed[0]),
            )
        )
    return kinds.pop()


def sorted_values(observed: AnyArray, kind: str) -> tuple[AnyArray, IntArray]:
    """The labels, sorted and without repetition, and the place of each entry among them."""
    if observed.dtype.kind == "O":
        observed = _as_plain(observed, kind)
    if observed.dtype.kind == "f":
        observed = observed.astype(np.float64)
    if observed.dtype.kind != "O":
        values, position = np.unique(observed, return_inverse=True)
        return values, position
    try:
        ordered = sorted(set(observed))
    except TypeError as error:
        raise ValueError(f"y: labels of type {kind} cannot be sorted ({error}).") from None
    place = {value: i for i, value in enumerate(ordered)}
    return objects_of(ordered), np.array([place[v] for v in observed], dtype=np.int64)


def _as_plain(observed: AnyArray, kind: str) -> AnyArray:
    """Objects that are numbers or booleans in a dtype of numpy that holds them all."""
    if kind == "bool":
        return observed.astype(np.bool_)
    if kind != "number":
        return observed
    if not all(isinstance(v, Integral) for v in observed):
        return observed.astype(np.float64)
    integers = np.array(observed.tolist())
    # Beyond 64 bits numpy would fall back to floats, which may merge labels.
    return integers if integers.dtype.kind in "iu" else observed


def as_numpy_text(values: AnyArray) -> AnyArray:
    r"""Strings in numpy's own type; as objects if it would cut one, which it does at a last \0."""
    text = np.array(values.tolist())
    return text if text.tolist() == values.tolist() else values
