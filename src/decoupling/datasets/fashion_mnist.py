"""Fashion MNIST from files on disk: 28 x 28 pictures of clothes in ten classes."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray

CLASSES: Final = (
    "T-shirt", "trouser", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip
# Where Debian's package puts it.
_FOLDER: Final = Path("/usr/share/datasets/fashion-mnist")
_FILES: Final = {"train": "train", "test": "t10k"}
_UNSIGNED_BYTES: Final = 0x08


def load_fashion_mnist(
    subset: str = "train", folder: str | Path | None = None
) -> tuple[FloatArray, IntArray]:
    """Pictures as rows of brightness from 0 to 1, (N, 784), and their classes, (N,).

    Parameters
    ----------
    subset : {"train", "test"}
        60,000 or 10,000 pictures.
    folder : path, optional
        Where the four files ``*-ubyte.gz`` of Xiao, Rasul and Vollgraf (2017) are; by default
        where the Debian package dataset-fashion-mnist puts them.
    """
    if subset not in _FILES:
        raise ValueError(f'subset must be "train" or "test"; got {subset!r}.')
    place = _FOLDER if folder is None else Path(folder)
    pictures = _read(place / f"{_FILES[subset]}-images-idx3-ubyte.gz")
    classes = _read(place / f"{_FILES[subset]}-labels-idx1-ubyte.gz")
    if len(pictures) != len(classes):
        raise ValueError(f"{place} has {len(pictures)} pictures, but {len(classes)} classes.")
    return pictures.reshape(len(pictures), -1) / 255.0, classes.astype(np.int64)


def _read(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """An array of bytes in the IDX format: type, number of axes, their lengths, the bytes."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Install it (apt-get install dataset-fashion-mnist), or pass the "
            "folder that has the four files of Fashion MNIST."
        )
    with gzip.open(path) as file:
        data = file.read()
    whole = len(data) > 3 and data[:3] == bytes([0, 0, _UNSIGNED_BYTES])
    begin = 4 + 4 * data[3] if whole else 0
    whole = whole and len(data) >= begin
    shape = struct.unpack(f">{data[3]}I", data[4:begin]) if whole else ()
    if not whole or len(data) - begin != np.prod(shape):
        raise ValueError(f"{path} is not a whole IDX file of bytes.")
    return np.frombuffer(data, dtype=np.uint8, offset=begin).reshape(shape)
