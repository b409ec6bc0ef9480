"""Out-of-fold, calibrated p(s|x) from any classifier.

The given labels are always observed, so that a model of them can be cross-fitted, compared and
calibrated without a single true class. `fit_label_model` fits the forms that the labels allow:
*joint* (one classifier over all labels, unlabelled among them), *split* (p(labelled | x) times
p(label | labelled, x)), or both; a single label that most rows lack is learnt from *bags* instead.
It calibrates each form and keeps the one under which the labels are more likely out of fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from decoupling._text import OUT_OF_FOLD, Message
from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling._validation import warn_user
from decoupling.fits.ensembles import ClassifierError, Ensemble, Renamed, Training
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.nested import NestedFold, shared_fits
from decoupling.label_model.bags import BAGS, fit_bags
from decoupling.label_model.calibration import Calibration, fit_calibration
from decoupling.label_model.forms import (
    BagsForm,
    Form,
    JointForm,
    LabelSet,
    SplitForm,
    labelled_only,
    labelled_share,
)
from decoupling.likelihood.temperature import LEAST

# A single label is learnt from bags if a smaller share of the rows has it. At this share a bag has
# two fifths of the rows.
_RARE: Final = 0.2
# Share of the labels. A classifier that agrees with more of them in sample knows them by heart.
_BY_HEART: Final = 0.99


@dataclass(frozen=True, eq=False)
class LabelModel:
    """p(s|x): predicts new rows, and holds that of the training rows out of fold.

    Attributes
    ----------
    form : JointForm, BagsForm or SplitForm
        The fitted classifiers.
    calibration : Calibration or None
        None leaves them as they are.
    raw, proba : arrays (N, S)
        p(s|x) of the training rows, before and after calibration.
    log_likelihood : float
        Mean of ln p(s_i | x_i) over the training rows.
    folds : list of Fold
        Rows that were fitted and held out; empty if the classifier was fitted elsewhere.
    """

    form: Any
    calibration: Calibration | None
    raw: FloatArray
    proba: FloatArray
    log_likelihood: float
    folds: Sequence[Fold]

    def contradicted(self, codes: IntArray) -> BoolArray:
        """Training rows whose own label, a column each, has the raw probability 0, (N,)."""
        return np.asarray(self.raw[np.arange(len(codes)), codes] <= 0.0)

    def predict(self, X: Any) -> FloatArray:
        """p(s|x) of new rows, (N, S): the mean over the folds, calibrated."""
        return _calibrated(self.form.predict(X), self.calibration)

    def within(
        self, training: Training, rows: GivenRows, nested: Sequence[NestedFold]
    ) -> list[FloatArray]:
        """p(s|x) that each fold would find from its own rows alone, one array (N, S) per fold.

        The rows of a fold are predicted out of fold within them, with the calibration of all rows.
        Rows that the fold holds out get equal probabilities.
        """
        folds = shared_fits(nested)
        raws = self.form.again(training, rows, folds)
        found = {fold.fit.tobytes(): (fold, raw) for fold, raw in zip(folds, raws, strict=True)}
        out = []
        for view in nested:
            proba = np.full_like(self.proba, 1.0 / self.proba.shape[1])
            for fold in view.inner:
                fitted, raw = found[fold.fit.tobytes()]
                places = np.searchsorted(fitted.predict, fold.predict)
                proba[fold.predict] = _calibrated(raw[places], self.calibration)
            out.append(proba)
        return out


def _calibrated(raw: FloatArray, calibration: Calibration | None) -> FloatArray:
    proba = raw if calibration is None else calibration.apply(raw)
    proba = np.maximum(proba, LEAST)
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def _label_model(
    form: Form,
    raw: FloatArray,
    rows: GivenRows,
    folds: Sequence[Fold],
    labels: LabelSet,
    calibrate: bool,
) -> LabelModel:
    """A form with its calibration on these rows, and how likely it makes their labels."""
    calibration = None
    if calibrate:
        calibration = fit_calibration(
            raw, rows.codes, rows.counts, has_unlabelled=labels.has_unlabelled
        )
    proba = _calibrated(raw, calibration)
    seen = np.log(proba[np.arange(len(rows)), rows.codes])
    mean = float(rows.counts @ seen / rows.counts.sum())
    return LabelModel(form, calibration, raw, proba, mean, folds)


def fit_label_model(
    training: Training,
    rows: GivenRows,
    folds: Sequence[Fold],
    labels: LabelSet,
    *,
    calibrate: bool = True,
    rng: np.random.RandomState | None = None,
) -> LabelModel:
    """Cross-fit the forms of p(s|x) that the labels allow, calibrate them, keep the best one.

    Parameters
    ----------
    training : Training
        The classifier and what its fits are given.
    rows : GivenRows
        Rows with their labels. Without weights the classifier is not given any.
    folds : sequence of Fold
        They hold out every row once.
    labels : LabelSet
        The columns of p(s|x).
    calibrate : bool
        Whether to calibrate.
    rng : RandomState, optional
        Draws bags; without it there are none.
    """
    models = [
        _label_model(form, form.out_of_fold(rows, folds), rows, folds, labels, calibrate)
        for form in _forms(training, rows, folds, labels, rng)
    ]
    return max(models, key=lambda model: model.log_likelihood)


def _forms(
    training: Training,
    rows: GivenRows,
    folds: Sequence[Fold],
    labels: LabelSet,
    rng: np.random.RandomState | None,
) -> Iterator[Form]:
    """Fit each form that the labels allow."""
    if rng is not None and is_rare(rows, labels):
        bags = _bags_form(training, rows, folds, rng)
        if bags is not None:
            yield bags
            return
    can_split = labels.can_split and all(len(fold.fit) for fold in labelled_only(folds, rows))
    if not (can_split and labels.constant_rate):
        yield JointForm.fitted(training, rows, folds, labels.n_labels)
    if can_split:
        yield SplitForm.fitted(training, rows, folds, labels)


def is_rare(rows: GivenRows, labels: LabelSet) -> bool:
    """Whether there is a single label and most rows lack it, so that it is learnt from bags."""
    single = labels.has_unlabelled and labels.n_labels == 2
    return single and bool(rows.counts[rows.codes > 0].sum() < _RARE * rows.counts.sum())


def fits_per_fold(rows: GivenRows, labels: LabelSet, *, draw_bags: bool) -> tuple[int, int]:
    """Classifiers per fold that `fit_label_model` fits at most, and that one refit takes at most.

    Examples
    --------
    >>> rows = GivenRows(None, np.array([0, 1, 2, 0]))
    >>> fits_per_fold(rows, LabelSet(3, True, constant_rate=False), draw_bags=True)
    (3, 2)
    """
    if draw_bags and is_rare(rows, labels):
        return BAGS, BAGS
    if not labels.can_split or labels.constant_rate:
        return 1, 1
    return 3, 2


def _bags_form(
    training: Training, rows: GivenRows, folds: Sequence[Fold], rng: np.random.RandomState
) -> BagsForm | None:
    """Bags, or None if the classifier fails on so few rows."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    try:
        ensemble = fit_bags(training, rows, folds, seed)
        # Some pipelines refuse a category that a bag lacks, and only when they predict it.
        ensemble.predict_proba(rows.X)
    except ClassifierError:
        return None
    return BagsForm(ensemble, seed)


