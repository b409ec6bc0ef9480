"""What is doubtful about features: too small to be seen, made from the label, or far off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.tables.features import Feature
from decoupling.tables.reading import Table, TableError
from decoupling.tables.units import TIME
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
# A value is far off if it is beyond the range of the rows that were learned from by this many
# widths of that range. Ordinary new rows exceed the range by little; a year, a day number, a share
# in per cent, or dollars for thousands of dollars exceed it by far. With ten widths, small shares
# in per cent would pass.
_FAR: Final = 1.0
# Share of a column that is far off, at least, if it is warned of. Of rows like those of before
# about 2 / N lie outside the range at all, however the feature is distributed; another unit moves
# most.
_SHARE: Final = 0.1
# Cells that are far off, at least: one or two of a few rows may be so by chance.
_FEW: Final = 3
# Beyond the range by this many widths a single value is warned of, too. Values of distributions
# with heavy tails (log-normal) get there once in a million cells; a slip of the decimal point does
# at once.
_EXTREME: Final = 100.0
# Columns that a warning names; the others are counted.
_SHOWN: Final = 3
# Days from 1970 within which a date is written as one, some 25,000 years.
_DAYS: Final = 1e7


def _numbers(X: AnyArray, features: Sequence[Feature]) -> tuple[list[int], FloatArray]:
    """Columns of numbers, and their values."""
    columns = [k for k, feature in enumerate(features) if feature.kind == "number"]
    return columns, np.asarray(X[:, columns], dtype=np.float64)


def refuse_tiny(table: Table, X: AnyArray, features: Sequence[Feature]) -> None:
    """Refuse a feature of which classifiers would not see that it is not 0 in every row.

    This is for rows to learn from: among new ones such a number may be one of many sizes.
    """
    columns, values = _numbers(X, features)
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


def with_ranges(features: Sequence[Feature], X: AnyArray) -> tuple[Feature, ...]:
    """Features with the range of their values, for `warn_if_far`."""
    columns, values = _numbers(X, features)
    low = np.fmin.reduce(values, axis=0, initial=np.nan).tolist()
    high = np.fmax.reduce(values, axis=0, initial=np.nan).tolist()
    found = list(features)
    for k, least, most in zip(columns, low, high, strict=True):
        if least == least:  # there are values
            found[k] = replace(found[k], low=least, high=most)
    return tuple(found)


def warn_if_far(X: AnyArray, features: Sequence[Feature]) -> None:
    """Warn of new rows whose numbers are far outside the range that the model has learned from."""
    columns, values = _numbers(X, features)
    told = []
    for k, column in enumerate(columns):
        feature = features[column]
        if feature.low is None or feature.high is None or not feature.low < feature.high:
            continue
        cells = values[:, k]
        beyond = np.fmax(feature.low - cells, cells - feature.high) / (feature.high - feature.low)
        far = np.flatnonzero(beyond > _FAR)
        there = len(cells) - int(np.isnan(cells).sum())
        if len(far) >= max(_FEW, _SHARE * there) or (beyond > _EXTREME).any():
            numbers = (cells[int(np.nanargmax(beyond))], feature.low, feature.high)
            worst, low, high = (_written(number, feature) for number in numbers)
            told.append(
                f"{feature.name!r} ({len(far):,} of {there:,} cells, such as {worst}, where there "
                f"were {low} to {high})"
            )
    if told:
        more = f", and {len(told) - _SHOWN:,} more columns" if len(told) > _SHOWN else ""
        warn_user(
            Message(
                "far-outside",
                "Values are far outside the range that the model has learned from in {columns}. "
                "Are they in the same unit? How classes look there the model cannot know.",
                columns=f"{', '.join(told[:_SHOWN])}{more}",
            )
        )


def _written(value: float, feature: Feature) -> str:
    """A number; of a time the date."""
    if feature.unit == TIME and abs(value) < _DAYS:
        return str(np.datetime64(int(value), "D"))
    return f"{value:.6g}"
