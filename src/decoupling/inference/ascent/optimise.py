"""The ascent: natural gradients or L-BFGS over the same bound, and why it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from decoupling._text import CONVERGENCE, Message
from decoupling._typing import FloatArray
from decoupling._validation import frozen, warn_user
from decoupling.diagnostics.reasons import convergence
from decoupling.diagnostics.record import Reason
from decoupling.inference.ascent import elbo, steps
from decoupling.inference.ascent.checkpoint import Checkpoint, Round
from decoupling.inference.ascent.class_prior import KnownGamma
from decoupling.inference.ascent.elbo import Terms
from decoupling.inference.ascent.steps import Problem, State
from decoupling.inference.math.expected_log import make_method
from decoupling.inference.math.method import CoordinateMethod, Method
from decoupling.inference.rows.blocks import Blocks, RowBlocks, nothing
from decoupling.inference.rows.rows import Rows

Callback = Callable[[int, Terms], Any]

# Plain steps gain most at first. Once an iteration adds less than this share of the gain so far,
# rows crawl along a valley, and extrapolating their steps is worth twice the cost of a step.
_SLOW: Final = 0.005
# So it is when the end is near by this multiple of the tolerance: small gains may be a crawl.
_NEAR: Final = 10.0
# A tolerance below this, per observation, asks for more than a small gain: it must have been made
# by extrapolated steps, which do not crawl.
_STRICT: Final = 1e-4
# A learned gamma has arrived when so many of its standard deviations are left, and its moves may
# shrink as slowly as by this factor.
_NEAR_GAMMA: Final = 0.05
_SLOWEST: Final = 0.9999
# A leap of length a, and the step after it, multiply what is left of a way by l (1 - a (1 - l))^2,
# where plain steps multiply it by l: a long leap along the slow ways, l near 1, inflates whatever
# there is on the others, be it only rounding. The product of these leaps in turn does so for no l
# from 0 to 1, and yet they go as far as seventy steps: T learned with them does not depend on how
# its statistics were rounded.
_LEAPS_IN_TURN: Final = (29.0, 3.6, 1.55)
# Rounds of an interrupted run that rows replay at a time: their T are then in memory together.
_REPLAYED_TOGETHER: Final = 20


@dataclass(frozen=True, eq=False)
class Trace:
    """Every term of the bound at every iteration, and why the run stopped.

    Attributes
    ----------
    elbo, likelihood, prior, entropy, constant : arrays (n_iter + 1,)
        Entry 0 is the start, entry k the state after k iterations.
    n_iter : int
        Iterations done.
    converged : bool
        Whether the run ended because an iteration raised the bound by less than the tolerance.
    stopped_because : {"tolerance", "max_iter", "callback", "line search"}
        Why the run ended; "line search": L-BFGS found no higher point, be it for rounding.

    Examples
    --------
    >>> from decoupling import TransitionPrior, infer
    >>> trace = infer([[0.78, 0.22], [0.21, 0.79]], TransitionPrior.noisy(["cat", "dog"])).trace
    >>> trace.stopped_because, len(trace.elbo) == trace.n_iter + 1
    ('tolerance', True)
    >>> terms = trace.likelihood + trace.prior + trace.entropy + trace.constant
    >>> bool(np.allclose(terms, trace.elbo))
    True
    """

    stopped_because: str
    elbo: FloatArray
    likelihood: FloatArray
    prior: FloatArray
    entropy: FloatArray
    constant: FloatArray

    @property
    def n_iter(self) -> int:
        """Iterations done."""
        return len(self.elbo) - 1

    @property
    def converged(self) -> bool:
        """Whether it ended because an iteration raised the bound by less than the tolerance."""
        return self.stopped_because == "tolerance"

    @property
    def fall(self) -> float:
        """By how much an iteration has lowered the bound at most: 0, but for rounding."""
        return float(max(-np.diff(self.elbo).min(initial=0.0), 0.0))

    @property
    def convergence(self) -> Reason:
        """Whether the ascent arrived, in words."""
        return convergence(
            self.n_iter, self.stopped_because, self.fall, float(np.abs(self.elbo).max())
        )


class Monitor:
    """Collects the terms of each iteration and decides when to stop."""

    def __init__(
        self, tol: float, observations: float, max_iter: int, callback: Callback | None
    ) -> None:
        self.tolerance = tol * observations
        self.strict = tol < _STRICT
        self.max_iter = max_iter
        self.callback = callback
        self.history: list[Terms] = []
        self.stopped_because = ""

    def stop(self, terms: Terms, *, crawling: bool = False, unsettled: bool = False) -> bool:
        """Take in the terms of one more state; whether to go on no further.

        ``crawling`` says that its steps could have been longer, ``unsettled`` that gamma is not
        yet where it will be.
        """
        self.take(terms)
        iteration = len(self.history) - 1
        small = iteration > 0 and terms.elbo - self.history[-2].elbo <= self.tolerance
        if small and not unsettled and not (crawling and self.strict):
            self.stopped_because = "tolerance"
        elif iteration >= self.max_iter:
            self.stopped_because = "max_iter"
        if self.callback is not None and self.callback(iteration, terms):
            self.stopped_because = self.stopped_because or "callback"
        return bool(self.stopped_because)

    def take(self, terms: Terms) -> None:
        """Record the terms of one more state, which must be finite."""
        self.need_finite("the bound", terms.elbo)
        self.history.append(terms)

    def need_finite(self, what: str, *values: float | FloatArray) -> None:
        """Stop at once where a number is none: all that follows would be none, either."""
        if all(np.isfinite(value).all() for value in values):
            return
        done = len(self.history)
        if done == 0:
            raise FloatingPointError(f"There is no number for {what} at the start.")
        raise FloatingPointError(
            f"There is no number for {what} after iteration {done}, where the bound was "
            f"{self.history[-1].elbo:.6g} before it. max_iter={done - 1} gives the last good "
            "answer; what a checkpoint has kept is good, and the same call goes on from there. "
            "Input that is finite should not lead here: please report it."
        )

    @property
    def slow(self) -> bool:
        """Whether the last iteration added little to the gain so far, or is nearly the last."""
        if len(self.history) < 2:
            return False
        start, before, last = (self.history[k].elbo for k in (0, -2, -1))
        return last - before < max(_SLOW * (last - start), _NEAR * self.tolerance)

    def finish(self, terms: Terms) -> None:
        """Take in the terms of the state that is handed out.

        A run that was told to stop has ended: the callback is not asked again.
        """
        if self.stopped_because:
            self.take(terms)
        else:
            self.stop(terms)

    def trace(self) -> Trace:
        """What was collected; warns when the iterations ran out."""
        if self.stopped_because == "max_iter":
            rise = self.history[-1].elbo - self.history[-2].elbo if len(self.history) > 1 else 0.0
            warn_user(
                Message(
                    "not-converged",
                    "Stopped {at max_iter=|after }{n_iter}{ before converging|"
                    " iterations, not converged}: the last iteration still raised the bound by "
                    "{rise:.3g} (tolerance {tolerance:.3g}){. Raise max_iter, or tol if this is "
                    "close enough|} {guide}.",
                    n_iter=self.max_iter,
                    rise=rise,
                    tolerance=self.tolerance,
                    guide=CONVERGENCE,
                ),
                ConvergenceWarning,
            )
        names = ("elbo", "likelihood", "prior", "entropy", "constant")
        columns = [frozen(np.array([getattr(t, name) for t in self.history])) for name in names]
        return Trace(self.stopped_because, *columns)


def natural_ascent(
    problem: Problem,
    state: State,
    monitor: Monitor,
    blocks: Blocks,
    *,
    learn_transitions: bool,
    local_steps: int = 1,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Natural-gradient ascent: steps of every row of Y, then a step of T; updates ``state``.

    The terms of a state come for free with the step of Y that leaves it. When they say that it is
    time to stop, that step is the last iteration.
    """
    method = steps.evaluator(problem, state, blocks)
    if not isinstance(method, CoordinateMethod):
        steps.begin_backtracking(state, method, blocks)
    # With T and gamma known rows go to their own limits, and what they leapt over is forgotten.
    alone = not learn_transitions and isinstance(state.class_prior, KnownGamma)
    leaps = cycle((steps.LONGEST_LEAP,) if alone else _LEAPS_IN_TURN)
    leap, moves = 0.0, [0.0]
    if checkpoint is not None:
        done = checkpoint.rounds(state.class_prior, monitor.max_iter)
        _replay(problem, state, blocks, done, local_steps)
        method = steps.evaluator(problem, state, blocks)
        for past in done:
            leap = next(leaps) if past.leap > 0.0 else 0.0
            monitor.history.append(past.terms)
            moves.append(past.move)
    while len(monitor.history) < monitor.max_iter:
        shared = steps.shared_terms(problem, state)
        crawling = isinstance(method, CoordinateMethod) and leap == 0.0
        leap = next(leaps) if monitor.slow or not learn_transitions else 0.0
        statistics = steps.local_pass(
            state, method, blocks, longest_leap=leap, local_steps=local_steps
        )
        terms = statistics.before + shared
        if monitor.stop(terms, crawling=crawling, unsettled=_far_to_go(moves) > _NEAR_GAMMA):
            break
        if learn_transitions:
            statistic = statistics.transition_statistic
            method = steps.global_step(problem, state, method, statistic, blocks)
        else:
            steps.prepare(method, blocks)
        moves.append(steps.class_prior_step(problem, state, method, blocks))
        parameters = state.transitions.parameters
        monitor.need_finite("T or gamma", parameters, state.class_prior.mean)
        if checkpoint is not None:
            done_now = Round(leap, terms, parameters, state.class_prior, moves[-1])
            checkpoint.save(len(monitor.history) - 1, done_now)
    method = steps.evaluator(problem, state, blocks)
    monitor.finish(steps.total_terms(problem, state, method, blocks))


