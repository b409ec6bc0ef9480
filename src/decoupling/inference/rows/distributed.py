"""Rows on Dask: in chunks, wherever these lie, and each chunk in blocks.

What is given of a chunk stays where it was computed, beside what is inferred of it; a step sends T
and gamma there, and brings a sum of (C, S) statistics back, which is merged in the order of the
chunks. Every step makes a new state from the one before and never changes it, so that a chunk whose
worker was lost is computed again from its source, step by step, to the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling._validation import RowSums, as_numbers, check_rows, is_dask, needs_extra
from decoupling.inference.rows.block import Result, Rows, parts_of, some_rows
from decoupling.inference.rows.sample import Picked, RowSample, of_rows, total
from decoupling.inference.rows.storage import check_possible

if TYPE_CHECKING:
    from dask.delayed import Delayed


def as_chunks(source: Any, n_labels: int) -> Any:
    """p(s|x) as a dask array (N, S) in chunks of whole rows, of known sizes.

    The sizes of a dask dataframe's partitions, where they are not known, are computed.
    """
    with needs_extra("dask", "A collection of Dask"):
        from dask.array import Array
    frame = hasattr(type(source), "to_dask_array")
    array = source.to_dask_array(lengths=True) if frame else source
    if not isinstance(array, Array):
        kind = type(source).__name__
        raise ValueError(f"label_proba must be an array or dataframe of Dask; got a {kind}.")
    if array.ndim != 2:
        raise ValueError(f"label_proba must have 2 axes; got shape {array.shape}.")
    if np.isnan(array.shape).any():
        array = array.compute_chunk_sizes()
    if array.shape[1] != n_labels:
        raise ValueError(
            f"label_proba has {array.shape[1]} columns, transitions has {n_labels} labels: "
            "one column per label, in the same order, is needed."
        )
    if array.shape[0] == 0:
        raise ValueError(f"label_proba is empty: its shape is {array.shape}.")
    rows = tuple(size for size in array.chunks[0] if size > 0)
    return array.rechunk((rows, n_labels))


@dataclass(frozen=True, eq=False)
class _Inferred:
    """What changes of a chunk's rows, see `Rows`, and the result of the function that did it."""

    class_concentration: FloatArray
    step: FloatArray | None = None
    terms: FloatArray | None = None
    result: Any = None

    def __sizeof__(self) -> int:
        """Bytes that a worker would have to send; a scheduler that thinks it small moves it."""
        arrays = (self.class_concentration, self.step, self.terms)
        return sum(array.nbytes for array in arrays if array is not None)


