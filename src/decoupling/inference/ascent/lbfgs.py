"""The ascent by L-BFGS over the same bound, to compare natural gradients with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize

from decoupling._typing import BoolArray, FloatArray
from decoupling.inference.ascent import elbo, shared_steps
from decoupling.inference.ascent.ascend import Ascent
from decoupling.inference.ascent.state import AscentProblem, State
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.method import Method
from decoupling.inference.rows.block import Rows
from decoupling.inference.rows.blocks import RowBlocks

# SciPy's own reasons to stop are switched off: it stops when the monitor says so.
_UNTIL_TOLD: Final = {"maxfun": 10**9, "ftol": 0.0, "gtol": 0.0}


def lbfgs_ascent(ascent: Ascent) -> None:
    """L-BFGS in the logarithms of all concentrations.

    Holds about twenty copies of the class concentrations. q(gamma) follows every trial.
    """
    state, monitor, blocks = ascent.state, ascent.monitor, ascent.blocks
    assert isinstance(blocks, RowBlocks)
    variables = _Variables(ascent, blocks.rows.class_concentration)
    latest: dict[bytes, Terms] = {}

    # The line search may try steps that are far too long; they come out as lower, not as warnings.
    # Where q(gamma) is best the bound does not change with it: its gradient is that of the others.
    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def objective(logs: FloatArray) -> tuple[float, FloatArray]:
        trial = variables.state_at(logs)
        terms, *gradients = total_gradient(ascent.problem, trial, ascent.method, blocks)
        latest[logs.tobytes()] = terms
        return -terms.elbo, -variables.by_logs(trial, *gradients)

    def watch(intermediate_result: Any) -> None:
        terms = latest[intermediate_result.x.tobytes()]
        latest.clear()
        if monitor.stop(terms):
            raise StopIteration

    begin = variables.logs
    value, _ = objective(begin)
    if not monitor.stop(latest[begin.tobytes()]):
        found = minimize(
            objective,
            begin,
            jac=True,
            method="L-BFGS-B",
            callback=watch,
            options=_UNTIL_TOLD | {"maxiter": monitor.max_iter + 1},
        )
        monitor.stopped_because = monitor.stopped_because or "line search"
        begin = found.x if -found.fun >= -value else begin
    final = variables.state_at(begin)
    state.transitions, state.class_prior = final.transitions, final.class_prior


@dataclass(frozen=True, eq=False)
class _Variables:
    """Logarithms of the concentrations of all rows, and of the free ones of T, in one vector.

    ``classes``, (N, C), is where the rows are; it is changed.
    """

    ascent: Ascent
    classes: FloatArray

    @cached_property
    def start(self) -> DirichletRows:
        """q(T) at the start."""
        return self.ascent.state.transitions

    @cached_property
    def free(self) -> BoolArray:
        """Entries of T that are learned, (C, S)."""
        prior, learn = self.ascent.problem.transition_prior, self.ascent.options.learn_transitions
        return np.asarray((prior.parameters > 0) & ~prior.known[:, None] & learn)

    @property
    def logs(self) -> FloatArray:
        """The vector at the start."""
        parts = [self.classes.ravel(), self.start.parameters[self.free]]
        return np.asarray(np.log(np.concatenate(parts)))

    def state_at(self, logs: FloatArray) -> State:
        """Return the state at these logarithms; the rows are put there, too."""
        by_row, by_transition = np.split(np.exp(logs), [self.classes.size])
        self.classes[:] = by_row.reshape(self.classes.shape)
        parameters = self.start.parameters.copy()
        parameters[self.free] = by_transition
        trial = State(self.start.replace(parameters), self.ascent.state.class_prior)
        shared_steps.suit_class_prior(self.ascent.problem, trial, self.ascent.blocks)
        return trial

    def by_logs(self, trial: State, by_class: FloatArray, by_transition: FloatArray) -> FloatArray:
        """Gradient in the vector, from those in Pi, (N, C), and in Theta, (C, S)."""
        of_free = (by_transition * trial.transitions.parameters)[self.free]
        return np.concatenate([(by_class * self.classes).ravel(), of_free])


def total_gradient(
    problem: AscentProblem, state: State, method: Method, blocks: RowBlocks
) -> tuple[Terms, FloatArray, FloatArray]:
    """All terms of the bound with its gradients in Pi (N, C) and in Theta (C, S)."""
    method = shared_steps.evaluator(method, state, blocks)
    gradients = partial(_block_gradient, method=method, gamma=state.class_prior.mean)
    by_class, by_transition = zip(*blocks.each(gradients), strict=True)
    own = elbo.transition_gradient(state.transitions, problem.transition_prior)
    return (
        shared_steps.total_terms(problem, state, method, blocks),
        np.concatenate(by_class),
        sum(by_transition, own),
    )


def _block_gradient(rows: Rows, method: Method, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a block adds to the gradients, (n, C) and (C, S)."""
    slopes = method.slopes(rows.class_concentration, rows.repeated(rows.weight()))
    own = elbo.class_gradient(rows.class_concentration, gamma)
    return slopes.by_class + rows.repeated(own), slopes.by_transition
