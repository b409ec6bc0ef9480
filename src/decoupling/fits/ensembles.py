"""Any classifier, fitted once per fold, so that each row is predicted by one that never saw it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from decoupling._text import Message, message_of
from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import SUM_TOLERANCE, is_dask
from decoupling.fits.folds import Fold
from decoupling.fits.row_weights import weight_parameter
from decoupling.fits.shielding import own_rows, shielded

# Rows of a fold below which an error of the classifier says how many there are. Most errors on more
# rows have other reasons, which the classifier names.
_FEW: Final = 30

_LOG = logging.getLogger(__name__)


class ClassifierError(ValueError):
    """The user's classifier refused the rows that it was given, to fit or to predict.

    Some steps can do without a classifier of a part of the rows. They catch this error, and no
    other `ValueError`, which would be a mistake of the library.
    """


@contextmanager
def _failure_of_the_classifier(name: str = "", n_rows: int = _FEW) -> Iterator[None]:
    """Raise errors of the classifier as `ClassifierError`, in the classifier's own words.

    If it was given few rows, that is probably why it fails, and the message says so.
    """
    try:
        yield
    except ValueError as error:
        message = message_of(error)
        if n_rows < _FEW and not isinstance(error, ClassifierError):
            message = Message(
                "few-rows-to-fit",
                "{name} fails on the {n} rows of a fold: {error} Use more rows, other folds with "
                "{@cv}, or a classifier that needs fewer rows.",
                name=name,
                n=n_rows,
                error=f"{message.rstrip('.')}.",
            )
        raise ClassifierError(message) from error


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Several classifiers of codes 0 to ``n_codes - 1`` as one, which predicts their mean.

    Attributes
    ----------
    models : tuple of classifiers
        Each may lack some of the codes.
    n_codes : int
        How many there are.
    weights : tuple of float, optional
        How much each classifier counts; all count alike by default.
    """

    models: tuple[Any, ...]
    n_codes: int
    weights: tuple[float, ...] | None = None

    @property
    def classes_(self) -> IntArray:
        """Codes of the columns, (n_codes,)."""
        return np.arange(self.n_codes)

    @property
    def only(self) -> Any:
        """The classifier of a single fold, as it was fitted."""
        (model,) = self.models
        return model.model if isinstance(model, Renamed) else model

    def predict_proba(self, X: Any) -> FloatArray:
        """Mean probability of each code, (N, n_codes)."""
        weights = (1.0,) * len(self.models) if self.weights is None else self.weights
        total = sum(
            weight * shielded(partial(aligned_proba, model, n_codes=self.n_codes), X)
            for model, weight in zip(self.models, weights, strict=True)
        )
        return np.asarray(total / sum(weights))


