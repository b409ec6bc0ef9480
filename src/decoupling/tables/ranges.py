"""Ranges of features: new rows that are far outside of what a model has learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.tables.features import Feature
from decoupling.tables.units import TIME

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


def numbers_of(X: AnyArray, features: Sequence[Feature]) -> tuple[list[int], FloatArray]:
    """Columns of numbers, and their values."""
    columns = [k for k, feature in enumerate(features) if feature.kind == "number"]
    return columns, np.asarray(X[:, columns], dtype=np.float64)


def with_ranges(features: Sequence[Feature], X: AnyArray) -> tuple[Feature, ...]:
    """Features with the range of their values, for `warn_if_far`."""
    columns, values = numbers_of(X, features)
    low = np.fmin.reduce(values, axis=0, initial=np.nan).tolist()
    high = np.fmax.reduce(values, axis=0, initial=np.nan).tolist()
    found = list(features)
    for k, least, most in zip(columns, low, high, strict=True):
        if least == least:  # there are values
            found[k] = replace(found[k], low=least, high=most)
    return tuple(found)


def warn_if_far(X: AnyArray, features: Sequence[Feature]) -> None:
    """Warn of new rows whose numbers are far outside the range that the model has learned from."""
    columns, values = numbers_of(X, features)
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
