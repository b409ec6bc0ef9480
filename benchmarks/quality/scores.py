"""What an answer is worth."""

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.quality.methods import Answer
from benchmarks.quality.problems import Problem

BINS = 15


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
        apart = np.abs(answer.transitions - problem.transitions).sum(axis=1) / 2
        out["T"] = float(apart.max())
    return out


def of_proba(names: np.ndarray, proba: np.ndarray, classes: np.ndarray) -> dict[str, float]:
    """Scores of p(class | x), (N, C)."""
    columns = np.searchsorted(names, classes)
    rows = np.arange(len(classes))
    truth = np.eye(len(names))[columns]
    top = proba.argmax(axis=1)
    return {
        "F1": float(f1_score(columns, top, average="macro", labels=np.arange(len(names)))),
        "log-loss": float(-np.log(np.clip(proba[rows, columns], 1e-6, None)).mean()),
        "Brier": float(((proba - truth) ** 2).sum(axis=1).mean()),
        "calibration": calibration_error(proba[rows, top], top == columns),
    }


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Mean distance of confidence and accuracy over bins of equal width."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    gap = np.bincount(bins, confidence - right, minlength=BINS)
    return float(np.abs(gap).sum() / count.sum())
