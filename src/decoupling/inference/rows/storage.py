"""Rows that need not fit into memory: opened, checked block by block, and kept in files.

A file is mapped into memory, used a block at a time, and its pages are given back after each block,
so that what stays is a block per thread. Where p(s|x) comes as Parquet or from an iterator, it is
first written to a file of its own that can be mapped: it is read many times. Such files have no
name, and are gone with the last array that uses them.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike

from decoupling._files import naming_full_disk, written_whole
from decoupling._typing import AnyArray, BoolArray, FloatArray
from decoupling._validation import (
    RowSums,
    as_numbers,
    check_label_proba,
    check_rows,
    check_shape,
    first_offence,
    needs_extra,
)

# Rows on disk are looked through in pieces of so many entries.
_ENTRIES: Final = 2**20
# Later versions of the format are for names of fields, which numbers do not have.
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def open_label_proba(source: Any, labels: BoolArray, scratch: str | Path | None = None) -> AnyArray:
    """p(s|x), (N, S), checked: an array in memory as it is, anything else as a mapped file.

    Parameters
    ----------
    source : array-like, memmap, path, pyarrow Dataset or iterator of arrays
        Where p(s|x) comes from. A path is that of a ``.npy`` file, of a Parquet file or of a folder
        of them, whose columns are the labels in order.
    labels : bool array (S,)
        Labels that some class can emit: the others must not have been seen.
    scratch : path, optional
        Folder for files.
    """
    path = Path(source) if isinstance(source, (str, Path)) else None
    if path is not None and not path.exists():
        raise FileNotFoundError(f"label_proba: there is no file {str(path)!r}.")
    if path is not None and path.suffix == ".npy":
        source = _mapped_npy(path)
    if is_mapped(source) and source.dtype.kind in "fiub":
        _check_on_disk(source, labels)
        return np.asanyarray(source)
    if _is_dataset(source) or isinstance(source, (str, Path)):
        return _spooled(_parquet_blocks(source, len(labels)), labels, scratch)
    if isinstance(source, Iterator):
        return _spooled(source, labels, scratch)
    array = check_label_proba(source, n_labels=len(labels))
    check_possible(array, labels)
    return array


def _mapped_npy(path: Path) -> AnyArray:
    """The array of a ``.npy`` file, whose header is looked at first: numpy would try other formats.

    Raises
    ------
    ValueError
        If it is of another format, was cut, or holds objects.
    """
    name, size = f"label_proba: {str(path)!r}", path.stat().st_size
    with path.open("rb") as file:
        try:
            shape, _, dtype = _HEADERS[npy.read_magic(file)](file)
        except Exception as error:  # numpy evaluates the header as a literal, which has many ways
            what = "is empty" if size == 0 else "is no whole array in NumPy's format"
            raise ValueError(f"{name} {what}. Write it again with numpy.save.") from error
        start = file.tell()
    if dtype.hasobject:
        raise ValueError(
            f"{name} holds objects of Python ({dtype}): these are pickles, which can run any code "
            "and are never read. Write it again as numbers: numpy.save(path, array.astype(float))."
        )
    needed = start + dtype.itemsize * prod(shape)
    if min(shape, default=0) < 0 or size < needed:
        raise ValueError(
            f"{name} was cut: an array of {dtype} and shape {shape} takes {needed:,} bytes, and it "
            f"has {size:,}. Copy or write it again."
        )
    array: AnyArray = npy.open_memmap(path, mode="r")
    return array


def is_mapped(array: object) -> bool:
    """Whether this is a file mapped into memory; a copy of a memmap is a memmap, but is not."""
    return isinstance(array, np.memmap) and getattr(array, "_mmap", None) is not None


def check_possible(
    label_proba: AnyArray, labels: BoolArray, first_row: int = 0, name: str = "label_proba"
) -> None:
    """Refuse a label that no class can emit; ``labels`` (S,) can be."""
    for s in np.nonzero(~labels)[0]:
        first_offence(
            f"{name}, column {s}",
            label_proba[:, s],
            label_proba[:, s] > 0,
            "the probability of a label that no class can emit",
            "Allow that label in the transition prior, or remove it from label_proba.",
            first_row,
        )


def _check_on_disk(array: AnyArray, labels: BoolArray) -> None:
    check_shape("label_proba", array, ndim=2)
    sums, first = RowSums(), 0
    for block in in_blocks(array):
        sums.add(check_rows(block, len(labels), first))
        check_possible(block, labels, first)
        first += len(block)
    sums.warn()


def _spooled(
    blocks: Iterable[ArrayLike], labels: BoolArray, scratch: str | Path | None
) -> AnyArray:
    """Blocks of rows, one after the other, in a file of their own."""
    sums, n_rows, dtype = RowSums(), 0, np.dtype(np.float64)
    with _scratch_file(scratch) as file:
        for number, values in enumerate(blocks):
            name = f"label_proba, block {number}"
            block = as_numbers(name, values)
            if block.ndim == 2 and len(block) == 0:
                continue
            sums.add(check_rows(block, len(labels), n_rows, name))
            check_possible(block, labels, n_rows, name)
            if n_rows == 0 and block.dtype == np.float32:
                dtype = block.dtype  # single precision stays so, at half the size
            if dtype == np.float32 and not np.can_cast(block.dtype, dtype):
                raise ValueError(
                    f"{name} is of {block.dtype}, those before it of {dtype}, to which it would be "
                    "rounded. Give all blocks in one type."
                )
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
            n_rows += len(block)
        if n_rows == 0:
            raise ValueError("label_proba is empty: no block had a row.")
        sums.warn()
        file.flush()
        return _mapped(file, dtype, (n_rows, len(labels)), "r")


@contextmanager
def _scratch_file(folder: str | Path | None) -> Iterator[Any]:
    """A file without a name, in the folder for temporary files by default."""
    where = Path(tempfile.gettempdir() if folder is None else folder)
    with naming_full_disk(where), tempfile.TemporaryFile(dir=where) as file:
        yield file


def _mapped(
    file: Any, dtype: np.dtype[Any], shape: tuple[int, int], mode: Literal["r", "w+"]
) -> AnyArray:
    array: AnyArray = np.memmap(file, dtype=dtype, mode=mode, shape=shape)
    return array


def _is_dataset(source: object) -> bool:
    is_arrow = type(source).__module__.startswith("pyarrow.")
    return is_arrow and hasattr(source, "to_batches") and hasattr(source, "schema")


def _parquet_blocks(source: Any, n_labels: int) -> Iterator[AnyArray]:
    """Rows of a Parquet dataset or an Arrow table, a batch at a time."""
    with needs_extra("cli", "Parquet"):
        import pyarrow as pa
        from pyarrow import dataset
    if isinstance(source, (str, Path)):
        with _reading_parquet(source):
            source = dataset.dataset(source, format="parquet")
    wrong = [
        f.name
        for f in source.schema
        if not (pa.types.is_floating(f.type) or pa.types.is_integer(f.type))
    ]
    if wrong or len(source.schema) != n_labels:
        raise ValueError(
            f"label_proba: the table has {len(source.schema)} columns"
            + (f", of which {wrong[:3]} are not numbers" if wrong else "")
            + f"; {n_labels} columns of p(label | x) are needed, one per label, in their order. "
            "Write only these columns, or pass an iterator of arrays."
        )
    rows = max(1, _ENTRIES // n_labels)
    if isinstance(source, pa.Table):
        batches = source.to_batches(max_chunksize=rows)
    else:
        batches = _by_row_group(source, rows)
    for batch in batches:
        # A missing value becomes NaN, which is then refused by row.
        columns = [c.to_numpy(zero_copy_only=False) for c in batch.columns]
        yield np.column_stack(columns)


def _by_row_group(source: Any, rows: int) -> Iterator[Any]:
    """Batches of a dataset, one row group after the other: a scan of all would read far ahead."""
    for fragment in source.get_fragments():
        with _reading_parquet(getattr(fragment, "path", "the dataset")):
            by_group = hasattr(fragment, "row_groups")
            for group in fragment.split_by_row_group() if by_group else [fragment]:
                yield from group.to_batches(schema=source.schema, batch_size=rows)


@contextmanager
def _reading_parquet(path: str | Path) -> Iterator[None]:
    """Say which file it is that pyarrow cannot read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        # Errors of the system have a number; those of pyarrow about the file have none.
        if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(
            f"label_proba: {str(path)!r} cannot be read as Parquet: it is empty, was cut or "
            "damaged, or is of another kind. Copy or write it again; the name of a file of "
            f"numpy.save must end in .npy. (pyarrow: {' '.join(str(error).split())})"
        ) from error


