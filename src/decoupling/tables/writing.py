"""Tables out: CSV that spreadsheets do not run, or Parquet; whole files or none."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import numpy as np

from decoupling._files import made_folder, naming_full_disk, sync
from decoupling._typing import AnyArray
from decoupling.tables.reading import TableError

# A spreadsheet takes a cell that begins so for a formula; with apostrophes in front it does not.
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
# Beginning and end of the name of a folder that files are first written to.
_PART: Final = (".decoupling-", ".part")


def write_csv(
    path: Path, columns: Mapping[str, Sequence[object] | AnyArray], *, raw: bool = False
) -> None:
    """Write columns as CSV; texts that a spreadsheet would run get an apostrophe in front.

    Numbers stay as they are. ``raw`` leaves texts alone too.
    """
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table({name: _column(values, raw) for name, values in columns.items()})
    names = [name if raw else harmless(name) for name in table.column_names]
    with path.open("wb") as file:  # pyarrow itself takes no path that is not in UTF-8
        csv.write_csv(table.rename_columns(names), file)


def write_parquet(path: Path, columns: Mapping[str, Sequence[object] | AnyArray]) -> None:
    """Write columns as Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({name: _column(values, True) for name, values in columns.items()})
    with path.open("wb") as file:
        parquet.write_table(table, file)


def _column(values: Sequence[object] | AnyArray, raw: bool) -> Any:
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return pa.array(values)
    texts = [harmless(value) if isinstance(value, str) and not raw else value for value in values]
    kinds = {type(value) for value in texts if value is not None}
    # Names of more than one type are written as they look.
    return pa.array(texts if len(kinds) < 2 else [None if t is None else str(t) for t in texts])


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("cat")
    ("'=1+1", 'cat')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def as_written(cell: object) -> str | None:
    """A cell as it was before it was made harmless.

    Examples
    --------
    >>> as_written("'=1+1"), as_written("'tis"), as_written(None)
    ('=1+1', "'tis", None)
    """
    if cell is None:
        return None
    text = str(cell)
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


@contextmanager
def whole_files(folder: Path, names: Sequence[str], *, force: bool) -> Iterator[Path]:
    """A folder to write to, whose files go to ``folder`` at the end, or after a failure are gone.

    ``names`` are all files that are in question. Those of them that are in ``folder`` already are
    replaced if ``force`` is given, or removed if they are not written this time; without it they
    are refused. Other files are not touched. It is safe if several processes write at once: one is
    the first, and the others find its files there.
    """
    refuse_existing(folder, names, force=force)
    beside = folder if folder.exists() else folder.parent
    with naming_full_disk(folder), made_folder(beside):
        # A name of its own: in containers every process may have the same number.
        part = Path(mkdtemp(prefix=_PART[0], suffix=_PART[1], dir=beside))
        try:
            files = part / "files"
            files.mkdir()  # with the usual rights, which the folder around it has not
            yield files
            for file in files.iterdir():
                sync(file)
            with _alone(folder):
                _put(files, folder, names, force=force)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def whole_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A path to write to, whose file takes the place of ``path`` at the end; see `whole_files`."""
    with (
        naming_full_disk(path),
        whole_files(path.parent, [path.name], force=force) as folder,
    ):
        yield folder / path.name


def _put(files: Path, folder: Path, names: Sequence[str], *, force: bool) -> None:
    """Move files to their folder; another process may have written to it meanwhile."""
    refuse_existing(folder, names, force=force)
    if not folder.exists():
        try:
            files.rename(folder)
            return
        except OSError:  # somebody else has made it, or a disk of its own is mounted there
            folder.mkdir(exist_ok=True)
            refuse_existing(folder, names, force=force)
    written = [file.name for file in files.iterdir()]
    for name in written:
        (files / name).replace(folder / name)
    for name in set(names) - set(written):
        (folder / name).unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from putting files into a folder meanwhile, where the system can.

    The lock is on the folder above, since this one may not be there yet. It ends with the process,
    however that ends.
    """
    try:
        import fcntl

        above = os.open(folder.resolve().parent, os.O_RDONLY)
    except (ImportError, OSError):  # another system, or a folder that may not be read
        yield
        return
    try:
        try:
            fcntl.flock(above, fcntl.LOCK_EX)
        except OSError:  # not on every network disk
            pass
        yield
    finally:
        os.close(above)


def refuse_existing(
    folder: Path, names: Sequence[str], *, force: bool, inputs: Sequence[Path] = ()
) -> None:
    """Refuse a folder that has files of these names, or cannot be one; inputs in any case."""
    there = [folder, *folder.parents]
    for path in (*there, *(folder / name for name in names)):
        # A file would replace such a link, and a folder behind it could not be made at the end.
        if path.is_symlink() and not path.exists():
            raise TableError(
                f"{path} is a link to {path.readlink()}, which is not there. Make that, remove the "
                "link, or give another --out."
            )
    nearest = next((path for path in there if path.exists()), Path())
    if not nearest.is_dir():
        raise TableError(f"{nearest} is a file, and no folder to write to.")
    try:
        os.rmdir(mkdtemp(prefix=_PART[0], suffix=_PART[1], dir=nearest))
    except OSError as error:
        raise TableError(f"{nearest} cannot be written to: {error.strerror}.") from error
    taken = [folder / name for name in names if (folder / name).exists()]
    for path in taken:
        if path.is_dir():
            raise TableError(f"{path} is a folder, where a file is to be written.")
        if any(path.samefile(other) for other in inputs if other.exists()):
            raise TableError(f"{path} is read, and would be replaced. Give another --out.")
    if taken and not force:
        raise TableError(
            f"{folder} has {', '.join(path.name for path in taken)} already. Give another folder "
            "with --out, or --force to replace them."
        )
