"""Rows, and what is given of each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from decoupling._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows with their labels, their weights and the classes that are known.

    Attributes
    ----------
    X : array-like, dataframe or sparse matrix (N, D)
        Features, in any form that the classifier takes.
    codes : array (N,)
        Label of each row, as its column of p(label | x).
    weight : array (N,) or None
        How many equal rows each row stands for; None if nothing was said.
    known : array (N,) or None
        Class of each row, as its row of T, where it is known; -1 elsewhere. None if no class is.
    """

    X: Any
    codes: IntArray
    weight: FloatArray | None = None
    known: IntArray | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def counts(self) -> FloatArray:
        """How many equal rows each row stands for, (N,)."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    @cached_property
    def known_class(self) -> IntArray:
        """Class of each row where it is known, -1 elsewhere, (N,)."""
        return np.full(len(self.codes), -1) if self.known is None else self.known
