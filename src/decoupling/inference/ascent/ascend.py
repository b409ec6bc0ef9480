"""The ascent by natural gradients: local step, merge, global step, until the bound stands still."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Final, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from decoupling._typing import FloatArray
from decoupling.inference.ascent import row_steps, shared_steps
from decoupling.inference.ascent.checkpoint import Checkpoint, Iteration
from decoupling.inference.ascent.lengths import LONGEST_LEAP
from decoupling.inference.ascent.monitor import Monitor, Trace
from decoupling.inference.ascent.state import AscentOptions, AscentProblem, Gamma, State
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.method import CoordinateMethod, Method
from decoupling.inference.rows.block import Blocks, Rows, nothing
from decoupling.inference.rows.blocks import RowBlocks
from decoupling.inference.rows.sample import RowSample

# A learned gamma has arrived when it is no further from its end than so many of its standard
# deviations. Ten times closer takes several times as many iterations where rows follow slowly.
_NEAR_GAMMA: Final = 0.05
# What the moves of gamma are taken to shrink by, from one to the next, is at most this: with 1 it
# would never arrive.
_SLOWEST: Final = 0.9999
# Lengths of leaps, in the order in which they take turns. A plain step multiplies the distance to
# the end by l, which differs by direction and is near 1 in slow ones. A leap of length a, and the
# step after it, multiply it by l (1 - a (1 - l))^2. So a long leap helps in slow directions and
# enlarges errors in the others, even those of rounding. The three factors multiplied are at most 1
# for every l from 0 to 1, and the three leaps go as far as seventy steps: T does not depend on how
# its statistics were rounded. With twice the lengths it would.
_LEAPS_IN_TURN: Final = (29.0, 3.6, 1.55)
# Iterations of an interrupted run that rows replay at a time: their T are then in memory together.
_REPLAYED_TOGETHER: Final = 20
# Iterations in which the rows of a sample settle, at most; a few dozen are usual.
_SETTLING: Final = 200
# They have settled when an iteration raises the bound by less than this per observation: slopes of
# rows are those of fixed points.
_SETTLED: Final = 1e-12


@dataclass(frozen=True, eq=False)
class Ascent:
    """All that an optimiser works with.

    Attributes
    ----------
    problem : AscentProblem
        What is given.
    state : State
        Where to begin; it is updated, and so are the rows.
    method : Method
        How to evaluate E[ln X].
    blocks : Blocks
        The rows.
    options : AscentOptions
        How to ascend.
    monitor : Monitor
        Says when to stop.
    checkpoint : Checkpoint or None
        Where to keep every iteration.
    """

    problem: AscentProblem
    state: State
    method: Method
    blocks: Blocks
    options: AscentOptions
    monitor: Monitor
    checkpoint: Checkpoint | None = None


def natural_ascent(ascent: Ascent) -> None:
    """Natural-gradient ascent: steps of every row of Y, then a step of T.

    The terms of a state come for free with the step of Y that leaves it. When they say that it is
    time to stop, that step is the last iteration.
    """
    problem, state, blocks = ascent.problem, ascent.state, ascent.blocks
    options, monitor = ascent.options, ascent.monitor
    method = shared_steps.evaluator(ascent.method, state, blocks)
    if not isinstance(method, CoordinateMethod):
        shared_steps.begin_backtracking(state, method, blocks)
    # If T and gamma are known, each row has a limit of its own, which long leaps cannot change.
    alone = not options.learn_transitions and not state.class_prior.learned
    leaps = cycle((LONGEST_LEAP,) if alone else _LEAPS_IN_TURN)
    leap, moves = 0.0, [0.0]
    if ascent.checkpoint is not None:
        leap, moves = _resume(ascent, ascent.checkpoint, leaps)
        method = shared_steps.evaluator(method, state, blocks)
    while len(monitor.history) < monitor.max_iter:
        shared = shared_steps.shared_terms(problem, state)
        crawling = isinstance(method, CoordinateMethod) and leap == 0.0
        leap = next(leaps) if monitor.slow or not options.learn_transitions else 0.0
        statistics = row_steps.local_pass(
            state.class_prior.mean, method, blocks,
            longest_leap=leap, local_steps=options.local_steps,
        )  # fmt: skip
        terms = statistics.before + shared
        if monitor.stop(terms, crawling=crawling, unsettled=_far_to_go(moves) > _NEAR_GAMMA):
            break
        if options.learn_transitions:
            statistic = statistics.transition_statistic
            method = shared_steps.global_step(problem, state, method, statistic, blocks)
        else:
            shared_steps.prepare(method, blocks)
        moves.append(shared_steps.class_prior_step(problem, state, method, blocks))
        parameters = state.transitions.parameters
        monitor.need_finite("T or gamma", parameters, state.class_prior.mean)
        if ascent.checkpoint is not None:
            done = Iteration(leap, terms, parameters, state.class_prior, moves[-1])
            ascent.checkpoint.save(len(monitor.history) - 1, done)
    method = shared_steps.evaluator(method, state, blocks)
    monitor.finish(shared_steps.total_terms(problem, state, method, blocks))


def _resume(
    ascent: Ascent, checkpoint: Checkpoint, leaps: Iterator[float]
) -> tuple[float, list[float]]:
    """Repeat the steps of an interrupted run; return its last leap and the moves of gamma."""
    monitor, leap, moves = ascent.monitor, 0.0, [0.0]
    done = checkpoint.iterations(ascent.state.class_prior, monitor.max_iter)
    _replay(ascent, done)
    for past in done:
        leap = next(leaps) if past.leap > 0.0 else 0.0
        monitor.history.append(past.terms)
        moves.append(past.move)
    return leap, moves


def _replay(ascent: Ascent, done: list[Iteration]) -> None:
    """Take the rows, and the state, to where these iterations had taken them."""
    state, local_steps = ascent.state, ascent.options.local_steps
    for first in range(0, len(done), _REPLAYED_TOGETHER):
        past: list[tuple[CoordinateMethod, FloatArray, float]] = []
        for one in done[first : first + _REPLAYED_TOGETHER]:
            method = ascent.method.of(state.transitions)
            assert isinstance(method, CoordinateMethod)
            past.append((method, state.class_prior.mean, one.leap))
            state.transitions = state.transitions.replace(one.transitions)
            state.class_prior = one.class_prior
        ascent.blocks.update(partial(_replayed, past=past, local_steps=local_steps), nothing)


def _replayed(
    rows: Rows, past: list[tuple[CoordinateMethod, FloatArray, float]], local_steps: int
) -> None:
    for method, gamma, leap in past:
        step = partial(row_steps.coordinate_step, method=method, gamma=gamma, longest_leap=leap)
        row_steps.several(step, local_steps, rows)


def _far_to_go(moves: list[float]) -> float:
    """Distance of gamma from its end, in its standard deviations, from the last two of its moves.

    ``moves`` are in standard deviations given the rows. If each move is r times the one before,
    r / (1 - r) of the last one is left. The rows do not tell a share r of gamma, so its full
    standard deviation is larger than that given the rows, by the root of 1 / (1 - r).
    """
    if len(moves) < 3:
        return moves[-1]
    rate = min(moves[-1] / max(moves[-2], np.finfo(float).tiny), _SLOWEST)
    return float(moves[-1] * rate / np.sqrt(1.0 - rate))


Optimiser: TypeAlias = Callable[[Ascent], None]


def ascend(
    problem: AscentProblem,
    state: State,
    method: Method,
    blocks: Blocks,
    options: AscentOptions,
    *,
    optimiser: Optimiser = natural_ascent,
    checkpoint: Checkpoint | None = None,
) -> Trace:
    """Maximise the bound from ``state``, which is updated, and return how it went.

    The arguments are those of `Ascent`. The run stops when an iteration raises the bound by less
    than the tolerance per observation.
    """
    monitor = Monitor(options, problem.total_evidence)
    optimiser(Ascent(problem, state, method, blocks, options, monitor, checkpoint))
    return monitor.trace()


def settled(
    sample: RowSample, transitions: DirichletRows, class_prior: Gamma, method: Method
) -> RowSample:
    """The rows of a sample at their fixed points under this T, gamma and method."""
    evidence = sample.weight.sum(axis=1)
    labels = np.ones(sample.weight.shape[1], dtype=bool)
    concentration = sample.concentration.copy()
    rows = Rows(sample.weight / evidence[:, None], labels, evidence, concentration)
    problem = AscentProblem(class_prior, transitions, rows.count, rows.total_evidence)
    options = AscentOptions(learn_transitions=False, max_iter=_SETTLING, tol=_SETTLED)
    with RowBlocks(rows, n_threads=1) as blocks, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ascend(problem, State(transitions, class_prior), method, blocks, options)
    return replace(sample, concentration=rows.class_concentration)
