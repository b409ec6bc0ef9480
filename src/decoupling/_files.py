"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

from decoupling._text import Message

# Letters of the name of a file that the name of its unfinished part keeps. They have 4 bytes each
# at most, and file systems allow 255 bytes. Twice as many would leave too little for the rest.
_KEPT: Final = 20
# Random bytes in it: no two of them are ever equal.
_TOKEN: Final = 8
# Numbers of the errors that a full disk gives: there is no room, or no more for this user.
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
# Bytes of a megabyte.
_MEGA: Final = 1e6


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a path to write to. Its file replaces ``path`` at the end; a failure removes it."""
    # Other threads and processes may write to the same path, and in containers all of them may have
    # the same number. The name of the file may already be as long as the system allows.
    own = token_hex(_TOKEN)
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
    """Make a folder, and those above it that are missing.

    After a failure the new folders are removed again, if they are empty.
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
    """Write a file through to the disk, so that it is whole after a crash of the machine."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
