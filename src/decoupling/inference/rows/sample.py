"""Some of the rows, for averages over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray

# As many rows are enough for averages over rows.
_ROWS: Final = 2000

# Rows that count for less than this share of another count for nothing.
_NOTHING: Final = 1e-12


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some of the rows.

    Attributes
    ----------
    weight : array (n, S)
        Evidence times p(s|x), for the labels that can be seen.
    concentration : array (n, C)
        q(Y) of these rows.
    share : array (n,)
        Weight of each row in averages, 1 in sum.
    """

    weight: FloatArray
    concentration: FloatArray
    share: FloatArray


def pick_rows(multiplicity: FloatArray, n_rows: int) -> IntArray:
    """Rows of a sample: all that count, or some of them at random, always the same.

    ``multiplicity``, () or (N,), says how many equal rows each row stands for.
    """
    rng = np.random.default_rng(0)
    if multiplicity.ndim == 0:
        # The same draw as from an array of all rows, which may be too many for one.
        return np.arange(n_rows) if n_rows <= _ROWS else rng.choice(n_rows, _ROWS, replace=False)
    rows = np.flatnonzero(that_count(multiplicity))
    return rows if len(rows) <= _ROWS else rng.choice(rows, _ROWS, replace=False)


def that_count(multiplicity: FloatArray) -> BoolArray:
    """Which rows stand for any, (N,): a weight of 0 is kept as next to nothing."""
    return np.asarray(multiplicity > _NOTHING * multiplicity.max())