@dataclass(frozen=True, eq=False)
class Training:
    """A classifier, and what each fit of it is given.

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
            delayed(_fitted)(self, X, codes, weight, fold.fit, n_codes) for fold in folds
        )
        return Ensemble(tuple(models), n_codes)

    def params_of(self, rows: IntArray, n_rows: int) -> dict[str, Any]:
        """Fit parameters for some of ``n_rows`` rows: those with an entry per row are cut."""
        return {
            name: own_rows(value, rows) if _n_rows(value) == n_rows else value
            for name, value in self.fit_params.items()
        }


def _n_rows(value: Any) -> int | None:
    shape = getattr(value, "shape", None)
    if shape:
        return int(shape[0])
    return len(value) if isinstance(value, list | tuple) else None


def fit_clone(estimator: Any, X: Any, codes: IntArray, params: dict[str, Any]) -> Any:
    """A classifier like this one, fitted."""
    return clone(estimator).fit(X, codes, **params)


# Function that fits one classifier. A run that may be interrupted sets one that keeps what it fits.
# Processes that ``n_jobs`` starts do not see it, and fit as usual.
FITTING: Final[ContextVar[Callable[[Any, Any, IntArray, dict[str, Any]], Any]]] = ContextVar(
    "FITTING", default=fit_clone
)


def _fitted(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    rows: IntArray,
    n_codes: int,
) -> Any:
    """A classifier of ``codes``, fitted on some rows."""
    if weight is not None:
        # Some classifiers cannot bear a class without any weight.
        rows = rows[weight[rows] > 0]
    if len(rows) == 0:
        # Every row with a label may be held out. Then nothing is known, and no code is excluded.
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="prior").fit(np.zeros((n_codes, 1)), np.arange(n_codes))
    target = codes[rows]
    params = training.params_of(rows, len(codes)) | _weight_param(training, weight, rows)
    if (target == target[0]).all():
        # Most classifiers refuse a single class; there is nothing to learn but its name.
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(np.zeros((1, 1)), target[:1])
    # Some classifiers insist on codes 0, 1, ... without a gap.
    present, places = np.unique(target, return_inverse=True)
    with _failure_of_the_classifier(type(training.estimator).__name__, len(rows)):
        model = FITTING.get()(training.estimator, own_rows(X, rows), places, params)
    _LOG.debug("a classifier is fitted on %d rows", len(rows))
    return model if present[-1] == len(present) - 1 else Renamed(model, present)


def _weight_param(
    training: Training, weight: FloatArray | None, rows: IntArray
) -> dict[str, FloatArray]:
    """Weights of some rows under the name that ``fit`` gives them; empty if there are none."""
    if weight is None:
        return {}
    name = weight_parameter(training.estimator)
    if name is None:
        raise ValueError(
            f"sample_weight was passed, but {type(training.estimator).__name__} takes none, "
            "or does not hand them on to the classifier inside it."
        )
    return {name: weight[rows]}


@dataclass(frozen=True, eq=False)
class Renamed:
    """A fitted classifier whose classes are called by codes."""

    model: Any
    classes_: IntArray

    def predict_proba(self, X: Any) -> AnyArray:
        """Return what the classifier predicts."""
        return _proba(self.model, X)


def aligned_proba(model: Any, X: Any, n_codes: int, *, n_fitted: int = _FEW) -> FloatArray:
    """p(code | x) with a column for each code, also those that the model never saw, (N, n).

    ``n_fitted`` says how many rows the model was fitted on, if it is known.
    """
    proba = _proba(model, X, n_fitted).astype(np.float64, copy=False)
    name, classes = _name_of(model), known_classes(model)
    if proba.ndim != 2 or proba.shape[1] != len(classes):
        raise ClassifierError(
            f"{name}.predict_proba must return one column per class, here {len(classes)}; "
            f"got an array of shape {proba.shape}."
        )
    error = np.abs(proba.sum(axis=1) - 1.0)
    bad = ~((proba >= 0).all(axis=1) & (error < SUM_TOLERANCE))  # also where a value is NaN
    if bad.any():
        raise ClassifierError(
            f"{name}.predict_proba returned {int(bad.sum())} rows that are not probabilities which "
            f"sum to 1, the first of them {proba[bad.argmax()].tolist()}."
        )
    out = np.zeros((len(proba), n_codes))
    out[:, classes.astype(np.int64)] = proba
    return out


def known_classes(model: Any) -> AnyArray:
    """Classes of a fitted classifier, the columns of its probabilities."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise TypeError(
            f"{_name_of(model)} has no classes_ after its fit, which say what the columns of "
            "predict_proba stand for. Set self.classes_ = np.unique(y) in its fit."
        )
    return np.asarray(classes)


def _name_of(model: Any) -> str:
    """Name of the type of a classifier, in messages."""
    return type(model.model if isinstance(model, Renamed) else model).__name__


def _proba(model: Any, X: Any, n_fitted: int = _FEW) -> AnyArray:
    """Prediction of the classifier; rows of Dask are predicted chunk by chunk, where they are."""
    model = model.model if isinstance(model, Renamed) else model
    if not is_dask(X):
        with _failure_of_the_classifier(type(model).__name__, n_fitted):
            return np.asarray(model.predict_proba(X))
    from dask import compute, delayed

    chunks = X.rechunk({1: -1}) if hasattr(X, "rechunk") else X
    shared, predicted = delayed(model), delayed(_proba_of_chunk)
    parts = [predicted(shared, chunk) for chunk in np.ravel(chunks.to_delayed())]
    with _failure_of_the_classifier():
        return np.concatenate(compute(*parts))


def _proba_of_chunk(model: Any, chunk: Any) -> Any:
    """Prediction of a chunk of Dask, which may be a view of an array of the user."""
    return shielded(model.predict_proba, chunk)


def by_fold(ensemble: Ensemble, X: Any, folds: Sequence[Fold]) -> list[FloatArray]:
    """The rows that each fold predicts, as its own model predicts them, (n, n_codes)."""
    return [
        aligned_proba(model, own_rows(X, fold.predict), ensemble.n_codes, n_fitted=len(fold.fit))
        for model, fold in zip(ensemble.models, folds, strict=True)
    ]


def out_of_fold(
    ensemble: Ensemble, X: Any, folds: Sequence[Fold], n_rows: int, unseen: BoolArray | None = None
) -> FloatArray:
    """Each row as the model of its own fold predicts it, (N, n_codes).

    Rows that are ``unseen`` by every model are predicted by all of them, as new rows are.
    """
    out = np.empty((n_rows, ensemble.n_codes))
    for proba, fold in zip(by_fold(ensemble, X, folds), folds, strict=True):
        out[fold.predict] = proba
    if unseen is not None and unseen.any():
        out[unseen] = ensemble.predict_proba(own_rows(X, np.flatnonzero(unseen)))
    return out
