"""Forms of p(s|x): one classifier over all labels, two whose product it is, or balanced bags.

A form predicts new rows by the mean over its folds, and each training row by the classifier that
was not fitted on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from decoupling._typing import BoolArray, FloatArray
from decoupling.fits.ensembles import ClassifierError, Ensemble, Training, by_fold, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows
from decoupling.label_model.bags import fit_bags
from decoupling.transitions.tasks import Task


@dataclass(frozen=True)
class LabelSet:
    """The labels that p(s|x) is over.

    Attributes
    ----------
    n_labels : int
        How many there are, S.
    has_unlabelled : bool
        Whether column 0 is unlabelled.
    constant_rate : bool
        Whether p(labelled | x) cannot depend on x.
    """

    n_labels: int
    has_unlabelled: bool
    constant_rate: bool

    @classmethod
    def of(cls, task: Task) -> Self:
        """Return the labels of a task."""
        return cls(len(task.labels), task.has_unlabelled, task.rate_tied)

    @property
    def can_split(self) -> bool:
        """Whether p(label | labelled, x) is a distribution over several labels."""
        return self.has_unlabelled and self.n_labels > 2


class Form(Protocol):
    """What every form can do."""

    @property
    def from_bags(self) -> bool:
        """Whether a rare label was learnt from balanced bags."""

    @property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """Fitted classifiers; those of the labels are the last."""

    @property
    def fixed_rate(self) -> float | None:
        """p(labelled | x) where it is a constant and no classifier finds it."""

    def again(self, training: Training, rows: GivenRows, folds: Sequence[Fold]) -> list[FloatArray]:
        """Fit this form on other folds; p(s|x) of the rows that each fold holds out, (n, S)."""

    def predict(self, X: Any) -> FloatArray:
        """p(s|x) of new rows, (N, S)."""

    def out_of_fold(self, rows: GivenRows, folds: Sequence[Fold]) -> FloatArray:
        """p(s|x) of each row by the classifier that was not fitted on it, (N, S)."""


@dataclass(frozen=True, eq=False)
class JointForm:
    """One classifier over all the labels."""

    ensemble: Ensemble

    @classmethod
    def fitted(
        cls, training: Training, rows: GivenRows, folds: Sequence[Fold], n_labels: int
    ) -> JointForm:
        """Fit one classifier per fold."""
        return JointForm(training.ensemble(rows.X, rows.codes, rows.weight, folds, n_labels))

    @property
    def from_bags(self) -> bool:
        """Whether a rare label was learnt from balanced bags."""
        return False

    @property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """Fitted classifiers: of the labels."""
        return (self.ensemble,)

    @property
    def fixed_rate(self) -> float | None:
        """Return None: the classifier finds p(labelled | x)."""
        return None

    def again(self, training: Training, rows: GivenRows, folds: Sequence[Fold]) -> list[FloatArray]:
        """Fit this form on other folds; p(s|x) of the rows that each fold holds out, (n, S)."""
        form = JointForm.fitted(training, rows, folds, self.ensemble.n_codes)
        return by_fold(form.ensemble, rows.X, folds)

    def predict(self, X: Any) -> FloatArray:
        """p(s|x) of new rows, (N, S)."""
        return self.ensemble.predict_proba(X)

    def out_of_fold(self, rows: GivenRows, folds: Sequence[Fold]) -> FloatArray:
        """p(s|x) of each row by the classifier that was not fitted on it, (N, S)."""
        return out_of_fold(self.ensemble, rows.X, folds, len(rows))


@dataclass(frozen=True, eq=False)
class SplitForm:
    """p(labelled | x), from a classifier or constant, times p(label | labelled, x).

    Column 0 is unlabelled.
    """

    labelled: Ensemble | float
    label: Ensemble

    @classmethod
    def fitted(
        cls, training: Training, rows: GivenRows, folds: Sequence[Fold], labels: LabelSet
    ) -> SplitForm:
        """Fit two classifiers per fold, or one where p(labelled | x) is a constant."""
        rate = labelled_share(rows)
        return cls._fitted(
            training, rows, folds, labels.n_labels, rate if labels.constant_rate else None
        )

    @classmethod
    def _fitted(
        cls,
        training: Training,
        rows: GivenRows,
        folds: Sequence[Fold],
        n_labels: int,
        rate: float | None,
    ) -> SplitForm:
        X, weight = rows.X, rows.weight
        labelled: Ensemble | float
        if rate is None:
            has_label = (rows.codes > 0).astype(np.int64)
            labelled = training.ensemble(X, has_label, weight, folds, 2)
        else:
            labelled = rate
        inner = labelled_only(folds, rows)
        return SplitForm(labelled, training.ensemble(X, rows.codes, weight, inner, n_labels))

    @property
    def from_bags(self) -> bool:
        """Whether a rare label was learnt from balanced bags."""
        return False

    @property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """Fitted classifiers: of p(labelled | x) if it is no constant, and of the labels."""
        rate = self.labelled
        return (self.label,) if isinstance(rate, float) else (rate, self.label)

    @property
    def fixed_rate(self) -> float | None:
        """p(labelled | x) where it is a constant."""
        return self.labelled if isinstance(self.labelled, float) else None

    def again(self, training: Training, rows: GivenRows, folds: Sequence[Fold]) -> list[FloatArray]:
        """Fit this form on other folds; p(s|x) of the rows that each fold holds out, (n, S).

        A constant rate stays.
        """
        form = self._fitted(training, rows, folds, self.label.n_codes, self.fixed_rate)
        rate = form.labelled
        shares: Sequence[float | FloatArray]
        shares = [rate] * len(folds) if isinstance(rate, float) else by_fold(rate, rows.X, folds)
        given = by_fold(form.label, rows.X, folds)
        return [split_product(*both) for both in zip(shares, given, strict=True)]

    def predict(self, X: Any) -> FloatArray:
        """p(s|x) of new rows, (N, S)."""
        rate = self.labelled
        share = rate if isinstance(rate, float) else rate.predict_proba(X)
        return split_product(share, self.label.predict_proba(X))

    def out_of_fold(self, rows: GivenRows, folds: Sequence[Fold]) -> FloatArray:
        """p(s|x) of each row by the classifier that was not fitted on it, (N, S).

        No classifier of labels is fitted on unlabelled rows: these get the mean over all of them.
        """
        rate = self.labelled
        share = rate if isinstance(rate, float) else out_of_fold(rate, rows.X, folds, len(rows))
        unseen = ~has_usable_label(rows)
        return split_product(share, out_of_fold(self.label, rows.X, folds, len(rows), unseen))


@dataclass(frozen=True, eq=False)
class BagsForm(JointForm):
    """Balanced bags of labelled and unlabelled rows, for one label that most rows lack.

    Attributes
    ----------
    ensemble : Ensemble
        Of `BalancedBags`.
    seed : int
        Seed of the draws of the bags.
    """

    seed: int

    @property
    def from_bags(self) -> bool:
        """Whether a rare label was learnt from balanced bags."""
        return True

    def again(self, training: Training, rows: GivenRows, folds: Sequence[Fold]) -> list[FloatArray]:
        """Fit this form on other folds; p(s|x) of the rows that each fold holds out, (n, S).

        A bag of fewer rows may be too small for the classifier. Then it is the joint form.
        """
        try:
            return by_fold(fit_bags(training, rows, folds, self.seed), rows.X, folds)
        except ClassifierError:
            return super().again(training, rows, folds)


def labelled_share(rows: GivenRows) -> float:
    """Share of the rows that have a label, code 0 being unlabelled."""
    return float(rows.counts[rows.codes > 0].sum() / rows.counts.sum())


def has_usable_label(rows: GivenRows) -> BoolArray:
    """Whether a row has a label and any weight, (N,); code 0 is unlabelled."""
    return np.asarray((rows.codes > 0) & (rows.counts > 0))


def labelled_only(folds: Sequence[Fold], rows: GivenRows) -> list[Fold]:
    """Folds that are fitted on labelled rows only."""
    usable = has_usable_label(rows)
    return [Fold(fold.fit[usable[fold.fit]], fold.predict) for fold in folds]


def split_product(labelled: float | FloatArray, label: FloatArray) -> FloatArray:
    """p(s|x), (N, S), from p(labelled | x) and columns 1 to S - 1 of p(label | x)."""
    rate = labelled if isinstance(labelled, float) else labelled[:, 1:]
    share = np.broadcast_to(rate, (len(label), 1))
    total = label[:, 1:].sum(axis=1, keepdims=True)
    # A classifier may give all labels the probability 0: they are then equally probable.
    equal = np.full_like(label[:, 1:], 1.0 / (label.shape[1] - 1))
    given = np.divide(label[:, 1:], total, out=equal, where=total > 0)
    return np.hstack([1.0 - share, given * share])
