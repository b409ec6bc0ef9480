"""Some of the rows, for averages over all of them, and values that rows may share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray

# Rows of a sample: averages over them are off by about 2% of their spread, and error bars take
# seconds. Four times as many would halve the first, and take four times as long.
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
    """Which rows count, (N,). Those of weight 0 do not: they are kept with a tiny number."""
    return np.asarray(multiplicity > _NOTHING * multiplicity.max())


@dataclass(frozen=True, eq=False)
class Picked:
    """Rows of a sample, and where they are.

    Attributes
    ----------
    counts : array (n,)
        How many equal rows each stands for.
    by_block : list of int arrays
        Their numbers within each block.
    order : int array (n,)
        Where each of them, as picked, is among those of all blocks in turn.
    """

    counts: FloatArray
    by_block: list[IntArray]
    order: IntArray

    @classmethod
    def of(cls, multiplicity: FloatArray, sizes: Sequence[int]) -> Picked:
        """Pick from blocks of these sizes."""
        ends = np.cumsum(sizes)
        picked = pick_rows(multiplicity, int(ends[-1]))
        block = np.searchsorted(ends, picked, side="right")
        return cls(
            np.broadcast_to(of_rows(multiplicity, picked), picked.shape),
            [
                picked[block == k] - (end - n)
                for k, (end, n) in enumerate(zip(ends, sizes, strict=True))
            ],
            np.argsort(np.argsort(block, kind="stable"), kind="stable"),
        )

    def sample(self, found: Sequence[tuple[FloatArray, FloatArray]]) -> RowSample:
        """The sample, from what `some_rows` found in each block."""
        weight, concentration = (
            np.concatenate(parts)[self.order] for parts in zip(*found, strict=True)
        )
        return RowSample(weight, concentration, self.counts / self.counts.sum())


def of_rows(values: FloatArray, rows: slice | IntArray) -> FloatArray:
    """The values of some rows: a number for all of them, or an entry for each."""
    return values if values.ndim == 0 else values[rows]


def total(values: FloatArray, n_rows: int) -> float:
    """Sum over the rows: of a number for all of them, or of an entry for each."""
    return float(values * n_rows if values.ndim == 0 else values.sum())
