"""How an ascent goes: its trace, and when it stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from decoupling._text import CONVERGENCE, Message
from decoupling._typing import FloatArray
from decoupling._validation import frozen, warn_user
from decoupling.diagnostics.reasons import convergence
from decoupling.diagnostics.record import Reason
from decoupling.inference.ascent.state import AscentOptions
from decoupling.inference.ascent.terms import Terms

# Plain steps gain most at first. Once an iteration adds less than this share of the gain so far,
# rows crawl along a valley, and extrapolating their steps is worth twice the cost of a step.
_SLOW: Final = 0.005
# Steps are extrapolated as well once an iteration adds less than this multiple of the tolerance:
# so small a gain may be a crawl, and not the end.
_NEAR: Final = 10.0
# A tolerance below this, per observation, asks for more than a small gain: it must have been made
# by extrapolated steps, which do not crawl.
_STRICT: Final = 1e-4


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
        Why the run ended; "line search" says that L-BFGS found no higher point.

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
        """Largest amount by which an iteration has lowered the bound: 0, but for rounding."""
        return float(max(-np.diff(self.elbo).min(initial=0.0), 0.0))

    @property
    def convergence(self) -> Reason:
        """Whether the ascent arrived, in words."""
        return convergence(
            self.n_iter, self.stopped_because, self.fall, float(np.abs(self.elbo).max())
        )


class Monitor:
    """Collects the terms of each iteration and decides when to stop.

    Parameters
    ----------
    options : AscentOptions
        When to stop.
    observations : float
        Number of observations in all: the tolerance is for one of them.
    """

    def __init__(self, options: AscentOptions, observations: float) -> None:
        self.tolerance = options.tol * observations
        self.strict = options.tol < _STRICT
        self.max_iter = options.max_iter
        self.callback = options.callback
        self.history: list[Terms] = []
        self.stopped_because = ""

    def stop(self, terms: Terms, *, crawling: bool = False, unsettled: bool = False) -> bool:
        """Take in the terms of one more state, and say whether to stop there.

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
        self.need_finite("the bound", terms.elbo, terms.prior, terms.entropy)
        self.history.append(terms)

    def need_finite(self, what: str, *values: float | FloatArray) -> None:
        """Raise an error at once where a number is not finite: nothing after it would be."""
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
        """Return what was collected; warns when the iterations ran out."""
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
