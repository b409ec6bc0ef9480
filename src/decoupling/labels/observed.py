"""Observed labels of any type: which rows have a label, and which label it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, BoolArray, IntArray
from decoupling.labels.distinct import (
    as_numpy_text,
    check_one_kind,
    factorise,
    key_of,
    missing_entries,
    sorted_values,
)
from decoupling.labels.doubts import (
    check_numbers,
    refuse_unknown,
    warn_about_text,
    warn_if_unmatched,
)
from decoupling.labels.frames import as_column

__all__ = ["ObservedLabels", "encode_labels", "read_labels", "recode_labels"]

# Code of a row that has no label.
UNLABELLED: Final = -1


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
        If labels look alike, or show nothing.

    Examples
    --------
    >>> observed = read_labels([3, 1, -1, 3], unlabelled=-1)
    >>> observed.codes
    array([ 1,  0, -1,  1])
    >>> observed.values
    array([1, 3])
    """
    distinct, inverse = factorise(as_column(y))
    missing = missing_entries(distinct, unlabelled)
    warn_if_unmatched(distinct[~missing], unlabelled)
    if missing.all():
        text = "{y|The column of labels} has no labelled rows: all {n} of them are unlabelled."
        raise ValueError(Message("no-labels", text, n=len(inverse)))
    rows = np.bincount(inverse, minlength=len(distinct))  # (distinct entries,)
    kind = check_one_kind(distinct[~missing], rows[~missing])
    values, position = sorted_values(distinct[~missing], kind)
    codes = _spread(missing, position)[inverse]  # (N,)
    if kind == "number":
        check_numbers(values, codes)
    if kind == "str":
        warn_about_text(values, codes)
        if isinstance(y, Sequence) and all(type(v) in (str, np.str_) for v in distinct):
            values = as_numpy_text(values)
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
    distinct, inverse = factorise(as_column(y))
    missing = missing_entries(distinct, unlabelled)
    rows = np.bincount(inverse, minlength=len(distinct))[~missing]
    position = _positions(distinct[~missing], rows, values, name)
    return _spread(missing, position)[inverse]


def recode_labels(observed: ObservedLabels, values: Iterable[Hashable] | AnyArray) -> IntArray:
    """Index of each row's label in other values than its own.

    Parameters
    ----------
    observed : ObservedLabels
        Labels that were read.
    values : (L,) sequence or array
        The known labels, in any order.

    Returns
    -------
    (N,) array of int
        Index into `values`; -1 where a row is unlabelled.

    Examples
    --------
    >>> recode_labels(read_labels(["dog", None, "cat"]), ["fox", "dog", "cat"])
    array([ 1, -1,  2])
    """
    position = _positions(observed.values, observed.counts, values, "y")
    return np.append(position, UNLABELLED)[observed.codes]  # code -1 is the last entry


def _positions(
    labels: AnyArray, rows: IntArray, values: Iterable[Hashable] | AnyArray, name: str
) -> IntArray:
    """Place of each distinct label in given values, (L,); ``rows`` says how many rows have it."""
    known = {key_of(value): code for code, value in enumerate(values)}
    position = np.array([known.get(key_of(label), -1) for label in labels], dtype=np.int64)
    unknown = position < 0
    if unknown.any():
        refuse_unknown(name, labels[unknown], rows[unknown], [value for _, value in known])
    return position


def _spread(missing: BoolArray, position: IntArray) -> IntArray:
    """Codes of all distinct entries, from those of the labels among them."""
    codes = np.full(len(missing), UNLABELLED, dtype=np.int64)
    codes[~missing] = position
    return codes
