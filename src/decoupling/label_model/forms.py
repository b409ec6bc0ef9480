"""Forms of p(s|x): one classifier over all labels, two that are multiplied, or bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.fits.ensembles import Ensemble, Training, by_fold
from decoupling.fits.folds import Fold
from decoupling.label_model.bags import fit_bags


@dataclass(frozen=True, eq=False)
class JointForm:
    """One classifier over all the labels."""

    ensemble: Ensemble

    def predict(self, X: Any) -> FloatArray:
        """p(s|x), (N, S)."""
        return self.ensemble.predict_proba(X)

    def again(
        self,
        training: Training,
        X: Any,
        codes: IntArray,
        weight: FloatArray | None,
        folds: Sequence[Fold],
    ) -> list[FloatArray]:
        """p(s|x) of the rows that each fold predicts, by classifiers of other folds, (n, S)."""
        ensemble = training.ensemble(X, codes, weight, folds, self.ensemble.n_codes)
        return by_fold(ensemble, X, folds)


@dataclass(frozen=True, eq=False)
class SplitForm:
    """p(labelled | x), a classifier or a constant, times p(label | labelled, x).

    Column 0 is unlabelled.
    """

    labelled: Ensemble | float
    label: Ensemble

    def predict(self, X: Any) -> FloatArray:
        """p(s|x), (N, S)."""
        label = self.label.predict_proba(X)
        if isinstance(self.labelled, float):
            return split_product(self.labelled, label)
        return split_product(self.labelled.predict_proba(X), label)

    def again(
        self,
        training: Training,
        X: Any,
        codes: IntArray,
        weight: FloatArray | None,
        folds: Sequence[Fold],
    ) -> list[FloatArray]:
        """p(s|x) of the rows that each fold predicts, by classifiers of other folds, (n, S)."""
        seen = codes > 0
        inner = among(folds, seen if weight is None else seen & (weight > 0))
        label = training.ensemble(X, codes, weight, inner, self.label.n_codes)
        labelled: Sequence[float | FloatArray]
        if isinstance(self.labelled, float):
            labelled = [self.labelled] * len(folds)
        else:
            ensemble = training.ensemble(X, seen.astype(np.int64), weight, folds, 2)
            labelled = by_fold(ensemble, X, folds)
        return [
            split_product(*both) for both in zip(labelled, by_fold(label, X, folds), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class BagsForm(JointForm):
    """Bags of labelled and unlabelled rows, where there is one label and most rows lack it.

    Attributes
    ----------
    ensemble : Ensemble
        Of `BalancedBags`.
    seed : int
        Draws the bags.
    """

    seed: int

    def again(
        self,
        training: Training,
        X: Any,
        codes: IntArray,
        weight: FloatArray | None,
        folds: Sequence[Fold],
    ) -> list[FloatArray]:
        """p(s|x) of the rows that each fold predicts, by bags of other folds, (n, 2)."""
        try:
            return by_fold(fit_bags(training, X, codes, weight, folds, self.seed), X, folds)
        except ValueError:  # a bag within a fold is smaller yet, and may be too small
            return super().again(training, X, codes, weight, folds)


def among(folds: Sequence[Fold], rows: BoolArray) -> list[Fold]:
    """Folds that are fitted on some rows only."""
    return [Fold(fold.fit[rows[fold.fit]], fold.predict) for fold in folds]


def split_product(labelled: float | FloatArray, label: FloatArray) -> FloatArray:
    """p(s|x), (N, S), of p(labelled | x) and columns 1 to S - 1 of p(label | x)."""
    rate = labelled if isinstance(labelled, float) else labelled[:, 1:]
    share = np.broadcast_to(rate, (len(label), 1))
    total = label[:, 1:].sum(axis=1, keepdims=True)
    # All labels alike where a classifier is sure of none.
    equal = np.full_like(label[:, 1:], 1.0 / (label.shape[1] - 1))
    given = np.divide(label[:, 1:], total, out=equal, where=total > 0)
    return np.hstack([1.0 - share, given * share])
