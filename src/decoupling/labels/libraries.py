"""Which library a column or a data frame is of, and tables that go back to it.

Libraries are told apart by what their types offer, so that none has to be imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final, Self

import numpy as np

from decoupling._typing import AnyArray, IntArray

# Libraries that get their tables back.
LIBRARIES: Final = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class Library:
    """Library that a column of labels came in, with the index (pandas only) and type of the column.

    It makes tables of that library, and does not hold the labels.
    """

    name: str = "numpy"  # one of LIBRARIES; numpy stands for all the rest
    index: Any = None
    dtype: Any = None

    def at(self, positions: IntArray) -> Self:
        """Return the library with the index of some of the rows."""
        return self if self.index is None else replace(self, index=self.index.take(positions))

    def frame(self, columns: Mapping[str, AnyArray], labels: Container[str] = ()) -> Any:
        """Columns of equal length as a table of the library; of numpy, a record array.

        ``labels`` are the columns that hold labels, and take the type that these came in.
        """
        if self.name == "numpy":
            dtype = [(name, column.dtype) for name, column in columns.items()]
            records = np.recarray(len(next(iter(columns.values()))), dtype)
            for name, column in columns.items():
                records[name] = column
            return records
        module = import_module(self.name)
        cells = {
            name: self._column(module, column, name in labels) for name, column in columns.items()
        }
        if self.name == "pyarrow":
            return module.table(cells)
        frame = module.DataFrame(cells)
        if self.index is not None:
            frame.index = self.index
        return frame

    def _column(self, module: Any, values: AnyArray, are_labels: bool) -> Any:
        """Values of a column, labels in the type they came in if it holds them all."""
        arrow = self.name == "pyarrow"
        make = module.array if arrow else module.Series
        typed = {"type" if arrow else "dtype": self.dtype}
        if are_labels and self.dtype is not None:
            distinct = list(dict.fromkeys(values.tolist()))
            if _survive(distinct, partial(make, **typed)):
                return make(values.tolist(), **typed)
        # Of a list with gaps pandas would make floats; polars would not look into an object array.
        as_list = values.dtype.kind == "O" and self.name != "pandas"
        return make(values.tolist() if as_list else values)


def _survive(names: list[Hashable], make: Callable[[list[Hashable]], Any]) -> bool:
    """Whether a column holds all names: a class may be no category of it, or too large a number."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas makes a gap where a name is no category
            column = make(names)
    except Exception:  # each library has errors of its own
        return False
    cells = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    pairs = zip(cells, names, strict=True)
    # What pandas has for None is equal to nothing, except for the False that it makes of booleans.
    return all(cell is not False if name is None else cell == name for cell, name in pairs)


def library_of(y: Any) -> Library:
    """Library of a column or a data frame."""
    modules = {base.__module__.partition(".")[0] for base in type(y).__mro__}
    name = next((library for library in LIBRARIES if library in modules), "numpy")
    if name == "numpy":
        return Library()
    index = None
    if name == "pandas":
        # A categorical has no index. The type is asked, since a series offers its entries as
        # attributes, too, and one of them may be called "index".
        index = y.index if hasattr(type(y), "index") else import_module(name).RangeIndex(len(y))
    return Library(name, index, _dtype(y))


def column_names(table: Any) -> list[Hashable] | None:
    """Names of the columns of a dataframe; None for what has no names."""
    if hasattr(type(table), "column_names"):  # pyarrow, whose `columns` are the data
        return list(table.column_names)
    return list(table.columns) if hasattr(type(table), "columns") else None


def only_column(y: Any) -> Any:
    """The column of a data frame that has no other."""
    names = column_names(y) or []
    return y[names[0]]


def _dtype(y: Any) -> Any:
    """Type of the labels; None for a data frame of several columns."""
    if hasattr(type(y), "columns"):
        if y.shape[1] != 1:
            return None
        y = only_column(y)
    return y.type if hasattr(type(y), "type") else getattr(y, "dtype", None)
