"""Lengths of steps, and when a step counts as no fall of the bound."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet

# A step is halved at most so often before the row, or T, stays where it is: 1/4096 of a natural
# step that still lowers the bound says that rounding is all that is left.
HALVINGS: Final = 12
# Steps are extrapolated by at most this factor. A longer leap inflates rounding, by its square.
LONGEST_LEAP: Final = 100.0
# A fall of this size, relative to the sizes of the terms, is rounding.
ROUNDING: Final = 1e-13
# Concentrations shrink at most by this factor in one step, so they stay positive. A smaller one
# would let a single long step give up a class.
_SHRINK: Final = 0.1


def leap_of(
    start: FloatArray, once: FloatArray, twice: FloatArray, longest: float = LONGEST_LEAP
) -> FloatArray:
    r"""Guess where the steps of each row lead, from two of them, as a way from the start, (n, C).

    Steps that shrink by a constant factor lead by :math:`2 a r + a^2 v`, with the first step r, the
    change v of the second, and :math:`a = |r| / |v|`: the squared iterative method of Varadhan and
    Roland (2008). It may overshoot, so the caller checks. a = 1 leads to ``twice``; a is at least
    1, and at most ``longest``, since rounding errors of a step grow with its square.
    """
    first = once - start
    change = twice - once
    change -= first
    squares = dirichlet.row_sum(change * change)
    # A row that stands still has no change; its length does not matter.
    length = np.sqrt(dirichlet.row_sum(first * first) / np.where(squares > 0, squares, np.inf))
    length = np.clip(length, 1.0, longest)[:, None]
    first *= 2.0
    change *= length
    change += first
    change *= length
    return change


def no_lower_than(row_terms: FloatArray) -> FloatArray:
    """Objective of each row less what may be rounding, (n,), from its terms, (n, 3).

    Without it rounding would decide on rows that have arrived, and blocks of other sizes round in
    other ways.
    """
    floor = dirichlet.row_sum(row_terms)
    floor -= ROUNDING * (1.0 + dirichlet.row_sum(np.abs(row_terms)))
    return floor


def longest_step(
    concentration: FloatArray,
    direction: FloatArray,
    bounds: tuple[FloatArray, FloatArray] | None = None,
) -> FloatArray:
    """Longest step of each row, at most 1, that leaves every entry a share `_SHRINK` of itself.

    With ``bounds`` on the entries and their sum the step keeps to them as well.
    """
    if bounds is None and (direction >= (_SHRINK - 1.0) * concentration).all():
        return np.ones(len(concentration))
    room = np.where(direction < 0, (1.0 - _SHRINK) * concentration, np.inf)
    change = np.abs(direction)
    if bounds is not None:
        values = np.column_stack([concentration, concentration.sum(axis=1)])
        change = np.column_stack([direction, direction.sum(axis=1)])
        limit = np.where(change < 0, values - bounds[0], bounds[1] - values)
        room = np.minimum(np.column_stack([room, np.full(len(room), np.inf)]), limit)
        change = np.abs(change)
    # A step of 1 is the longest: dividing only where less room is left cannot overflow.
    reach = np.divide(room, change, out=np.ones_like(change), where=room < change)
    return np.asarray(reach.min(axis=-1))
