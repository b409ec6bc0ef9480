"""Tables out: CSV that spreadsheets do not run, or Parquet; whole files or none."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._files import made_folder, sync
from decoupling._typing import AnyArray
from decoupling.tables.reading import TableError

# A spreadsheet takes a cell that begins so for a formula; with apostrophes in front it does not.
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")


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
    csv.write_csv(table.rename_columns(names), path)


def write_parquet(path: Path, columns: Mapping[str, Sequence[object] | AnyArray]) -> None:
    """Write columns as Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(
        pa.table({name: _column(values, True) for name, values in columns.items()}), path
    )


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

    Files of these names that are there already are replaced only if ``force`` is given, and no
    others are touched.
    """
    refuse_existing(folder, names, force=force)
    beside = folder if folder.exists() else folder.parent
    part = beside / f".decoupling-{os.getpid()}.part"
    with made_folder(beside):
        part.mkdir()
        try:
            yield part
            files = sorted(part.iterdir())
            for file in files:
                sync(file)
            if folder.exists():
                for file in files:
                    file.replace(folder / file.name)
            else:
                part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def refuse_existing(
    folder: Path, names: Sequence[str], *, force: bool, inputs: Sequence[Path] = ()
) -> None:
    """Refuse a folder that has files of these names, or cannot be one; inputs in any case."""
    there = [folder, *folder.parents]
    for path in (*there, *(folder / name for name in names)):
        # One would be replaced by a file, or be found at the end to be no folder.
        if path.is_symlink() and not path.exists():
            raise TableError(
                f"{path} is a link to {path.readlink()}, which is not there. Make that, remove the "
                "link, or give another --out."
            )
    nearest = next((path for path in there if path.exists()), Path())
    if not nearest.is_dir():
        raise TableError(f"{nearest} is a file, and no folder to write to.")
    if not os.access(nearest, os.W_OK):
        raise TableError(f"{nearest} cannot be written to.")
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
