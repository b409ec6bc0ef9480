"""A rare label, learnt from balanced bags: all its carriers, and as many random unlabelled rows.

Where a single class is labelled, and only few of its members, nearly all rows are unlabelled. A
classifier of all rows then learns little more than that labels are rare. The mean over bags is due
to Mordelet and Vert (2014). Here each fold has its bags, and the mean is corrected for the rows
that were left out, so that it is p(label | x) of all rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.fits.ensembles import Ensemble, Training
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows

# Bags of each fold. The answers of twice as many are no better.
BAGS: Final = 10


@dataclass(frozen=True, eq=False)
class BalancedBags:
    """Classifiers of bags, corrected to answer as a classifier of all rows would.

    Attributes
    ----------
    ensemble : Ensemble
        Over unlabelled, 0, and labelled, 1; a bag has as many of one as of the other.
    thinning : float
        How many unlabelled rows each one in a bag stands for.
    """

    ensemble: Ensemble
    thinning: float

    def __post_init__(self) -> None:
        if not (isfinite(self.thinning) and self.thinning > 0):
            raise ValueError(f"thinning must be finite and above 0; got {self.thinning!r}.")

    @property
    def classes_(self) -> IntArray:
        """Codes of the columns, (2,)."""
        return self.ensemble.classes_

    def predict_proba(self, X: Any) -> FloatArray:
        r"""p(label | x), (N, 2).

        .. math:: p(labelled | x) = \frac{q}{q + r (1 - q)}

        where q is the mean over the bags, and r the ``thinning``.
        """
        proba = self.ensemble.predict_proba(X) * (self.thinning, 1.0)
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def fit_bags(training: Training, rows: GivenRows, folds: Sequence[Fold], seed: int) -> Ensemble:
    """One `BalancedBags` per fold, in an ensemble over unlabelled, 0, and labelled, 1.

    Parameters
    ----------
    training : Training
        The classifier and what its fits are given.
    rows : GivenRows
        Rows with code 0 or 1. Every unlabelled row is drawn with the same probability. So many are
        drawn that their expected weight is that of the labelled rows.
    folds : sequence of Fold
        A fold without labelled rows, or with no more unlabelled than labelled ones, is one bag.
    seed : int
        The bags of a fold depend on the seed, and not on the other folds.
    """
    drawn = [_draw(fold, rows, np.random.default_rng(seed)) for fold in folds]
    bags = [bag for each in drawn for bag in each.bags]
    fitted = iter(training.ensemble(rows.X, rows.codes, rows.weight, bags, 2).models)
    models = (
        BalancedBags(Ensemble(tuple(islice(fitted, len(each.bags))), 2), each.thinning)
        for each in drawn
    )
    return Ensemble(tuple(models), 2)


class _DrawnBags(NamedTuple):
    """The bags of a fold, and how many of its unlabelled rows each one in a bag stands for."""

    bags: list[Fold]
    thinning: float


def _draw(fold: Fold, given: GivenRows, rng: np.random.Generator) -> _DrawnBags:
    counts = given.counts
    rows = fold.fit[counts[fold.fit] > 0]
    carriers, others = rows[given.codes[rows] > 0], rows[given.codes[rows] == 0]
    labelled, unlabelled = counts[carriers].sum(), counts[others].sum()
    if not 0 < labelled < unlabelled:
        return _DrawnBags([fold], 1.0)
    amount = max(round(len(others) * labelled / unlabelled), 1)
    draws = [rng.choice(others, amount, replace=False) for _ in range(BAGS)]
    bags = [Fold(np.sort(np.concatenate([carriers, some])), fold.predict) for some in draws]
    return _DrawnBags(bags, float(unlabelled / np.mean([counts[some].sum() for some in draws])))
