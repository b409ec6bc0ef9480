"""`infer` against topic models, which are the same model with the same bound.

A row of ``label_proba`` is a document, its labels are words with fractional counts, classes are
topics, gamma is the document-topic prior and the transition prior is the topic-word prior. All are
given the same of each and the same first T, and the question is how long they take until their T
is within 0.01 of the reference, the answer of `infer` with a very small tolerance.
"""

import logging
import os
from typing import NamedTuple, Protocol

import numpy as np
from gensim.models import LdaModel
from scipy.optimize import linear_sum_assignment
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.iteration import run_for
from benchmarks.problem import N_CLASSES, N_LABELS, Problem, draw_problem
from benchmarks.table import Measurement
from benchmarks.timing import best_of, progress, seconds
from decoupling import infer

AGREE = 0.01
# After so many passes the T of a peer moves no further, but for its random starts of the rows.
SETTLED = 8
OPTIONS = {"expected_log": "bound", "evidence": 1.0}


class Peer(Protocol):
    """A topic model that goes through the documents once at a time."""

    def advance(self) -> None:
        """Go through all documents, then update the topics."""

    @property
    def transitions(self) -> np.ndarray:
        """The topics, (C, S)."""


class Gensim:
    """gensim's `LdaModel`, full updates from all documents.

    Everything about the rows is its default: float32, at most 50 steps, until they move less than
    0.001 on average. ``decay=0`` makes every update a full one; by default it damps them, also
    without minibatches, and needs more passes.
    """

    name = "gensim"

    def __init__(self, problem: Problem, documents: list, start: np.ndarray | None) -> None:
        prior = problem.transition_prior
        self._documents = documents
        self._model = LdaModel(
            id2word={label: str(label) for label in range(N_LABELS)},
            num_topics=N_CLASSES,
            alpha=problem.class_prior,
            eta=prior,
            decay=0.0,
            offset=1.0,
            update_every=0,
            eval_every=None,
            chunksize=len(documents),
            random_state=0,
        )
        if start is not None:
            self._model.state.sstats[...] = start - prior
            self._model.sync_state()

    @staticmethod
    def documents(problem: Problem) -> list:
        """Documents as lists of words with counts."""
        return [list(enumerate(row)) for row in problem.label_proba.tolist()]

    def advance(self) -> None:
        """Go through all documents, then update the topics."""
        # Otherwise each call would count its documents as new ones, beside those of the last call.
        self._model.state.numdocs = 0
        self._model.update(self._documents)

    @property
    def transitions(self) -> np.ndarray:
        """The topics, (C, S)."""
        return self._model.get_topics()


class Sklearn:
    """scikit-learn's `LatentDirichletAllocation`, full updates from all documents.

    The constructor takes neither a matrix for a prior nor a start, and `fit` begins at random.
    But `partial_fit` goes on from the fitted attributes, so after a first call on one row these
    are set; with one batch of all the rows and ``learning_decay=0`` a further call is a full
    update. Rows take the default of at most 100 steps, until they move less than 0.001.
    """

    name = "scikit-learn"

    def __init__(
        self,
        problem: Problem,
        documents: np.ndarray,
        start: np.ndarray | None,
        n_jobs: int | None = None,
    ) -> None:
        if start is None:  # as it draws it itself
            start = np.random.default_rng(0).gamma(100.0, 0.01, (N_CLASSES, N_LABELS))
        self._documents = documents
        self._model = LatentDirichletAllocation(
            N_CLASSES,
            doc_topic_prior=problem.class_prior[0],
            learning_decay=0.0,
            learning_offset=1.0,
            batch_size=len(documents),
            total_samples=len(documents),
            n_jobs=n_jobs,
            random_state=0,
        )
        self._model.partial_fit(documents[:1])
        self._model.topic_word_prior_ = problem.transition_prior
        self._model.components_ = start.copy()
        self._model.exp_dirichlet_component_ = np.exp(psi(start) - psi(start.sum(1)[:, None]))

    @staticmethod
    def documents(problem: Problem) -> np.ndarray:
        """Documents as rows of counts; sparse ones are no faster when no count is zero."""
        return problem.label_proba

    def advance(self) -> None:
        """Go through all documents, then update the topics."""
        self._model.partial_fit(self._documents)

    @property
    def transitions(self) -> np.ndarray:
        """The topics, (C, S)."""
        return self._model.components_ / self._model.components_.sum(axis=1, keepdims=True)


class Needed(NamedTuple):
    """Passes until T is near the reference, and until it is near its own last value too."""

    reference: int
    both: int


def run(quick: bool) -> list[Measurement]:
    """Time each tool for as many passes as it needs."""
    logging.getLogger("gensim").setLevel(logging.ERROR)  # it warns of few passes
    problem = draw_problem(6_000 if quick else 60_000)
    reference = reference_transitions(problem)
    count = iterations_needed(problem, reference)
    ours = best_of(lambda: run_for(problem, count, **OPTIONS), 7)
    single = best_of(lambda: run_for(problem, count, n_threads=1, **OPTIONS), 5)
    default = best_of(lambda: infer(problem.label_proba, problem.transition_prior, **OPTIONS), 3)
    progress(f"topic models: infer, {count} iterations: {ours:.3f} s, one thread {single:.3f} s")
    lines = []
    for peer, target in ((Gensim, 50.0), (Sklearn, 25.0)):
        lines += _against(peer, problem, reference, (ours, single), target, count)
    what = f"infer to its default tolerance, as a multiple of its {count} iterations above"
    lines.append(Measurement(what, default / ours))
    return lines


