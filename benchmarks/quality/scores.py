"""What an answer is worth."""

import numpy as np

from benchmarks.quality.methods import Answer
from benchmarks.quality.problems import Problem
from decoupling.experiments.scores import (
    brier_score,
    calibration_error,
    log_loss,
    macro_f1,
    transition_error,
)


def scores(problem: Problem, answer: Answer) -> dict[str, float]:
    """Macro-F1, log-loss, Brier score and calibration error of test and of training rows.

    Of the training rows ours is p(class | label, x) and the others' p(class | x), which they may
    have fitted: these are not to be compared. T is wrong by the largest distance of a row, in total
    variation.
    """
    out = {}
    for part, proba, classes in (
        ("", answer.test, problem.classes_test),
        ("train ", answer.train, problem.classes),
    ):
        for name, value in of_proba(problem.names, proba, classes).items():
            out[part + name] = value
    if answer.transitions is not None and answer.transitions.shape == problem.transitions.shape:
        out["T"] = transition_error(answer.transitions, problem.transitions)
    return out


def of_proba(names: np.ndarray, proba: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Scores of p(class | x), (N, C)."""
    columns = np.searchsorted(names, classes)
    return {
        "F1": macro_f1(columns, proba.argmax(axis=1), np.arange(len(names))),
        "log-loss": log_loss(proba, columns),
        "Brier": brier_score(proba, columns),
        "calibration": calibration_error(proba, columns),
    }
