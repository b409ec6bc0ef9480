"""A pipe as a file, since tables are read more than once."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from decoupling._files import naming_full_disk

_STDIN: Final = Path("-")


@contextmanager
def as_file(path: Path) -> Iterator[Path]:
    """Give the file itself, or a copy of what comes through a pipe, which is removed at the end."""
    if path != _STDIN and (not path.exists() or path.is_file() or path.is_dir()):
        yield path
        return
    with TemporaryDirectory(prefix="decoupling-") as folder:
        copy = Path(folder) / "stdin"
        with naming_full_disk(copy), copy.open("wb") as target:
            if path == _STDIN:
                shutil.copyfileobj(sys.stdin.buffer, target)
            else:
                with path.open("rb") as source:
                    shutil.copyfileobj(source, target)
        yield copy


def beside(path: Path) -> Path:
    """Folder of what belongs to a table: that of its file, or the current one for a pipe."""
    return path.parent if path.is_file() else Path()
