"""Posterior: what was inferred, as an immutable record."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling._validation import (
    check_count,
    first_offence,
    frozen,
    is_dask,
)
from decoupling.dataframes import in_label_order
from decoupling.inference import dirichlet
from decoupling.inference.blocks import AllRows, RowBlocks
from decoupling.inference.checkpoint import Checkpoint, digest_of
from decoupling.inference.class_prior import GammaPosterior, KnownGamma
from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.distributed import of_chunks
from decoupling.inference.lazy import LazyRows
from decoupling.inference.optimise import Callback, Trace, ascend
from decoupling.inference.response import RowSample
from decoupling.inference.rows import Rows
from decoupling.inference.sources import open_rows
from decoupling.inference.start import first_state, warm_state
from decoupling.inference.steps import Problem, State
from decoupling.inference.storage import in_blocks, is_mapped, write_rows
from decoupling.inference.uncertainty import Reported, Uncertainty, uncertainty
from decoupling.signs import (
    AT_PRIOR,
    collapse,
    identifiability,
    too_sure,
    top_counts,
    unexpected_labels,
)
from decoupling.transitions.tasks import custom
from decoupling.trust import Diagnostics, Reason

# Something to divide by.
_TINY = 1e-12
# Iterations in which rows settle before their slopes are taken.
_SETTLING = 200
# Intervals of gamma reach at most so far, in ln gamma.
_WIDEST = 300.0
# What is beyond intervals of this level, a prior has as good as excluded.
_NEARLY_ALL = 0.99


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(Y) and q(T): class distributions of each row, and the labelling process.

    Made by `infer`. Its own arrays are read-only; properties and methods return new ones.

    Attributes
    ----------
    class_concentration : array (N, C)
        q(Y_i) = Dir(class_concentration_i); called Pi in the paper.
    class_prior : array (C,)
        Dirichlet prior of each row of Y, or its posterior mean if it was learned; called gamma.
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
    _class_prior: KnownGamma | GammaPosterior
    # How many equal rows each row stood for, () or (N,), and some of the rows.
    _row_counts: FloatArray
    _sample: RowSample
    # q(T) and p(T) in the units of the evidence, what to multiply both with to report them, how
    # much of the prior to report, (C, 1), and whether T was learned at all.
    _transitions: DirichletRows
    _transition_prior: DirichletRows
    _reported_share: float
    _prior_share: FloatArray
    _learned: bool
    _method: str
    _order: int
    # Where T was learned, if these are other rows.
    _parent: Posterior | None = None

    @property
    def transition_concentration(self) -> FloatArray:
        """q(T_c) = Dir(transition_concentration_c), (C, S); called Theta. ``inf`` if known."""
        reported = self._reported()
        known = np.where(reported.parameters > 0, np.inf, 0.0)
        return np.where(reported.known[:, None], known, reported.parameters)

    @property
    def class_proba(self) -> FloatArray:
        """E[Y] = p(class | x), (N, C); of rows that are not in memory computed when asked for."""
        return self._of_rows(lambda rows, _: dirichlet.mean(rows))

    def write(self, path: str | Path) -> None:
        """Write `class_proba`, a block of rows at a time.

        Parameters
        ----------
        path : path
            A file that ends in ``.parquet``, with a column per class, or in ``.npy``. It is there
            whole or not at all.
        """
        blocks = (dirichlet.mean(block) for block in in_blocks(self.class_concentration))
        names = [str(name) for name in self.classes]
        write_rows(Path(path), names, blocks, len(self.class_concentration))

    def _of_rows(self, function: Callable[[FloatArray, Any], FloatArray]) -> FloatArray:
        """A function of each row's concentrations and of its number, (N, C).

        `LazyRows` if the rows are on disk, a dask array if they are one: used like an array.
        """
        rows = self.class_concentration
        if is_mapped(rows):
            return cast("FloatArray", LazyRows(rows, function))
        return of_chunks(function, rows) if is_dask(rows) else function(rows, slice(None))

    @property
    def transitions(self) -> FloatArray:
        """E[T] = p(label | class), (C, S)."""
        return self._transitions.mean()

    def transition_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for T, each (C, S).

        Equal tails of Beta distributions with the mean of q(T), and with its variance once the
        classes of the rows may move with T: what labels alone cannot tell, they do not narrow. A
        known or impossible transition is its own interval.
        """
        if self._parent is not None:
            return self._parent.transition_interval(level)
        reported = self._reported()
        mean, sure = self.transitions, reported.known[:, None]
        total = reported.parameters.sum(axis=1, keepdims=True)
        total = (total + 1.0) / self._uncertainty.inflation - 1.0
        total = np.maximum(total, self._prior_total()[:, None])
        lower, upper = _beta_interval(
            np.stack([mean, 1.0 - mean], axis=-1) * total[..., None], level
        )
        return (
            np.where(sure, mean, np.minimum(lower[..., 0], mean)),
            np.where(sure, mean, np.maximum(upper[..., 0], mean)),
        )

    def class_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for p(class | x), each (N, C)."""
        _check_level(level)
        return (
            self._of_rows(lambda rows, _: _beta_end(rows, (1 - level) / 2)),
            self._of_rows(lambda rows, _: _beta_end(rows, (1 + level) / 2)),
        )

    @property
    def row_counts(self) -> FloatArray:
        """How many equal rows each row stands for, (N,)."""
        return np.broadcast_to(self._row_counts, (len(self.class_concentration),))

    @property
    def class_balance(self) -> FloatArray:
        """Share of each class among these rows, (C,): the mean of `class_proba`."""
        total, first = np.zeros(len(self.classes)), 0
        for block in in_blocks(self.class_concentration):
            rows = slice(first, first + len(block))
            total += self.row_counts[rows] @ dirichlet.mean(block)
            first = rows.stop
        return np.asarray(total / self._n_rows)

    def class_balance_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for the share of each class, each (C,).

        The share of these rows that belong to a class, not of a population: from what each row may
        be, and from how all rows together would move with T and gamma, to first order. Labels alone
        tie the share of a class to the rate at which it is labelled: twice the members at half the
        rate look the same. So the interval is as wide as that of the rate, and where nothing but
        the prior speaks of the rate, neither does anything else.

        Examples
        --------
        One row in ten carries a positive label, given to between 15% and 45% of the positives:

        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=30)
        >>> posterior = infer([[0.7, 0.3], [1.0, 0.0], [1.0, 0.0]] * 100, prior)
        >>> low, high = posterior.class_balance_interval(0.9)
        >>> bool(low[1] < posterior.class_balance[1] < high[1])
        True
        """
        _check_level(level)
        share, mean = self._sample.share, dirichlet.mean(self._sample.concentration)
        variance = self._uncertainty.balance + share @ (mean * (1.0 - mean)) / self._n_rows
        balance = self.class_balance
        # A Beta distribution of this mean and variance; the mean is not left out of the interval.
        total = np.maximum(balance * (1.0 - balance) / np.maximum(variance, _TINY) - 1.0, _TINY)
        low, high = _beta_interval(
            total[:, None] * np.stack([balance, 1.0 - balance], axis=1), level
        )
        return np.minimum(low[:, 0], balance), np.maximum(high[:, 0], balance)

    def class_prior_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for gamma, each (C,).

        From the curvature of the bound in gamma once the rows have followed, and from how gamma
        would move with T, on a logarithmic scale. A known gamma is its own interval. Where labels
        are noisy the bound is off, and gamma with it, by more than its interval says.
        """
        _check_level(level)
        if isinstance(self._class_prior, KnownGamma):
            return self.class_prior.copy(), self.class_prior.copy()
        spread = np.sqrt(self._uncertainty.gamma) / self.class_prior
        factor = np.exp(np.minimum(ndtri((1.0 + level) / 2.0) * spread, _WIDEST))
        return self.class_prior / factor, self.class_prior * factor

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
        emits = self.transitions
        return self._of_rows(
            lambda rows, index: label_conditional(dirichlet.mean(rows), emits, codes[index])
        )

    def draw(
        self, n: int, random_state: int | Generator | RandomState | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Draws of (Y, T) for multiple imputation: arrays (n, N, C) and (n, C, S)."""
        check_count("n", n)
        rng = as_generator(random_state)
        reported = (self._parent or self)._wide_transitions()
        transitions = _draw_dirichlet(reported.parameters, n, rng)
        transitions = np.where(reported.known[:, None], reported.mean(), transitions)
        return _draw_dirichlet(np.asarray(self.class_concentration), n, rng), transitions

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """How far this can be trusted: a light, and its reasons.

        It looks at the ascent, at whether labels tell the classes apart, at rows that are still
        where the prior put them, and at whether the labels can have come about as the prior has it.

        Examples
        --------
        Of the third row p(label | x) says nothing:

        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=100)
        >>> posterior = infer([[0.78, 0.22], [0.21, 0.79], [0.5, 0.5]], prior)
        >>> print(posterior.diagnostics.light)
        amber
        >>> posterior.diagnostics.about("collapse")[0].text[:52]
        '33% of the rows are no further than where the prior '
        """
        lower, upper = self._prior_interval()
        possible = self._transitions.possible_labels
        seen = self._sample.share @ dirichlet.mean(self._sample.weight)  # (S,)
        sureness = self._sample.share @ dirichlet.mean(self._sample.weight).max(axis=1)
        labels = [name for name, can_be in zip(self.labels, possible, strict=True) if can_be]
        reasons = [
            self.trace.convergence,
            self.identifiability,
            collapse(self.classes, *self._where_rows_are()),
            unexpected_labels(
                labels, seen, lower[:, possible].min(axis=0), upper[:, possible].max(axis=0),
                self._n_rows,
            ),
            too_sure(float(sureness), float(upper.max())),
        ]  # fmt: skip
        return Diagnostics(tuple(reason for reason in reasons if reason is not None))

    @property
    def identifiability(self) -> Reason:
        """Whether labels tell the classes apart; one of the reasons in `diagnostics`."""
        prior, mean = self._transition_prior, self._transition_prior.mean()
        own = custom(mean > 0, self.classes, self.labels).own
        # Names alone, which may be mere numbers, do not make a label the class's own: the prior
        # has to say so, too. None is nobody's.
        said = np.where([label is None for label in self.labels], 0.0, mean)
        mine = said[np.arange(len(own)), own]
        owns = (own >= 0) & (mine >= said[:, own].max(axis=0)) & (mine >= said.max(axis=1))
        q = self._class_prior
        gamma = q.mean if isinstance(q, KnownGamma) else q.share * q.prior.rate
        told = np.column_stack([mean, prior.total, prior.known, gamma])
        possible = prior.possible_labels
        return identifiability(
            self.classes, np.where(owns, own, -1), self.transitions[:, possible], told
        )

    def _where_rows_are(self) -> tuple[IntArray, float]:
        """Rows of which each class is the most probable one, (C,); the share still at the prior."""
        top, at_prior, first = np.zeros(len(self.classes), dtype=np.int64), 0.0, 0
        prior = self.class_prior / self.class_prior.sum()
        for block in in_blocks(self.class_concentration):
            proba = dirichlet.mean(block)
            top += top_counts(proba)
            still = np.abs(proba - prior).max(axis=1) < AT_PRIOR
            at_prior += float(self.row_counts[first : first + len(block)] @ still)
            first += len(block)
        return top, at_prior / self._n_rows

    def _prior_interval(self) -> tuple[FloatArray, FloatArray]:
        """Where the prior has T, each (C, S)."""
        mean, sure = self._transition_prior.mean(), self._transition_prior.known[:, None]
        lower, upper = _beta_interval(mean * self._prior_total()[:, None], _NEARLY_ALL)
        return np.where(sure, mean, lower), np.where(sure, mean, upper)

    def predict(
        self,
        label_proba: ArrayLike,
        *,
        evidence: ArrayLike | None = None,
        max_iter: int = 500,
        tol: float = 1e-12,
        scratch: str | Path | None = None,
    ) -> Posterior:
        """Posterior of new rows, T and gamma as learned.

        Parameters
        ----------
        label_proba : array-like (N, S), memmap, path, pyarrow Dataset, iterator or dask collection
            p(s|x) of the new rows, as in `infer`.
        evidence : float or array-like (N,), optional
            How many observations a row counts for; as in `infer` by default, which is the mean if
            it was given per row.
        max_iter, tol : int, float
            As in `infer`. The default tolerance is smaller, since rows are independent here and
            should not depend on what else is in the batch.
        scratch : path, optional
            As in `infer`.
        """
        answer = solve(
            open_rows(
                in_label_order(label_proba, self.labels),
                self._transitions.possible_labels,
                len(self.classes),
                self.evidence if evidence is None else evidence,
                scratch=scratch,
            ),
            self._transitions,
            KnownGamma(self.class_prior),
            self._method,
            self._order,
            classes=self.classes,
            labels=self.labels,
            reported_share=self._reported_share,
            learn_transitions=False,
            max_iter=max_iter,
            tol=tol,
        )
        return replace(
            answer,
            _transition_prior=self._transition_prior,
            _prior_share=self._prior_share,
            _parent=self._parent or self,
        )

    @property
    def _n_rows(self) -> float:
        return float(self.row_counts.sum())

    def _wide_transitions(self) -> DirichletRows:
        """Dirichlet rows of T as wide as the intervals, by the widest entry of each."""
        reported = self._reported()
        wide = (reported.total + 1.0) / self._uncertainty.inflation.max(axis=1) - 1.0
        shrink = np.maximum(wide, self._prior_total()) / reported.total
        return reported.replace(reported.parameters * shrink[:, None])

    @cached_property
    def _uncertainty(self) -> Uncertainty:
        possible = self._transitions.possible_labels
        seen = self._transitions.columns(possible)
        told = self._reported() if self._parent is None else self._parent._wide_transitions()
        reported = Reported(
            told.columns(possible),
            self._prior_total() if self._parent is None else told.total,
            self._class_prior,
            self._n_rows,
            self._reported_share if self._learned else 0.0,
        )
        sample = self._settled_sample(seen)
        return uncertainty(sample, seen.expected_log(), reported).over(possible)

    def _settled_sample(self, transitions: DirichletRows) -> RowSample:
        """Some rows at their fixed points under the bound, where their slopes are known."""
        weight = self._sample.weight
        evidence = weight.sum(axis=1)
        labels = np.ones(weight.shape[1], dtype=bool)
        concentration = self._sample.concentration.copy()
        rows = Rows(weight / evidence[:, None], labels, evidence, concentration)
        gamma = KnownGamma(self.class_prior)
        problem = Problem(gamma, transitions, "bound", self._order, rows.count, rows.total_evidence)
        with RowBlocks(rows, n_threads=1) as blocks, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ascend(
                problem,
                State(transitions, gamma),
                blocks,
                learn_transitions=False,
                max_iter=_SETTLING,
                tol=1e-12,
            )
        return replace(self._sample, concentration=rows.class_concentration)

    def supported_by(self, rows: ArrayLike) -> Posterior:
        """The same, with the prior of T reported as worth no more than so many rows, (C,).

        For a prior of T that was estimated from these rows themselves: it keeps T in place, but it
        is no second source. Means stay; intervals and draws widen.

        Parameters
        ----------
        rows : array-like (C,)
            Rows behind the prior of each row of T; infinity leaves it as it is.
        """
        support = np.maximum(np.asarray(rows, dtype=np.float64), 1.0)[:, None]
        prior = self._transition_prior.parameters.sum(axis=1, keepdims=True)
        limit = np.minimum(1.0, support / (prior * self._reported_share))
        return replace(self, _prior_share=np.minimum(self._prior_share, limit))

    def _reported(self) -> DirichletRows:
        """q(T) with its mean, and as sure as its prior and its rows are to be reported."""
        counts = self._transitions.total - self._transition_prior.total
        total = np.maximum(counts * self._reported_share + self._prior_total(), _TINY)
        return self._transitions.replace(self._transitions.mean() * total[:, None])

    def _prior_total(self) -> FloatArray:
        """What the prior of each row of T is worth, as reported, (C,)."""
        share = self._prior_share[:, 0] * self._reported_share
        return np.asarray(np.maximum(self._transition_prior.total * share, _TINY))


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


