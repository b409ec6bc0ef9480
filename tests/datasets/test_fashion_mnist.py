"""Fashion MNIST: the format of its files, and what is said when they are missing."""

import gzip
import struct

import numpy as np
import pytest

from decoupling.datasets import load_fashion_mnist


def write(path, values):
    header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    with gzip.open(path, "wb") as file:
        file.write(header + values.astype(np.uint8).tobytes())


def test_files_are_read(tmp_path):
    pictures = np.arange(3 * 28 * 28).reshape(3, 28, 28) % 256
    write(tmp_path / "t10k-images-idx3-ubyte.gz", pictures)
    write(tmp_path / "t10k-labels-idx1-ubyte.gz", np.array([7, 0, 9]))
    X, y = load_fashion_mnist("test", tmp_path)
    np.testing.assert_allclose(X, pictures.reshape(3, -1) / 255)
    np.testing.assert_array_equal(y, [7, 0, 9])


def test_missing_and_broken_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="apt-get install dataset-fashion-mnist"):
        load_fashion_mnist(folder=tmp_path)
    with pytest.raises(ValueError, match='subset must be "train" or "test"'):
        load_fashion_mnist("all", tmp_path)
    write(tmp_path / "train-images-idx3-ubyte.gz", np.zeros((2, 4, 4)))
    write(tmp_path / "train-labels-idx1-ubyte.gz", np.zeros(3))
    with pytest.raises(ValueError, match="2 pictures, but 3 classes"):
        load_fashion_mnist(folder=tmp_path)
    for broken in (
        bytes([0, 0, 8, 1]) + struct.pack(">I", 9) + b"12",
        b"",
        b"abcdefgh",
        b"\0\0\x08",
    ):
        with gzip.open(tmp_path / "train-images-idx3-ubyte.gz", "wb") as file:
            file.write(broken)
        with pytest.raises(ValueError, match="not a whole IDX file"):
            load_fashion_mnist(folder=tmp_path)
