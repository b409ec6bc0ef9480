"""A rare label, learnt from bags: all its carriers, and as many unlabelled rows, drawn each time.

Where a single class is labelled, and few of its members are, nearly all rows are unlabelled, some
members too, and a classifier of all rows learns little more than that labels are rare. The mean
over bags is that of Mordelet and Vert (2014), here of each fold, and corrected for the rows that
were left out, so that it is p(label | x) of all rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.fits.ensembles import Ensemble, Training
from decoupling.fits.folds import Fold

# Of each fold. Twice as many are no better.
_BAGS: Final = 10


@dataclass(frozen=True, eq=False)
class BalancedBags:
    """Classifiers of bags that answer as one of all rows would.

    Attributes
    ----------
    ensemble : Ensemble
        Over unlabelled, 0, and labelled, 1, of which the bags had as many.
    thinning : float
        How many unlabelled rows each one in a bag stands for.
    """

    ensemble: Ensemble
    thinning: float

    @property
    def classes_(self) -> IntArray:
        """Codes of the columns, (2,)."""
        return self.ensemble.classes_

    def predict_proba(self, X: Any) -> FloatArray:
        r"""p(label | x), (N, 2).

        .. math:: p(labelled | x) = \frac{q}{q + r (1 - q)}

        where the bags find q, and each of their unlabelled rows stands for r.
        """
        proba = self.ensemble.predict_proba(X) * (self.thinning, 1.0)
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def fit_bags(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    folds: Sequence[Fold],
    seed: int,
) -> Ensemble:
    """One `BalancedBags` per fold, in an ensemble over unlabelled, 0, and labelled, 1.

    Parameters
    ----------
    training : Training
        The classifier and what its fits are given.
    X, codes, weight
        Rows, 0 or 1 for each, and their weights, None if all are equal. Unlabelled rows are drawn
        alike, as many as have the weight of the labelled ones in the mean.
    folds : sequence of Fold
        A fold without labelled rows, or with no more unlabelled ones, is a bag of its own.
    seed : int
        The bags of a fold depend on it, and not on the other folds.
    """
    drawn = [_drawn(fold, codes, weight, np.random.default_rng(seed)) for fold in folds]
    fitted = iter(training.ensemble(X, codes, weight, [b for d in drawn for b in d.bags], 2).models)
    models = (
        BalancedBags(Ensemble(tuple(islice(fitted, len(d.bags))), 2), d.thinning) for d in drawn
    )
    return Ensemble(tuple(models), 2)


class _Drawn(NamedTuple):
    """The bags of a fold, and how much of its unlabelled rows each one in them stands for."""

    bags: list[Fold]
    thinning: float


def _drawn(
    fold: Fold, codes: IntArray, weight: FloatArray | None, rng: np.random.Generator
) -> _Drawn:
    counts = np.ones(len(codes)) if weight is None else weight
    rows = fold.fit[counts[fold.fit] > 0]
    carriers, others = rows[codes[rows] > 0], rows[codes[rows] == 0]
    labelled, unlabelled = counts[carriers].sum(), counts[others].sum()
    if not 0 < labelled < unlabelled:
        return _Drawn([fold], 1.0)
    amount = max(round(len(others) * labelled / unlabelled), 1)
    draws = [rng.choice(others, amount, replace=False) for _ in range(_BAGS)]
    bags = [Fold(np.sort(np.concatenate([carriers, some])), fold.predict) for some in draws]
    return _Drawn(bags, float(unlabelled / np.mean([counts[some].sum() for some in draws])))
