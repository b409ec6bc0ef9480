"""Problems whose labels are wrong as people are: files of real labels, and noise by the row."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.quality.problems import DATA

# Data of the large benchmark that are drawn from here: ten, of all its groups.
DRAWN = (
    "digits", "breast cancer", "waveforms", "tabular", "normals",
    "vehicles", "diabetes", "ionosphere", "vowels", "cells",
)  # fmt: skip
ROWS = 600  # training rows of these at most
DRAWS = 5  # draws of one label per row from the answers of several people


@dataclass(frozen=True)
class Problem:
    """Rows with labels of which some are wrong.

    Attributes
    ----------
    codes, classes : arrays (N,)
        Labels and true classes; a class is -1 where nobody knows it.
    wrong : array (N,)
        Whether the label is wrong.
    judged : array (n,)
        Rows of which that is known.
    proba : array (N, S) or None
        p(label | x) out of fold, where the file has it.
    X, X_test, classes_test : arrays or None
        Features, where the file has them.
    """

    codes: np.ndarray
    classes: np.ndarray
    wrong: np.ndarray
    judged: np.ndarray
    proba: np.ndarray | None = None
    X: np.ndarray | None = None
    X_test: np.ndarray | None = None
    classes_test: np.ndarray | None = None


def fingerprint(path: Path) -> str:
    """First half of the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def in_folder(folder: Path) -> Iterator[tuple[str, Callable[[], Problem]]]:
    """Problems of the files of a folder, by name."""
    for path in sorted(folder.glob("*.npz")):
        if path.stem.startswith("checked_"):
            yield path.stem, lambda path=path: _checked(path)
            for share in (0.02, 0.1):
                name = f"{path.stem}, {share:.0%} even"
                yield name, lambda path=path, share=share: _even(path, share)
        elif path.stem.startswith("cifar10n_"):
            yield path.stem, lambda path=path: _with_truth(path)
        elif path.stem == "labelme":
            for draw in range(DRAWS):
                yield f"labelme {draw}", lambda path=path, draw=draw: _one_answer(path, draw)


def _proba(path: Path) -> np.ndarray:
    proba = np.load(path)["p"].astype(float)
    return proba / proba.sum(axis=1, keepdims=True)


def _with_truth(path: Path) -> Problem:
    file = np.load(path)
    codes, classes = file["labels"].astype(int), file["truth"].astype(int)
    return Problem(codes, classes, codes != classes, np.arange(len(codes)), _proba(path))


def _checked(path: Path) -> Problem:
    file = np.load(path)
    codes, rows = file["labels"].astype(int), file["rows"].astype(int)
    wrong = np.zeros(len(codes), dtype=bool)
    wrong[rows] = file["wrong"].astype(bool)
    return Problem(codes, np.full(len(codes), -1), wrong, rows, _proba(path))


def _even(path: Path, share: float) -> Problem:
    """Labels that are changed at random; p(label | x) is that of the labels before."""
    file, rng = np.load(path), np.random.default_rng(0)
    codes, proba = file["labels"].astype(int), _proba(path)
    changed = rng.random(len(codes)) < share
    other = (codes + rng.integers(1, proba.shape[1], len(codes))) % proba.shape[1]
    given = np.where(changed, other, codes)
    return Problem(given, np.full(len(codes), -1), changed, np.arange(len(codes)), proba)


def _one_answer(path: Path, draw: int) -> Problem:
    file, rng = np.load(path), np.random.default_rng(draw)
    codes = np.array([rng.choice(row[row >= 0]) for row in file["answers"]])
    classes = file["truth"]
    return Problem(
        codes, classes, codes != classes, np.arange(len(codes)),
        X=file["X"].astype(float), X_test=file["X_test"].astype(float),
        classes_test=file["truth_test"],
    )  # fmt: skip


def drawn(name: str, noise: str, seed: int) -> Problem:
    """A data set of the large benchmark with a fifth of the labels wrong, as the noise has it."""
    X, y = DATA[name].load()
    y = np.unique(y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=min(DATA[name].n_train, ROWS), random_state=seed, stratify=y
    )
    codes = NOISES[noise](_dense(X), y, np.random.default_rng(1000 + seed))
    return Problem(
        codes,
        y,
        codes != y,
        np.arange(len(y)),
        X=X,
        X_test=X_test[:3000],
        classes_test=y_test[:3000],
    )


def _dense(X: np.ndarray) -> np.ndarray:
    rows = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    return StandardScaler().fit_transform(rows)


def _mistaken(
    y: np.ndarray, rate: np.ndarray, votes: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Labels: wrong at the rate of each row, and then a class by its votes, (N, C)."""
    votes = np.where(np.eye(votes.shape[1], dtype=bool)[y], 0.0, votes)
    votes /= votes.sum(axis=1, keepdims=True)
    out = y.copy()
    for i in np.flatnonzero(rng.random(len(y)) < rate):
        out[i] = rng.choice(votes.shape[1], p=votes[i])
    return out


def _at_rate(doubt: np.ndarray, rate: float = 0.2) -> np.ndarray:
    """Rates in proportion to the doubt, .9 at most, a fifth in the mean."""
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2.0
        below = np.minimum(middle * doubt, 0.9).mean() < rate
        low, high = (middle, high) if below else (low, middle)
    return np.minimum(high * doubt, 0.9)


def _no_noise(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return y.copy()


def _neighbours(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows are taken for their neighbours of other classes."""
    near = NearestNeighbors(n_neighbors=11).fit(X).kneighbors(X, return_distance=False)[:, 1:]
    votes = np.stack([(y[near] == c).sum(axis=1) for c in range(y.max() + 1)], axis=1) + 0.02
    others = votes.sum(axis=1) - votes[np.arange(len(y)), y]
    return _mistaken(y, _at_rate(others), votes, rng)


def _region(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Three rows in ten, on one side of the data, are wrong in six of ten cases."""
    place = PCA(1, random_state=0).fit_transform(X)[:, 0]
    rate = np.where(place > np.quantile(place, 0.7), 0.6, 0.03)
    return _mistaken(y, rate, np.ones((len(y), y.max() + 1)), rng)


def _margin(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of which a good classifier is unsure are taken for its other choices."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    votes = cross_val_predict(model, X, y, cv=5, method="predict_proba") + 1e-3
    rows = np.arange(len(y))
    own = votes[rows, y]
    margin = own - np.where(np.eye(votes.shape[1], dtype=bool)[y], 0.0, votes).max(axis=1)
    hardness = 1.0 - np.argsort(np.argsort(margin)) / len(y)
    return _mistaken(y, _at_rate(hardness**2), votes, rng)


def _careless(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of two annotators is wrong in 35% of the cases, the other in 5%."""
    rate = np.where(rng.random(len(y)) < 0.5, 0.35, 0.05)
    return _mistaken(y, rate, np.ones((len(y), y.max() + 1)), rng)


NOISES = {
    "none": _no_noise,
    "neighbours' doubt": _neighbours,
    "a region": _region,
    "the margin": _margin,
    "two annotators": _careless,
}