def solve(
    rows: AllRows,
    transition_prior: DirichletRows,
    class_prior: KnownGamma | GammaPosterior,
    method: str,
    order: int,
    *,
    classes: tuple[Hashable, ...],
    labels: tuple[Hashable, ...],
    reported_share: float,
    learn_transitions: bool,
    max_iter: int,
    tol: float,
    optimiser: str = "natural",
    callback: Callback | None = None,
    warm_start: Posterior | None = None,
    local_steps: int = 1,
    checkpoint: str | Path | None = None,
) -> Posterior:
    """Run the ascent over the rows and put the answer on record."""
    possible = transition_prior.possible_labels
    seen = transition_prior.columns(possible)
    problem = Problem(class_prior, seen, method, order, rows.count, rows.total_evidence)
    with rows as blocks:
        if warm_start is None:
            state = first_state(problem, blocks, learn_transitions=learn_transitions)
        else:
            blocks.start_from(warm_start.class_concentration)
            state = warm_state(
                problem,
                warm_start._transitions.columns(possible),
                warm_start._class_prior,
                learn_transitions=learn_transitions,
            )
        kept = None
        if checkpoint is not None:
            settings = {"learn": learn_transitions, "tol": tol, "local_steps": local_steps}
            warm = warm_start is not None
            kept = Checkpoint(checkpoint, digest_of(problem, state, blocks, warm=warm, **settings))
        trace = ascend(
            problem,
            state,
            blocks,
            optimiser=optimiser,
            learn_transitions=learn_transitions,
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            local_steps=local_steps,
            checkpoint=kept,
        )
    return record(
        rows,
        state,
        trace,
        transition_prior,
        method,
        order,
        classes=classes,
        labels=labels,
        reported_share=reported_share,
        learned=learn_transitions,
    )


