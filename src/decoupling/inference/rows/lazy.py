"""Rows that are computed when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import is_dask
from decoupling.inference.rows.distributed import of_chunks
from decoupling.inference.rows.storage import in_blocks, is_mapped, release


@dataclass(frozen=True, eq=False)
class LazyRows:
    """An array (N, C) each of whose rows is a function of the same row of another on disk.

    Index it like an array: only the rows asked for are computed. `blocks` goes through all of them
    with little memory, ``numpy.asarray`` makes all of them at once.

    Attributes
    ----------
    source : memmap (N, C)
        Where the rows come from.
    function : callable
        ``function(rows, index)`` gives the values of the rows, (n, C); ``index`` are their numbers,
        or a slice.
    """

    source: AnyArray
    function: Callable[[FloatArray, Any], FloatArray]

    dtype = np.dtype(np.float64)
    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        n_rows, n_columns = self.source.shape
        return n_rows, n_columns

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.source.size)

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, key: Any) -> AnyArray:
        rows, *rest = (key or (...,)) if isinstance(key, tuple) else (key,)
        if isinstance(rows, slice):
            return np.asarray(self._values(rows)[(slice(None), *rest)])
        numbers = np.asarray(rows)
        if numbers.dtype == bool and numbers.shape == (len(self),):
            numbers = np.flatnonzero(numbers)
        if numbers.dtype.kind not in "iu" and numbers.size > 0:
            return np.asarray(np.asarray(self)[key])
        # Only the rows that were asked for are computed. Indexing them by their places pairs them
        # with the other indices as numpy would.
        places = np.arange(numbers.size).reshape(numbers.shape)
        values = self._values(numbers.astype(np.int64).ravel())
        return np.asarray(values[(places, *rest)])

    def __iter__(self) -> Iterator[FloatArray]:
        for block in self.blocks():
            yield from block

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError("Rows that are computed when asked for cannot be had without a copy.")
        return np.concatenate(list(self.blocks())).astype(dtype or np.float64, copy=False)

    def __repr__(self) -> str:
        return f"<{self.shape[0]} rows of {self.shape[1]}, computed when asked for>"

    def blocks(self) -> Iterator[FloatArray]:
        """All rows in order, a block at a time."""
        first = 0
        for block in in_blocks(self.source):
            yield self.function(np.asarray(block), slice(first, first + len(block)))
            first += len(block)

    def _values(self, rows: Any) -> FloatArray:
        picked = self.source[rows]
        values = self.function(np.asarray(picked), rows)
        release(picked)
        return values


def of_each_row(rows: Any, function: Callable[[FloatArray, Any], FloatArray]) -> FloatArray:
    """A function of rows, (n, C), and of their numbers, for all ``rows``, (N, C).

    `LazyRows` if the rows are on disk, a dask array if they are one: used like an array.
    """
    if is_mapped(rows):
        return cast("FloatArray", LazyRows(rows, function))
    return of_chunks(function, rows) if is_dask(rows) else function(rows, slice(None))
