"""Rows from wherever they are: arrays, files, blocks that come one after the other, Dask."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import BoolArray, FloatArray
from decoupling._validation import (
    as_float,
    check_evidence,
    check_memory,
    first_offence,
    is_dask,
)
from decoupling.inference.rows.block import Rows
from decoupling.inference.rows.blocks import AllRows, RowBlocks
from decoupling.inference.rows.distributed import ChunkBlocks, as_chunks
from decoupling.inference.rows.storage import empty_rows, open_label_proba

# Weight of a row that counts for nothing.
_NOTHING: Final = 1e-100


def open_rows(
    label_proba: Any,
    labels: BoolArray,
    n_classes: int,
    evidence: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    block_size: int | None = None,
    n_threads: int | None = None,
    scratch: str | Path | None = None,
) -> AllRows:
    """Rows, checked, with room for what is inferred of them.

    ``labels``, (S,), are those that some class can emit; the other arguments are those of `infer`.
    """
    if is_dask(label_proba):
        chunks = as_chunks(label_proba, len(labels))
        weight = check_evidence("evidence", evidence, chunks.shape[0])
        count = _check_sample_weight(sample_weight, chunks.shape[0])
        return ChunkBlocks(chunks, labels, n_classes, weight, count, block_size)
    if isinstance(label_proba, np.ndarray) and not isinstance(label_proba, np.memmap):
        check_memory(len(label_proba), n_classes)
    proba = open_label_proba(label_proba, labels, scratch)
    weight = check_evidence("evidence", evidence, len(proba))
    count = _check_sample_weight(sample_weight, len(proba))
    classes = empty_rows(len(proba), n_classes, proba, scratch)
    return RowBlocks(Rows(proba, labels, weight, classes, count), block_size, n_threads)


def _check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    if sample_weight is None:
        return np.array(1.0)
    weight = as_float("sample_weight", sample_weight, ndim=1)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one entry per row, shape ({n_rows},); got {weight.shape}."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    advice = "It counts equal rows: a finite number, 0 or more."
    first_offence("sample_weight", weight, bad, "not a finite number of 0 or more", advice)
    if not weight.any():
        raise ValueError("sample_weight is 0 for every row: nothing is left to learn from.")
    # A row of weight 0 gets a weight too small to change any sum, by which its own step can still
    # be divided.
    return np.maximum(weight, _NOTHING)
