"""Observed labels of any type: which rows have one, and which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from decoupling._text import Argument, Message
from decoupling._typing import AnyArray, BoolArray, IntArray
from decoupling._validation import is_gap, warn_user
from decoupling.labels.frames import as_column, objects_of

__all__ = ["ObservedLabels", "encode_labels", "read_labels"]

UNLABELLED = -1
# A message lists this many labels or groups of them, and counts the rest.
SHOWN = 5
# What gaps look like once they were made strings; hardly anybody's name of a class.
WRITTEN_GAPS = {"nan", "<NA>", "NaT"}


@dataclass(frozen=True, eq=False)
class ObservedLabels:
    """The label s of each row, as an index into the distinct labels.

    Parameters
    ----------
    codes : (N,) array of int
        Index into `values`; -1 where a row is unlabelled.
    values : (L,) array
        The distinct labels, sorted, in the type they came in.

    Examples
    --------
    >>> observed = read_labels(["cat", None, "dog", "cat"])
    >>> observed.values
    array(['cat', 'dog'], dtype=object)
    >>> observed.labelled
    array([ True, False,  True,  True])
    >>> observed.counts
    array([2, 1])
    """

    codes: IntArray
    values: AnyArray

    @property
    def labelled(self) -> BoolArray:
        """Rows that have a label, (N,)."""
        return np.asarray(self.codes != UNLABELLED)

    @property
    def counts(self) -> IntArray:
        """Rows of each label, (L,)."""
        return np.bincount(self.codes[self.labelled], minlength=len(self.values))


def read_labels(y: object, *, unlabelled: Hashable = None) -> ObservedLabels:
    """Read labels of one type; None, NaN, NA and NaT are unlabelled.

    Parameters
    ----------
    y : sequence, array, or column of pandas, polars or pyarrow, of length N
        The labels: numbers, booleans, strings or other things that can be sorted, not mixed.
    unlabelled : hashable, optional
        One more value that means unlabelled, such as -1 or "?". The empty string stands for
        strings of spaces too.

    Returns
    -------
    ObservedLabels
        The distinct labels, and the index of each row's label.

    Raises
    ------
    ValueError
        If there are no labelled rows, more than one column, labels of mixed types, or numbers that
        are no names of classes.

    Warns
    -----
    UserWarning
        If labels differ only in case or surrounding spaces, or are blank.

    Examples
    --------
    >>> observed = read_labels([3, 1, -1, 3], unlabelled=-1)
    >>> observed.codes
    array([ 1,  0, -1,  1])
    >>> observed.values
    array([1, 3])
    """
    distinct, inverse = _factorise(as_column(y))
    missing = _missing(distinct, unlabelled)
    _warn_if_unmatched(distinct, unlabelled)
    if missing.all():
        text = "{y|The column of labels} has no labelled rows: all {n} of them are unlabelled."
        raise ValueError(Message("no-labels", text, n=len(inverse)))
    rows = np.bincount(inverse, minlength=len(distinct))  # (distinct entries,)
    kind = _check_one_kind(distinct[~missing], rows[~missing])
    values, position = _sorted_values(distinct[~missing], kind)
    codes = _spread(missing, position)[inverse]  # (N,)
    if kind == "number":
        _check_numbers(values, codes)
    if kind == "str":
        _warn_about_text(values, ObservedLabels(codes, values).counts)
        if isinstance(y, Sequence) and all(type(v) in (str, np.str_) for v in distinct):
            values = _as_numpy_text(values)
    codes.flags.writeable = False
    values.flags.writeable = False
    return ObservedLabels(codes, values)


def encode_labels(
    y: object,
    values: Iterable[Hashable] | AnyArray,
    *,
    unlabelled: Hashable = None,
    name: str = "y",
) -> IntArray:
    """Index of each row's label in given values.

    Parameters
    ----------
    y : as in `read_labels`
        The labels; here all of them may be missing.
    values : (L,) sequence or array
        The known labels, in any order.
    unlabelled : hashable, optional
        One more value that means unlabelled.
    name : str
        What `y` is called in an error.

    Returns
    -------
    (N,) array of int
        Index into `values`; -1 where a row is unlabelled.

    Raises
    ------
    ValueError
        If a label is not among `values`.

    Examples
    --------
    >>> encode_labels(["dog", None, "cat"], ["cat", "dog"])
    array([ 1, -1,  0])
    """
    distinct, inverse = _factorise(as_column(y))
    missing = _missing(distinct, unlabelled)
    known = {_key(value): code for code, value in enumerate(values)}
    position = np.array([known.get(_key(v), -1) for v in distinct[~missing]], dtype=np.int64)
    unknown = position < 0
    if unknown.any():
        rows = np.bincount(inverse, minlength=len(distinct))[~missing][unknown]
        _refuse_unknown(name, distinct[~missing][unknown], rows, [value for _, value in known])
    return _spread(missing, position)[inverse]


def _spread(missing: BoolArray, position: IntArray) -> IntArray:
    """Codes of all distinct entries, from those of the labels among them."""
    codes = np.full(len(missing), UNLABELLED, dtype=np.int64)
    codes[~missing] = position
    return codes


# Distinct entries.


def _factorise(array: AnyArray) -> tuple[AnyArray, IntArray]:
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
            f"y: {_show(bad)} at row {row} cannot be a label, since it is not hashable. "
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


# Gaps and types, all on the distinct entries.


def _missing(distinct: AnyArray, unlabelled: Hashable) -> BoolArray:
    """Entries that mean unlabelled, (L,)."""
    if not isinstance(unlabelled, Hashable):
        raise ValueError(f"unlabelled must be one value; got {_show(unlabelled)}.")
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
    return _key(value) == _key(unlabelled)


def _kind(of: type) -> str:
    """Types of the same kind may stand in one column."""
    if issubclass(of, str):
        return "str"
    if issubclass(of, (bool, np.bool_)):
        return "bool"
    if issubclass(of, Real) and not issubclass(of, np.timedelta64):  # to numpy an integer
        return "number"
    return of.__name__


def _key(value: Hashable) -> tuple[str, Hashable]:
    """Equal for equal labels of one kind: 1 and 1.0, but not 1 and True."""
    return _kind(type(value)), value


def _check_one_kind(observed: AnyArray, rows: IntArray) -> str:
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
            f"{of.__name__}, such as {_show(observed[places[0]])} ({_rows(rows[places].sum())})"
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
                label=_show(observed[0]),
            )
        )
    return kinds.pop()


def _sorted_values(observed: AnyArray, kind: str) -> tuple[AnyArray, IntArray]:
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


def _as_numpy_text(values: AnyArray) -> AnyArray:
    """Strings as numpy has them, unless it would cut one: trailing zeros are padding to it."""
    text = np.array(values.tolist())
    return text if text.tolist() == values.tolist() else values


# What is doubtful, and what is said about it.


def _check_numbers(values: AnyArray, codes: IntArray) -> None:
    """Refuse infinite and fractional labels."""
    if values.dtype.kind != "f":
        return
    infinite = np.isin(codes, np.flatnonzero(np.isinf(values)))
    if infinite.any():
        raise ValueError(
            "Input contains infinity or a value too large for dtype('float64'). In y it is first "
            f"at row {int(infinite.argmax())}, in {_rows(infinite.sum())} in all. Pass NaN or None "
            "where a row is unlabelled."
        )
    fractional = values != np.floor(values)
    if fractional.any():
        check_classification_targets(values[fractional])  # raises: the label type is continuous


def _warn_about_text(values: AnyArray, rows: IntArray) -> None:
    """Warn of blank labels, and of those that differ in case or surrounding spaces only."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, value in enumerate(values):
        groups[value.strip().casefold()].append(i)
    blank = groups.pop("", [])
    if blank:
        warn_user(
            Message(
                "blank-label",
                "{y|The column of labels} has a blank string as its label in {rows}. It is kept as "
                'a label; if it means unlabelled, {pass|give} {@unlabelled:=""}.',
                rows=_rows(rows[blank].sum()),
            )
        )
    written = [i for i, value in enumerate(values) if value in WRITTEN_GAPS]
    if written:
        warn_user(
            Message(
                "gap-as-text",
                "{y|The column of labels} has {label} as a string in {rows}: a gap that was made "
                "text? It is kept as a label; if it means unlabelled, {pass|give} "
                "{@unlabelled:={label}}.",
                label=_show(values[written[0]]),
                rows=_rows(rows[written].sum()),
            )
        )
    twins = [_counted(values[group], rows[group]) for group in groups.values() if len(group) > 1]
    if twins:
        warn_user(
            Message(
                "twin-labels",
                "{y|The column of labels} has labels that differ only in case or surrounding "
                "spaces, and are kept apart: {twins}. If they mean the same, make them equal "
                "first.",
                twins=_few(twins, "; "),
            )
        )


