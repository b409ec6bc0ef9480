"""Data with known classes, to take labels away from: Fashion MNIST, digits, or a file."""

from __future__ import annotations

import csv
import hashlib
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, IntArray
from decoupling.datasets import load_fashion_mnist

# Share of the rows that is held out of data that come in one piece.
_TEST_SHARE: Final = 0.25
# Words that texts are described by, the most frequent ones. Memory grows with them.
_WORDS: Final = 5000


@dataclass(frozen=True, eq=False)
class CleanData:
    """Rows to train and to test with, and the class of each.

    Attributes
    ----------
    name : str
        What the data are called; for a file with the beginning of its SHA-256.
    X, X_test : arrays or sparse matrices (N, D)
        Features.
    classes, classes_test : arrays (N,)
        Numbers of the classes, 0 to C - 1.
    names : tuple (C,)
        Their names.
    """

    name: str
    X: Any
    classes: IntArray
    X_test: Any
    classes_test: IntArray
    names: tuple[str, ...]

    @property
    def smallest(self) -> int:
        """Training rows of the class that has the fewest."""
        return int(np.bincount(self.classes, minlength=len(self.names)).min())


@lru_cache(maxsize=1)
def load_data(source: str, *, download: bool = False) -> CleanData:
    """Data by name, "fashion" or "digits", or from a .npz or .csv file.

    A .npz file has X and y, and perhaps X_test and y_test. A .csv file has a header; its column
    "class", or the last one if none is called so, is the class, and the others are numbers, or
    texts, which become tf-idf weights of their words. ``download`` lets Fashion MNIST be fetched if
    it is nowhere on this machine.
    """
    if source == "fashion":
        from decoupling.datasets.fashion_mnist import CLASSES

        X, classes = load_fashion_mnist("train", download=download)
        X_test, classes_test = load_fashion_mnist("test", download=download)
        return CleanData(source, _small(X), classes, _small(X_test), classes_test, CLASSES)
    if source == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return _split(source, _small(X / 16), y)
    path = Path(source)
    if path.suffix not in {".npz", ".csv"}:
        raise ValueError(
            f'data must be "fashion", "digits", or the path of a .npz or .csv file; got {source!r}.'
        )
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    name = f"{path.stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    return _read_npz(name, path) if path.suffix == ".npz" else _read_csv(name, path)


def _small(X: Any) -> Any:
    """Rows in single precision, with which networks compute anyway."""
    return X.astype(np.float32)


def _split(name: str, X: Any, y: AnyArray) -> CleanData:
    """Hold out a part, the same every time, with each class in it; texts become word weights."""
    from sklearn.model_selection import train_test_split

    names, classes = np.unique(y, return_inverse=True)
    count = np.bincount(classes)
    if len(names) < 2 or _TEST_SHARE * count.min() < 1:
        raise ValueError(
            f"{name}: at least 2 classes with at least {1 / _TEST_SHARE:.0f} rows each are needed; "
            f"found {len(names)}, the smallest with {count.min()} rows."
        )
    train, test = train_test_split(
        np.arange(len(classes)), test_size=_TEST_SHARE, random_state=0, stratify=classes
    )
    parts = (X[train], X[test]) if X.ndim == 2 else _word_weights(X[train], X[test])
    return CleanData(
        name, parts[0], classes[train], parts[1], classes[test], tuple(map(str, names.tolist()))
    )


def _read_npz(name: str, path: Path) -> CleanData:
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {key: file[key] for key in file.files}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as .npz without pickled objects.") from error
    if not {"X", "y"} <= parts.keys():
        raise ValueError(f"{path} needs arrays X and y; it has {sorted(parts)}.")
    X, y = parts["X"], parts["y"]
    _check(path, X, y)
    if "X_test" not in parts:
        return _split(name, _small(X), y)
    if "y_test" not in parts:
        raise ValueError(f"{path} has X_test but no y_test.")
    X_test, y_test = parts["X_test"], parts["y_test"]
    _check(path, X_test, y_test)
    names, classes = np.unique(y, return_inverse=True)
    unknown = ~np.isin(y_test, names)
    if unknown.any() or X_test.shape[1] != X.shape[1]:
        raise ValueError(
            Message(
                "other-test-part",
                "{path}: the test part does not fit: {n} of its rows have classes that y lacks; it "
                "has {n_test} features, {X|the table} has {n_features}.",
                path=path,
                n=int(unknown.sum()),
                n_test=X_test.shape[1],
                n_features=X.shape[1],
            )
        )
    if len(names) < 2:
        text = "{path}: {y|the column of labels} has a single class; at least 2 are needed."
        raise ValueError(Message("one-class", text, path=path))
    columns = np.searchsorted(names, y_test)
    return CleanData(
        name, _small(X), classes, _small(X_test), columns, tuple(map(str, names.tolist()))
    )


def _check(path: Path, X: AnyArray, y: AnyArray) -> None:
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{path}: X must be numbers of shape (N, D) and y of shape (N,); got X of shape "
            f"{X.shape} and type {X.dtype}, y of shape {y.shape}."
        )
    missing = np.isnan(y) if y.dtype.kind == "f" else np.full(len(y), False)
    if missing.any():
        raise ValueError(
            f"{path}: {int(missing.sum())} rows have no class, the first is row "
            f"{int(missing.argmax())}. The true classes have to be known: labels are taken away."
        )
    bad = ~np.isfinite(X).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{path}: {int(bad.sum())} rows of X are not finite, the first is row "
            f"{int(bad.argmax())}."
        )


def _read_csv(name: str, path: Path) -> CleanData:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines = [(reader.line_num, row) for row in reader if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as .csv in UTF-8: {error}.") from error
    header = lines[0][1] if lines else []
    ragged = [(number, row) for number, row in lines if len(row) != len(header)]
    if len(header) < 2 or len(lines) < 2 or ragged:
        where = f"; line {ragged[0][0]} has {len(ragged[0][1])} fields" if ragged else ""
        raise ValueError(
            f"{path} needs a header of at least 2 columns, and rows of as many fields; the header "
            f"has {len(header)}{where}."
        )
    target = header.index("class") if "class" in header else len(header) - 1
    rows = np.array([row for _, row in lines[1:]], dtype=object)
    y = rows[:, target].astype(str)
    empty = np.char.strip(y) == ""
    if empty.any():
        raise ValueError(
            f"{path}: {int(empty.sum())} rows have no class in column {header[target]!r}, the "
            f"first in line {lines[1 + int(empty.argmax())][0]}. The true classes have to be "
            "known: labels are taken away."
        )
    places = [k for k in range(len(header)) if k != target]
    numbers = np.array([[_number(field) for field in row] for row in rows[:, places]])
    numeric = ~np.isnan(numbers)  # (N, D)
    if not numeric.any():
        return _split(name, np.array([" ".join(row) for row in rows[:, places]]), y)
    if not numeric.all():
        row, column = np.argwhere(~numeric)[0]
        raise ValueError(
            f"{path}: {int((~numeric).sum())} fields are no numbers, the first is "
            f"{rows[row, places[column]]!r} in line {lines[1 + row][0]}, column "
            f"{header[places[column]]!r}. Columns beside the class are all numbers, or all texts."
        )
    _check(path, numbers, y)
    return _split(name, _small(numbers), y)


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        return float("nan")


def _word_weights(train: AnyArray, test: AnyArray) -> tuple[Any, Any]:
    """tf-idf of the words of texts, which are those of the training rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(max_features=_WORDS, sublinear_tf=True, dtype=np.float32)
    return words.fit_transform(train), words.transform(test)
