"""Rows and classifiers of any library: what they take, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, get_tags
from sklearn.utils.metadata_routing import _routing_enabled

from decoupling._text import listed
from decoupling._validation import is_dask, refuse_masked
from decoupling.labels.libraries import column_names


def as_rows(X: Any) -> Any:
    """X in a form that rows can be taken from. The classifier checks what is in them.

    Dataframes and sequences of texts stay as they are.
    """
    if issparse(X):
        return X.tocsr()
    if is_dask(X):
        unknown = hasattr(X, "compute_chunk_sizes") and np.isnan(X.shape[0])
        return X.compute_chunk_sizes() if unknown else X
    if hasattr(X, "columns") or hasattr(X, "iloc"):
        _refuse_twins(X)
        return X
    refuse_masked("X", X)
    array = np.asarray(X)
    if array.ndim == 1 and array.dtype.kind in "OUS" and array.size > 0:
        return X
    return check_array(array, dtype=None, ensure_all_finite=False, allow_nd=True)


def _refuse_twins(X: Any) -> None:
    """Refuse a dataframe with two columns of one name."""
    names = column_names(X) or []
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise ValueError(
            f"X has several columns of one name: {listed(twice)}. Rename or drop them, so that it "
            "is clear which is meant; X.to_numpy() has no names."
        )


@contextmanager
def naming_gaps(X: Any) -> Iterator[None]:
    """Say where NaN and infinity are in X if a classifier refuses them: most do not say it."""
    try:
        yield
    except ValueError as error:
        told = str(error)
        where = _gaps(X) if "NaN" in told or "infinity" in told else ""
        if not where:
            raise
        raise ValueError(f"{where} {told}") from error


def _gaps(X: Any) -> str:
    """Text that says where a table of numbers has no finite number; empty if there are none."""
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
    # With routing a classifier must ask for weights, and the user has no hold of this one.
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


def check_estimator_options(estimator: Any, fit_params: dict[str, Any]) -> None:
    """Refuse what is no classifier, and weights that would go to the wrong class."""
    if not hasattr(estimator, "fit") and not hasattr(estimator, "predict_proba"):
        raise TypeError(
            f"estimator must be a classifier with fit and predict_proba; got {estimator!r:.100}."
        )
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


@contextmanager
def needing_proba(estimator: Any) -> Iterator[None]:
    """Say so if a classifier has no ``predict_proba``; some have it only once they are fitted."""
    try:
        yield
    except AttributeError as error:
        if "predict_proba" not in str(error):
            raise
        raise TypeError(
            f"estimator must predict probabilities, and {type(estimator).__name__} has no "
            "predict_proba. Use another one, or wrap it: CalibratedClassifierCV(estimator)."
        ) from error
