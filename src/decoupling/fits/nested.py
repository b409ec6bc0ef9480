"""Folds within folds: each fold's own view of the rows that it may see.

The label of a held-out row must not reach the classifier of its fold by a detour. It would do so
if classifiers that have seen this label chose the rows that the fold is fitted on. So each fold
chooses among its own rows by predictions that are out of fold within them. The labels of the rows
that it predicts enter only what all rows share: T, and the calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoupling._typing import IntArray
from decoupling.fits.folds import Fold


@dataclass(frozen=True, eq=False)
class NestedFold:
    """A fold, and folds of the rows that it is fitted on.

    Attributes
    ----------
    outer : Fold
        Rows that the fold may see, and rows that are held out from all that it does.
    inner : tuple of Fold
        They predict each of the rows that may be seen once.
    """

    outer: Fold
    inner: tuple[Fold, ...]


def nest(folds: Sequence[Fold], codes: IntArray) -> list[NestedFold]:
    """Each fold with the other ones within its rows.

    With two folds each has a single other one within its rows, which is then halved, label by
    label. The rows of a fold are also halved if another fold has no rows to fit within them. A row
    that a fold has twice counts once.
    """
    once = [Fold(np.unique(fold.fit), fold.predict) for fold in folds]
    return [NestedFold(outer, _inner_folds(outer, once, codes)) for outer in once]


def _inner_folds(outer: Fold, folds: Sequence[Fold], codes: IntArray) -> tuple[Fold, ...]:
    parts = [np.intersect1d(fold.predict, outer.fit) for fold in folds]
    seen = [np.intersect1d(fold.fit, outer.fit) for fold in folds]
    inner = [Fold(fit, part) for fit, part in zip(seen, parts, strict=True) if len(part)]
    if all(len(fold.fit) for fold in inner):
        return tuple(inner)
    in_turn = outer.fit[np.argsort(codes[outer.fit], kind="stable")]
    halves = np.sort(in_turn[::2]), np.sort(in_turn[1::2])
    return Fold(*halves), Fold(*halves[::-1])


def shared_fits(nested: Sequence[NestedFold]) -> list[Fold]:
    """The inner folds, each set of rows to fit once: folds with equal rows share a classifier.

    Of five folds, the classifier that has seen neither of two serves both.
    """
    together: dict[bytes, Fold] = {}
    for fold in (fold for view in nested for fold in view.inner):
        other = together.get(fold.fit.tobytes(), fold)
        predict = np.union1d(other.predict, fold.predict)
        together[fold.fit.tobytes()] = Fold(fold.fit, predict)
    return list(together.values())
