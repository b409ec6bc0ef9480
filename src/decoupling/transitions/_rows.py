"""Arguments with a row for each class: concentrations, means of T, and strengths."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import FloatArray
from decoupling._validation import (
    SMALLEST,
    SUM_TOLERANCE,
    as_float,
    check_range,
    first_offence,
)


def check_concentration(name: str, values: ArrayLike) -> FloatArray:
    """A (C, S) array of Dirichlet concentrations with at least one positive entry per row."""
    rows = as_float(name, values, ndim=2)
    first_offence(
        name,
        rows,
        ~np.isfinite(rows),
        "not finite",
        "For a row that is known exactly use TransitionPrior(mean, strength=inf).",
    )
    first_offence(
        name, rows, rows < 0, "negative", "Concentrations are positive; 0 means impossible."
    )
    _check_rows_not_empty(name, rows)
    check_range(name, rows)
    return rows


def check_mean(mean: ArrayLike) -> FloatArray:
    """A (C, S) array of probabilities with rows that sum to 1, to the last digit."""
    rows = as_float("mean", mean, ndim=2)
    bad = ~((rows >= 0) & (rows <= 1))
    first_offence("mean", rows, bad, "not a probability in [0, 1]", "Rows are p(label | class).")
    _check_rows_not_empty("mean", rows)
    total = rows.sum(axis=1)
    off = np.abs(total - 1) > SUM_TOLERANCE
    first_offence(
        "mean",
        total,
        off,
        "the sum of a row that is not 1",
        "Each class's row of p(label | class)"
        " must sum to 1; for Dirichlet concentrations use TransitionPrior.from_concentration.",
    )
    return np.asarray(rows / total[:, None])


def _check_rows_not_empty(name: str, rows: FloatArray) -> None:
    empty = np.asarray(~(rows > 0).any(axis=1))
    first_offence(
        name,
        rows.sum(axis=1),
        empty,
        "the sum of a row without any possible label",
        "Every class must be able to emit at least one label.",
    )


def check_strength(strength: ArrayLike, n_classes: int) -> FloatArray:
    """Strengths of the rows of a prior, (C,), above 0; infinity means known."""
    try:
        values = np.asarray(strength, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"strength must be a number or one per class; got {strength!r}.") from None
    if values.ndim > 1 or (values.ndim == 1 and values.shape != (n_classes,)):
        raise ValueError(
            f"strength must be a number or one per class, shape ({n_classes},); "
            f"got shape {values.shape}."
        )
    values = np.array(np.broadcast_to(values, (n_classes,)))
    first_offence(
        "strength",
        values,
        ~(values > 0),
        "not positive",
        "It is an equivalent number of labelled samples per class; inf means known.",
    )
    first_offence(
        "strength",
        values,
        values < SMALLEST,
        "too small to compute with",
        f"It may be from {SMALLEST:g} upwards; inf means known.",
    )
    return values
