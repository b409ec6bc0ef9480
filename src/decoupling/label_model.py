"""Out-of-fold, calibrated p(s|x) from any classifier.

The given labels are always observed, so a model of them can be cross-fitted, compared and
calibrated without a single true class. `fit_label_model` tries two forms of p(s|x), *joint* (one
classifier over all labels, unlabelled among them) and *split* (p(labelled | x) times p(label |
labelled, x)), calibrates both, and keeps the one under which the labels are more likely out of
fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import issparse
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.metadata_routing import _routing_enabled, get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import SUM_TOLERANCE

# A label that was seen is never impossible: probabilities of labels stay above this.
_LEAST: Final = 1e-9
# The isotonic map is flat at its ends, where it would promise certainty.
_LEAST_LABELLED: Final = 1e-4
# In-sample agreement beyond which a classifier has plainly learnt the labels by heart.
_BY_HEART: Final = 0.99


def as_rows(X: Any) -> Any:
    """X in a form of which rows can be taken; what is in them is for the classifier to check.

    Dataframes and sequences of texts stay as they are.
    """
    if issparse(X):
        return X.tocsr()
    if hasattr(X, "columns") or hasattr(X, "iloc"):
        return X
    array = np.asarray(X)
    if array.ndim == 1 and array.dtype.kind in "OUS" and array.size > 0:
        return X
    return check_array(array, dtype=None, ensure_all_finite=False, allow_nd=True)


def check_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Weights of rows, finite, 0 or more and not all 0, (N,); None if there are none."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weight, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows that a model is fitted on, and rows that it predicts; index arrays."""

    fit: IntArray
    predict: IntArray


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Classifiers of the folds, over codes 0 to ``n_codes - 1``; they predict their mean."""

    models: tuple[Any, ...]
    n_codes: int

    def predict(self, X: Any) -> FloatArray:
        """Mean probability of each code, (N, n_codes)."""
        return np.asarray(
            sum(aligned_proba(model, X, self.n_codes) for model in self.models) / len(self.models)
        )


@dataclass(frozen=True, eq=False)
class Training:
    """What every classifier is fitted with.

    Attributes
    ----------
    estimator : classifier
        Cloned for each fit.
    fit_params : dict
        Passed on to its ``fit``, a row each where they have the length of X.
    n_jobs : int or None
        Fits at a time.
    """

    estimator: Any
    fit_params: dict[str, Any]
    n_jobs: int | None = None

    @property
    def takes_weights(self) -> bool:
        """Whether the classifier can be given weights of rows."""
        return weight_parameter(self.estimator) is not None

    def ensemble(
        self,
        X: Any,
        codes: IntArray,
        weight: FloatArray | None,
        folds: Sequence[Fold],
        n_codes: int,
    ) -> Ensemble:
        """Fit one classifier per fold on its rows."""
        models = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(self, X, codes, weight, fold.fit) for fold in folds
        )
        return Ensemble(tuple(models), n_codes)

    def params_of(self, rows: IntArray, n_rows: int) -> dict[str, Any]:
        """Fit parameters of some rows."""
        return {
            name: _safe_indexing(value, rows) if _n_rows(value) == n_rows else value
            for name, value in self.fit_params.items()
        }


def weight_parameter(estimator: Any) -> str | None:
    """What ``fit`` calls the weights of rows, or None; a Pipeline hands them to its last step."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    steps = getattr(estimator, "steps", None)
    if not steps:
        return None
    name, last = steps[-1]
    if _routing_enabled():
        # A Pipeline then takes them by their plain name, if its last step has asked for them.
        asked = get_routing_for_object(last).consumes("fit", ["sample_weight"])
        return "sample_weight" if asked else None
    inner = weight_parameter(last)
    return None if inner is None else f"{name}__{inner}"


def _n_rows(value: Any) -> int | None:
    shape = getattr(value, "shape", None)
    if shape:
        return int(shape[0])
    return len(value) if isinstance(value, list | tuple) else None


def _fit(
    training: Training, X: Any, codes: IntArray, weight: FloatArray | None, rows: IntArray
) -> Any:
    """A classifier of ``codes`` fitted on some rows."""
    if weight is not None:
        # A class without any weight is more than some classifiers can bear.
        rows = rows[weight[rows] > 0]
    params = training.params_of(rows, len(codes))
    target = codes[rows]
    if weight is not None:
        name = weight_parameter(training.estimator)
        if name is None:
            raise ValueError(
                f"sample_weight was passed, but {type(training.estimator).__name__} takes none."
            )
        params[name] = weight[rows]
    if len(target) and (target == target[0]).all():
        # Most classifiers refuse a single class; there is nothing to learn but its name.
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(np.zeros((1, 1)), target[:1])
    return clone(training.estimator).fit(_safe_indexing(X, rows), target, **params)


