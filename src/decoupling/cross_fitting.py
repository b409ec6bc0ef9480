"""Any classifier, fitted once per fold: each row is predicted by the one that never saw it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array, get_tags
from sklearn.utils.metadata_routing import _routing_enabled, get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import SUM_TOLERANCE, is_dask, refuse_masked
from decoupling.folds import Fold


def as_rows(X: Any) -> Any:
    """X in a form of which rows can be taken; what is in them is for the classifier to check.

    Dataframes and sequences of texts stay as they are.
    """
    if issparse(X):
        return X.tocsr()
    if is_dask(X):
        unknown = hasattr(X, "compute_chunk_sizes") and np.isnan(X.shape[0])
        return X.compute_chunk_sizes() if unknown else X
    if hasattr(X, "columns") or hasattr(X, "iloc"):
        return X
    refuse_masked("X", X)
    array = np.asarray(X)
    if array.ndim == 1 and array.dtype.kind in "OUS" and array.size > 0:
        return X
    return check_array(array, dtype=None, ensure_all_finite=False, allow_nd=True)


@contextmanager
def naming_gaps(X: Any) -> Iterator[None]:
    """Say where NaN and infinity are in X if a classifier refuses them, which few do."""
    try:
        yield
    except ValueError as error:
        told = str(error)
        where = _gaps(X) if "NaN" in told or "infinity" in told else ""
        if not where:
            raise
        raise ValueError(f"{where} {told}") from error


def _gaps(X: Any) -> str:
    """Where there is no finite number in a table of numbers, in words."""
    if issparse(X) or np.asarray(X).dtype.kind != "f" or np.ndim(X) != 2:
        return ""
    bad = ~np.isfinite(np.asarray(X))
    if not bad.any():
        return ""
    row, column = (int(i) for i in np.argwhere(bad)[0])
    names = list(getattr(X, "columns", range(bad.shape[1])))
    return (
        f"X: {bad.sum()} entries in {bad.any(axis=0).sum()} of its columns are not finite, the "
        f"first at row {row}, column {names[column]!r}. Impute them, leave these rows out, or use "
        "a classifier that takes gaps."
    )


def classifier_or_default(estimator: Any) -> Any:
    """The classifier that was passed, or logistic regression."""
    if estimator is not None:
        return estimator
    # Imported on use, like all of scikit-learn that takes long to import.
    from sklearn.linear_model import LogisticRegression

    default = LogisticRegression(max_iter=1000)
    # Nobody else can ask for it.
    return default.set_fit_request(sample_weight=True) if _routing_enabled() else default


def tagged_like(tags: Any, estimator: Any) -> Any:
    """Tags of a classifier around another one: what it takes, and how well it does."""
    try:
        inner = get_tags(estimator)
    except (AttributeError, TypeError):  # not of scikit-learn; fit will say if that is wrong
        return tags
    tags.input_tags.sparse = inner.input_tags.sparse
    tags.input_tags.allow_nan = inner.input_tags.allow_nan
    if inner.classifier_tags is not None:
        tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
    return tags


def check_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Weights of rows, finite, 0 or more and not all 0, (N,); None if there are none."""
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weight, dtype=np.float64)


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Classifiers over codes 0 to ``n_codes - 1`` that predict their mean, as one of them would.

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
            weight * aligned_proba(model, X, self.n_codes)
            for model, weight in zip(self.models, weights, strict=True)
        )
        return np.asarray(total / sum(weights))


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
            delayed(_fit)(self, X, codes, weight, fold.fit, n_codes) for fold in folds
        )
        return Ensemble(tuple(models), n_codes)

    def params_of(self, rows: IntArray, n_rows: int) -> dict[str, Any]:
        """Fit parameters of some rows."""
        return {
            name: _safe_indexing(value, rows) if _n_rows(value) == n_rows else value
            for name, value in self.fit_params.items()
        }


def weight_parameter(estimator: Any) -> str | None:
    """What ``fit`` calls the weights of rows, or None; a Pipeline hands them to its last step.

    None also for a classifier around another one, to which it could not hand them on: it would
    drop them, and rows that should count little would count in full.
    """
    if has_fit_parameter(estimator, "sample_weight"):
        inner = getattr(estimator, "estimator", None)
        arrives = inner is None or weight_parameter(inner) == "sample_weight"
        return "sample_weight" if arrives else None
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


