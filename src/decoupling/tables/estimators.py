"""Classifiers by name, each with what has to come before it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator

from decoupling._text import Message
from decoupling.tables.features import Feature

# Categories that are kept apart; rarer ones are taken together.
_APART: Final = 100
# Boosting bins features, and has so many bins.
_BINS: Final = 255


def make_estimator(name: str, features: Sequence[Feature], seed: int) -> Any:
    """A classifier by name with what has to come before it, or one from a module.

    Parameters
    ----------
    name : str
        "logistic", "forest", "boosting", "mlp", or "module:object", an instance or a class or
        function that makes one.
    features : sequence of Feature
        Columns of the array.
    seed : int
        Random state of the named ones.
    """
    from sklearn.pipeline import make_pipeline

    if ":" in name:
        return make_pipeline(_prepared(features, scaled=True), _imported(name))
    if name not in ESTIMATORS:
        raise ValueError(
            Message(
                "unknown-estimator",
                "{@estimator} must be one of {names}, or module:object; got {name!r}.",
                names=", ".join(ESTIMATORS),
                name=name,
            )
        )
    return ESTIMATORS[name](features, seed)


def _imported(name: str) -> Any:
    """An object of a module, which may also lie in the current folder."""
    module, _, attribute = name.partition(":")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = getattr(import_module(module), attribute)
        made = found() if callable(found) and not isinstance(found, BaseEstimator) else found
    except Exception as error:  # whatever the code of others does
        raise ValueError(
            Message(
                "no-estimator",
                "{@estimator} {name!r} cannot be had: {kind}: {error}.",
                name=name,
                kind=type(error).__name__,
                error=str(error),
            )
        ) from error
    if not (hasattr(made, "fit") and hasattr(made, "predict_proba")):
        raise ValueError(
            Message(
                "no-classifier",
                "{@estimator} {name!r} is no classifier with probabilities: it has no fit or no "
                "predict_proba.",
                name=name,
            )
        )
    return made


def _prepared(features: Sequence[Feature], *, scaled: bool) -> Any:
    """Numbers without gaps, categories as indicators, and texts as weights of their words."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    by_kind = _by_kind(features)
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        *([StandardScaler()] if scaled else []),
    )
    categories = OneHotEncoder(
        handle_unknown="ignore", max_categories=_APART, dtype=np.float64, sparse_output=True
    )
    parts: list[tuple[str, Any, Any]] = []
    if by_kind["number"]:
        parts.append(("numbers", numbers, by_kind["number"]))
    if by_kind["category"]:
        parts.append(("categories", categories, by_kind["category"]))
    parts += [
        (f"text {k}", TfidfVectorizer(sublinear_tf=True, max_features=50_000), k)
        for k in by_kind["text"]
    ]
    return ColumnTransformer(parts, sparse_threshold=0.3)


def _by_kind(features: Sequence[Feature]) -> Mapping[str, list[int]]:
    kinds = ("number", "category", "text")
    return {
        kind: [k for k, feature in enumerate(features) if feature.kind == kind] for kind in kinds
    }


def _logistic(features: Sequence[Feature], seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(_prepared(features, scaled=True), LogisticRegression(max_iter=1000))


def _forest(features: Sequence[Feature], seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    forest = RandomForestClassifier(300, min_samples_leaf=2, random_state=seed)
    return make_pipeline(_prepared(features, scaled=False), forest)


def _boosting(features: Sequence[Feature], seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline

    if any(feature.kind == "text" for feature in features):
        raise ValueError(
            "boosting takes no texts, and there is a column of them: "
            + ", ".join(repr(f.name) for f in features if f.kind == "text")
            + ". Use logistic, forest or mlp, or leave it out with --exclude."
        )
    few = [
        k for k, feature in enumerate(features)
        if feature.kind == "category" and len(feature.categories) < _BINS
    ]  # fmt: skip
    # It knows by itself what to do with gaps and categories.
    model = HistGradientBoostingClassifier(categorical_features=few or None, random_state=seed)
    return make_pipeline("passthrough", model)


def _mlp(features: Sequence[Feature], seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline

    network = MLPClassifier((64,), alpha=0.1, max_iter=50, random_state=seed)
    return make_pipeline(_prepared(features, scaled=True), network)


ESTIMATORS: Final[dict[str, Callable[[Sequence[Feature], int], Any]]] = {
    "logistic": _logistic,
    "forest": _forest,
    "boosting": _boosting,
    "mlp": _mlp,
}