def aligned_proba(model: Any, X: Any, n_codes: int) -> FloatArray:
    """p(code | x) with a column for each code, also those that the model never saw, (N, n)."""
    proba = np.asarray(model.predict_proba(X), dtype=np.float64)
    name = type(model).__name__
    if proba.ndim != 2 or proba.shape[1] != len(model.classes_):
        raise ValueError(
            f"{name}.predict_proba must return one column per class, here {len(model.classes_)}; "
            f"got an array of shape {proba.shape}."
        )
    error = np.abs(proba.sum(axis=1) - 1.0)
    bad = ~((proba >= 0).all(axis=1) & (error < SUM_TOLERANCE))  # also where a value is NaN
    if bad.any():
        raise ValueError(
            f"{name}.predict_proba returned {int(bad.sum())} rows that are not probabilities which "
            f"sum to 1, the first of them {proba[bad.argmax()].tolist()}."
        )
    out = np.zeros((len(proba), n_codes))
    out[:, np.asarray(model.classes_, dtype=np.int64)] = proba
    return out


def make_folds(X: Any, codes: IntArray, cv: Any, random_state: np.random.RandomState) -> list[Fold]:
    """Folds that cover every row once: a number of them, a splitter, or pairs of index arrays.

    For a number, labels are dealt out in turn, so that each fold has its share of every label, and
    one with fewer members than folds is simply absent from some.
    """
    n_rows = len(codes)
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds; got {cv}.")
        if n_rows < 2:
            raise ValueError(f"cv needs at least 2 rows; got n_samples = {n_rows}.")
        turn = np.empty(n_rows, dtype=np.int64)
        shuffled = random_state.permutation(n_rows)
        turn[shuffled[np.argsort(codes[shuffled], kind="stable")]] = np.arange(n_rows)
        number = turn % min(int(cv), n_rows)
        parts = [np.flatnonzero(number == k) for k in range(number.max() + 1)]
        return [Fold(np.setdiff1d(np.arange(n_rows), part), part) for part in parts]
    if not (isinstance(cv, Iterable) or hasattr(cv, "split")) or isinstance(cv, str):
        raise ValueError(
            f'cv must be a number, a splitter, pairs of rows, None or "prefit"; got {cv!r}.'
        )
    splits = list(cv if isinstance(cv, Iterable) else cv.split(X, codes))
    if not all(isinstance(split, Sized) and len(split) == 2 for split in splits):
        raise ValueError("cv must be pairs of rows to fit and rows to hold out.")
    folds = [Fold(_row_numbers(fit, n_rows), _row_numbers(held, n_rows)) for fit, held in splits]
    held_out = np.concatenate([np.empty(0, dtype=np.int64), *(fold.predict for fold in folds)])
    times = np.bincount(held_out, minlength=n_rows)
    if (times != 1).any():
        raise ValueError(
            "cv must hold out every row exactly once, since p(label | x) is needed of each; "
            f"{int((times == 0).sum())} rows are never held out, {int((times > 1).sum())} "
            "more than once. A generator can be used only once."
        )
    return folds


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


def out_of_fold(ensemble: Ensemble, X: Any, folds: Sequence[Fold], n_rows: int) -> FloatArray:
    """Each row as the model of its own fold predicts it, (N, n_codes)."""
    out = np.empty((n_rows, ensemble.n_codes))
    for model, fold in zip(ensemble.models, folds, strict=True):
        part = _safe_indexing(X, fold.predict)
        out[fold.predict] = aligned_proba(model, part, ensemble.n_codes)
    return out


# The two forms


@dataclass(frozen=True, eq=False)
class JointForm:
    """One classifier over all the labels."""

    ensemble: Ensemble

    def predict(self, X: Any) -> FloatArray:
        """p(s|x), (N, S)."""
        return self.ensemble.predict(X)


@dataclass(frozen=True, eq=False)
class SplitForm:
    """p(labelled | x), a classifier or a constant, times p(label | labelled, x).

    Column 0 is unlabelled.
    """

    labelled: Ensemble | float
    label: Ensemble

    def predict(self, X: Any) -> FloatArray:
        """p(s|x), (N, S)."""
        label = self.label.predict(X)
        share = self.labelled if isinstance(self.labelled, float) else self.labelled.predict(X)
        return _split_product(share, label)


def _split_product(labelled: float | FloatArray, label: FloatArray) -> FloatArray:
    rate = labelled if isinstance(labelled, float) else labelled[:, 1:]
    share = np.broadcast_to(rate, (len(label), 1))
    out: FloatArray = label * share
    out[:, 0] = 1.0 - share[:, 0]
    return out


