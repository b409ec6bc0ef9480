"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import get_ident
from typing import Final

from decoupling._text import Message

# So many letters of a name are kept in that of the part, each of 4 bytes at most.
_KEPT: Final = 20
_NUMBER: Final = count()
# Numbers of the errors that a full disk gives: there is no room, or no more for this user.
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
# Bytes of a megabyte.
_MEGA: Final = 1e6


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A path to write to that then takes the place of ``path``, or after a failure is removed."""
    # Of this thread alone: others may write to the same path. Names may be as long as the system
    # has them, and what is put around them must not be longer.
    own = f"{os.getpid()}-{get_ident()}-{next(_NUMBER)}"
    part = path.with_name(f".{path.stem[:_KEPT]}.{own}.part{path.suffix[:_KEPT]}")
    with naming_full_disk(path), made_folder(path.parent):
        try:
            yield part
            sync(part)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """A folder that is there; after a failure it is gone again, if it was made and is empty.

    So are those above it.
    """
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in new:
            try:
                path.rmdir()
            except OSError:  # somebody else has put something there
                break
        raise


@contextmanager
def naming_full_disk(path: Path) -> Iterator[None]:
    """Say what cannot be written, and how much room there is, if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        whole = path.absolute()
        there = next(each for each in (whole, *whole.parents) if each.exists())
        told = OSError(
            Message(
                "no-room",
                "There is no room on the disk to write {path}: {free:.1f} MB are free. Make room, "
                "or write to another disk.",
                path=str(path),
                free=shutil.disk_usage(there).free / _MEGA,
            )
        )
        told.errno = error.errno
        raise told from error


def sync(path: Path) -> None:
    """Have a file on the disk, so that what takes the place of another is whole after a crash."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
