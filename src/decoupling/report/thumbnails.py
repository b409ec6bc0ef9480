"""Small images as data URIs, so that the page needs no file beside it."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any, Final

import numpy as np

from decoupling._validation import needs_extra

# What the first bytes of an image say it is.
_FORMATS: Final = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF8": "gif",
}
# Bytes of an image at most: fifty of these, in base64, leave the page below its megabyte.
LARGEST: Final = 12_000


def data_uri(image: Any, row: int) -> str:
    """A thumbnail as a data URI.

    Parameters
    ----------
    image : bytes or array-like (height, width) or (height, width, 3 or 4)
        A file of PNG, JPEG or GIF, or grey values from dark to bright, or colours.
    row : int
        Its position, for messages.
    """
    data = bytes(image) if isinstance(image, bytes | bytearray) else _png(image, row)
    kind = next((name for start, name in _FORMATS.items() if data.startswith(start)), None)
    if kind is None:
        raise ValueError(
            f"thumbnails: row {row} is neither PNG, JPEG nor GIF. Pass the bytes of such a file, "
            "or an array of grey values."
        )
    if len(data) > LARGEST:
        raise ValueError(
            f"thumbnails: the image of row {row} has {len(data):,} bytes, and at most {LARGEST:,} "
            "fit. Make it smaller: it is shown 48 pixels high."
        )
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _png(image: Any, row: int) -> bytes:
    array = np.asarray(image)
    shaped = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))
    if not shaped or array.size == 0 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"thumbnails: row {row} must be bytes, or an array of shape (height, width) or "
            f"(height, width, 3); got shape {array.shape} of {array.dtype}."
        )
    if not np.isfinite(array).all():
        raise ValueError(f"thumbnails: row {row} has values that are not finite. Fill them in.")
    with needs_extra("report", "Drawing a thumbnail"):
        from matplotlib.image import imsave

    buffer = BytesIO()
    # Colours are taken as they are; grey values from the darkest to the brightest.
    imsave(buffer, array, cmap="gray", format="png", metadata={"Software": ""})
    return buffer.getvalue()