def prefit_label_model(
    estimator: Any,
    rows: GivenRows,
    columns: IntArray,
    labels: LabelSet,
    *,
    calibrate: bool = True,
) -> LabelModel:
    """p(s|x) of a classifier that was fitted elsewhere, calibrated on the labels of these rows.

    See `prefit_form`; the rate is that of the labels.
    """
    form = prefit_form(estimator, columns, labelled_share(rows), labels)
    return _label_model(form, form.predict(rows.X), rows, (), labels, calibrate)


def prefit_form(estimator: Any, columns: IntArray, rate: float, labels: LabelSet) -> Form:
    """Form of p(s|x) around a classifier that was fitted elsewhere.

    ``columns`` says which column of p(s|x) each of its classes is. Every row is labelled at the
    same ``rate`` if the classifier knows none that is unlabelled, or if p(labelled | x) cannot
    depend on x: then the classifier's own p(labelled | x) is chance, or that of its own rows.
    """
    ensemble = Ensemble((Renamed(estimator, columns),), labels.n_labels)
    constant = labels.constant_rate and labels.n_labels > 2
    if labels.has_unlabelled and (0 not in columns or constant):
        return SplitForm(rate, ensemble)
    return JointForm(ensemble)


def agreement_with_labels(proba: FloatArray, codes: IntArray, labelled: BoolArray) -> float:
    """Share of the labelled rows whose label is the most probable one.

    Where there are several labels, the column of unlabelled rows is left aside: the rate of
    labelling says nothing of which label it is.
    """
    first = int(not labelled.all() and proba.shape[1] > 2)
    return float((proba[:, first:].argmax(axis=1) + first == codes)[labelled].mean())


def warn_if_by_heart(proba: FloatArray, codes: IntArray, labelled: BoolArray) -> None:
    """Warn when in-sample p(s|x) agrees with the labels implausibly well."""
    share = agreement_with_labels(proba, codes, labelled)
    if share > _BY_HEART:
        warn_user(
            Message(
                "by-heart",
                "The classifier agrees with {share:.1%} of the labels here. If it was fitted on "
                "them, it may know them by heart, mistakes included, and p(label | x) then says "
                "nothing about them. Predict out of fold instead: {@cv:=5} {guide}.",
                share=share,
                guide=OUT_OF_FOLD,
            )
        )
