"""What is known of p(s|y): an immutable record."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import BoolArray, FloatArray
from decoupling._validation import SUM_TOLERANCE, as_float, first_offence, frozen


@dataclass(frozen=True, eq=False, init=False, slots=True)
class TransitionPrior:
    r"""Dirichlet prior of the labelling process, one row per class.

    .. math:: T_{c:} \sim \mathrm{Dir}(\mathrm{strength}_c \cdot \mathrm{mean}_{c:})

    independently for each class c; T_cs = p(label s | class c). The concentrations are called A in
    the paper.

    Parameters
    ----------
    mean : array-like (C, S)
        Expected T. Rows sum to 1. A zero is a certainty: that class never gets that label.
    strength : number or array-like (C,)
        How many labelled samples of the class the prior is worth. ``inf``: the row is known.
    classes : sequence of length C, optional
        Names of the classes; 0, 1, ... by default.
    labels : sequence of length S, optional
        Names of the labels; 0, 1, ... by default. Column 0 is "unlabelled" where there is one.

    Examples
    --------
    Positives are labelled about one time in five; negatives never:

    >>> prior = TransitionPrior(
    ...     [[1.0, 0.0], [0.8, 0.2]],
    ...     50,
    ...     classes=["negative", "positive"],
    ...     labels=[None, "positive"],
    ... )
    >>> prior.concentration
    array([[50.,  0.],
           [40., 10.]])
    """

    mean: FloatArray
    strength: FloatArray
    classes: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]

    def __init__(
        self,
        mean: ArrayLike,
        strength: ArrayLike,
        *,
        classes: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        rows = _check_mean(mean)
        n_classes, n_labels = rows.shape
        object.__setattr__(self, "mean", frozen(rows))
        object.__setattr__(self, "strength", frozen(_check_strength(strength, n_classes)))
        object.__setattr__(self, "classes", _check_names("classes", classes, n_classes))
        object.__setattr__(self, "labels", _check_names("labels", labels, n_labels))

    @classmethod
    def from_concentration(
        cls,
        concentration: ArrayLike,
        *,
        classes: Sequence[Hashable] | None = None,
        labels: Sequence[Hashable] | None = None,
    ) -> TransitionPrior:
        """Prior with these Dirichlet concentrations, shape (C, S); zeros are impossible labels."""
        rows = check_concentration("transitions", concentration)
        total = rows.sum(axis=1)
        return cls(rows / total[:, None], total, classes=classes, labels=labels)

    @property
    def known(self) -> BoolArray:
        """Rows that are constants (infinite strength), (C,)."""
        return np.isinf(self.strength)

    @property
    def concentration(self) -> FloatArray:
        """Dirichlet concentrations (the paper's A), (C, S); ``inf`` in known rows."""
        with np.errstate(invalid="ignore"):
            product = self.mean * self.strength[:, None]
        return np.where(self.mean == 0.0, 0.0, product)


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
    return rows


def _check_mean(mean: ArrayLike) -> FloatArray:
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


def _check_strength(strength: ArrayLike, n_classes: int) -> FloatArray:
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
    return values


def _check_names(name: str, names: Sequence[Hashable] | None, size: int) -> tuple[Hashable, ...]:
    result = tuple(range(size)) if names is None else tuple(names)
    if len(result) != size:
        raise ValueError(f"{name} must have {size} entries to match mean; got {len(result)}.")
    if len(set(result)) != size:
        twice = sorted({str(n) for n in result if result.count(n) > 1})
        raise ValueError(f"{name} must be distinct; repeated: {', '.join(twice)}.")
    return result
