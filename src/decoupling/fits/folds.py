"""Folds: which rows a model is fitted on, and which it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from decoupling._text import Message
from decoupling._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows that a model is fitted on, and rows that it predicts; index arrays."""

    fit: IntArray
    predict: IntArray


def make_folds(X: Any, codes: IntArray, cv: Any, random_state: np.random.RandomState) -> list[Fold]:
    """Folds that cover every row once: a number of them, a splitter, or pairs of index arrays.

    For a number, labels are dealt out in turn, so that each fold has its share of every label, and
    one with fewer members than folds is simply absent from some.
    """
    n_rows = len(codes)
    if check_folds(cv, n_rows):
        turn = np.empty(n_rows, dtype=np.int64)
        shuffled = random_state.permutation(n_rows)
        turn[shuffled[np.argsort(codes[shuffled], kind="stable")]] = np.arange(n_rows)
        number = turn % min(int(cv), n_rows)
        parts = [np.flatnonzero(number == k) for k in range(number.max() + 1)]
        return [Fold(np.setdiff1d(np.arange(n_rows), part), part) for part in parts]
    splits = list(cv if isinstance(cv, Iterable) else cv.split(X, codes))
    if not all(isinstance(split, Sized) and len(split) == 2 for split in splits):
        raise ValueError("cv must be pairs of rows to fit and rows to hold out.")
    folds = [Fold(_row_numbers(fit, n_rows), _row_numbers(held, n_rows)) for fit, held in splits]
    empty = [number for number, fold in enumerate(folds) if not len(fold.fit)]
    if empty:
        raise ValueError(f"cv: fold {empty[0]} has no rows to fit on. Leave it out, or merge it.")
    held_out = np.concatenate([np.empty(0, dtype=np.int64), *(fold.predict for fold in folds)])
    times = np.bincount(held_out, minlength=n_rows)
    if (times != 1).any():
        raise ValueError(
            "cv must hold out every row exactly once, since p(label | x) is needed of each; "
            f"{int((times == 0).sum())} rows are never held out, {int((times > 1).sum())} "
            "more than once. A generator can be used only once."
        )
    return folds


def check_folds(cv: Any, n_rows: int) -> bool:
    """Whether it is a number of folds; refused if it is too small, or no folds at all."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(Message("few-folds", "{@cv} must be at least 2 folds; got {n}.", n=cv))
        if n_rows < 2:
            text = "{@cv} needs at least 2 rows; got n_samples = {n}."
            raise ValueError(Message("one-row", text, n=n_rows))
        return True
    if not (isinstance(cv, Iterable) or hasattr(cv, "split")) or isinstance(cv, str):
        raise ValueError(
            f'cv must be a number, a splitter, pairs of rows, None or "prefit"; got {cv!r}.'
        )
    return False


def _row_numbers(rows: Any, n_rows: int) -> IntArray:
    """Rows as numbers, also from a mask."""
    array = np.asarray(rows)
    if array.dtype.kind == "b" and array.shape == (n_rows,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"cv must give rows as integers; got an array of {array.dtype}.")
    outside = (array < 0) | (array >= n_rows)
    if outside.any():
        raise ValueError(f"cv has row {array[outside][0]}, and X has rows 0 to {n_rows - 1}.")
    return array.astype(np.int64)


def check_fold_weights(folds: Sequence[Fold], weight: FloatArray | None) -> None:
    """Refuse folds whose model would be fitted on rows that count for nothing."""
    if weight is None:
        return
    for number, fold in enumerate(folds):
        if not weight[fold.fit].any():
            raise ValueError(
                f"sample_weight is 0 for all {len(fold.fit)} rows that fold {number} is trained "
                "on. Leave these rows out, or choose other folds with cv=."
            )
