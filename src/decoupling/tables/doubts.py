"""What is doubtful about features: too small to be seen, or made from the label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.tables.features import Feature
from decoupling.tables.reading import Table, TableError
from decoupling.tables.values import SINGLE


def refuse_tiny(table: Table, X: AnyArray, features: Sequence[Feature]) -> None:
    """Refuse a feature of which classifiers would not see that it is not 0 in every row.

    That is for the rows to learn from: among new ones such a number may well be one of many sizes.
    """
    for k, feature in enumerate(features):
        if feature.kind != "number":
            continue
        size = np.abs(np.asarray(X[:, k], dtype=np.float64))
        there = np.flatnonzero(size > 0)  # neither 0 nor missing
        if len(there) and size[there].max() < SINGLE.tiny:
            raise TableError(
                f"{table.name}: column {feature.name!r} has {X[there[0], k]:.6g} in row "
                f"{there[0]}, and none of its {len(there)} cells that are not 0 is larger than "
                f"{size[there].max():.2g}: for classifiers all of them are 0. Write the column in "
                "another unit, or leave it out with --exclude."
            )


def warn_of_leaks(
    X: AnyArray, features: Sequence[Feature], labels: Sequence[object], allowed: float = 0.999
) -> None:
    """Warn of a feature that tells the label of nearly every labelled row by itself."""
    given = np.array([label is not None for label in labels])
    if given.sum() < 20:
        return
    _, codes = np.unique(
        np.array([str(label) for label, has in zip(labels, given, strict=True) if has]),
        return_inverse=True,
    )
    if codes.max() == 0:
        return
    for k, feature in enumerate(features):
        if feature.kind == "text":
            continue
        values = np.asarray(X[given, k], dtype=np.float64)
        _, places = np.unique(values, return_inverse=True)
        if places.max() + 1 > len(values) // 5:
            continue  # nearly every row has its own value
        told = _majority(places, codes).sum() / len(codes)
        if told >= allowed:
            warn_user(
                Message(
                    "leak",
                    "Column {name!r} alone tells the label of {share:.1%} of the labelled rows. If "
                    "it is made from the label, leave it out with --exclude.",
                    name=feature.name,
                    share=told,
                )
            )


def _majority(places: AnyArray, codes: AnyArray) -> FloatArray:
    """Rows of the most frequent code at each place."""
    from scipy import sparse

    counts = sparse.coo_array((np.ones(len(codes)), (places, codes))).tocsr()
    return np.asarray(counts.max(axis=1).todense()).ravel()