def _warn_if_unmatched(distinct: AnyArray, unlabelled: Hashable) -> None:
    """Warn if a label only looks like the value that means unlabelled: "-1" is not -1."""
    if is_gap(unlabelled):
        return
    alike = [v for v in distinct.tolist() if str(v) == str(unlabelled)]
    if alike and all(_key(v) != _key(unlabelled) for v in alike):
        warn_user(
            Message(
                "unlabelled-of-other-type",
                "unlabelled is {value}, and {y|the column of labels} has {label}, of another type "
                "and kept as a label. If it means unlabelled, {pass|give} {@unlabelled:={label}}.",
                value=_show(unlabelled),
                label=_show(alike[0]),
            )
        )


def _refuse_unknown(
    name: str, unknown: AnyArray, rows: IntArray, known: Sequence[Hashable]
) -> None:
    raise ValueError(
        Message(
            "unknown-labels",
            "{name} has unknown labels in {rows}: {labels}. Known are {known}. Correct them, or "
            "{make them None|leave their cells empty} where a row is unlabelled.",
            name=Argument(name),
            rows=_rows(rows.sum()),
            labels=_counted(unknown, rows),
            known=_few([_show(value) for value in known]),
        )
    )


def _counted(values: AnyArray, rows: IntArray) -> str:
    """Labels with their numbers of rows, the most frequent first."""
    order = np.argsort(-rows, kind="stable")
    return _few([f"{_show(values[i])} ({rows[i]})" for i in order])


def _few(texts: Sequence[str], separator: str = ", ") -> str:
    rest = len(texts) - SHOWN
    return separator.join(texts[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _show(value: Any) -> str:
    """A label as Python has it, without the type that numpy puts around it; long ones cut."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 80 else text[:77] + "..."