def fit_clone(estimator: Any, X: Any, codes: IntArray, params: dict[str, Any]) -> Any:
    """A classifier like this one, fitted."""
    return clone(estimator).fit(X, codes, **params)


# The way to fit one classifier: a run that may be interrupted sets one that keeps what is fitted.
# Workers of ``n_jobs`` do not see it, and fit as usual.
FITTING: Final[ContextVar[Callable[[Any, Any, IntArray, dict[str, Any]], Any]]] = ContextVar(
    "FITTING", default=fit_clone
)


def _fit(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray | None,
    rows: IntArray,
    n_codes: int,
) -> Any:
    """A classifier of ``codes`` fitted on some rows."""
    if weight is not None:
        # A class without any weight is more than some classifiers can bear.
        rows = rows[weight[rows] > 0]
    if len(rows) == 0:
        # A few rows may all be in the part that is held out. Then nothing is known, or excluded.
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="prior").fit(np.zeros((n_codes, 1)), np.arange(n_codes))
    params = training.params_of(rows, len(codes))
    target = codes[rows]
    if weight is not None:
        name = weight_parameter(training.estimator)
        if name is None:
            raise ValueError(
                f"sample_weight was passed, but {type(training.estimator).__name__} takes none, "
                "or does not hand them on to the classifier inside it."
            )
        params[name] = weight[rows]
    if (target == target[0]).all():
        # Most classifiers refuse a single class; there is nothing to learn but its name.
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(np.zeros((1, 1)), target[:1])
    # Some classifiers insist on 0, 1, ... without a gap.
    present, places = np.unique(target, return_inverse=True)
    model = FITTING.get()(training.estimator, _safe_indexing(X, rows), places, params)
    _LOG.debug("a classifier is fitted on %d rows", len(rows))
    return model if present[-1] == len(present) - 1 else Renamed(model, present)


@dataclass(frozen=True, eq=False)
class Renamed:
    """A fitted classifier whose classes are called by codes."""

    model: Any
    classes_: IntArray

    def predict_proba(self, X: Any) -> AnyArray:
        """Return what the classifier predicts."""
        return _proba(self.model, X)


def check_estimator_options(estimator: Any, fit_params: dict[str, Any]) -> None:
    """Refuse weights that would go to the wrong class, or not everywhere."""
    can_say = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    params = estimator.get_params() if can_say else {}
    for name, value in params.items():
        if name.endswith("class_weight") and isinstance(value, dict):
            raise ValueError(
                f"{name} of the classifier goes by the names of labels, and it is given codes. "
                f'Leave it out, use {name}="balanced", or weigh rows with sample_weight=.'
            )
    for name in fit_params:
        if name.endswith("sample_weight"):
            raise ValueError(
                f"{name} was passed to fit: pass it as sample_weight=, so that the inference and "
                "the retraining know it too."
            )


def aligned_proba(model: Any, X: Any, n_codes: int) -> FloatArray:
    """p(code | x) with a column for each code, also those that the model never saw, (N, n)."""
    proba = _proba(model, X).astype(np.float64, copy=False)
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


def _proba(model: Any, X: Any) -> AnyArray:
    """What the classifier predicts; rows of Dask are predicted chunk by chunk, where they are."""
    if not is_dask(X):
        return np.asarray(model.predict_proba(X))
    from dask import compute, delayed

    chunks = X.rechunk({1: -1}) if hasattr(X, "rechunk") else X
    shared = delayed(model)
    parts = [shared.predict_proba(chunk) for chunk in np.ravel(chunks.to_delayed())]
    return np.concatenate(compute(*parts))


def by_fold(ensemble: Ensemble, X: Any, folds: Sequence[Fold]) -> list[FloatArray]:
    """The rows that each fold predicts, as its own model predicts them, (n, n_codes)."""
    return [
        aligned_proba(model, _safe_indexing(X, fold.predict), ensemble.n_codes)
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
        out[unseen] = ensemble.predict_proba(_safe_indexing(X, np.flatnonzero(unseen)))
    return out


@contextmanager
def needing_proba(estimator: Any) -> Iterator[None]:
    """Say what is missing. Some classifiers have ``predict_proba`` only once they are fitted."""
    try:
        yield
    except AttributeError as error:
        if "predict_proba" not in str(error):
            raise
        raise TypeError(
            f"estimator must predict probabilities, and {type(estimator).__name__} has no "
            "predict_proba. Use another one, or wrap it: CalibratedClassifierCV(estimator)."
        ) from error