def _replay(
    problem: Problem, state: State, blocks: Blocks, done: list[Round], local_steps: int
) -> None:
    """Take the rows, and the state, to where the rounds of an interrupted run had taken them."""
    for first in range(0, len(done), _REPLAYED_TOGETHER):
        past: list[tuple[CoordinateMethod, FloatArray, float]] = []
        for one in done[first : first + _REPLAYED_TOGETHER]:
            method = make_method(problem.method, state.transitions, problem.order)
            assert isinstance(method, CoordinateMethod)
            past.append((method, state.class_prior.mean, one.leap))
            state.transitions = state.transitions.replace(one.transitions)
            state.class_prior = one.class_prior
        blocks.update(partial(_replayed, past=past, local_steps=local_steps), nothing)


def _replayed(
    rows: Rows, past: list[tuple[CoordinateMethod, FloatArray, float]], local_steps: int
) -> None:
    for method, gamma, leap in past:
        step = partial(steps.coordinate_step, method=method, gamma=gamma, longest_leap=leap)
        steps.several(step, local_steps, rows)


def _far_to_go(moves: list[float]) -> float:
    """How far gamma has to go yet, in its standard deviations, from the last two of its moves.

    ``moves`` are in standard deviations given the rows. If each is r times the one before,
    r / (1 - r) of the last is left; and as r is the share of what the rows do not tell, the full
    deviation is larger by the root of 1 / (1 - r).
    """
    if len(moves) < 3:
        return moves[-1]
    rate = min(moves[-1] / max(moves[-2], np.finfo(float).tiny), _SLOWEST)
    return float(moves[-1] * rate / np.sqrt(1.0 - rate))


