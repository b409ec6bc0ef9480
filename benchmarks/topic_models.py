"""`infer` against topic models, which are the same model with the same bound.

A row of ``label_proba`` is a document, its labels are words with fractional counts, classes are
topics, gamma is the document-topic prior and the transition prior is the topic-word prior. All are
given the same of each, and the question is how long they take until their T is within 0.01 of the
reference, the answer of `infer` with a very small tolerance.

There are two contests. In the first everyone begins where it does by itself: `infer` at the prior
mean, the others at random topics. The prior has strength 500, a twelfth of what a class gets from
60,000 rows; with a weaker one the others end up elsewhere. In the second the prior has strength 50
and the others are handed the first T of `infer`.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from gensim.models import LdaModel
from scipy.optimize import linear_sum_assignment
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks.iteration import run_for
from benchmarks.problem import N_CLASSES, N_LABELS, Problem, draw_problem
from benchmarks.table import Measurement
from benchmarks.timing import best_of, progress
from decoupling import infer

# Largest difference of two T that agree.
AGREE = 0.01
# After so many passes the T of a peer moves no further, but for its random starts of the rows.
SETTLED = 10
# Options of `infer` under which it solves the problem of a topic model.
OPTIONS = {"expected_log": "bound", "evidence": 1.0}


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


# Topic models, and how many times faster `infer` is to be.
PEERS: tuple[tuple[type[Gensim] | type[Sklearn], float], ...] = ((Gensim, 50.0), (Sklearn, 25.0))


@dataclass(frozen=True, eq=False)
class Contest:
    """A problem, where the peers begin, and how `infer` does.

    Attributes
    ----------
    name : str
        What is special about it.
    problem : Problem
        What is solved.
    start : array (C, S) or None
        Concentrations of the topics that the peers begin with; None leaves it to them.
    reference : array (C, S)
        The T that `infer` converges to.
    n_iter : int
        Iterations after which `infer` agrees with it.
    """

    name: str
    problem: Problem
    start: np.ndarray | None
    reference: np.ndarray
    n_iter: int

    @classmethod
    def of(cls, name: str, problem: Problem, start: np.ndarray | None) -> "Contest":
        """Solve the problem, and count the iterations that were needed."""
        reference = reference_transitions(problem)
        return cls(name, problem, start, reference, iterations_needed(problem, reference))

    def seconds(self, **options: int) -> float:
        """Time so many iterations of `infer`."""
        return best_of(lambda: run_for(self.problem, self.n_iter, **OPTIONS, **options), 5)


def run(quick: bool) -> list[Measurement]:
    """Both contests, and what becomes of a random start when the prior is weak."""
    logging.getLogger("gensim").setLevel(logging.ERROR)  # it warns of few passes
    problem = draw_problem(6_000 if quick else 60_000)
    strong = replace(problem, transition_prior=10.0 * problem.transition_prior)
    first = Contest.of("strength 500, own starts", strong, None)
    second = Contest.of("strength 50, start of infer", problem, first_transitions(problem))
    lines = [*_compete(first), *_compete(second)]
    lines += [_from_random_start(peer, second) for peer, _ in PEERS]
    return [*lines, _to_default_tolerance(second)]


def _compete(contest: Contest) -> list[Measurement]:
    """Time `infer` before and after each peer, so that a busy spell spoils neither."""
    progress(f"topic models: {contest.name}; infer takes {contest.n_iter} iteration(s)")
    ours, single, rows = [contest.seconds()], [contest.seconds(n_threads=1)], []
    for peer, target in PEERS:
        distances = distances_by_pass(peer, contest)
        passes = passes_needed(distances)
        spent = seconds_for(peer, contest, passes or SETTLED)
        rows.append((peer.name, target, passes, spent, distances[-1]))
        ours.append(contest.seconds())
        single.append(contest.seconds(n_threads=1))
        progress(f"topic models: {rows[-1]}; infer {min(ours):.3f} s, {min(single):.3f} s on one")
    return [
        line for row in rows for line in _lines(contest, *row, ours=min(ours), single=min(single))
    ]


def _lines(
    contest: Contest,
    name: str,
    target: float,
    passes: int | None,
    spent: float,
    last: float,
    *,
    ours: float,
    single: float,
) -> list[Measurement]:
    count = _counted(passes or SETTLED, "pass", "passes")
    if passes is None:
        count += ", not enough"
    where = f"T to 0.01, N={len(contest.problem.label_proba):,} C=10 S=11, {contest.name}"
    steps = _counted(contest.n_iter, "iteration", "iterations")
    what = f"{where}: {name} ({count}) over infer ({steps})"
    return [
        Measurement(what, spent / ours, target, "at least"),
        Measurement(f"the same against {name}, infer with n_threads=1", spent / single),
        Measurement(f"{name}: largest difference in T after {SETTLED} passes", last, unit=""),
    ]


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _from_random_start(peer: type[Gensim] | type[Sklearn], contest: Contest) -> Measurement:
    progress(f"topic models: {peer.name} from its own start")
    lost = distances_by_pass(peer, replace(contest, start=None), matched_distance)[-1]
    what = f"{peer.name}, strength 50, own start: the same, topics matched to classes"
    return Measurement(what, lost, unit="")


def _to_default_tolerance(contest: Contest) -> Measurement:
    problem = contest.problem
    whole = best_of(lambda: infer(problem.label_proba, problem.transition_prior, **OPTIONS), 3)
    what = "infer to its default tolerance, as a multiple of that: strength 50"
    return Measurement(what, whole / contest.seconds())


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


def distances_by_pass(
    peer: type[Gensim] | type[Sklearn],
    contest: Contest,
    measure: Callable[[np.ndarray, np.ndarray], float] | None = None,
) -> list[float]:
    """Return the distance of T from the reference after each pass."""
    model = peer(contest.problem, peer.documents(contest.problem), contest.start)
    distances = []
    for _ in range(SETTLED):
        model.advance()
        distances.append((measure or distance)(model.transitions, contest.reference))
    return distances


def passes_needed(distances: list[float]) -> int | None:
    """Count the passes until T is near the reference; None unless it is at the end, too."""
    if distances[-1] > AGREE:
        return None
    return next(k for k, value in enumerate(distances, start=1) if value <= AGREE)


def seconds_for(peer: type[Gensim] | type[Sklearn], contest: Contest, passes: int) -> float:
    """Time a fresh run of so many passes; scikit-learn on one core or on all, as is quicker."""
    documents = peer.documents(contest.problem)

    def work(passes: int, **options: int) -> None:
        model = peer(contest.problem, documents, contest.start, **options)
        for _ in range(passes):
            model.advance()

    repeats = 1 if passes > 2 else 3
    if peer is not Sklearn or os.cpu_count() == 1:
        return best_of(lambda: work(passes), repeats)
    work(1, n_jobs=-1)  # starts the worker processes
    together, alone = (best_of(lambda n=n: work(1, n_jobs=n), 2) for n in (-1, 1))
    n_jobs = -1 if together < alone else 1
    return best_of(lambda: work(passes, n_jobs=n_jobs), repeats)


def distance(transitions: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest difference of an entry."""
    return float(np.abs(transitions - reference).max())


def matched_distance(transitions: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest difference when each topic goes to the class that suits it best."""
    cost = np.abs(transitions[:, None] - reference[None]).max(axis=2)
    topics, classes = linear_sum_assignment(cost)
    return float(cost[topics, classes].max())
