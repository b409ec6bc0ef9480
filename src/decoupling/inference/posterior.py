"""Posterior: what was inferred, as an immutable record."""

# Over the limit: more than half are docstrings of the reference page, each with an example.

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike

from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling._validation import check_count, first_offence
from decoupling.diagnostics.reasons import collapse
from decoupling.diagnostics.record import Diagnostics, Reason
from decoupling.inference.ascent.ascend import ascend, settled
from decoupling.inference.ascent.gamma_posterior import GammaPosterior, KnownGamma
from decoupling.inference.ascent.monitor import Trace
from decoupling.inference.ascent.start import cold_state
from decoupling.inference.ascent.state import AscentOptions, AscentProblem
from decoupling.inference.errors.integrated import Integrated, integrated_over_rows
from decoupling.inference.errors.overlap import affordable, transition_k_hat
from decoupling.inference.errors.reported import LearnedTransitions, Reported
from decoupling.inference.errors.trust import surprises, told_apart, where_rows_are
from decoupling.inference.errors.uncertainty import Uncertainty, uncertainty
from decoupling.inference.math import dirichlet
from decoupling.inference.math.bound import Bound
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.draws import as_generator, draw_dirichlet
from decoupling.inference.math.expected_log import make_method
from decoupling.inference.math.intervals import (
    beta_end,
    check_level,
    interval_by_moments,
    interval_of_logs,
)
from decoupling.inference.rows.lazy import of_each_row
from decoupling.inference.rows.sample import RowSample, that_count
from decoupling.inference.rows.sources import open_rows
from decoupling.inference.rows.storage import in_blocks, write_rows
from decoupling.labels.frames import in_label_order
from decoupling.transitions.conditional import label_conditional


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

    Examples
    --------
    >>> from decoupling import TransitionPrior, infer
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=100)
    >>> posterior = infer([[0.7, 0.3], [0.3, 0.7], [0.5, 0.5]], prior)
    >>> posterior.class_proba.round(1)
    array([[0.8, 0.2],
           [0.2, 0.8],
           [0.5, 0.5]])
    >>> posterior.transitions.round(1)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    >>> posterior.trace.converged
    True
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
        reported = self._learned_transitions.reported
        known = np.where(reported.parameters > 0, np.inf, 0.0)
        return np.where(reported.known[:, None], known, reported.parameters)

    @property
    def class_proba(self) -> FloatArray:
        """E[Y] = p(class | x), (N, C); of rows that are not in memory computed when asked for."""
        return of_each_row(self.class_concentration, lambda rows, _: dirichlet.mean(rows))

    def write(self, path: str | Path) -> None:
        """Write `class_proba`, a block of rows at a time.

        Parameters
        ----------
        path : path
            A file that ends in ``.parquet``, with a column per class, or in ``.npy``. It is there
            whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> from decoupling import TransitionPrior, infer
        >>> posterior = infer([[0.78, 0.22]] * 3, TransitionPrior.noisy(["cat", "dog"]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     posterior.write(f"{folder}/classes.npy")
        ...     np.load(f"{folder}/classes.npy").shape
        (3, 2)
        """
        blocks = (dirichlet.mean(block) for block in in_blocks(self.class_concentration))
        names = [str(name) for name in self.classes]
        write_rows(Path(path), names, blocks, len(self.class_concentration))

    @property
    def transitions(self) -> FloatArray:
        """E[T] = p(label | class), (C, S)."""
        return self._transitions.mean()

    def transition_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for T, each (C, S).

        Equal tails of Beta distributions with the mean of q(T), and with its variance once the
        classes of the rows may move with T: what labels alone cannot tell, they do not narrow. A
        known or impossible transition is its own interval.

        Examples
        --------
        The prior is worth 50 samples of a class, and 300 rows that look alike add little to it:

        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=50)
        >>> lower, upper = infer([[0.8, 0.2], [1.0, 0.0]] * 150, prior).transition_interval(0.9)
        >>> lower[0], upper[0]  # negatives are never labelled: known
        (array([1., 0.]), array([1., 0.]))
        >>> bool(0.15 < lower[1, 1] < 0.3 < upper[1, 1] < 0.45)
        True
        """
        if self._parent is not None:
            return self._parent.transition_interval(level)
        return self._learned_transitions.interval(self._uncertainty.inflation, level)

    def integrated(
        self, n_draws: int = 200, random_state: int | Generator | None = 0
    ) -> Integrated:
        r"""T and the class balance, with the classes of the rows integrated out.

        q(Y) q(T) takes rows and T for independent: it is fast, and its T leans to one side by an
        amount that more rows do not lessen. Here what rows say of T is integrated over their
        classes by importance sampling on at most 2,000 rows: seconds for a few classes, minutes for
        a dozen, half an hour for a T of 600 entries, and more are refused. Where the model holds
        its intervals of T cover what they say (see the coverage study), and its mean is nearer to
        the truth. It is for a few classes: with ten that labels mix its intervals are those of a
        normal distribution, and integrals are rough unless ``n_draws`` is raised. Gamma, the
        evidence and p(label | x) are taken as they are: where these are wrong, so is this.

        Parameters
        ----------
        n_draws : int
            Draws of the classes of each row.
        random_state : int, Generator or None
            Where they come from.

        Examples
        --------
        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=10)
        >>> posterior = infer([[0.6, 0.4], [0.7, 0.3], [1.0, 0.0]] * 100, prior)
        >>> found = posterior.integrated()
        >>> low, high = found.transition_interval(0.9)
        >>> bool(low[1, 1] < found.transitions[1, 1] < high[1, 1])
        True
        """
        check_count("n_draws", n_draws)
        if self._parent is not None:
            raise ValueError("These are new rows; T was learned elsewhere: ask that posterior.")
        return integrated_over_rows(
            self._learned_transitions,
            self._reported,
            self._sample,
            self._n_counting,
            n_draws,
            np.random.default_rng(random_state),
        )

    def class_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for p(class | x), each (N, C).

        They are those of q(Y). It takes each observation of a label for one of its class, and T for
        known, so they are too short wherever a label leaves the class open, as the coverage study
        shows.

        Examples
        --------
        A row that counts for more is known better:

        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=100)
        >>> posterior = infer([[0.6, 0.4], [0.6, 0.4]], prior, evidence=[5, 500])
        >>> lower, upper = posterior.class_interval(0.9)
        >>> bool((upper - lower)[0, 0] > (upper - lower)[1, 0])
        True
        """
        check_level(level)
        rows = self.class_concentration
        return (
            of_each_row(rows, lambda block, _: beta_end(block, (1 - level) / 2)),
            of_each_row(rows, lambda block, _: beta_end(block, (1 + level) / 2)),
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
        check_level(level)
        share, mean = self._sample.share, dirichlet.mean(self._sample.concentration)
        variance = self._uncertainty.balance + share @ (mean * (1.0 - mean)) / self._n_rows
        return interval_by_moments(self.class_balance, variance, level)

    def class_prior_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for gamma, each (C,).

        From the curvature of the bound in gamma once the rows have followed, and from how gamma
        would move with T, on a logarithmic scale. A known gamma is its own interval. Where labels
        are noisy the bound is off, and gamma with it, by more than its interval says.

        Examples
        --------
        >>> from decoupling import ClassPrior, TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.1, strength=100)
        >>> rows = [[0.89, 0.11], [0.12, 0.88], [0.5, 0.5]] * 50
        >>> posterior = infer(rows, prior, class_prior=ClassPrior.learned())
        >>> lower, upper = posterior.class_prior_interval(0.9)
        >>> bool(((lower < posterior.class_prior) & (posterior.class_prior < upper)).all())
        True
        """
        check_level(level)
        if not self._class_prior.learned:
            return self.class_prior.copy(), self.class_prior.copy()
        return interval_of_logs(self.class_prior, self._uncertainty.gamma, level)

    def label_conditional(self, labels: ArrayLike) -> FloatArray:
        """p(class | label, x), (N, C): what the row's own label adds; called W in the paper.

        Proportional to :math:`E[T_{cs}] E[Y_{ic}]`, s being the label of row i.

        Parameters
        ----------
        labels : array-like of int (N,)
            Column of ``label_proba`` that each row was given.

        Examples
        --------
        What looks like a cat and is called a dog is less of a cat:

        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=100)
        >>> posterior = infer([[0.7, 0.3], [0.7, 0.3]], prior)
        >>> called_cat, called_dog = posterior.label_conditional([0, 1])[:, 0]
        >>> bool(called_dog < posterior.class_proba[0, 0] < called_cat)
        True
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
        return of_each_row(
            self.class_concentration,
            lambda rows, index: label_conditional(dirichlet.mean(rows), emits, codes[index]),
        )

    def draw(
        self, n: int, random_state: int | Generator | RandomState | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Draws of (Y, T) for multiple imputation: arrays (n, N, C) and (n, C, S).

        Examples
        --------
        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=100)
        >>> posterior = infer([[0.78, 0.22], [0.21, 0.79], [0.5, 0.5]], prior)
        >>> classes, transitions = posterior.draw(20, random_state=0)
        >>> classes.shape, transitions.shape
        ((20, 3, 2), (20, 2, 2))
        """
        check_count("n", n)
        rng = as_generator(random_state)
        reported = (self._parent or self)._wide_transitions
        transitions = draw_dirichlet(reported.parameters, n, rng)
        transitions = np.where(reported.known[:, None], reported.mean(), transitions)
        return draw_dirichlet(np.asarray(self.class_concentration), n, rng), transitions

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """Light and reasons that say how far this posterior can be trusted.

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
        reasons = [
            self.trace.convergence,
            self.identifiability,
            collapse(self.classes, *self._where_rows_are),
            *surprises(self._learned_transitions, self._sample, self.labels, self._n_rows),
        ]
        return Diagnostics(tuple(reason for reason in reasons if reason is not None))

    @cached_property
    def transition_k_hat(self) -> float | None:
        r"""k-hat of Pareto smoothing: the heaviness of the tail of importance weights of T.

        The weights are those of 500 draws, always the same, from what is reported of T, for its
        posterior with the class distributions of the rows integrated out,

        .. math:: p(T) \prod_i \Big( \int Dir(Y \mid \gamma) \prod_s (Y T)_s^{w_{is}} \, dY
            \Big)^{\kappa_T / \kappa}

        Well above 0.7, say beyond 2, what is reported is in the wrong place, too narrow, or with
        several entries far too wide; values around 0.7 come about by chance. It is no part of
        `diagnostics`, since intervals hold about as well on either side of 0.7. It takes p(label |
        x) as it is, and gamma at its mean. None where there is nothing to say: T was not learned,
        or its prior was estimated from the same rows (see `supported_by`); where priors are so
        extreme that there is no number; and where it would take too long: with more than 2,000
        rows, or more than a few classes.

        Examples
        --------
        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.positive_unlabelled(labelled=0.3, strength=30)
        >>> posterior = infer([[0.7, 0.3], [1.0, 0.0], [1.0, 0.0]] * 100, prior)
        >>> posterior.transition_k_hat < 0.7
        True
        """
        if self._parent is not None:
            return self._parent.transition_k_hat
        whole = len(self._sample.weight) == self._n_counting
        told = self._learned and not self._transitions.known.all() and self._prior_share.min() == 1
        if not (whole and told and affordable(self._n_counting, len(self.classes))):
            return None
        return transition_k_hat(
            self._learned_transitions,
            self._uncertainty.inflation,
            self._sample,
            self._n_rows,
            self.class_prior,
        )

    @property
    def identifiability(self) -> Reason:
        """Whether labels tell the classes apart; one of the reasons in `diagnostics`."""
        return told_apart(self._learned_transitions, self._class_prior, self.classes, self.labels)

    @property
    def _where_rows_are(self) -> tuple[IntArray, float]:
        return where_rows_are(self.class_concentration, self.row_counts, self.class_prior)

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

        Examples
        --------
        >>> from decoupling import TransitionPrior, infer
        >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=100)
        >>> posterior = infer([[0.78, 0.22], [0.21, 0.79], [0.5, 0.5]], prior)
        >>> posterior.predict([[0.7, 0.3]]).class_proba.round(1)
        array([[0.8, 0.2]])
        """
        rows = open_rows(
            in_label_order(label_proba, self.labels),
            self._transitions.possible_labels,
            len(self.classes),
            self.evidence if evidence is None else evidence,
            scratch=scratch,
        )
        seen = self._transitions.columns(self._transitions.possible_labels)
        gamma = KnownGamma(self.class_prior)
        problem = AscentProblem(gamma, seen, rows.count, rows.total_evidence)
        options = AscentOptions(learn_transitions=False, max_iter=max_iter, tol=tol)
        make = partial(make_method, self._method, order=self._order)
        with rows as blocks:
            state = cold_state(problem, make, blocks, learn_transitions=False)
            trace = ascend(problem, state, make(seen), blocks, options)
        return replace(
            self,
            class_concentration=rows.class_concentration(),
            evidence=rows.total_evidence / rows.count,
            trace=trace,
            _class_prior=gamma,
            _row_counts=rows.multiplicity,
            _sample=rows.sample(),
            _learned=False,
            _parent=self._parent or self,
        )

    def supported_by(self, rows: ArrayLike) -> Posterior:
        """Copy of this posterior with its prior of T worth no more than so many rows, (C,).

        For a prior of T that was estimated from these rows themselves: it keeps T in place, but it
        is no second source. Means stay; intervals and draws widen.

        Parameters
        ----------
        rows : array-like (C,)
            Rows behind the prior of each row of T; infinity leaves it as it is.
        """
        support = np.asarray(rows, dtype=np.float64)
        return replace(self, _prior_share=self._learned_transitions.supported_by(support))

    @property
    def _n_rows(self) -> float:
        return float(self.row_counts.sum())

    @property
    def _n_counting(self) -> int:
        """Rows that stand for any."""
        return int(np.count_nonzero(that_count(self.row_counts)))

    @property
    def _learned_transitions(self) -> LearnedTransitions:
        return LearnedTransitions(
            self._transitions, self._transition_prior, self._reported_share, self._prior_share
        )

    @property
    def _wide_transitions(self) -> DirichletRows:
        """Dirichlet rows of T as wide as the intervals."""
        return self._learned_transitions.wide(self._uncertainty.inflation)

    @property
    def _reported(self) -> Reported:
        """What error bars start from, for the labels that can be seen."""
        learned, parent = self._learned_transitions, self._parent
        told = learned.reported if parent is None else parent._wide_transitions
        return Reported(
            told.columns(self._transitions.possible_labels),
            learned.prior_total if parent is None else told.total,
            self._class_prior,
            self._n_rows,
            self._reported_share if self._learned else 0.0,
        )

    @cached_property
    def _uncertainty(self) -> Uncertainty:
        possible = self._transitions.possible_labels
        seen = self._transitions.columns(possible)
        # Slopes of rows are known at their fixed points under the bound.
        sample = settled(self._sample, seen, KnownGamma(self.class_prior), Bound(seen))
        return uncertainty(sample, seen.expected_log(), self._reported).over(possible)


@dataclass(frozen=True, eq=False)
class PosteriorParts:
    """What a `Posterior` holds beside its public fields, for those who must know.

    Attributes
    ----------
    transitions, transition_prior : DirichletRows
        q(T) and p(T), in the units of the evidence.
    class_prior : KnownGamma or GammaPosterior
        Gamma, or q(gamma).
    row_counts : array () or (N,)
        How many equal rows each row stands for.
    sample : RowSample
        Some of the rows.
    reported_share, prior_share : float, array (C, 1)
        As in `LearnedTransitions`.
    parent : Posterior or None
        Where T was learned, if these are other rows.
    """

    transitions: DirichletRows
    transition_prior: DirichletRows
    class_prior: KnownGamma | GammaPosterior
    row_counts: FloatArray
    sample: RowSample
    reported_share: float
    prior_share: FloatArray
    parent: Posterior | None


def posterior_parts(posterior: Posterior) -> PosteriorParts:
    """What a posterior holds beside its public fields."""
    return PosteriorParts(
        posterior._transitions,
        posterior._transition_prior,
        posterior._class_prior,
        posterior._row_counts,
        posterior._sample,
        posterior._reported_share,
        posterior._prior_share,
        posterior._parent,
    )


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
