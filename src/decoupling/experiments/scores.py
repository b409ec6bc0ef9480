"""Scores of class probabilities, for data whose true classes are known."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.evaluation.bins import calibration_bins

# Bins of the calibration error, of equal width; 15 is usual in the literature.
_BINS: Final = 15
# Probability that a true class has at least in the log-loss, so that no row alone decides a mean.
_LEAST: Final = 1e-6


def macro_f1(truth: IntArray, guess: IntArray, scored: IntArray) -> float:
    """Mean F1 over some of the classes."""
    from sklearn.metrics import f1_score

    return float(f1_score(truth, guess, labels=scored, average="macro", zero_division=0.0))


def log_loss(proba: FloatArray, columns: IntArray) -> float:
    """Mean of -ln p(true class | x)."""
    seen = proba[np.arange(len(columns)), columns]
    return float(-np.log(np.maximum(seen, _LEAST)).mean())


def brier_score(proba: FloatArray, columns: IntArray) -> float:
    """Mean squared distance of the probabilities from the truth."""
    truth = np.eye(proba.shape[1])[columns]
    return float(((proba - truth) ** 2).sum(axis=1).mean())


def calibration_error(proba: FloatArray, columns: IntArray) -> float:
    """Mean distance of confidence and accuracy over bins of equal width."""
    right: BoolArray = proba.argmax(axis=1) == columns
    confidence, accuracy, count = calibration_bins(proba.max(axis=1), right, _BINS)
    return float(np.nansum(count * np.abs(confidence - accuracy)) / len(columns))


def transition_error(found: FloatArray, truth: FloatArray) -> float:
    """Largest distance of a row of T, in total variation."""
    return float(np.abs(found - truth).sum(axis=1).max() / 2)
