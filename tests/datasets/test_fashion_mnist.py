"""Fashion MNIST: where its files are looked for, their format, and what is said of wrong ones."""

import gzip
import hashlib
import struct

import numpy as np
import pytest

from decoupling.datasets import fashion_mnist, load_fashion_mnist

PICTURES = np.arange(3 * 28 * 28).reshape(3, 28, 28) % 256
CLASSES = np.array([7, 0, 9])


def write(path, values):
    header = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    with gzip.open(path, "wb") as file:
        file.write(header + values.astype(np.uint8).tobytes())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A small data set in place of the real one, and no other to be found."""
    write(tmp_path / "t10k-images-idx3-ubyte.gz", PICTURES)
    write(tmp_path / "t10k-labels-idx1-ubyte.gz", CLASSES)
    digests = tuple(
        hashlib.sha256(values.astype(np.uint8).tobytes()).hexdigest()
        for values in (PICTURES, CLASSES)
    )
    monkeypatch.setitem(fashion_mnist._DIGESTS, "test", digests)
    monkeypatch.setattr(fashion_mnist, "_PACKAGE", tmp_path / "not there")
    monkeypatch.delenv("FASHION_MNIST", raising=False)
    return tmp_path


def assert_read(X, y):
    np.testing.assert_allclose(X, PICTURES.reshape(3, -1) / 255)
    np.testing.assert_array_equal(y, CLASSES)


def test_folder_variable_and_package(folder, monkeypatch):
    assert_read(*load_fashion_mnist("test", folder))
    monkeypatch.setattr(fashion_mnist, "_PACKAGE", folder)
    assert_read(*load_fashion_mnist("test"))
    monkeypatch.setattr(fashion_mnist, "_PACKAGE", folder / "not there")
    monkeypatch.setenv("FASHION_MNIST", str(folder))
    assert_read(*load_fashion_mnist("test"))


def test_a_folder_that_is_named_is_the_only_one_searched(folder, monkeypatch):
    monkeypatch.setattr(fashion_mnist, "_PACKAGE", folder)
    with pytest.raises(FileNotFoundError, match=r"elsewhere.*is missing"):
        load_fashion_mnist("test", folder / "elsewhere")
    monkeypatch.setenv("FASHION_MNIST", str(folder / "elsewhere"))
    with pytest.raises(FileNotFoundError, match=r"elsewhere.*is missing"):
        load_fashion_mnist("test")


def test_all_the_ways_are_listed_when_it_is_nowhere(folder):
    with pytest.raises(
        FileNotFoundError, match=r"folder.*FASHION_MNIST.*apt-get install.*download=True"
    ):
        load_fashion_mnist("test")


def test_download_is_of_the_same_bytes(folder, monkeypatch):
    """OpenML has 60,000 rows to train with, then those to test with, as numbers and texts."""
    calls = []

    def fetch(name, **options):
        calls.append((name, options["version"]))
        X = np.zeros((60_003, 784))
        X[60_000:] = PICTURES.reshape(3, -1)
        return X, np.concatenate([np.full(60_000, "0"), CLASSES.astype(str)]).astype(object)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    assert_read(*load_fashion_mnist("test", download=True))
    assert calls == [("Fashion-MNIST", 1)]
    monkeypatch.setattr(fashion_mnist, "_PACKAGE", folder)
    assert_read(*load_fashion_mnist("test", download=True))
    assert len(calls) == 1, "fetched although it is there"


def test_other_pictures_are_refused(folder):
    write(folder / "t10k-images-idx3-ubyte.gz", PICTURES[::-1])
    with pytest.raises(ValueError, match=r"pictures found in .* are not those .* SHA-256"):
        load_fashion_mnist("test", folder)
    write(folder / "t10k-images-idx3-ubyte.gz", PICTURES)
    write(folder / "t10k-labels-idx1-ubyte.gz", CLASSES[:2])
    with pytest.raises(ValueError, match=r"classes found in .* are not those"):
        load_fashion_mnist("test", folder)


def test_broken_files(folder):
    with pytest.raises(ValueError, match='subset must be "train" or "test"'):
        load_fashion_mnist("all", folder)
    path = folder / "t10k-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="not a whole IDX file"):
        load_fashion_mnist("test", folder)
    path.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="not a whole IDX file"):
        load_fashion_mnist("test", folder)
    for broken in (
        bytes([0, 0, 8, 1]) + struct.pack(">I", 9) + b"12",
        b"",
        b"abcdefgh",
        b"\0\0\x08",
    ):
        with gzip.open(path, "wb") as file:
            file.write(broken)
        with pytest.raises(ValueError, match="not a whole IDX file"):
            load_fashion_mnist("test", folder)
