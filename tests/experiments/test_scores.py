"""Scores of probabilities against known classes."""

import numpy as np
import pytest
from sklearn import metrics

from decoupling.experiments.scores import (
    brier_score,
    calibration_error,
    log_loss,
    macro_f1,
    transition_error,
)

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet(np.ones(3), size=400)
TRUTH = np.array([RNG.choice(3, p=row) for row in PROBA])


def test_those_that_scikit_learn_has():
    guess = PROBA.argmax(axis=1)
    assert macro_f1(TRUTH, guess, np.arange(3)) == metrics.f1_score(TRUTH, guess, average="macro")
    assert macro_f1(TRUTH, guess, np.array([2])) == metrics.f1_score(TRUTH == 2, guess == 2)
    assert log_loss(PROBA, TRUTH) == pytest.approx(metrics.log_loss(TRUTH, PROBA))
    truth = np.eye(3)[TRUTH]
    by_class = [metrics.brier_score_loss(truth[:, k], PROBA[:, k]) for k in range(3)]
    assert brier_score(PROBA, TRUTH) == pytest.approx(sum(by_class))


def test_a_class_that_nobody_finds_scores_nothing():
    assert macro_f1(np.array([0, 0]), np.array([0, 0]), np.array([1])) == 0.0


def test_one_impossible_truth_does_not_decide_alone():
    assert log_loss(np.array([[1.0, 0.0]]), np.array([1])) == pytest.approx(-np.log(1e-6))


def test_calibration_error():
    sure = np.array([[0.9, 0.1]] * 10)
    assert calibration_error(sure, np.array([0] * 9 + [1])) == pytest.approx(0.0)
    assert calibration_error(sure, np.array([0] * 5 + [1] * 5)) == pytest.approx(0.4)
    assert calibration_error(np.array([[1.0, 0.0]]), np.array([0])) == 0.0
    assert calibration_error(PROBA, TRUTH) < 0.1


def test_transition_error_is_that_of_the_worst_row():
    found = np.array([[0.9, 0.1], [0.5, 0.5]])
    assert transition_error(found, np.array([[0.8, 0.2], [0.2, 0.8]])) == pytest.approx(0.3)
