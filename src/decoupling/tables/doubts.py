"""What is doubtful about features to learn from: too small to be seen, or made from the label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.tables.features import Feature
from decoupling.tables.ranges import numbers_of
from decoupling.tables.reading import Table, TableError
from decoupling.tables.values import SINGLE

# A feature that tells the label of this share of the labelled rows is a leak. Honest features
# hardly tell 99%; a leak in which a few labels were corrected later still tells 99.9%.
_TELLS: Final = 0.999
# Labelled rows below which nothing is called a leak: among ten rows one feature of many tells all
# labels by chance.
_ENOUGH: Final = 20
# Labelled rows that a value of a feature has at least, in the mean, if it may be called a leak. A
# column of measurements has a value for nearly every row, which tells nothing about other rows.
_ROWS_PER_VALUE: Final = 5


def refuse_tiny(table: Table, X: AnyArray, features: Sequence[Feature]) -> None:
    """Refuse a feature of which classifiers would not see that it is not 0 in every row.

    This is for rows to learn from: among new ones such a number may be one of many sizes.
    """
    columns, values = numbers_of(X, features)
    size = np.abs(values)
    size[~(size > 0)] = np.nan  # zeros are like missing ones here
    largest = np.fmax.reduce(size, axis=0, initial=np.nan)
    for k in np.flatnonzero(largest < SINGLE.tiny).tolist():
        there = np.flatnonzero(size[:, k] > 0)
        raise TableError(
            f"{table.name}: column {features[columns[k]].name!r} has {values[there[0], k]:.6g} in "
            f"row {there[0]}, and none of its {len(there)} cells that are not 0 is larger than "
            f"{largest[k]:.2g}: for classifiers all of them are 0. Write the column in another "
            "unit, or leave it out with --exclude."
        )


def warn_of_leaks(X: AnyArray, features: Sequence[Feature], labels: Sequence[object]) -> None:
    """Warn of a feature that tells the label of nearly every labelled row by itself."""
    given = np.array([label is not None for label in labels])
    if given.sum() < _ENOUGH:
        return
    texts = np.array([str(label) for label in labels if label is not None])
    _, codes = np.unique(texts, return_inverse=True)
    if codes.max() == 0:
        return
    for k, feature in enumerate(features):
        if feature.kind == "text":
            continue
        values = np.asarray(X[given, k], dtype=np.float64)
        _, places = np.unique(values, return_inverse=True)
        if places.max() + 1 > len(values) // _ROWS_PER_VALUE:
            continue
        told = _majority(places, codes).sum() / len(codes)
        if told >= _TELLS:
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
