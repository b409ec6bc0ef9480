"""A block of rows: what is given of each row, and what is inferred of it, updated in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

import numpy as np

from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling.inference.math import dirichlet
from decoupling.inference.rows.sample import of_rows, total

Result = TypeVar("Result")

# Entries of a block at most: few enough for its temporaries to stay near the processor, enough for
# threads not to queue for the interpreter's lock.
_BLOCK_ENTRIES: Final = 2**17
# Rows with fewer entries than these are one block: they are not worth a second thread.
_ONE_BLOCK: Final = 2**16


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


def some_rows(block: Rows, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Evidence times p(s|x), (n, S), and Pi, (n, C), of some rows of a block."""
    return block.weight(rows), np.array(block.class_concentration[rows])


def parts_of(rows: Rows, block_size: int | None = None) -> list[Rows]:
    """Rows in blocks, as views."""
    size = block_size or default_block_size(rows)
    return [rows.part(slice(i, i + size)) for i in range(0, len(rows), size)]


def default_block_size(rows: Rows) -> int:
    """Rows per block: an even number of blocks as equal as can be, so that threads end together."""
    n_classes = int(rows.class_concentration.shape[1])
    entries = len(rows) * max(n_classes, int(np.count_nonzero(rows.labels)))
    if entries <= _ONE_BLOCK:
        return max(1, len(rows))
    pairs = -(-entries // (2 * _BLOCK_ENTRIES))
    return -(-len(rows) // (2 * pairs))


class Blocks(Protocol):
    """All the rows, in blocks, wherever they are.

    Results of blocks are merged two by two, in the order of the blocks.
    """

    def update(
        self, function: Callable[[Rows], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """Call a function on every block and merge the results; what is inferred may change."""

    def query(
        self, function: Callable[[Rows], Result], merge: Callable[[Result, Result], Result]
    ) -> Result:
        """Call a function on every block and merge the results; rows stay as they are."""


def nothing(first: None, second: None) -> None:
    """Merge the results of functions that return nothing."""