class ChunkBlocks:
    """Rows in the chunks of a dask array.

    Parameters
    ----------
    label_proba : dask array (N, S)
        As of `as_chunks`.
    labels : bool array (S,)
        Labels that some class can emit.
    n_classes : int
        C.
    evidence, multiplicity : arrays () or (N,)
        As in `Rows`.
    block_size : int, optional
        A chunk is worked on in pieces of so many rows, which stay near the processor.
    """

    def __init__(
        self,
        label_proba: Any,
        labels: BoolArray,
        n_classes: int,
        evidence: FloatArray,
        multiplicity: FloatArray,
        block_size: int | None = None,
    ) -> None:
        from dask import compute, delayed, persist

        self.n_classes, self.block_size = n_classes, block_size
        self.sizes = label_proba.chunks[0]
        self.evidence, self.multiplicity = evidence, multiplicity
        starts = np.cumsum([0, *self.sizes[:-1]]).tolist()
        self._where = [slice(i, i + n) for i, n in zip(starts, self.sizes, strict=True)]
        given = [
            delayed(_given, pure=False)(
                chunk, labels, of_rows(evidence, rows), of_rows(multiplicity, rows), k, rows.start
            )
            for k, (chunk, rows) in enumerate(
                zip(label_proba.to_delayed()[:, 0], self._where, strict=True)
            )
        ]
        self._given: list[Delayed] = list(persist(*given))
        sums = RowSums()
        with self._naming_lost(self._given):
            parts = compute(*[delayed(_sums, pure=False)(rows) for rows in self._given])
        for part in parts:
            if isinstance(part, ValueError):
                raise part
            sums.add(part)
        sums.warn()
        self._inferred = [delayed(_empty, pure=False)(rows, n_classes) for rows in self._given]

    def __enter__(self) -> ChunkBlocks:
        """Nothing has to be started: Dask has its workers."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing has to be stopped: Dask keeps its workers."""

    @property
    def n_rows(self) -> int:
        """Number of rows (N)."""
        return sum(self.sizes)

    @property
    def count(self) -> float:
        """Number of rows, each as often as it stands there."""
        return total(self.multiplicity, self.n_rows)

    @property
    def total_evidence(self) -> float:
        """Number of observations in all."""
        return total(self.multiplicity * self.evidence, self.n_rows)

    def update(
        self, function: Callable[[Rows], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """Call a function on every chunk and merge the results; what is inferred may change."""
        from dask import compute, delayed, persist

        updated = self._each(_updated, function, merge)
        results = [delayed(_result, pure=False)(inferred) for inferred in updated]
        kept = persist(*updated, *results)
        self._inferred = list(kept[: len(updated)])
        with self._naming_lost(self._inferred):
            found: list[Result] = list(compute(*kept[len(updated) :]))
        return reduce(merge, found)

    def query(
        self, function: Callable[[Rows], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """Call a function on every chunk and merge the results; rows stay as they are."""
        from dask import compute, persist

        tasks = list(persist(*self._each(_queried, function, merge)))
        with self._naming_lost(tasks):
            found: list[Result] = list(compute(*tasks))
        return reduce(merge, found)

    @contextmanager
    def _naming_lost(self, tasks: list[Delayed]) -> Iterator[None]:
        """Say which partition it is whose workers were killed again and again."""
        try:
            yield
        except Exception as error:
            if type(error).__name__ != "KilledWorker":  # of distributed, which need not be there
                raise
            lost = [k for k, task in enumerate(tasks) if _is_lost(task)]
            where = "a partition of label_proba"
            if lost:
                rows = self._where[lost[0]]
                where = f"partition {lost[0]} of label_proba, rows {rows.start} to {rows.stop - 1},"
            raise RuntimeError(
                f"The workers that computed {where} were killed again and again. Most often their "
                "memory is too small for it: make chunks of fewer rows, or give workers more. "
                "checkpoint= keeps what is found, so that the next run goes on from there. "
                f"({error})"
            ) from error

    def _each(
        self,
        task: Callable[..., Any],
        function: Callable[[Rows], Result],
        merge: Callable[[Result, Result], Result],
    ) -> list[Delayed]:
        """A task for every chunk."""
        from dask import delayed

        # One node holds the function with its T, and not every task a copy.
        shared = delayed(_Shared(function, merge, self.block_size), pure=False)
        chunks = zip(self._given, self._inferred, strict=True)
        return [delayed(task, pure=False)(shared, *chunk) for chunk in chunks]

    def start_from(self, class_concentration: Any) -> None:
        """Put the rows where another run has left them, (N, C)."""
        from dask import delayed

        if is_dask(class_concentration):
            whole = class_concentration.rechunk((self.sizes, self.n_classes))
            parts = whole.to_delayed()[:, 0].tolist()
        else:
            parts = [np.asarray(class_concentration[rows]) for rows in self._where]
        self._inferred = [delayed(_Inferred, pure=False)(part) for part in parts]

    def class_concentration(self) -> Any:
        """Pi as a dask array (N, C), in the same chunks."""
        from dask import array, delayed

        parts = [
            array.from_delayed(
                delayed(getattr)(inferred, "class_concentration"), (n, self.n_classes), float
            )
            for inferred, n in zip(self._inferred, self.sizes, strict=True)
        ]
        return array.concatenate(parts)

    def sample(self) -> RowSample:
        """Some of the rows, the same ones as if they lay in memory."""
        from dask import compute, delayed

        picked = Picked.of(self.multiplicity, self.sizes)
        chunks = zip(self._given, self._inferred, picked.by_block, strict=True)
        return picked.sample(compute(*[delayed(_picked, pure=False)(*chunk) for chunk in chunks]))


def of_chunks(function: Callable[[FloatArray, Any], FloatArray], rows: Any) -> Any:
    """A function of rows, (n, C), and of their numbers, as a dask array like ``rows``."""

    def of_chunk(chunk: FloatArray, block_info: Any) -> FloatArray:
        first, stop = block_info[0]["array-location"][0]
        return function(chunk, slice(first, stop))

    return rows.map_blocks(of_chunk, dtype=np.float64, meta=np.empty((0, 0)))


@dataclass(frozen=True, eq=False)
class _Shared:
    """A function for every block of every chunk, as a value that Dask does not call itself."""

    function: Callable[[Rows], Any]
    merge: Callable[[Any, Any], Any]
    block_size: int | None

    def over(self, parts: list[Rows]) -> Any:
        """Merged results of the blocks of a chunk."""
        return reduce(self.merge, map(self.function, parts))


@dataclass(frozen=True, eq=False)
class _Given:
    """What stays of a chunk's rows, and how far their sums were from 1, or what is wrong there."""

    rows: Rows
    sums: RowSums | ValueError

    def __sizeof__(self) -> int:
        """Bytes that a worker would have to send."""
        return int(self.rows.label_proba.nbytes)


def _given(
    chunk: Any,
    labels: BoolArray,
    evidence: FloatArray,
    multiplicity: FloatArray,
    number: int,
    first_row: int,
) -> _Given:
    """Check a chunk and set it up.

    What is wrong is handed on: the first chunk is to be reported, not the one that was first ready.
    """
    name = f"label_proba, partition {number}"
    sums: RowSums | ValueError
    try:
        chunk = as_numbers(name, chunk)
        sums = check_rows(chunk, len(labels), first_row, name)
        check_possible(chunk, labels, first_row, name)
    except ValueError as error:
        sums = error
    return _Given(Rows(chunk, labels, evidence, np.empty((0, 0)), multiplicity), sums)


def _is_lost(task: Delayed) -> bool:
    """Whether a task that was sent to a cluster has failed there, or waits for one that has."""
    from distributed import futures_of

    return any(future.status == "error" for future in futures_of(task))


def _sums(given: _Given) -> RowSums | ValueError:
    return given.sums


def _empty(given: _Given, n_classes: int) -> _Inferred:
    return _Inferred(np.ones((len(given.rows), n_classes)))


def _rows(given: _Given, inferred: _Inferred, *, own: bool) -> Rows:
    """Rows of a chunk, from what is given and what is inferred of them.

    With ``own`` they have a copy of what may be changed.
    """

    def copied(array: FloatArray | None) -> FloatArray | None:
        return array.copy() if own and array is not None else array

    rows = given.rows.part(slice(None))
    rows.class_concentration = np.array(inferred.class_concentration, copy=own or None)
    rows.step, rows.terms = copied(inferred.step), copied(inferred.terms)
    return rows


def _updated(shared: _Shared, given: _Given, inferred: _Inferred) -> _Inferred:
    rows = _rows(given, inferred, own=True)
    parts = parts_of(rows, shared.block_size)
    result = shared.over(parts)
    return _Inferred(
        rows.class_concentration,
        _joined([part.step for part in parts]),
        _joined([part.terms for part in parts]),
        result,
    )


def _joined(arrays: list[FloatArray | None]) -> FloatArray | None:
    noted = [array for array in arrays if array is not None]
    return np.concatenate(noted) if noted else None


def _result(inferred: _Inferred) -> Any:
    return inferred.result


def _queried(shared: _Shared, given: _Given, inferred: _Inferred) -> Any:
    return shared.over(parts_of(_rows(given, inferred, own=False), shared.block_size))


def _picked(given: _Given, inferred: _Inferred, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    return some_rows(_rows(given, inferred, own=False), rows)
