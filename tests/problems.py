"""Random problems of the kind that the model describes, for tests of every layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from decoupling.fits.folds import Fold, make_folds
from decoupling.inference.ascent import shared_steps
from decoupling.inference.ascent.gamma_posterior import KnownGamma
from decoupling.inference.ascent.start import cold_state
from decoupling.inference.ascent.state import AscentProblem, State
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import make_method
from decoupling.inference.math.method import Method
from decoupling.inference.rows.block import Rows
from decoupling.inference.rows.blocks import RowBlocks

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RandomProblem:
    """Label distributions drawn from the model, with the truth behind them."""

    label_proba: FloatArray  # (N, S)
    classes: FloatArray  # (N, C) Y
    transitions: FloatArray  # (C, S) T
    concentration: FloatArray  # (C, S) A, a rough prior around T


def random_problem(
    seed: int, n_rows: int = 40, n_classes: int = 3, n_labels: int = 4, strength: float = 20.0
) -> RandomProblem:
    """Draw Y and T, and hand out P = Y T with a prior that is roughly right."""
    rng = np.random.default_rng(seed)
    transitions = 0.3 * rng.dirichlet(np.ones(n_labels), n_classes)
    for c in range(n_classes):
        transitions[c, (c + 1) % n_labels] += 0.7
    classes = rng.dirichlet(np.full(n_classes, 0.5), n_rows)
    rough = 0.8 * transitions + 0.2 / n_labels
    return RandomProblem(classes @ transitions, classes, transitions, strength * rough)


def in_blocks(
    label_proba: FloatArray,
    prior: DirichletRows,
    gamma: FloatArray,
    *,
    evidence: float | FloatArray = 1.0,
    block_size: int = 7,
    n_threads: int = 1,
) -> tuple[AscentProblem, RowBlocks]:
    """A problem for the steps of the inference, and its rows."""
    labels, classes = np.ones(label_proba.shape[1], bool), np.empty((len(label_proba), len(gamma)))
    rows = Rows(label_proba, labels, np.asarray(evidence, dtype=float), classes)
    problem = AscentProblem(KnownGamma(gamma), prior, rows.count, rows.total_evidence)
    return problem, RowBlocks(rows, block_size, n_threads)


def random_rows(seed: int, n_classes: int = 3, n_labels: int = 4) -> DirichletRows:
    """A distribution of T with a structural zero and a known row."""
    rng = np.random.default_rng(seed)
    parameters = rng.gamma(1.0, 4.0, (n_classes, n_labels)) + 0.05
    parameters[0, n_labels - 1] = 0.0
    known = np.zeros(n_classes, dtype=bool)
    known[1] = True
    parameters[1] /= parameters[1].sum()
    return DirichletRows(parameters, known)


def draw_labelled(
    seed: int = 0, n_rows: int = 90, labelled: float = 0.5, spread: float = 1.5
) -> tuple[FloatArray, IntArray]:
    """Rows of three classes on a triangle, and the codes of their labels: 0 is unlabelled."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n_rows)
    X = np.array([[0.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])[classes]
    X = spread * X + rng.standard_normal((n_rows, 2))
    return X, np.where(rng.random(n_rows) < labelled, classes + 1, 0)


def folds_of(codes: IntArray, n_folds: int = 3, seed: int = 0) -> list[Fold]:
    """Folds of rows with these codes."""
    return make_folds(None, codes, n_folds, np.random.RandomState(seed))


def assert_probabilities(proba: FloatArray, shape: tuple[int, ...]) -> None:
    """Distributions in rows, with no label that is impossible."""
    assert proba.shape == shape
    assert (proba > 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


def ascent_problem(
    *, evidence: float = 50.0, block_size: int = 7, seed: int = 0, n_threads: int = 1
) -> tuple[AscentProblem, RowBlocks]:
    """A random problem for the steps of the inference."""
    drawn = random_problem(seed)
    prior, gamma = DirichletRows.free(drawn.concentration), np.full(3, 1 / 3)
    return in_blocks(
        drawn.label_proba, prior, gamma,
        evidence=evidence, block_size=block_size, n_threads=n_threads,
    )  # fmt: skip


def started_at(
    method: str, problem: AscentProblem, blocks: RowBlocks, *, learn_transitions: bool = True
) -> tuple[State, Method]:
    """Where a run begins, and the method there."""
    make = partial(make_method, method, order=2)
    state = cold_state(problem, make, blocks, learn_transitions=learn_transitions)
    return state, shared_steps.evaluator(make(state.transitions), state, blocks)
