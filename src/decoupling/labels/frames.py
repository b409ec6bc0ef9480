"""Columns of labels, and p(label | x), from data frames and arrays of any library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from decoupling._text import UNLABELLED, Message, first_few, listed
from decoupling._typing import AnyArray
from decoupling._validation import warn_user
from decoupling.labels.libraries import column_names, library_of, only_column


def as_column(y: object) -> AnyArray:
    """The labels as an array (N,), of objects where numpy would change a label or lose a gap."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    array = _as_array(y)
    if array.size == 0:
        raise ValueError("y is empty: at least one labelled row is needed.")
    if array.ndim == 2 and array.shape[1] == 1:
        warn_user(
            Message(
                "column-vector",
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples, ), for example using ravel().",
            ),
            DataConversionWarning,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return array


def _as_array(y: Any) -> AnyArray:
    # A series of pandas offers the names of its index as attributes too; its type does not.
    if hasattr(type(y), "columns"):
        return _from_frame(y)
    if hasattr(type(y), "null_count"):
        return _from_arrow(y)
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        objects = np.asarray(y).astype(object)
        objects[np.ma.getmaskarray(y)] = None
        return objects
    if isinstance(y, Sequence) and not isinstance(y, (str, bytes)):
        return np.array(y, dtype=object)  # numpy would make strings of ["a", nan, 1]
    if hasattr(type(y), "isna") and not isinstance(y.dtype, np.dtype) and np.any(y.isna()):
        y = y.astype(object)  # numpy would make floats of integers with gaps
    array = np.asarray(y)
    return array if array.dtype.kind in "biufcmMSUVO" else array.astype(object)


def _from_frame(y: Any) -> AnyArray:
    """A data frame of pandas, polars or pyarrow: by its column, to keep the type."""
    if y.shape[1] != 1:
        return np.asarray(y)
    return _as_array(only_column(y))[:, None]


def _from_arrow(y: Any) -> AnyArray:
    """A column of polars or pyarrow; only numbers without gaps pass through numpy unchanged."""
    gaps = y.null_count() if callable(y.null_count) else y.null_count
    if gaps == 0:
        array = np.asarray(y)
        if array.dtype.kind in "biuf":
            return array
    return objects_of(y.to_pylist() if hasattr(y, "to_pylist") else y.to_list())


def objects_of(values: Sequence[object]) -> AnyArray:
    """One-dimensional array of these values, whatever they are."""
    return np.fromiter(values, dtype=object, count=len(values))  # np.array would unpack tuples


def names_array(names: Sequence[Hashable]) -> AnyArray:
    """Names in a type of numpy if they are numbers, booleans or strings, else as objects."""
    array = np.array(names) if len({type(name) for name in names}) == 1 else np.empty(())
    # numpy cuts zeros at the end of a string.
    if array.ndim == 1 and array.dtype.kind in "biufU" and array.tolist() == list(names):
        return array
    return objects_of(names)


def in_other_order(X: Any, other: Any) -> bool:
    """Whether both have an index of pandas, with the same names in another order."""
    one, two = (library_of(each).index for each in (X, other))
    if one is None or two is None or len(one) != len(two) or one.equals(two):
        return False
    return set(one) == set(two)


def in_label_order(table: Any, labels: Sequence[Hashable], name: str = "label_proba") -> Any:
    """Put the columns of a table of p(s|x) in the order of the labels, by their names.

    A table without names of columns stays as it is. So does a table whose names, or one with a
    prior whose labels, are the numbers of the columns. Names may write numbers as text, and
    "unlabelled" is the label None. Columns of Parquet files and of datasets must be in order
    already. Blocks of an iterator are put in order one by one.
    """
    if isinstance(table, Iterator):
        return (
            in_label_order(block, labels, f"{name}, block {k}") for k, block in enumerate(table)
        )
    is_path = isinstance(table, str | Path)
    is_dataset = _is_dataset(table)
    names: list[Hashable] | None
    if is_dataset:
        names = list(table.schema.names)
    else:
        names = _names_in_file(Path(table)) if is_path else column_names(table)
    if names is None:
        return table
    found, wanted = [_label_text(name) for name in names], [_label_text(s) for s in labels]
    numbers = [str(k) for k in range(len(found))]
    if set(found) != set(wanted) and (found == numbers or wanted == numbers):
        return table
    # By dictionaries: labels may be thousands, and every block of rows is looked at.
    places, known = {name: k for k, name in enumerate(found)}, set(wanted)
    missing = [name for name in wanted if name not in places]
    extra = [name for name in found if name not in known]
    twice = sorted(name for name, count in Counter(found).items() if count > 1)
    if missing or extra or twice:
        wrong = {"missing": missing, "extra": extra, "there twice": twice}
        told = [f"{what}: {listed(few)}" for what, few in wrong.items() if few]
        raise ValueError(
            f"{name}: its columns are not the labels of the prior ({'; '.join(told)}). Rename "
            "them, or pass an array, whose columns are taken in the order of the labels."
        )
    order = [names[places[name]] for name in wanted]
    if is_path or is_dataset:
        if order != names:
            which = repr(str(table)) if is_path else "the dataset"
            raise ValueError(
                f"{name}: the columns of {which} are {first_few(found)}, and the "
                f"labels of the prior {first_few(wanted)}. Write them in this order, or pass "
                "a dataframe, whose columns are put in order."
            )
        return table
    return table.select(order) if hasattr(table, "select") else table[order]


def in_order_of_names(table: Any, names: Sequence[Hashable]) -> Any:
    """Put the columns of a dataframe in the order of these names if it has just these.

    Examples
    --------
    >>> import pyarrow as pa
    >>> in_order_of_names(pa.table({"dog": [0.2], "cat": [0.8]}), ["cat", "dog"]).column_names
    ['cat', 'dog']
    """
    found = column_names(table)
    if found is None or {*map(_label_text, found)} != {*map(_label_text, names)}:
        return table
    return in_label_order(table, names, "proba")


def _is_dataset(table: Any) -> bool:
    """Whether this is a dataset of pyarrow: files that are read in batches, by a schema."""
    kind = type(table)
    return hasattr(kind, "get_fragments") and hasattr(kind, "schema")


def _names_in_file(path: Path) -> list[Hashable] | None:
    """Names of the columns of Parquet files; None for others, and for what cannot be read."""
    if path.suffix == ".npy" or not path.exists():
        return None
    try:
        return list(import_module("pyarrow.dataset").dataset(path, format="parquet").schema.names)
    except Exception:  # whoever reads the rows will say what is wrong
        return None


def _label_text(name: Hashable) -> str:
    return UNLABELLED if name is None or name != name else str(name)