def _against(
    peer: type[Gensim] | type[Sklearn],
    problem: Problem,
    reference: np.ndarray,
    ours: tuple[float, float],
    target: float,
    count: int,
) -> list[Measurement]:
    """Lines about one peer."""
    documents = peer.documents(problem)
    start = first_transitions(problem)
    progress(f"topic models: {peer.name}, {SETTLED} passes from the start of infer")
    history = transitions_by_pass(peer(problem, documents, start))
    needed = passes_needed(history, reference)
    progress(f"topic models: {peer.name} needs {needed}; timing")
    spent = {k: seconds_for(peer, problem, documents, k) for k in sorted(set(needed))}
    progress(f"topic models: {peer.name}: {spent} s by passes; now from its own start")
    lost = transitions_by_pass(peer(problem, documents, None))
    where = f"infer, bound, N={len(documents):,} C=10 S=11, {count} iterations"
    faster = f"{where}: times faster than {peer.name}"

    def passes(k: int) -> str:
        return f"{k} pass" if k == 1 else f"{k} passes"

    return [
        Measurement(
            f"{faster}, {passes(needed.both)}, until T is settled",
            spent[needed.both] / ours[0],
            target,
            "at least",
        ),
        Measurement(
            f"{faster}, {passes(needed.reference)}, until T agrees",
            spent[needed.reference] / ours[0],
            target,
            "at least",
        ),
        Measurement(
            f"the same, infer on one thread, {passes(needed.reference)}",
            spent[needed.reference] / ours[1],
        ),
        Measurement(
            f"{peer.name} from the start of infer: largest difference in T after {SETTLED} passes",
            distance(history[-1], reference),
            unit="",
        ),
        Measurement(
            f"{peer.name} from its own random start: the same, its topics matched to classes",
            matched_distance(lost[-1], reference),
            unit="",
        ),
    ]


def reference_transitions(problem: Problem) -> np.ndarray:
    """Return the T that `infer` ends up at from the prior mean, (C, S)."""
    posterior = infer(
        problem.label_proba, problem.transition_prior, tol=1e-10, max_iter=5_000, **OPTIONS
    )
    if not posterior.trace.converged:
        raise RuntimeError("the reference did not converge")
    return posterior.transitions


def iterations_needed(problem: Problem, reference: np.ndarray) -> int:
    """Return the fewest iterations after which `infer` agrees with the reference."""
    count = 1
    while distance(run_for(problem, count, **OPTIONS).transitions, reference) > AGREE:
        count += 1
    return count


def first_transitions(problem: Problem) -> np.ndarray:
    """Return the concentrations of T that `infer` begins with: prior mean, counts of the data."""
    prior = problem.transition_prior
    share = len(problem.label_proba) / N_CLASSES
    return prior * np.maximum(1.0, share / prior.sum(axis=1, keepdims=True))


def transitions_by_pass(peer: Peer) -> list[np.ndarray]:
    """Return T after each of the passes until it has settled."""
    history = []
    for _ in range(SETTLED):
        peer.advance()
        history.append(peer.transitions)
    return history


def passes_needed(history: list[np.ndarray], reference: np.ndarray) -> Needed:
    """Count passes until T agrees with the reference, and until it agrees with both."""
    near = [distance(transitions, reference) <= AGREE for transitions in history]
    settled = [distance(transitions, history[-1]) <= AGREE for transitions in history]
    if not near[-1]:
        raise RuntimeError(
            f"T settles {distance(history[-1], reference):.3f} away from the reference: "
            "the two do not solve the same problem"
        )
    both = [a and b for a, b in zip(near, settled, strict=True)]
    return Needed(near.index(True) + 1, both.index(True) + 1)


def seconds_for(
    peer: type[Gensim] | type[Sklearn], problem: Problem, documents: list | np.ndarray, passes: int
) -> float:
    """Time a fresh run of so many passes; scikit-learn on one core or on all, as is quicker."""

    def work(**options: int) -> None:
        model = peer(problem, documents, first_transitions(problem), **options)
        for _ in range(passes):
            model.advance()

    if peer is Sklearn and (os.cpu_count() or 1) > 1:
        # The first call starts the worker processes.
        work(n_jobs=-1)
        return min(seconds(work), seconds(lambda: work(n_jobs=-1)))
    return seconds(work)


def distance(transitions: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest difference of an entry."""
    return float(np.abs(transitions - reference).max())


def matched_distance(transitions: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest difference when each topic goes to the class that suits it best."""
    cost = np.abs(transitions[:, None] - reference[None]).max(axis=2)
    topics, classes = linear_sum_assignment(cost)
    return float(cost[topics, classes].max())
