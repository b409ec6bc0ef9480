"""A column of images, or of their paths, as thumbnails that are made when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final, overload

from decoupling._validation import needs_extra
from decoupling.tables.reading import TableError

# Pixels on a side of a thumbnail, twice of what is shown, and the most of an image that is read.
_SIDE: Final = 96
_LARGEST: Final = 50_000_000


class ImageColumn(Sequence["bytes | None"]):
    """Thumbnails of a column; None where there is no image, or none that can be read.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        Bytes of images, or paths of their files.
    folder : path
        Where paths begin.
    """

    def __init__(self, cells: Any, folder: Path) -> None:
        with needs_extra("cli", "Making thumbnails"):
            import PIL.Image  # noqa: F401
            from pyarrow import compute, types
        self.cells = cells
        self.folder = folder
        if types.is_struct(cells.type) and "bytes" in {field.name for field in cells.type}:
            self.cells = cells = compute.struct_field(cells, "bytes")
        texts = types.is_string(cells.type) or types.is_large_string(cells.type)
        if not (texts or types.is_binary(cells.type) or types.is_large_binary(cells.type)):
            raise TableError(f"Images are bytes, or paths of files; got cells of {cells.type}.")
        first = next((cell.as_py() for cell in cells if cell.is_valid), None)
        if isinstance(first, str) and not (folder / first).exists():
            raise TableError(
                f"The first image, {first!r}, is not in {folder}. Paths begin at the folder of the "
                "table."
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
            return _thumbnail(
                cell if isinstance(cell, bytes) else (self.folder / cell).read_bytes()
            )
        except (OSError, ValueError):
            return None


def _thumbnail(data: bytes) -> bytes:
    """An image made small, as PNG; ValueError if it is none, or too large to open."""
    from PIL import Image

    try:
        opened = Image.open(BytesIO(data))
    except Image.DecompressionBombError as error:
        raise ValueError(str(error)) from error
    with opened as image:
        if image.width * image.height > _LARGEST:
            raise ValueError("The image is too large.")
        small = image.convert("RGB") if image.mode not in ("L", "RGB", "RGBA") else image.copy()
    small.thumbnail((_SIDE, _SIDE))
    # Few colours, so that fifty of them fit on a page.
    plain = small.convert("RGB").quantize(64) if small.mode != "L" else small
    out = BytesIO()
    plain.save(out, "PNG", optimize=True)
    return out.getvalue()