def record(
    rows: AllRows,
    state: State,
    trace: Trace,
    transition_prior: DirichletRows,
    method: str,
    order: int,
    *,
    classes: tuple[Hashable, ...],
    labels: tuple[Hashable, ...],
    reported_share: float,
    learned: bool = True,
    row_counts: FloatArray | None = None,
) -> Posterior:
    """Put what was inferred on record; ``row_counts`` if rows stand for others, too."""
    parameters = np.zeros_like(transition_prior.parameters)
    parameters[:, transition_prior.possible_labels] = state.transitions.parameters
    parameters.flags.writeable = False
    return Posterior(
        class_concentration=rows.class_concentration(),
        class_prior=frozen(state.class_prior.mean),
        evidence=rows.total_evidence / rows.count,
        trace=trace,
        classes=classes,
        labels=labels,
        _class_prior=state.class_prior,
        _row_counts=rows.multiplicity if row_counts is None else row_counts,
        _sample=rows.sample(),
        _transitions=DirichletRows(parameters, transition_prior.known),
        _transition_prior=transition_prior,
        _reported_share=reported_share,
        _prior_share=np.ones((len(parameters), 1)),
        _learned=learned,
        _method=method,
        _order=order,
    )


def _check_level(level: float) -> None:
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")


def _beta_interval(concentration: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    _check_level(level)
    return _beta_end(concentration, (1 - level) / 2), _beta_end(concentration, (1 + level) / 2)


def _beta_end(concentration: FloatArray, tail: float) -> FloatArray:
    """Where this share of each entry's Beta distribution is below."""
    rest = concentration.sum(axis=-1, keepdims=True) - concentration
    certain = (concentration == 0) | (rest <= 0)
    own, other = np.where(certain, 1.0, concentration), np.where(certain, 1.0, rest)
    return np.where(certain, dirichlet.mean(concentration), betaincinv(own, other, tail))


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
