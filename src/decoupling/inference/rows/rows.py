"""Rows: what is given of some rows, and what is inferred of each, updated in place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from decoupling.inference.math import dirichlet

if TYPE_CHECKING:
    from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(eq=False)
class Rows:
    """Some rows, or all of them.

    Attributes
    ----------
    label_proba : array (N, S)
        p(s|x) in the caller's dtype; rows are normalised where they are used.
    labels : bool array (S,)
        The labels that some class can emit: only they take part.
    evidence, multiplicity : arrays () or (N,)
        How many observations a row counts for, and how many equal rows it stands for.
    class_concentration : array (N, C)
        Pi, updated in place.
    step : array (N,) or None
        Length of each row's next natural step, where steps must be checked.
    terms : array (N, 3) or None
        Likelihood, prior and entropy of each row at the present state, so that checked steps
        evaluate nothing twice.
    """

    label_proba: AnyArray
    labels: BoolArray
    evidence: FloatArray
    class_concentration: FloatArray
    multiplicity: FloatArray = field(default_factory=lambda: np.array(1.0))
    step: FloatArray | None = None
    terms: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.label_proba)

    def part(self, rows: slice) -> Rows:
        """Some of the rows, as views."""
        return replace(
            self,
            label_proba=self.label_proba[rows],
            evidence=of_rows(self.evidence, rows),
            multiplicity=of_rows(self.multiplicity, rows),
            class_concentration=self.class_concentration[rows],
            step=None if self.step is None else self.step[rows],
            terms=None if self.terms is None else self.terms[rows],
        )

    def weight(self, rows: slice | IntArray = slice(None)) -> FloatArray:
        """Evidence times p(s|x), (n, S), over the labels that take part."""
        block = self.label_proba[rows]
        if not self.labels.all():
            block = block[:, self.labels]
        block = np.ascontiguousarray(block, dtype=np.float64)
        scale = of_rows(self.evidence, rows) / dirichlet.row_sum(block)
        return block * scale[:, None]

    def repeated(self, values: FloatArray) -> FloatArray:
        """Values of the rows, (N, ...), times how often each row stands there."""
        if self.multiplicity.ndim == 0:
            return values if self.multiplicity == 1.0 else values * self.multiplicity
        return values * self.multiplicity.reshape(-1, *[1] * (values.ndim - 1))

    @property
    def count(self) -> float:
        """Number of rows, each as often as it stands there."""
        return total(self.multiplicity, len(self))

    @property
    def total_evidence(self) -> float:
        """Number of observations in all."""
        return total(self.multiplicity * self.evidence, len(self))


def of_rows(values: FloatArray, rows: slice | IntArray) -> FloatArray:
    """The values of some rows: a number for all of them, or an entry for each."""
    return values if values.ndim == 0 else values[rows]


def total(values: FloatArray, n_rows: int) -> float:
    """Sum over the rows: of a number for all of them, or of an entry for each."""
    return float(values * n_rows if values.ndim == 0 else values.sum())
