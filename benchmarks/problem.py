"""The problem that most benchmarks solve, drawn from the model itself."""

from dataclasses import dataclass

import numpy as np

# Classes, C, as many as Fashion MNIST has.
N_CLASSES = 10
N_LABELS = N_CLASSES + 1  # column 0 is unlabelled
# Sum of the concentrations of each row of the prior of T, by default.
STRENGTH = 50.0
# Rows that are drawn at a time: memory grows with them.
_BLOCK = 10_000


@dataclass(frozen=True, eq=False)
class Problem:
    """Label distributions with what is known of the labelling.

    Attributes
    ----------
    label_proba : array (N, S)
        p(label | x) = Y T.
    transition_prior : array (C, S)
        Dirichlet concentrations: fifty times a rough guess of T.
    class_prior : array (C,)
        Dirichlet concentrations of each row of Y, the default of `decoupling.infer`.
    """

    label_proba: np.ndarray
    transition_prior: np.ndarray
    class_prior: np.ndarray


def draw_problem(n_rows: int, seed: int = 0) -> Problem:
    """Draw T and Y; the rows are drawn in blocks, so that nothing but the result takes memory."""
    rng = np.random.default_rng(seed)
    transitions = _draw_transitions(rng)
    class_prior = np.full(N_CLASSES, 1.0 / N_CLASSES)
    label_proba = np.empty((n_rows, N_LABELS))
    for start in range(0, n_rows, _BLOCK):
        block = label_proba[start : start + _BLOCK]
        np.matmul(rng.dirichlet(class_prior, len(block)), transitions, out=block)
    return Problem(label_proba, STRENGTH * _rough_transitions(), class_prior)


def draw_semi_supervised(n_rows: int, n_classes: int, seed: int = 0) -> Problem:
    """Draw rows with some ten classes each, labelled three times in ten or so, never wrongly."""
    rng = np.random.default_rng(seed)
    labelled = rng.uniform(0.2, 0.4, n_classes)
    label_proba = np.empty((n_rows, n_classes + 1))
    for start in range(0, n_rows, _BLOCK):
        block = label_proba[start : start + _BLOCK]
        np.multiply(
            rng.dirichlet(np.full(n_classes, 10.0 / n_classes), len(block)),
            labelled,
            out=block[:, 1:],
        )
        block[:, 0] = 1.0 - block[:, 1:].sum(axis=1)
    mean = np.column_stack([np.full(n_classes, 0.7), 0.3 * np.eye(n_classes)])
    return Problem(label_proba, STRENGTH * mean, np.full(n_classes, 1.0 / n_classes))


def _draw_transitions(rng: np.random.Generator) -> np.ndarray:
    """Half of each class or a little more is unlabelled; a few labels get most of the mistakes."""
    unlabelled = rng.uniform(0.5, 0.6, N_CLASSES)
    wrong = rng.uniform(0.05, 0.2, N_CLASSES)
    mistakes = rng.dirichlet(np.full(N_CLASSES - 1, 0.5), N_CLASSES)
    transitions = np.empty((N_CLASSES, N_LABELS))
    transitions[:, 0] = unlabelled
    transitions[:, 1:][~np.eye(N_CLASSES, dtype=bool)] = (wrong[:, None] * mistakes).ravel()
    np.fill_diagonal(transitions[:, 1:], 1.0 - unlabelled - wrong)
    return transitions


def _rough_transitions() -> np.ndarray:
    """Guess: half of every class is unlabelled, a tenth gets any of the wrong labels."""
    transitions = np.full((N_CLASSES, N_LABELS), 0.1 / (N_CLASSES - 1))
    transitions[:, 0] = 0.5
    np.fill_diagonal(transitions[:, 1:], 0.4)
    return transitions
