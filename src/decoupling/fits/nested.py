"""Folds within folds: each fold's own view of the rows that it may see.

A classifier that a row is held out from should not hear of its label in a roundabout way, and it
does if others, which have seen that label, choose the rows that it is fitted on. So each fold
chooses among its rows by predictions that are held out within them. Of the labels of the rows that
it predicts it hears no more than what all rows share: T, and the calibration.
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
        Rows that may be seen, and rows that are held out from all that is done with them.
    inner : tuple of Fold
        They predict each of the rows that may be seen once.
    """

    outer: Fold
    inner: tuple[Fold, ...]


def nest(folds: Sequence[Fold], codes: IntArray) -> list[NestedFold]:
    """Each fold with the other ones within its rows.

    Two folds leave a single one to each other, which is then halved, label by label; so are the
    rows of a fold if another one has nothing within them to be fitted on. A row that a fold has
    twice counts once.
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
    """The inner folds, those that are fitted on the same rows as one, which predicts for all.

    Of five folds the classifier that has seen neither of two serves either.
    """
    together: dict[bytes, Fold] = {}
    for fold in (fold for view in nested for fold in view.inner):
        other = together.get(fold.fit.tobytes(), fold)
        predict = np.union1d(other.predict, fold.predict)
        together[fold.fit.tobytes()] = Fold(fold.fit, predict)
    return list(together.values())
