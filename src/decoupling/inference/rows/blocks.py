"""Rows in blocks, on threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial, reduce
from typing import Any, Final, Protocol, Self

import numpy as np

from decoupling._threads import ONE_THREAD
from decoupling._typing import FloatArray
from decoupling.inference.rows.block import Blocks, Result, Rows, parts_of, some_rows
from decoupling.inference.rows.sample import Picked, RowSample
from decoupling.inference.rows.storage import is_mapped, release

# glibc hands freed memory back to the system, and every temporary would fault its pages in anew.
# Once an array of this size was freed, it keeps twice as much: see M_MMAP_THRESHOLD in mallopt(3).
_KEPT_BYTES: Final = 24 * 2**20


class AllRows(Blocks, Protocol):
    """The rows with what an inference needs before and after its steps."""

    @property
    def n_rows(self) -> int:
        """Number of rows (N)."""

    @property
    def count(self) -> float:
        """Number of rows, each as often as it stands there."""

    @property
    def total_evidence(self) -> float:
        """Number of observations in all."""

    @property
    def multiplicity(self) -> FloatArray:
        """How many equal rows each row stands for, () or (N,)."""

    def start_from(self, class_concentration: FloatArray) -> None:
        """Put the rows where another run has left them, (N, C)."""

    def class_concentration(self) -> FloatArray:
        """Pi, (N, C)."""

    def sample(self) -> RowSample:
        """Some of the rows."""

    def __enter__(self) -> Self:
        """Get ready for steps."""

    def __exit__(self, *exception: object) -> None:
        """Free what the steps needed."""


class RowBlocks:
    """All the rows in blocks, on threads: the same function for each block, results in order.

    By default there are as many threads as linear algebra may use, so that the limits of a cluster
    or of an outer parallel loop hold here too. Within a block linear algebra runs on one thread:
    the products are too small to be shared.

    Parameters
    ----------
    rows : Rows
        All of them.
    block_size : int, optional
        Rows per block.
    n_threads : int, optional
        Most threads.
    """

    def __init__(
        self, rows: Rows, block_size: int | None = None, n_threads: int | None = None
    ) -> None:
        self.rows = rows
        self.parts = parts_of(rows, block_size)
        self.n_threads = min(n_threads or ONE_THREAD.before(), len(self.parts))

    def __enter__(self) -> RowBlocks:
        """Start the threads."""
        np.empty(_KEPT_BYTES, dtype=np.uint8)  # never written to, so it costs two system calls
        self._stack = ExitStack()
        self._stack.enter_context(ONE_THREAD)
        self._map: Callable[..., Iterable[Any]] = map
        if self.n_threads > 1:
            self._map = self._stack.enter_context(ThreadPoolExecutor(self.n_threads)).map
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop them."""
        self._stack.close()

    def each(self, function: Callable[[Rows], Result]) -> Iterable[Result]:
        """Results of a function, in the order of the blocks."""
        return self._map(self._released(function), self.parts)

    def update(
        self, function: Callable[[Rows], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """Call a function on every block and merge the results; it may change rows in place."""
        return reduce(merge, self.each(function))

    query = update

    @property
    def n_rows(self) -> int:
        """Number of rows (N)."""
        return len(self.rows)

    @property
    def count(self) -> float:
        """Number of rows, each as often as it stands there."""
        return self.rows.count

    @property
    def total_evidence(self) -> float:
        """Number of observations in all."""
        return self.rows.total_evidence

    @property
    def multiplicity(self) -> FloatArray:
        """How many equal rows each row stands for, () or (N,)."""
        return self.rows.multiplicity

    def start_from(self, class_concentration: FloatArray) -> None:
        """Put the rows where another run has left them, (N, C)."""
        self.rows.class_concentration[:] = class_concentration

    def class_concentration(self) -> FloatArray:
        """Pi, (N, C), which from now on is not to be changed."""
        self.rows.class_concentration.flags.writeable = False
        return self.rows.class_concentration

    def sample(self) -> RowSample:
        """Some of the rows."""
        sizes = [len(part) for part in self.parts]
        picked = Picked.of(self.multiplicity, sizes)
        # Block by block, since a row on disk may bring megabytes around it into memory.
        pairs = zip(self.parts, picked.by_block, strict=True)
        return picked.sample(
            [self._released(partial(some_rows, rows=rows))(p) for p, rows in pairs]
        )

    def _released(self, function: Callable[[Rows], Result]) -> Callable[[Rows], Result]:
        """The function, and then, of rows on disk, their memory back to the system."""
        if not is_mapped(self.rows.class_concentration):
            return function

        def and_release(rows: Rows) -> Result:
            result = function(rows)
            release(rows.label_proba)
            release(rows.class_concentration)
            return result

        return and_release
