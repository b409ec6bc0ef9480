"""Fashion MNIST from files on disk: 28 x 28 pictures of clothes in ten classes."""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
import zlib
from pathlib import Path
from typing import Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import FloatArray, IntArray
from decoupling._validation import check_flag

# Names of the classes 0 to 9.
CLASSES: Final = (
    "T-shirt", "trouser", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip
# Environment variable that names a folder with the four files.
VARIABLE: Final = "FASHION_MNIST"
# Where Debian's package puts them.
_PACKAGE: Final = Path("/usr/share/datasets/fashion-mnist")
# How the names of the files of a subset begin.
_FILES: Final = {"train": "train", "test": "t10k"}
# Code of the type "unsigned byte" in an IDX file.
_UNSIGNED_BYTES: Final = 0x08
# SHA-256 of the bytes of pictures and classes, whatever file they came in.
_DIGESTS: Final = {
    "train": (
        "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
        "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
    ),
    "test": (
        "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
        "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
    ),
}

Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]


def load_fashion_mnist(
    subset: str = "train", folder: str | Path | None = None, *, download: bool = False
) -> tuple[FloatArray, IntArray]:
    """Pictures as rows of brightness from 0 to 1, (N, 784), and their classes, (N,).

    The four files ``*-ubyte.gz`` of Xiao, Rasul and Vollgraf (2017) are looked for in ``folder``;
    or, without one, in the folder that the environment variable FASHION_MNIST names; or where the
    Debian package dataset-fashion-mnist puts them. What is found is checked by SHA-256.

    Parameters
    ----------
    subset : {"train", "test"}
        60,000 or 10,000 pictures.
    folder : path, optional
        Where the files are.
    download : bool
        If they are in none of these places, whether to fetch the data from OpenML, by way of
        scikit-learn, which keeps a copy.

    Examples
    --------
    >>> X, y = load_fashion_mnist("test")  # doctest: +SKIP
    >>> X.shape, y.shape  # doctest: +SKIP
    ((10000, 784), (10000,))

    Where the files are not, it says where it has looked:

    >>> load_fashion_mnist("test", folder="no such folder")
    Traceback (most recent call last):
        ...
    FileNotFoundError: ...
    """
    if subset not in _FILES:
        raise ValueError(f'subset must be "train" or "test"; got {subset!r}.')
    check_flag("download", download)
    place = _find(folder)
    if place is not None:
        pictures = _read(place / f"{_FILES[subset]}-images-idx3-ubyte.gz")
        classes = _read(place / f"{_FILES[subset]}-labels-idx1-ubyte.gz")
    elif download:
        pictures, classes = _fetch(subset)
    else:
        raise FileNotFoundError(
            Message(
                "no-fashion-mnist",
                "Fashion MNIST was not found. Either pass the folder that has its four files "
                "*-ubyte.gz, or name that folder in the environment variable {variable}, or "
                "install the Debian package (apt-get install dataset-fashion-mnist), or "
                "{pass download=True|give --download} to fetch it from OpenML.",
                variable=VARIABLE,
            )
        )
    for name, found, wanted in zip(
        ("pictures", "classes"), (pictures, classes), _DIGESTS[subset], strict=True
    ):
        if hashlib.sha256(found.tobytes()).hexdigest() != wanted:
            raise ValueError(
                f"The {name} found in {place or 'OpenML'} are not those of Fashion MNIST, subset "
                f"{subset!r}: their SHA-256 differs. Get the files again."
            )
    return pictures.reshape(len(pictures), -1) / 255.0, classes.astype(np.int64)


def _find(folder: str | Path | None) -> Path | None:
    """The folder that was named; otherwise that of the package if it is there, or None."""
    named = folder if folder is not None else os.environ.get(VARIABLE)
    if named:
        return Path(named)
    return _PACKAGE if _PACKAGE.is_dir() else None


def _read(path: Path) -> Bytes:
    """An array of bytes in the IDX format: type, number of axes, their lengths, the bytes."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing: that folder was named as the one with the four files *-ubyte.gz "
            "of Fashion MNIST. Name another, or none to use the Debian package "
            "(apt-get install dataset-fashion-mnist)."
        )
    try:
        with gzip.open(path) as file:
            data = file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error):
        data = b""
    whole = len(data) > 3 and data[:3] == bytes([0, 0, _UNSIGNED_BYTES])
    begin = 4 + 4 * data[3] if whole else 0
    whole = whole and len(data) >= begin
    shape = struct.unpack(f">{data[3]}I", data[4:begin]) if whole else ()
    if not whole or len(data) - begin != np.prod(shape):
        raise ValueError(f"{path} is not a whole IDX file of bytes. Get it again.")
    return np.frombuffer(data, dtype=np.uint8, offset=begin).reshape(shape)


def _fetch(subset: str) -> tuple[Bytes, Bytes]:
    """Pictures and classes from OpenML, which has those to train with first."""
    from sklearn.datasets import fetch_openml

    pictures, classes = fetch_openml(
        "Fashion-MNIST", version=1, as_frame=False, return_X_y=True, parser="liac-arff"
    )
    rows = slice(60_000) if subset == "train" else slice(60_000, None)
    return pictures[rows].astype(np.uint8), classes[rows].astype(np.uint8)