def empty_rows(
    n_rows: int, n_columns: int, like: AnyArray, scratch: str | Path | None
) -> FloatArray:
    """Room for what is inferred of rows: in a file if ``like`` is in one, else in memory."""
    if not is_mapped(like):
        return np.empty((n_rows, n_columns))
    with _scratch_file(scratch) as file:
        if hasattr(os, "posix_fallocate"):  # a full disk is an error now, not a fault on writing
            os.posix_fallocate(file.fileno(), 0, 8 * n_rows * n_columns)
        return _mapped(file, np.dtype(np.float64), (n_rows, n_columns), "w+")


def in_blocks(array: AnyArray) -> Iterator[AnyArray]:
    """Blocks of rows, whose pages are given back when the next one is asked for."""
    chunks: Any = array
    if hasattr(chunks, "numblocks"):  # of Dask
        for k in range(chunks.numblocks[0]):
            yield np.asarray(chunks.blocks[k])
        return
    size = max(1, _ENTRIES // array.shape[1])
    for i in range(0, len(array), size):
        block = array[i : i + size]
        yield block
        release(block)


def release(array: AnyArray) -> None:
    """Give the pages of a mapped array back to the system; they are read again when needed.

    Changes are not lost: of a shared map they belong to the file. A private one is left alone.
    """
    if not isinstance(array, np.memmap) or array.mode == "c" or array.size == 0:
        return
    pages: mmap.mmap | None = getattr(array, "_mmap", None)
    if pages is None or not hasattr(pages, "madvise"):  # pragma: no cover - not on Linux
        return
    start = _address(array) - _address(np.frombuffer(pages, dtype=np.uint8))
    first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (start + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if end > first and array.flags.c_contiguous:
        pages.madvise(mmap.MADV_DONTNEED, first, end - first)


def _address(array: AnyArray) -> int:
    return int(array.__array_interface__["data"][0])


def write_rows(path: Path, names: Sequence[str], blocks: Iterable[AnyArray], n_rows: int) -> None:
    """Write rows, (N, K), block by block: to Parquet with columns of these names, or to ``.npy``.

    The file is there whole or not at all.
    """
    if path.suffix not in (".npy", ".parquet"):
        raise ValueError(
            f"{path.name!r} must end in .npy or .parquet: these are written by blocks."
        )
    with written_whole(path) as part:
        if path.suffix == ".npy":
            _write_npy(part, blocks, (n_rows, len(names)))
        else:
            _write_parquet(part, names, blocks)


def _write_npy(path: Path, blocks: Iterable[AnyArray], shape: tuple[int, int]) -> None:
    kind = np.lib.format.dtype_to_descr(np.dtype(np.float64))
    with path.open("wb") as file:
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=np.float64).data)


def _write_parquet(path: Path, names: Sequence[str], blocks: Iterable[AnyArray]) -> None:
    with needs_extra("cli", "Parquet"):
        import pyarrow as pa
        from pyarrow import parquet
    schema = pa.schema([(name, pa.float64()) for name in names])
    with parquet.ParquetWriter(path, schema) as writer:
        for block in blocks:
            columns = [pa.array(np.ascontiguousarray(column)) for column in block.T]
            writer.write_batch(pa.record_batch(columns, schema=schema))
