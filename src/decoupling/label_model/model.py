"""Out-of-fold, calibrated p(s|x) from any classifier.

The given labels are always observed, so a model of them can be cross-fitted, compared and
calibrated without a single true class. `fit_label_model` tries two forms of p(s|x), *joint* (one
classifier over all labels, unlabelled among them) and *split* (p(labelled | x) times p(label |
labelled, x)), calibrates both, and keeps the one under which the labels are more likely out of
fold. A single label that most rows lack is learnt from bags instead (*bags*).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from decoupling._text import OUT_OF_FOLD, Message
from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling._validation import warn_user
from decoupling.fits.ensembles import Ensemble, Renamed, Training, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.fits.nested import NestedFold, shared_fits
from decoupling.label_model.bags import fit_bags
from decoupling.label_model.calibration import Calibration, fit_calibration
from decoupling.label_model.forms import BagsForm, JointForm, SplitForm, among, split_product
from decoupling.likelihood.temperature import LEAST

# A label that a smaller share of the rows carries is learnt from bags.
_RARE: Final = 0.2
# In-sample agreement beyond which a classifier has plainly learnt the labels by heart.
_BY_HEART: Final = 0.99


# The forms


# Calibration, on the labels themselves


# The whole


@dataclass(frozen=True, eq=False)
class LabelModel:
    """p(s|x): predicts new rows, and knows the training rows out of fold.

    Attributes
    ----------
    form : JointForm, of which BagsForm is one, or SplitForm
        The fitted classifiers.
    calibration : Calibration or None
        None leaves them as they are.
    raw, proba : arrays (N, S)
        p(s|x) of the training rows, before and after calibration.
    log_likelihood : float
        Mean of ln p(s_i | x_i) over the training rows.
    folds : list of Fold
        What was held out from what; empty if nothing was.
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
        return _finish(self.form.predict(X), self.calibration)

    def within(
        self,
        training: Training,
        X: Any,
        codes: IntArray,
        weight: FloatArray | None,
        nested: Sequence[NestedFold],
    ) -> list[FloatArray]:
        """p(s|x) of the rows that each fold may see, held out within them; calibrated as all are.

        Each (N, S), equal probabilities for the rows that are held out from the fold.
        """
        folds = shared_fits(nested)
        raws = self.form.again(training, X, codes, weight, folds)
        found = {fold.fit.tobytes(): (fold, raw) for fold, raw in zip(folds, raws, strict=True)}
        out = []
        for view in nested:
            proba = np.full_like(self.proba, 1.0 / self.proba.shape[1])
            for fold in view.inner:
                fitted, raw = found[fold.fit.tobytes()]
                rows = np.searchsorted(fitted.predict, fold.predict)
                proba[fold.predict] = _finish(raw[rows], self.calibration)
            out.append(proba)
        return out


def _finish(raw: FloatArray, calibration: Calibration | None) -> FloatArray:
    proba = raw if calibration is None else calibration.apply(raw)
    proba = np.maximum(proba, LEAST)
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def calibrated(
    form: JointForm | SplitForm,
    raw: FloatArray,
    codes: IntArray,
    counts: FloatArray,
    folds: Sequence[Fold],
    has_unlabelled: bool,
    calibrate: bool,
) -> LabelModel:
    """A form with its calibration on these rows, and how likely it finds their labels."""
    calibration = None
    if calibrate:
        calibration = fit_calibration(raw, codes, counts, has_unlabelled=has_unlabelled)
    proba = _finish(raw, calibration)
    seen = np.log(proba[np.arange(len(codes)), codes])
    return LabelModel(form, calibration, raw, proba, float(counts @ seen / counts.sum()), folds)


def fit_label_model(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    folds: Sequence[Fold],
    *,
    n_labels: int,
    has_unlabelled: bool,
    constant_rate: bool,
    calibrate: bool = True,
    rng: np.random.RandomState | None = None,
) -> LabelModel:
    """Cross-fit the forms of p(s|x) that there are, calibrate them, keep the best one.

    Parameters
    ----------
    training : Training
        The classifier and what its fits are given.
    X : array-like, dataframe or sparse (N, ...)
        Anything that the classifier takes.
    codes : int array (N,)
        Column of p(s|x) of each row's label.
    weight : array (N,) or None
        Weight of each row; None means equal, and the classifier is not given any.
    folds : sequence of Fold
        They hold out every row once.
    n_labels : int
        Columns of p(s|x).
    has_unlabelled : bool
        Whether column 0 is unlabelled; if not, there is only the joint form.
    constant_rate : bool
        Whether p(labelled | x) cannot depend on x, so that the split form need not learn it.
    calibrate : bool
        Whether to calibrate.
    rng : RandomState, optional
        Draws bags; without it there are none.
    """
    counts = np.ones(len(codes)) if weight is None else weight
    candidates = []
    for form, raw in _forms(
        training, X, codes, weight, counts, folds, n_labels, has_unlabelled, constant_rate, rng
    ):
        candidates.append(calibrated(form, raw, codes, counts, folds, has_unlabelled, calibrate))
    return max(candidates, key=lambda model: model.log_likelihood)


