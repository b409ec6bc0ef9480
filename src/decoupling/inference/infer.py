"""infer: from label distributions and what is known of the labelling to a Posterior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from decoupling._text import COLLAPSE, Message, listed
from decoupling._typing import FloatArray
from decoupling._validation import check_evidence, check_flag, frozen, warn_user
from decoupling.diagnostics.warnings import IdentifiabilityWarning
from decoupling.inference.ascent.ascend import Optimiser, ascend, natural_ascent
from decoupling.inference.ascent.checkpoint import Checkpoint, digest_of
from decoupling.inference.ascent.class_prior import ClassPrior, as_class_prior
from decoupling.inference.ascent.gamma_posterior import GammaPosterior, KnownGamma
from decoupling.inference.ascent.lbfgs import lbfgs_ascent
from decoupling.inference.ascent.monitor import Trace
from decoupling.inference.ascent.start import cold_state, warm_state
from decoupling.inference.ascent.state import (
    AscentOptions,
    AscentProblem,
    Callback,
    Gamma,
    State,
)
from decoupling.inference.checks import (
    as_evidence,
    check_ascent,
    check_checkpoint,
    check_options,
)
from decoupling.inference.errors.trust import where_rows_are
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import make_method
from decoupling.inference.posterior import Posterior, posterior_parts
from decoupling.inference.rows.blocks import AllRows, RowBlocks
from decoupling.inference.rows.sources import open_rows
from decoupling.inference.rows.storage import is_mapped
from decoupling.labels.frames import in_label_order
from decoupling.transitions.prior import TransitionPrior

# The ascents by name.
_ASCENTS: Final[dict[str, Optimiser]] = {"natural": natural_ascent, "l-bfgs": lbfgs_ascent}
# A prior so many times stronger than all the evidence cannot be moved by it, while sums of its
# logarithms would drown the rest of the bound in rounding: such a row counts as known.
_KNOWN: Final = 1e8
# A gamma whose entries differ by less than this share of the largest is equal, but for rounding.
_UNEQUAL: Final = 1e-6


# Over the limit: the public signature. Most of the lines take its arguments to their places.
def infer(
    label_proba: ArrayLike,
    transitions: TransitionPrior | ArrayLike,
    *,
    class_prior: ClassPrior | ArrayLike | None = None,
    evidence: str | ArrayLike = "auto",
    transition_evidence: float = 1.0,
    expected_log: str = "bound",
    order: int = 2,
    learn_transitions: bool = True,
    optimiser: str = "natural",
    max_iter: int = 500,
    tol: float = 1e-6,
    block_size: int | None = None,
    callback: Callback | None = None,
    sample_weight: ArrayLike | None = None,
    warm_start: Posterior | None = None,
    n_threads: int | None = None,
    scratch: str | Path | None = None,
    local_steps: int = 1,
    checkpoint: str | Path | None = None,
) -> Posterior:
    r"""Infer class distributions and transitions from label distributions.

    The model: :math:`T_c \sim Dir(A_c)`, :math:`Y_i \sim Dir(\gamma)`, and a row of ``label_proba``
    counts as ``evidence`` observations of labels with probabilities :math:`Y_i T`. The answer is
    the factorised q(Y) q(T) of Dirichlet distributions with the highest evidence lower bound.

    Parameters
    ----------
    label_proba : array-like (N, S), memmap, path, pyarrow Dataset, iterator or dask collection
        p(label | x), rows sum to 1; unlabelled is a label too. Called S in the paper. All but an
        array may be larger than memory: a NumPy memmap, a ``.npy`` file, Parquet (a file or a
        folder, a column per label), blocks (n, S) that come one after the other, or an array or
        dataframe of Dask. Files of a folder are read in the order of their names. Columns of a
        dataframe go by the names of the labels, "unlabelled" for None, and those of Parquet must
        be in their order; of anything else they are taken to be.
    transitions : TransitionPrior or array-like (C, S)
        What is known of p(label | class); an array holds Dirichlet concentrations (A), with 0
        where a class never gets a label. A row whose strength is 1e8 times all the evidence is
        taken as known.
    class_prior : ClassPrior or array-like (C,), optional
        Dirichlet prior of every row's class distribution (gamma): an array is gamma itself, a
        `ClassPrior` says how it is known or that it is to be learned. By default symmetric with
        total mass 1.
    evidence : "auto", float or array-like (N,)
        How many observations a row of ``label_proba`` counts for. 1 is the paper; the larger, the
        closer to the maximum likelihood solution of ``label_proba = Y T``. "auto" is 100.
    transition_evidence : float
        The same for learning T: its prior then weighs ``strength`` against this many observations
        per row, and the reported uncertainty of T is that of this many.
    expected_log : {"bound", "beta", "taylor", "exact"}
        How the expected logarithm in the likelihood is evaluated.
    order : int
        Order of the Taylor series.
    learn_transitions : bool
        If False q(T) stays at its prior.
    optimiser : {"natural", "l-bfgs"}
        Natural-gradient ascent, or L-BFGS over the same bound.
    max_iter : int
        Most iterations.
    tol : float
        Stop when an iteration raises the bound by less than this per observation.
    block_size : int, optional
        Rows per block; the answer does not depend on it. Chunks of Dask are cut into blocks.
    callback : callable, optional
        ``callback(iteration, terms)`` is called with the terms of the bound at the start and after
        every iteration; a true return value stops the run.
    sample_weight : array-like (N,), optional
        How many equal rows each row stands for: T is learned as if it stood there so often, while
        its own class distribution is that of one row. 0: it adds nothing to T or gamma.
    warm_start : Posterior, optional
        Start from this posterior of the same rows.
    n_threads : int, optional
        Threads for blocks of rows; by default as many as linear algebra may use. Dask has its own.
    scratch : path, optional
        Folder for files of rows that are not in memory, 8 (C + S) bytes each, gone with the
        posterior; by default that of the system's temporary files, which may itself be memory.
    local_steps : int
        Steps of each row for one step of T. More of them pay where rows are far away.
    checkpoint : path, optional
        Folder for what is known after every iteration, some kilobytes. An interrupted run that is
        started again with the same rows, blocks and settings goes on there, to the same bits.

    Returns
    -------
    Posterior

    Warns
    -----
    IdentifiabilityWarning
        If the prior says the same of two classes, classes seem to have changed places, or labels
        hardly tell them apart.
    ConvergenceWarning
        If ``max_iter`` came first.

    Examples
    --------
    Positives are labelled one time in five (label 1), negatives never:

    >>> posterior = infer(
    ...     [[0.84, 0.16], [0.99, 0.01]], [[50.0, 0.0], [40.0, 10.0]], learn_transitions=False
    ... )
    >>> posterior.class_proba.round(1)
    array([[0.2, 0.8],
           [0.9, 0.1]])
    """
    prior = as_prior(transitions)
    check_options(expected_log, order)
    check_flag("learn_transitions", learn_transitions)
    counts = {"block_size": block_size, "n_threads": n_threads, "local_steps": local_steps}
    check_ascent(optimiser, max_iter, tol, counts)
    check_checkpoint(checkpoint, expected_log, optimiser)
    kappa_t = float(check_evidence("transition_evidence", transition_evidence))
    gamma = as_class_prior(class_prior).start(prior.classes)
    rows = open_rows(
        in_label_order(label_proba, prior.labels),
        np.asarray((prior.mean > 0).any(axis=0)),
        len(prior.classes),
        as_evidence(evidence),
        sample_weight,
        block_size=block_size,
        n_threads=n_threads,
        scratch=scratch,
    )
    _check_in_memory(rows, optimiser)
    _check_warm_start(warm_start, (rows.n_rows, len(prior.classes), len(prior.labels)))
    # One objective with one weight: T's own weight is a scale of its prior.
    scale = rows.total_evidence / rows.count / kappa_t if learn_transitions else 1.0
    strength, known_above = prior.strength * scale, _KNOWN * rows.total_evidence
    asked = Asked(
        prior, DirichletRows.of_means(prior.mean, strength, known_above), expected_log, order,
        1.0 / scale, learn_transitions,
    )  # fmt: skip
    options = AscentOptions(learn_transitions, max_iter, tol, local_steps, callback)
    state, trace = _solve(rows, asked, gamma, options, _ASCENTS[optimiser], warm_start, checkpoint)
    posterior = record(rows, state, trace, asked)
    if isinstance(class_prior, ClassPrior):
        _warn_of_collapse(posterior)
    told_apart = posterior.identifiability
    if told_apart.light != "green":
        warn_user(told_apart.message, IdentifiabilityWarning)
    return posterior


@dataclass(frozen=True, eq=False)
class Asked:
    """Parts of the question that the answer keeps.

    Attributes
    ----------
    prior : TransitionPrior
        What is known of T.
    transition_prior : DirichletRows
        The same in the units of the evidence.
    method, order : str, int
        How E[ln X] is evaluated.
    reported_share : float
        As in `LearnedTransitions`.
    learned : bool
        Whether T is learned.
    """

    prior: TransitionPrior
    transition_prior: DirichletRows
    method: str
    order: int
    reported_share: float
    learned: bool = True


def _solve(
    rows: AllRows,
    asked: Asked,
    class_prior: Gamma,
    options: AscentOptions,
    optimiser: Optimiser,
    warm_start: Posterior | None,
    folder: str | Path | None,
) -> tuple[State, Trace]:
    """Run the ascent over the rows, which are updated; ``folder`` is for checkpoints."""
    possible = asked.transition_prior.possible_labels
    seen, learn = asked.transition_prior.columns(possible), asked.learned
    problem = AscentProblem(class_prior, seen, rows.count, rows.total_evidence)
    make = partial(make_method, asked.method, order=asked.order)
    with rows as blocks:
        if warm_start is None:
            state = cold_state(problem, make, blocks, learn_transitions=learn)
        else:
            parts = posterior_parts(warm_start)
            blocks.start_from(warm_start.class_concentration)
            former = parts.transitions.columns(possible)
            state = warm_state(problem, former, parts.class_prior, learn_transitions=learn)
        kept = None
        if folder is not None:
            digest = digest_of(
                problem, state, blocks, warm=warm_start is not None, method=asked.method,
                order=asked.order, learn=learn, tol=options.tol, local_steps=options.local_steps,
            )  # fmt: skip
            kept = Checkpoint(folder, digest)
        method = make(state.transitions)
        trace = ascend(
            problem, state, method, blocks, options, optimiser=optimiser, checkpoint=kept
        )
    return state, trace


def record(
    rows: AllRows, state: State, trace: Trace, asked: Asked, row_counts: FloatArray | None = None
) -> Posterior:
    """Put what was inferred on record; ``row_counts`` if rows stand for others, too."""
    prior, class_prior = asked.transition_prior, state.class_prior
    assert isinstance(class_prior, KnownGamma | GammaPosterior)
    parameters = np.zeros_like(prior.parameters)
    parameters[:, prior.possible_labels] = state.transitions.parameters
    parameters.flags.writeable = False
    return Posterior(
        class_concentration=rows.class_concentration(),
        class_prior=frozen(class_prior.mean),
        evidence=rows.total_evidence / rows.count,
        trace=trace,
        classes=asked.prior.classes,
        labels=asked.prior.labels,
        _class_prior=class_prior,
        _row_counts=rows.multiplicity if row_counts is None else row_counts,
        _sample=rows.sample(),
        _transitions=DirichletRows(parameters, prior.known),
        _transition_prior=prior,
        _reported_share=asked.reported_share,
        _prior_share=np.ones((len(parameters), 1)),
        _learned=asked.learned,
        _method=asked.method,
        _order=asked.order,
    )


def _warn_of_collapse(posterior: Posterior) -> None:
    """Warn of a class that is nobody's most probable one, as an unequal gamma may make it."""
    if np.ptp(posterior.class_prior) <= _UNEQUAL * posterior.class_prior.max():
        return
    top, _ = where_rows_are(
        posterior.class_concentration, posterior.row_counts, posterior.class_prior
    )
    if not top.all():
        nobody = [posterior.classes[c] for c in np.flatnonzero(top == 0)]
        warn_user(
            Message(
                "collapse-by-prior",
                "No row has {classes} as its most probable class ({n} such classes): with an "
                "unequal class_prior and little evidence rows may all end in the largest class. "
                "Leave class_prior out, or raise evidence {guide}.",
                classes=listed(nobody),
                n=len(nobody),
                guide=COLLAPSE,
            )
        )


def as_prior(transitions: TransitionPrior | ArrayLike) -> TransitionPrior:
    """Return what is known of T: as it is given, or made from concentrations."""
    if isinstance(transitions, TransitionPrior):
        return transitions
    return TransitionPrior.from_concentration(transitions)


def _check_in_memory(rows: AllRows, optimiser: str) -> None:
    in_memory = isinstance(rows, RowBlocks) and not is_mapped(rows.rows.label_proba)
    if optimiser != "natural" and not in_memory:
        raise ValueError(f'optimiser={optimiser!r} needs all rows in memory; use "natural".')


def _check_warm_start(warm_start: Posterior | None, shape: tuple[int, int, int]) -> None:
    if warm_start is None:
        return
    if not isinstance(warm_start, Posterior):
        raise ValueError(f"warm_start must be a Posterior; got {type(warm_start).__name__}.")
    found = (*warm_start.class_concentration.shape, len(warm_start.labels))
    if found != shape:
        raise ValueError(f"warm_start has (rows, classes, labels) = {found}, this problem {shape}.")
