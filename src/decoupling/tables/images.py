"""A column of images, or of paths of their files, as thumbnails that are made when asked for.

A table may come from somebody else, and so may what its cells name. Only files below the folder of
the table are opened, only regular ones, and only as formats that are decoded within this process.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final, overload

from decoupling._text import Message
from decoupling._validation import needs_extra, warn_user
from decoupling.tables.reading import TableError

# Formats that Pillow decodes by itself. PostScript (EPS) is not among them: Pillow hands it to the
# program gs, which runs it. Nor are formats that are rare in tables: each is more code within reach
# of a forged file.
_FORMATS: Final = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
# Pixels on a side of a thumbnail: twice of what the report shows, for fine screens. Twice as many
# would make the page four times as heavy.
_SIDE: Final = 96
# Colours of a thumbnail: few, so that fifty of them fit on a page. With 256 it is a third heavier.
_COLOURS: Final = 64
# Pixels of an image that is opened at most. Decoded it takes up to four bytes each, 200 MB in all.
_MOST_PIXELS: Final = 50_000_000
# Bytes of a file that is read at most. An image of so many pixels has 150 MB without compression.
_MOST_BYTES: Final = 200_000_000


class _NoImageError(ValueError):
    """Why a cell has no thumbnail, as the end of a sentence about it."""


class ImageColumn(Sequence["bytes | None"]):
    """Thumbnails of a column; None where there is no image, or none that can be shown.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        Bytes of images, or paths of their files.
    folder : path
        Where paths begin.
    anywhere : bool
        Whether files may lie outside the folder.

    Attributes
    ----------
    failed : dict of int to str
        Rows whose image was asked for and could not be shown, and why.
    """

    def __init__(self, cells: Any, folder: Path, *, anywhere: bool = False) -> None:
        with needs_extra("cli", "Making thumbnails"):
            import PIL.Image  # noqa: F401
            from pyarrow import compute, types
        self.cells = cells
        self.folder = folder
        self.anywhere = anywhere
        self.failed: dict[int, str] = {}
        if types.is_struct(cells.type) and "bytes" in {field.name for field in cells.type}:
            self.cells = cells = compute.struct_field(cells, "bytes")
        texts = types.is_string(cells.type) or types.is_large_string(cells.type)
        if not (texts or types.is_binary(cells.type) or types.is_large_binary(cells.type)):
            raise TableError(f"Images are bytes, or paths of files; got cells of {cells.type}.")
        if texts:
            self._check_paths()

    def _check_paths(self) -> None:
        """Refuse files that lie elsewhere, and a column of texts that are no paths of files."""
        paths = self.cells.to_pylist()
        outside = [] if self.anywhere else _outside(paths, self.folder)
        if outside:
            raise TableError(
                f"{len(outside)} of the images are outside the folder of the table, the first in "
                f"row {outside[0]}: {paths[outside[0]]!r}. A report may be passed on, and the "
                "images in it. If they are meant to be shown, give --images-anywhere."
            )
        first = next((path for path in paths if path is not None), None)
        if first is not None and not os.path.exists(self.folder / first):
            raise TableError(
                f"The first image, {first!r}, is not in {self.folder}. Paths begin at the folder "
                "of the table."
            )

    def __len__(self) -> int:
        return len(self.cells)

    @overload
    def __getitem__(self, row: int) -> bytes | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[bytes | None]: ...
    def __getitem__(self, row: int | slice) -> bytes | list[bytes | None] | None:
        if isinstance(row, slice):
            return [self[k] for k in range(*row.indices(len(self)))]
        cell = self.cells[row].as_py()
        if cell is None:
            return None
        try:
            return _thumbnail(cell if isinstance(cell, bytes) else self._read(cell))
        except _NoImageError as error:
            self.failed[row] = str(error)
        except Exception:  # a damaged image makes Pillow raise whatever comes to it
            self.failed[row] = "is damaged"
        return None

    def _read(self, path: str) -> bytes:
        """Bytes of a regular file of limited size, which lies below the folder."""
        if not self.anywhere and _outside([path], self.folder):
            raise _NoImageError("is outside the folder of the table")
        file = self.folder / path
        try:
            # Before it is opened: to open a pipe may take for ever, to open a device may do harm.
            status = file.stat()
            if not stat.S_ISREG(status.st_mode):
                raise _NoImageError("is no file, but a folder, a device or a pipe")
            # All cells may name the same huge file: it is not read each time to be left out.
            if status.st_size > _MOST_BYTES:
                raise _NoImageError(f"has more than {_MOST_BYTES // 1_000_000} MB")
            with file.open("rb") as opened:
                return opened.read(_MOST_BYTES)  # also if it grows meanwhile
        except OSError as error:
            raise _NoImageError(f"cannot be read ({error.strerror})") from error

    def warn_if_failed(self) -> None:
        """Warn once of all images that were asked for and could not be shown."""
        if not self.failed:
            return
        row, reason = next(iter(self.failed.items()))
        text = "{n} images of the report could not be shown. The first, of row {row}, {reason}."
        warn_user(Message("images-failed", text, n=len(self.failed), row=row, reason=reason))


def _outside(paths: Iterable[str | None], folder: Path) -> list[int]:
    """Rows of the paths that lead out of a folder, by `..`, by a link, or from the root."""
    home = os.path.realpath(folder)
    real = cache(os.path.realpath)  # thousands of files lie in a few folders

    def leads_out(path: str) -> bool:
        joined = os.path.join(home, path)
        if os.path.splitdrive(joined)[0] != os.path.splitdrive(home)[0]:
            return True  # another drive or machine, which is not even asked
        parent, name = os.path.split(joined)
        whole = os.path.join(real(parent), name)
        if name in ("", ".", "..") or os.path.islink(whole):
            whole = os.path.realpath(whole)
        return whole != home and not whole.startswith(os.path.join(home, ""))

    # No file has a NUL in its name.
    return [
        row
        for row, path in enumerate(paths)
        if path is not None and "\0" not in path and leads_out(path)
    ]


def _thumbnail(data: bytes) -> bytes:
    """An image made small, as PNG."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Pillow finds odd in a file is not for users
            opened = Image.open(BytesIO(data), formats=_FORMATS)
    except UnidentifiedImageError as error:
        raise _NoImageError(f"is damaged, or none of {', '.join(_FORMATS)}") from error
    except Image.DecompressionBombError as error:
        raise _NoImageError(f"has more than {_MOST_PIXELS:,} pixels") from error
    with opened as image, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if image.width * image.height > _MOST_PIXELS:
            raise _NoImageError(f"has more than {_MOST_PIXELS:,} pixels")
        small = image.convert("RGB") if image.mode not in ("L", "RGB", "RGBA") else image.copy()
    small.thumbnail((_SIDE, _SIDE))
    plain = small.convert("RGB").quantize(_COLOURS) if small.mode != "L" else small
    plain.info.clear()  # a colour profile or a comment may be larger than the thumbnail
    out = BytesIO()
    plain.save(out, "PNG", optimize=True)
    return out.getvalue()
