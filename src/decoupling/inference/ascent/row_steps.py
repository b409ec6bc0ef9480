"""Steps of the rows of Y, given T and gamma: each row is a small problem of its own.

Blocks of rows are updated where they lie. All that T needs from the rows is a sum of (C, S)
statistics, which are added up in the order of the blocks. Blocks run on several threads, since
NumPy works without the interpreter's lock; the answer depends neither on their size nor on the
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.inference.ascent import elbo
from decoupling.inference.ascent.lengths import HALVINGS, leap_of, longest_step, no_lower_than
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math import dirichlet
from decoupling.inference.math.method import CoordinateMethod, Method
from decoupling.inference.rows.block import Blocks, Rows


@dataclass(frozen=True, eq=False)
class LocalStatistics:
    """What a block of rows contributes: its terms before the step, and the statistic for T."""

    before: Terms
    transition_statistic: FloatArray

    def merge(self, other: LocalStatistics) -> LocalStatistics:
        """Statistics of both blocks together."""
        return LocalStatistics(
            self.before + other.before, self.transition_statistic + other.transition_statistic
        )


def local_pass(
    gamma: FloatArray,
    method: Method,
    blocks: Blocks,
    *,
    longest_leap: float = 0.0,
    local_steps: int = 1,
) -> LocalStatistics:
    """Natural steps of every row of Y, in place, and the merged statistics.

    ``gamma`` (C,) is the Dirichlet prior of a row, ``longest_leap`` is for `coordinate_step`.
    """
    if isinstance(method, CoordinateMethod):
        step: Callable[[Rows], LocalStatistics] = partial(
            coordinate_step, method=method, gamma=gamma, longest_leap=longest_leap
        )
    else:
        step = partial(checked_step, method=method, gamma=gamma)
    return blocks.update(partial(several, step, local_steps), LocalStatistics.merge)


def several(step: Callable[[Rows], LocalStatistics], times: int, rows: Rows) -> LocalStatistics:
    """Take a step several times: terms before the first, the statistic of the last."""
    first = last = step(rows)
    for _ in range(times - 1):
        last = step(rows)
    return LocalStatistics(first.before, last.transition_statistic)


def coordinate_step(
    rows: Rows, method: CoordinateMethod, gamma: FloatArray, longest_leap: float = 0.0
) -> LocalStatistics:
    """Full step of a block, in place: Pi <- gamma + expected counts.

    With a ``longest_leap`` the step is taken from further ahead, row by row: from where two steps
    seem to lead if the bound is no lower there, else from one step ahead.
    """
    weight, concentration = rows.weight(), rows.class_concentration
    logs = dirichlet.mean_log(concentration)
    seen = method.rows(logs)
    terms = elbo.row_terms(gamma, seen.value(), concentration, weight, logs)
    if longest_leap > 0.0:
        once = seen.class_counts(weight) + gamma
        once_logs = dirichlet.mean_log(once)
        twice = method.rows(once_logs).class_counts(weight) + gamma
        leap = leap_of(concentration, once, twice, longest_leap)
        ahead = np.maximum(concentration + leap, gamma)
        logs = dirichlet.mean_log(ahead)
        ahead_terms = elbo.row_terms(gamma, method.rows(logs).value(), ahead, weight, logs)
        no_lower = dirichlet.row_sum(ahead_terms) >= no_lower_than(terms)
        seen = method.rows(np.where(no_lower[:, None], logs, once_logs))
    np.add(seen.class_counts(weight), gamma, out=concentration)
    before = Terms(*rows.repeated(terms).sum(axis=0).tolist())
    return LocalStatistics(before, seen.transition_counts(rows.repeated(weight)))


def checked_step(rows: Rows, method: Method, gamma: FloatArray) -> LocalStatistics:
    r"""Natural step of a block, in place: Pi <- (1 - r) Pi + r (gamma + F(Pi)^-1 g).

    Each row's r is halved until the row's own part of the bound does not fall.
    """
    assert rows.step is not None
    assert rows.terms is not None
    weight, concentration = rows.weight(), rows.class_concentration
    before = Terms(*rows.repeated(rows.terms).sum(axis=0).tolist())
    slopes = method.slopes(concentration, rows.repeated(weight))
    by_class = slopes.by_class / rows.multiplicity[..., None]
    direction = dirichlet.fisher_solve(concentration, by_class)
    direction += gamma
    direction -= concentration
    length = np.minimum(rows.step, longest_step(concentration, direction, method.bounds))
    _backtrack_rows(gamma, method, weight, concentration, direction, length, rows.step, rows.terms)
    return LocalStatistics(before, slopes.by_transition)


def _backtrack_rows(
    gamma: FloatArray,
    method: Method,
    weight: FloatArray,
    concentration: FloatArray,
    direction: FloatArray,
    length: FloatArray,
    row_step: FloatArray,
    row_terms: FloatArray,
) -> None:
    """Move each row along its direction, by ``length`` or as far as its objective does not fall.

    Writes to ``concentration``, ``row_step`` and ``row_terms``.
    """
    floor = no_lower_than(row_terms)
    np.minimum(1.0, 2.0 * length, out=row_step)
    pending: IntArray | slice = slice(None)
    for _ in range(HALVINGS):
        trial = concentration[pending] + length[pending, None] * direction[pending]
        terms = elbo.row_terms(gamma, method.value(trial), trial, weight[pending])
        # Written so that a comparison with NaN refuses the step.
        accepted = dirichlet.row_sum(terms) >= floor[pending]
        if isinstance(pending, slice) and accepted.all():
            concentration[:], row_terms[:] = trial, terms
            return
        pending = np.arange(len(concentration))[pending]
        concentration[pending[accepted]] = trial[accepted]
        row_terms[pending[accepted]] = terms[accepted]
        pending = pending[~accepted]
        if len(pending) == 0:
            return
        length[pending] *= 0.5
        row_step[pending] = length[pending]