def _forms(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    counts: FloatArray,
    folds: Sequence[Fold],
    n_labels: int,
    has_unlabelled: bool,
    constant_rate: bool,
    rng: np.random.RandomState | None,
) -> Iterable[tuple[JointForm | SplitForm, FloatArray]]:
    """Each form with its out-of-fold p(s|x), (N, S)."""
    n_rows, seen = len(codes), codes > 0
    rare = has_unlabelled and n_labels == 2 and counts[seen].sum() < _RARE * counts.sum()
    if rare and rng is not None:
        form = _bags_form(training, X, codes, weight, folds, rng)
        if form is not None:
            yield form, out_of_fold(form.ensemble, X, folds, n_rows)
            return
    usable = seen & (counts > 0)
    inner = among(folds, usable)
    can_split = has_unlabelled and n_labels > 2 and all(len(fold.fit) for fold in inner)
    if not (can_split and constant_rate):
        joint = training.ensemble(X, codes, weight, folds, n_labels)
        yield JointForm(joint), out_of_fold(joint, X, folds, n_rows)
    if not can_split:
        return
    rate = float(counts[seen].sum() / counts.sum())
    labelled: Ensemble | float = rate
    share: float | FloatArray = rate
    if not constant_rate:
        labelled = training.ensemble(X, seen.astype(np.int64), weight, folds, 2)
        share = out_of_fold(labelled, X, folds, n_rows)
    label = training.ensemble(X, codes, weight, inner, n_labels)
    given = out_of_fold(label, X, folds, n_rows, unseen=~usable)
    yield SplitForm(labelled, label), split_product(share, given)


def _bags_form(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    folds: Sequence[Fold],
    rng: np.random.RandomState,
) -> BagsForm | None:
    """Bags, or None if the classifier needs more rows than these have, or more kinds of rows."""
    seed = int(rng.randint(np.iinfo(np.int32).max))
    try:
        ensemble = fit_bags(training, X, codes, weight, folds, seed)
        ensemble.predict_proba(X)  # a category that a bag lacks is only missed here
    except ValueError:  # one that is not about bags comes again without them
        return None
    return BagsForm(ensemble, seed)


def prefit_label_model(
    estimator: Any,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    columns: IntArray,
    *,
    n_labels: int,
    has_unlabelled: bool,
    constant_rate: bool,
    calibrate: bool = True,
) -> LabelModel:
    """p(s|x) of a classifier that was fitted elsewhere, calibrated on the labels of X.

    See `prefit_form`; the rate is that of the labels.
    """
    counts = np.ones(len(codes)) if weight is None else weight
    rate = float(counts[codes > 0].sum() / counts.sum())
    form = prefit_form(
        estimator,
        columns,
        rate,
        n_labels=n_labels,
        has_unlabelled=has_unlabelled,
        constant_rate=constant_rate,
    )
    raw = form.predict(X)
    return calibrated(form, raw, codes, counts, (), has_unlabelled, calibrate)


def prefit_form(
    estimator: Any,
    columns: IntArray,
    rate: float,
    *,
    n_labels: int,
    has_unlabelled: bool,
    constant_rate: bool,
) -> JointForm | SplitForm:
    """Form of p(s|x) around a classifier that was fitted elsewhere.

    ``columns`` says which column of p(s|x) each of its classes is. Every row is labelled at the
    same ``rate`` if the classifier knows none that is unlabelled, or if p(labelled | x) cannot
    depend on x: what the classifier makes of it is then chance, or the labels of its own rows.
    """
    ensemble = Ensemble((Renamed(estimator, columns),), n_labels)
    if has_unlabelled and (0 not in columns or (constant_rate and n_labels > 2)):
        return SplitForm(rate, ensemble)
    return JointForm(ensemble)


def agreement(proba: FloatArray, codes: IntArray, labelled: BoolArray) -> float:
    """Share of the labelled rows whose label is the most probable one.

    Whether there is a label at all is left aside if there are several: a rate of labelling says
    nothing of which it is.
    """
    first = int(not labelled.all() and proba.shape[1] > 2)
    return float((proba[:, first:].argmax(axis=1) + first == codes)[labelled].mean())


def warn_if_by_heart(proba: FloatArray, codes: IntArray, labelled: BoolArray) -> None:
    """Warn when in-sample p(s|x) agrees with the labels implausibly well."""
    share = agreement(proba, codes, labelled)
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
