"""Posterior: what was inferred, as an immutable record."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from sklearn.utils import check_random_state

from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling._validation import (
    check_count,
    check_evidence,
    check_label_proba,
    first_offence,
    frozen,
)
from decoupling.inference import dirichlet
from decoupling.inference.blocks import BlockMap
from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.optimise import Callback, Trace, ascend
from decoupling.inference.start import first_state, warm_state
from decoupling.inference.steps import Problem, default_block_size


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(Y) and q(T): class distributions of each row, and the labelling process.

    Made by `infer`. Its own arrays are read-only; properties and methods return new ones.

    Attributes
    ----------
    class_concentration : array (N, C)
        q(Y_i) = Dir(class_concentration_i); called Pi in the paper.
    class_prior : array (C,)
        Dirichlet prior of each row of Y; called gamma.
    evidence : float
        How many observations a row counted for (the mean, if rows differed).
    trace : Trace
        The bound at every iteration, and why the run stopped.
    classes, labels : tuple
        Names of the classes and of the labels.
    """

    class_concentration: FloatArray
    class_prior: FloatArray
    evidence: float
    trace: Trace
    classes: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    # q(T) in the units of the evidence, and what to multiply its concentrations with to report it.
    _transitions: DirichletRows
    _reported_share: float
    _method: str
    _order: int

    @property
    def transition_concentration(self) -> FloatArray:
        """q(T_c) = Dir(transition_concentration_c), (C, S); called Theta. ``inf`` if known."""
        reported = self._reported()
        known = np.where(reported.parameters > 0, np.inf, 0.0)
        return np.where(reported.known[:, None], known, reported.parameters)

    @property
    def class_proba(self) -> FloatArray:
        """E[Y] = p(class | x), (N, C)."""
        return dirichlet.mean(self.class_concentration)

    @property
    def transitions(self) -> FloatArray:
        """E[T] = p(label | class), (C, S)."""
        return self._transitions.mean()

    def transition_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for T, each (C, S).

        Equal tails of the Beta marginals. A known or impossible transition is its own interval.
        """
        reported = self._reported()
        lower, upper = _beta_interval(reported.parameters, level)
        known, mean = reported.known[:, None], reported.mean()
        return np.where(known, mean, lower), np.where(known, mean, upper)

    def class_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for p(class | x), each (N, C)."""
        return _beta_interval(self.class_concentration, level)

    def label_conditional(self, labels: ArrayLike) -> FloatArray:
        """p(class | label, x), (N, C): what the row's own label adds; called W in the paper.

        Proportional to E[T_{c, label_i}] E[Y_ic].

        Parameters
        ----------
        labels : array-like of int (N,)
            Column of ``label_proba`` that each row was given.
        """
        codes = _check_codes(labels, len(self.class_concentration), len(self.labels))
        first_offence(
            "labels",
            codes,
            ~self._transitions.possible_labels[codes],
            "a label that no class can emit",
            "Allow it in the transition prior, or correct these labels.",
        )
        return label_conditional(self.class_proba, self.transitions, codes)

    def draw(
        self, n: int, random_state: int | Generator | RandomState | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Draws of (Y, T) for multiple imputation: arrays (n, N, C) and (n, C, S)."""
        check_count("n", n)
        rng = as_generator(random_state)
        reported = self._reported()
        transitions = _draw_dirichlet(reported.parameters, n, rng)
        transitions = np.where(reported.known[:, None], reported.mean(), transitions)
        return _draw_dirichlet(self.class_concentration, n, rng), transitions

    def predict(
        self,
        label_proba: ArrayLike,
        *,
        evidence: ArrayLike | None = None,
        max_iter: int = 500,
        tol: float = 1e-12,
    ) -> Posterior:
        """Posterior of new rows, T as learned.

        Parameters
        ----------
        label_proba : array-like (N, S)
            p(s|x) of the new rows, columns as in `infer`.
        evidence : float or array-like (N,), optional
            How many observations a row counts for; as in `infer` by default, which is the mean if
            it was given per row.
        max_iter, tol : int, float
            As in `infer`. The default tolerance is smaller, since rows are independent here and
            should not depend on what else is in the batch.
        """
        proba = check_label_proba(label_proba, n_labels=len(self.labels))
        weight = check_evidence(
            "evidence", self.evidence if evidence is None else evidence, len(proba)
        )
        problem = make_problem(
            proba, weight, self.class_prior, self._transitions, self._method, self._order
        )
        return solve(
            problem,
            self._transitions,
            classes=self.classes,
            labels=self.labels,
            reported_share=self._reported_share,
            optimiser="natural",
            learn_transitions=False,
            max_iter=max_iter,
            tol=tol,
        )

    def _reported(self) -> DirichletRows:
        return self._transitions.replace(self._transitions.parameters * self._reported_share)


def as_generator(
    random_state: int | Generator | RandomState | None,
) -> Generator | RandomState:
    """Where draws come from: a seed, a RandomState, a Generator, or None."""
    if isinstance(random_state, Generator):
        return random_state
    state: RandomState = check_random_state(random_state)
    return state


def draw_categories(proba: FloatArray, rng: Generator | RandomState) -> IntArray:
    """A column drawn from the distribution in each row of ``proba``, (N,)."""
    cumulative = np.cumsum(proba, axis=1)
    # The last sum may miss 1 by rounding, which must not make an impossible column possible.
    bounds = (cumulative / cumulative[:, -1:])[:, :-1]
    return np.asarray((rng.uniform(size=len(proba))[:, None] >= bounds).sum(axis=1))


def label_conditional(
    class_proba: FloatArray, transitions: FloatArray, codes: AnyArray
) -> FloatArray:
    """p(y|s,x), (N, C), proportional to Y_ic T_cs with the row's own label s."""
    emits = transitions[:, codes].T  # (N, C): p(given label | class)
    joint = class_proba * emits
    # Where every class that can have the label is excluded, the label alone decides.
    joint = np.where(joint.any(axis=1, keepdims=True), joint, emits)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def make_problem(
    label_proba: AnyArray,
    evidence: FloatArray,
    class_prior: FloatArray,
    transition_prior: DirichletRows,
    method: str,
    order: int,
    block_size: int | None = None,
    multiplicity: FloatArray | None = None,
) -> Problem:
    """The problem restricted to the labels that some class can emit.

    A label that none can emit must not have been seen.
    """
    possible = transition_prior.possible_labels
    if not possible.all():
        for s in np.nonzero(~possible)[0]:
            first_offence(
                f"label_proba, column {s}",
                label_proba[:, s],
                label_proba[:, s] > 0,
                "the probability of a label that no class can emit",
                "Allow that label in the transition prior, or remove it from label_proba.",
            )
        transition_prior = transition_prior.columns(possible)
    n_classes, n_labels = transition_prior.parameters.shape
    if block_size is None:
        block_size = default_block_size(len(label_proba), n_classes, n_labels)
    count = np.array(1.0) if multiplicity is None else multiplicity
    return Problem(
        label_proba,
        possible,
        evidence,
        class_prior,
        transition_prior,
        method,
        order,
        block_size,
        count,
    )


def solve(
    problem: Problem,
    full_prior: DirichletRows,
    *,
    classes: tuple[Hashable, ...],
    labels: tuple[Hashable, ...],
    reported_share: float,
    optimiser: str,
    learn_transitions: bool,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    warm_start: Posterior | None = None,
    n_threads: int | None = None,
) -> Posterior:
    """Run the ascent on ``problem`` and put the answer on record.

    ``full_prior`` has all the labels; ``problem`` only those that can be seen.
    """
    possible = full_prior.possible_labels
    with BlockMap(n_threads, len(problem.blocks())) as blocks:
        if warm_start is None:
            state = first_state(problem, blocks, learn_transitions=learn_transitions)
        else:
            state = warm_state(
                problem,
                warm_start.class_concentration,
                warm_start._transitions.columns(possible),
                learn_transitions=learn_transitions,
            )
        trace = ascend(
            problem,
            state,
            blocks,
            optimiser=optimiser,
            learn_transitions=learn_transitions,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
        )
    parameters = np.zeros_like(full_prior.parameters)
    parameters[:, possible] = state.transitions.parameters
    state.class_concentration.flags.writeable = False
    parameters.flags.writeable = False
    return Posterior(
        class_concentration=state.class_concentration,
        class_prior=frozen(problem.class_prior),
        evidence=problem.total_evidence / problem.n_rows,
        trace=trace,
        classes=classes,
        labels=labels,
        _transitions=DirichletRows(parameters, full_prior.known),
        _reported_share=reported_share,
        _method=problem.method,
        _order=problem.order,
    )


def _beta_interval(concentration: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    rest = concentration.sum(axis=-1, keepdims=True) - concentration
    certain = (concentration == 0) | (rest <= 0)
    own, other = np.where(certain, 1.0, concentration), np.where(certain, 1.0, rest)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        ends.append(np.where(certain, dirichlet.mean(concentration), betaincinv(own, other, tail)))
    return ends[0], ends[1]


def _draw_dirichlet(concentration: FloatArray, n: int, rng: Generator | RandomState) -> FloatArray:
    """n draws of each row, (n, ..., K), by normalised gamma variables in the log domain.

    A gamma draw with a small shape underflows; its logarithm does not:
    Gamma(a) = Gamma(a + 1) U^(1/a).
    """
    possible = concentration > 0
    shape = (n, *concentration.shape)
    safe = np.where(possible, concentration, 1.0)
    logs = np.log(rng.gamma(np.broadcast_to(safe + 1.0, shape)))
    logs -= rng.exponential(size=shape) / safe
    logs = np.where(possible, logs, -np.inf)
    logs -= logs.max(axis=-1, keepdims=True)
    np.exp(logs, out=logs)
    return np.asarray(logs / logs.sum(axis=-1, keepdims=True))


def _check_codes(labels: ArrayLike, n_rows: int, n_labels: int) -> AnyArray:
    codes = np.asarray(labels)
    if codes.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be integer columns of label_proba (0 to {n_labels - 1}); "
            f"got dtype {codes.dtype}."
        )
    if codes.shape != (n_rows,):
        raise ValueError(
            f"labels must have one entry per row, shape ({n_rows},); got {codes.shape}."
        )
    first_offence(
        "labels",
        codes,
        (codes < 0) | (codes >= n_labels),
        "not a column of label_proba",
        f"Columns are 0 to {n_labels - 1}; unlabelled is a column too.",
    )
    return codes
