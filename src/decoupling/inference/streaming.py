"""Rows that are seen once: stochastic variational inference, a block at a time."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Real
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from decoupling._typing import FloatArray
from decoupling._validation import all_or_nothing, check_count, check_evidence
from decoupling.inference.ascent.ascend import ascend
from decoupling.inference.ascent.class_prior import ClassPrior, as_class_prior
from decoupling.inference.ascent.gamma_posterior import KnownGamma
from decoupling.inference.ascent.monitor import Trace
from decoupling.inference.ascent.shared_steps import class_log_sum
from decoupling.inference.ascent.start import start_classes, starting_transitions
from decoupling.inference.ascent.state import AscentOptions, AscentProblem, State
from decoupling.inference.checks import as_evidence
from decoupling.inference.infer import Asked, as_prior, record
from decoupling.inference.math import dirichlet
from decoupling.inference.math.bound import Bound
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.posterior import Posterior
from decoupling.inference.rows.block import Rows
from decoupling.inference.rows.blocks import AllRows
from decoupling.inference.rows.sources import open_rows
from decoupling.labels.frames import in_label_order

# A block has settled, and T learns from it, when an iteration raises the bound by less than this
# per observation: the default of `infer`.
_SETTLED: Final = 1e-6


class StreamingInference:
    r"""T, gamma and class distributions from blocks of rows that are seen once.

    Each block settles under the T and gamma of the blocks before it. Its expected counts of
    transitions per row, m, then move the average over the stream, and T is what so many rows with
    that average say:

    .. math:: M \leftarrow (1 - \rho) M + \rho \, m, \qquad \Theta = A + N M, \qquad
        \rho = \left( \frac n N \right)^{forgetting}

    with n rows in the block and N seen so far. With ``forgetting=1`` every row counts alike; below
    it later blocks count for more, which settled under a better T. It is the stochastic variational
    inference of Hoffman et al. (2013) with the decaying step :math:`t^{-forgetting}` for blocks of
    equal size. A learned gamma follows the average of E[ln Y] in the same way.

    Parameters
    ----------
    transitions, class_prior, evidence, transition_evidence
        As in `infer`; ``evidence`` is one number.
    forgetting : float
        Above 0.5, at most 1.
    max_iter : int
        Most steps in which the rows of a block settle.

    Attributes
    ----------
    posterior_ : Posterior
        Of the last block, with the T of all of them: its rows stand for all that were seen.
        ``posterior_.predict`` serves other rows.
    n_rows_seen_ : float
        Rows so far, N.

    Examples
    --------
    >>> import numpy as np
    >>> from decoupling import StreamingInference, TransitionPrior
    >>> rng = np.random.default_rng(0)
    >>> stream = StreamingInference(TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=20))
    >>> for _ in range(10):
    ...     classes = rng.dirichlet([0.1, 0.1], 200)
    ...     _ = stream.partial_fit(classes @ [[0.9, 0.1], [0.2, 0.8]])
    >>> stream.posterior_.transitions.round(1)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """

    def __init__(
        self,
        transitions: Any,
        *,
        class_prior: ClassPrior | ArrayLike | None = None,
        evidence: str | float = "auto",
        transition_evidence: float = 1.0,
        forgetting: float = 0.6,
        max_iter: int = 50,
    ) -> None:
        _check_forgetting(forgetting)
        check_count("max_iter", max_iter)
        self.prior = as_prior(transitions)
        self.evidence = float(check_evidence("evidence", as_evidence(evidence)))
        kappa_t = float(check_evidence("transition_evidence", transition_evidence))
        self.forgetting, self.max_iter = float(forgetting), max_iter
        self.n_rows_seen_ = 0.0
        scale = self.evidence / kappa_t
        self._transition_prior = DirichletRows.of_means(
            self.prior.mean, self.prior.strength * scale
        )
        self._asked = Asked(self.prior, self._transition_prior, "bound", 1, 1.0 / scale)
        self._class_prior = as_class_prior(class_prior).start(self.prior.classes)
        self._transitions: DirichletRows

    @all_or_nothing
    def partial_fit(self, label_proba: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more block of rows.

        Parameters
        ----------
        label_proba : array-like (n, S), or anything else that `infer` takes
            p(label | x).
        sample_weight : array-like (n,), optional
            How many equal rows each row stands for.
        """
        possible = self._transition_prior.possible_labels
        rows = open_rows(
            in_label_order(label_proba, self.prior.labels),
            possible,
            len(self.prior.classes),
            self.evidence,
            sample_weight,
        )
        gamma = KnownGamma(self._class_prior.mean)
        seen = self._transition_prior.columns(possible)
        problem = AscentProblem(gamma, seen, rows.count, rows.total_evidence)
        options = AscentOptions(learn_transitions=False, max_iter=self.max_iter, tol=_SETTLED)
        first = self.n_rows_seen_ == 0.0
        transitions = (
            starting_transitions(problem, learn_transitions=True) if first else self._transitions
        )
        method, state = Bound(transitions), State(transitions, gamma)
        with rows as blocks, warnings.catch_warnings():
            # Later blocks make up for one that has not quite settled.
            warnings.simplefilter("ignore", ConvergenceWarning)
            start_classes(problem, method, blocks, learn_transitions=False)
            trace = ascend(problem, state, method, blocks, options)
            packed = blocks.query(partial(_transition_counts, method=method), np.add)
            counts = method.transition_matrix(packed)
            learned = self._class_prior.learned
            log_sum = class_log_sum(blocks) if learned else np.zeros(len(gamma.mean))
        n_rows = self.n_rows_seen_ + rows.count
        weight = (rows.count / n_rows) ** self.forgetting
        if first:
            self._mean_counts, self._mean_logs = np.zeros_like(counts), np.zeros_like(log_sum)
        self._mean_counts = (1.0 - weight) * self._mean_counts + weight * counts / rows.count
        self._mean_logs = (1.0 - weight) * self._mean_logs + weight * log_sum / rows.count
        self._class_prior = self._class_prior.stepped(n_rows * self._mean_logs, n_rows)
        self._transitions = seen.replace(seen.parameters + n_rows * self._mean_counts)
        self.n_rows_seen_ = n_rows
        self.posterior_ = self._posterior(rows, trace)
        return self

    def _posterior(self, rows: AllRows, trace: Trace) -> Posterior:
        counts = np.asarray(rows.multiplicity * (self.n_rows_seen_ / rows.count))
        state = State(self._transitions, self._class_prior)
        return record(rows, state, trace, self._asked, counts)


def _check_forgetting(forgetting: object) -> None:
    if not (isinstance(forgetting, Real) and 0.5 < float(forgetting) <= 1.0):
        raise ValueError(f"forgetting must be above 0.5 and at most 1; got {forgetting!r}.")


def _transition_counts(rows: Rows, method: Bound) -> FloatArray:
    """Expected counts of transitions of a block, packed."""
    seen = method.rows(dirichlet.mean_log(rows.class_concentration))
    return seen.transition_counts(rows.repeated(rows.weight()))
