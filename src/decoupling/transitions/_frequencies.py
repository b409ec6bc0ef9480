"""Frequencies of labels: read from counts, and shown as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from decoupling._text import UNLABELLED
from decoupling._typing import FloatArray
from decoupling._validation import as_float, first_offence
from decoupling.transitions._names import Names
from decoupling.transitions._rates import by_name


def check_shares(name: str, values: Any, names: Names) -> FloatArray:
    """Shares of the labels, (S,), from a mapping of counts or frequencies; a missing one is 0."""
    counts = as_float(name, by_name(name, values, names, default=0.0), ndim=1)
    bad = ~(np.isfinite(counts) & (counts >= 0))
    first_offence(name, counts, bad, "not a count or a frequency", "They are at least 0.")
    if not counts.any():
        raise ValueError(f"{name}: all counts are 0; there is nothing to compare with.")
    return np.asarray(counts / counts.sum())


def frequency_table(labels: Names, columns: Mapping[str, FloatArray]) -> str:
    """Lines of text: a row per label, and columns of shares by their titles, each (S,)."""
    names = [UNLABELLED if label is None else str(label) for label in labels]
    width = max(map(len, ["label", *names]))
    lines = ["  ".join([f"{'label':{width}}", *columns])]
    for name, *shares in zip(names, *columns.values(), strict=True):
        lines.append("  ".join([f"{name:{width}}", *(f"{share:8.2%}" for share in shares)]))
    return "\n".join(lines)