# Calibration, on the labels themselves


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps p(s|x) so that it agrees with how often labels occur.

    Attributes
    ----------
    labelled : IsotonicRegression or None
        Map of p(labelled | x); None leaves it as it is.
    temperature : float
        Of p(label | labelled, x): 1 leaves it, more softens it.
    has_unlabelled : bool
        Whether column 0 is unlabelled.
    """

    labelled: Any
    temperature: float
    has_unlabelled: bool

    def apply(self, proba: FloatArray) -> FloatArray:
        """Calibrated p(s|x), (N, S)."""
        first = int(self.has_unlabelled)
        share = 1.0 - proba[:, 0] if self.has_unlabelled else np.ones(len(proba))
        given = tempered(proba[:, first:], self.temperature)
        if self.labelled is not None:
            share = self.labelled.predict(share).clip(_LEAST_LABELLED, 1.0 - _LEAST_LABELLED)
        out = np.empty_like(proba)
        out[:, 0] = 1.0 - share
        out[:, first:] = given * share[:, None]
        return out


def tempered(proba: FloatArray, temperature: float) -> FloatArray:
    """Rows proportional to proba ** (1 / temperature), (N, K)."""
    return np.asarray(softmax(np.log(np.maximum(proba, _LEAST)) / temperature, axis=1))


def fit_calibration(
    proba: FloatArray, codes: IntArray, weight: FloatArray, *, has_unlabelled: bool
) -> Calibration:
    """Isotonic map of labelled against unlabelled, and one temperature for the labels."""
    first = int(has_unlabelled)
    isotonic = None
    if has_unlabelled and np.ptp(proba[:, 0]) > 0:
        from sklearn.isotonic import IsotonicRegression

        isotonic = IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0)
        isotonic.fit(1.0 - proba[:, 0], codes > 0, sample_weight=weight)
    rows = codes >= first
    temperature = 1.0
    if proba.shape[1] - first > 1:
        logs = np.log(np.maximum(proba[rows, first:], _LEAST))
        temperature = best_temperature(logs, codes[rows] - first, weight[rows])
    return Calibration(isotonic, temperature, has_unlabelled)


def best_temperature(logs: FloatArray, codes: IntArray, weight: FloatArray) -> float:
    """Temperature under which the codes are most likely, between 1/20 and 20."""
    rows = np.arange(len(codes))

    def loss(log_temperature: float) -> float:
        scaled = log_softmax(logs * np.exp(-log_temperature), axis=1)
        return -float(weight @ scaled[rows, codes])

    limit = float(np.log(20.0))
    found = minimize_scalar(loss, bounds=(-limit, limit), method="bounded", options={"xatol": 1e-8})
    return float(np.exp(found.x))


# The whole


@dataclass(frozen=True, eq=False)
class LabelModel:
    """p(s|x): predicts new rows, and knows the training rows out of fold.

    Attributes
    ----------
    form : JointForm or SplitForm
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

    def predict(self, X: Any) -> FloatArray:
        """p(s|x) of new rows, (N, S): the mean over the folds, calibrated."""
        return _finish(self.form.predict(X), self.calibration)


def _finish(raw: FloatArray, calibration: Calibration | None) -> FloatArray:
    proba = raw if calibration is None else calibration.apply(raw)
    proba = np.maximum(proba, _LEAST)
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
) -> LabelModel:
    """Cross-fit both forms of p(s|x), calibrate them, keep the better one.

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
    """
    counts = np.ones(len(codes)) if weight is None else weight
    candidates = []
    for form, raw in _forms(
        training, X, codes, weight, counts, folds, n_labels, has_unlabelled, constant_rate
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
) -> Iterable[tuple[JointForm | SplitForm, FloatArray]]:
    """Each form with its out-of-fold p(s|x), (N, S)."""
    n_rows, seen = len(codes), codes > 0
    usable = seen & (counts > 0)
    inner = [Fold(fold.fit[usable[fold.fit]], fold.predict) for fold in folds]
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
    yield SplitForm(labelled, label), _split_product(share, out_of_fold(label, X, folds, n_rows))


def prefit_label_model(
    estimator: Any,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    columns: IntArray,
    *,
    n_labels: int,
    has_unlabelled: bool,
    calibrate: bool = True,
) -> LabelModel:
    """p(s|x) of a classifier that was fitted elsewhere, calibrated on the labels of X.

    ``columns`` says which column of p(s|x) each of its classes is. If none is unlabelled, every row
    is as likely to be labelled.
    """
    counts = np.ones(len(codes)) if weight is None else weight
    ensemble = Ensemble((Renamed(estimator, columns),), n_labels)
    form: JointForm | SplitForm = JointForm(ensemble)
    if has_unlabelled and 0 not in columns:
        form = SplitForm(float(counts[codes > 0].sum() / counts.sum()), ensemble)
    raw = form.predict(X)
    return calibrated(form, raw, codes, counts, (), has_unlabelled, calibrate)


@dataclass(frozen=True, eq=False)
class Renamed:
    """A fitted classifier whose classes are called by codes."""

    model: Any
    classes_: IntArray

    def predict_proba(self, X: Any) -> AnyArray:
        """Return what the classifier predicts."""
        return np.asarray(self.model.predict_proba(X))


def warn_if_by_heart(proba: FloatArray, codes: IntArray, labelled: BoolArray) -> None:
    """Warn when in-sample p(s|x) agrees with the labels implausibly well."""
    agreement = float((proba.argmax(axis=1) == codes)[labelled].mean())
    if agreement > _BY_HEART:
        warnings.warn(
            f"The classifier agrees with {agreement:.1%} of the labels that it was fitted on: it "
            "may know them by heart, mistakes included, and p(label | x) then says nothing about "
            "them. Predict out of fold instead: cv=5.",
            UserWarning,
            stacklevel=3,
        )
