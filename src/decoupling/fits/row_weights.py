"""Weights of rows: what they may be, and whether a classifier takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import _routing_enabled, get_routing_for_object
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from decoupling._typing import FloatArray
from decoupling._validation import refuse_masked


def check_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Weights of rows, finite, 0 or more and not all 0, (N,); None if there are none."""
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():  # below scikit-learn 1.9 they pass
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return np.asarray(weight, dtype=np.float64)


def weight_parameter(estimator: Any) -> str | None:
    """Name of the argument of ``fit`` for weights of rows, or None.

    A Pipeline hands them to its last step. A classifier around another one must be able to hand
    them on: it would drop them otherwise, and rows that should count little would count in full.
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
