"""Where the ascent begins: T at its prior mean, and rows of Y that suit it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import add
from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.ascent.lengths import leap_of
from decoupling.inference.ascent.state import AscentProblem, Gamma, State
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.method import CoordinateMethod, Method
from decoupling.inference.math.structure import LabelOwners
from decoupling.inference.rows.block import Blocks, Rows, nothing

# Leaps of Y before T first moves, when a row counts for one observation, and one more for each
# factor of ten: the more a row counts for, the slower it settles.
_LEAPS: Final = 2
# Rows that a leap moved by less than this share of their counts, on average, have settled.
_SETTLED: Final = 0.01
# A leap leaves a class at least this share of what two steps would: it may overshoot, and a class
# that is left with nothing does not come back.
_SHRINK: Final = 0.1


def cold_state(
    problem: AscentProblem,
    make: Callable[[DirichletRows], Method],
    blocks: Blocks,
    *,
    learn_transitions: bool,
) -> State:
    """Where a run begins that knows no other: T at its prior mean; fills in the rows of Y.

    ``make`` gives the method for a distribution of T.
    """
    transitions = starting_transitions(problem, learn_transitions=learn_transitions)
    start_classes(problem, make(transitions), blocks, learn_transitions=learn_transitions)
    return State(transitions, problem.class_prior)


def warm_state(
    problem: AscentProblem,
    transitions: DirichletRows,
    class_prior: Gamma,
    *,
    learn_transitions: bool,
) -> State:
    """State that begins with the T and the gamma of another run.

    The prior of T may have had other zeros then: the zeros of T are those of ``problem``.
    """
    cold = starting_transitions(problem, learn_transitions=learn_transitions)
    if learn_transitions:
        both = (transitions.parameters > 0) & (cold.parameters > 0) & ~transitions.known[:, None]
        cold = cold.replace(np.where(both, transitions.parameters, cold.parameters))
    return State(cold, problem.class_prior.resumed(class_prior))


def starting_transitions(problem: AscentProblem, *, learn_transitions: bool) -> DirichletRows:
    """T at its prior mean.

    If it is to be learned it starts as sure as the data will make it, so that weak priors with tiny
    concentrations do not begin with expected logarithms of minus hundreds.
    """
    prior = problem.transition_prior
    if not learn_transitions:
        return prior
    share = problem.total_evidence / len(prior.parameters)
    factor = np.maximum(1.0, share / prior.total)
    return prior.replace(prior.parameters * factor[:, None])


def start_classes(
    problem: AscentProblem, method: Method, blocks: Blocks, *, learn_transitions: bool
) -> None:
    """Fill in concentrations of Y that suit the transitions of the method.

    If all classes were equally likely a row would have the class distribution p that is the mean
    of p(class | label) over its labels. Most methods begin there. Under the bound the answer is
    sharper: p squared, then where pairs of steps seem to lead, until rows have nearly settled.
    The first step of T can then be trusted, which saves many iterations. With a T that stays, rows
    must not depend on each other, and the number of leaps depends on none of them.
    """
    gamma, mean = problem.class_prior.mean, method.transitions.mean()
    owners = LabelOwners.of(mean > 0)
    shared = mean[:, owners.shared]
    share = (shared / shared.sum(axis=0)).T  # (S', C): p(class | label) under equal classes
    sharper = isinstance(method, CoordinateMethod)
    fill = partial(_fill, owners=owners, share=share, gamma=gamma, sharper=sharper)
    blocks.update(fill, nothing)
    if not isinstance(method, CoordinateMethod):
        return
    for _ in range(_leaps(problem)):
        moved = blocks.update(partial(_leap, method=method, gamma=gamma), add)
        if learn_transitions and moved < _SETTLED * problem.total_evidence:
            break


def _fill(
    rows: Rows, owners: LabelOwners, share: FloatArray, gamma: FloatArray, *, sharper: bool
) -> None:
    """Put a block of rows where it begins."""
    weight = rows.weight()
    counts = weight[:, owners.shared] @ share
    owners.add_owned(counts, weight)
    if sharper:
        total = dirichlet.row_sum(weight)
        counts = _scaled((counts / total[:, None]) ** 2, total)
    np.add(counts, gamma, out=rows.class_concentration)


def _leap(rows: Rows, method: CoordinateMethod, gamma: FloatArray) -> float:
    """Put a block of rows where pairs of steps seem to lead, and say how many counts moved."""
    weight, concentration = rows.weight(), rows.class_concentration
    counts = concentration - gamma
    once = method.rough_class_counts(concentration, weight)
    twice = method.rough_class_counts(once + gamma, weight)
    way = leap_of(counts, once, twice)
    counts += way
    # The bound does not check these leaps, and a row that overshot into the wrong corner would
    # stay there: no class is left without weight, and none takes the lead by a leap.
    np.maximum(counts, _SHRINK * twice, out=counts)
    lost = counts.argmax(axis=1) != twice.argmax(axis=1)
    counts[lost] = twice[lost]
    np.add(_scaled(counts, dirichlet.row_sum(weight)), gamma, out=concentration)
    distance = dirichlet.row_sum(np.abs(way, out=way)) / 2.0
    return float(rows.repeated(distance).sum())


def _leaps(problem: AscentProblem) -> int:
    return _LEAPS + round(math.log10(max(1.0, problem.total_evidence / problem.n_rows)))


def _scaled(values: FloatArray, total: FloatArray) -> FloatArray:
    """Rows, (n, C), that add up to ``total``."""
    return np.asarray(values * (total / dirichlet.row_sum(values))[:, None])