def lbfgs_ascent(
    problem: Problem, state: State, monitor: Monitor, blocks: RowBlocks, *, learn_transitions: bool
) -> None:
    """L-BFGS in the logarithms of all concentrations; updates ``state``.

    Holds about twenty copies of the class concentrations. q(gamma) follows every trial.
    """
    classes = blocks.rows.class_concentration
    start, prior = state.transitions, problem.transition_prior
    free = (prior.parameters > 0) & ~prior.known[:, None] & learn_transitions
    latest: dict[bytes, Terms] = {}

    def unpack(variables: FloatArray) -> State:
        """The state at these logarithms; the rows are put there, too."""
        by_row, by_transition = np.split(np.exp(variables), [classes.size])
        classes[:] = by_row.reshape(classes.shape)
        parameters = start.parameters.copy()
        parameters[free] = by_transition
        trial = State(start.replace(parameters), state.class_prior)
        steps.suit_class_prior(problem, trial, blocks)
        return trial

    # The line search may try steps that are far too long; they come out as lower, not as warnings.
    # Where q(gamma) is best the bound does not change with it: its gradient is that of the others.
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def objective(variables: FloatArray) -> tuple[float, FloatArray]:
        trial = unpack(variables)
        terms, by_class, by_transition = total_gradient(problem, trial, blocks)
        gradient = np.concatenate(
            [
                (by_class * classes).ravel(),
                (by_transition * trial.transitions.parameters)[free],
            ]
        )
        latest[variables.tobytes()] = terms
        return -terms.elbo, -gradient

    def watch(intermediate_result: Any) -> None:
        terms = latest[intermediate_result.x.tobytes()]
        latest.clear()
        if monitor.stop(terms):
            raise StopIteration

    begin = np.log(np.concatenate([classes.ravel(), start.parameters[free]]))
    value, _ = objective(begin)
    if not monitor.stop(latest[begin.tobytes()]):
        found = minimize(
            objective,
            begin,
            jac=True,
            method="L-BFGS-B",
            callback=watch,
            options={"maxiter": monitor.max_iter + 1, "maxfun": 10**9, "ftol": 0.0, "gtol": 0.0},
        )
        monitor.stopped_because = monitor.stopped_because or "line search"
        begin = found.x if -found.fun >= -value else begin
    final = unpack(begin)
    state.transitions, state.class_prior = final.transitions, final.class_prior


