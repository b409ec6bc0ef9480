"""Checks of the arguments of displays."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from decoupling._typing import FloatArray
from decoupling._validation import ROUNDING, as_float, first_offence
from decoupling.inference.posterior import Posterior


def posterior_of(clf: Any) -> Posterior:
    """Posterior of a fitted `DecouplingClassifier`."""
    check_is_fitted(clf)
    posterior = getattr(clf, "posterior_", None)
    if not isinstance(posterior, Posterior):
        raise TypeError(
            f"clf must be a fitted DecouplingClassifier; got {type(clf).__name__}. Of a pipeline "
            "or a search pass the classifier inside."
        )
    return posterior


def check_kind(kind: str, *known: str) -> None:
    """Refuse a kind of figure that is not known."""
    if kind not in known:
        raise ValueError(f"kind must be one of {', '.join(map(repr, known))}; got {kind!r}.")


def check_proba(name: str, values: ArrayLike) -> FloatArray:
    """Refuse a table that does not hold probabilities; return it as an array."""
    table = as_float(name, values, ndim=2)
    inside = (table >= 0) & (table <= 1 + ROUNDING)  # false for NaN
    first_offence(name, table, ~inside, "no probability", "Entries lie between 0 and 1.")
    return table