def total_gradient(
    problem: Problem, state: State, blocks: RowBlocks
) -> tuple[Terms, FloatArray, FloatArray]:
    """All terms of the bound with its gradients in Pi (N, C) and in Theta (C, S)."""
    method = steps.evaluator(problem, state, blocks)
    gradients = partial(_block_gradient, method=method, gamma=state.class_prior.mean)
    by_class, by_transition = zip(*blocks.each(gradients), strict=True)
    own = elbo.transition_gradient(state.transitions, problem.transition_prior)
    return (
        steps.total_terms(problem, state, method, blocks),
        np.concatenate(by_class),
        sum(by_transition, own),
    )


def _block_gradient(rows: Rows, method: Method, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a block adds to the gradients, (n, C) and (C, S)."""
    slopes = method.slopes(rows.class_concentration, rows.repeated(rows.weight()))
    own = elbo.class_gradient(rows.class_concentration, gamma)
    return slopes.by_class + rows.repeated(own), slopes.by_transition


OPTIMISERS: Final = ("natural", "l-bfgs")


def ascend(
    problem: Problem,
    state: State,
    blocks: Blocks,
    *,
    optimiser: str = "natural",
    learn_transitions: bool,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    local_steps: int = 1,
    checkpoint: Checkpoint | None = None,
) -> Trace:
    """Maximise the bound from ``state``, which is updated; how it went.

    The run stops when an iteration raises the bound by less than ``tol`` per observation.
    """
    monitor = Monitor(tol, problem.total_evidence, max_iter, callback)
    if optimiser == "natural":
        natural_ascent(
            problem,
            state,
            monitor,
            blocks,
            learn_transitions=learn_transitions,
            local_steps=local_steps,
            checkpoint=checkpoint,
        )
    else:
        assert isinstance(blocks, RowBlocks)
        lbfgs_ascent(problem, state, monitor, blocks, learn_transitions=learn_transitions)
    return monitor.trace()
