"""T that follows p(y|x): it obeys the task, and makes the labels more likely."""

import numpy as np
import pytest

from decoupling.transitions import tasks
from decoupling.transitions.follow import updated_transitions

AB = ("a", "b")


def test_transitions_are_updated_as_the_task_has_it():
    """Classes are known: T is the share of each label, and tied cells are equal."""
    classes = np.repeat([0, 1], [60, 40])
    codes = np.where(np.arange(100) % 5 == 0, 1 - classes, classes)
    proba = np.eye(2)[classes]
    start = np.array([[0.6, 0.4], [0.4, 0.6]])
    codes[:3] = 1  # three more wrong ones in the first class
    by_class = tasks.class_conditional_noise(AB)
    found = updated_transitions(by_class, proba, start, codes, np.ones(100))
    wrong = np.mean(codes[:60] == 1)
    np.testing.assert_allclose(found, [[1 - wrong, wrong], [0.2, 0.8]], atol=1e-3)
    tied = updated_transitions(tasks.noisy(AB), proba, start, codes, np.ones(100))
    assert tied[0, 1] == pytest.approx(tied[1, 0])
    assert tied[0, 1] == pytest.approx((wrong + 0.2) / 2, abs=1e-3)


def test_the_rate_of_labelling_stays():
    """Of "a" half is labelled, it is said; p(y|x) has none of its unlabelled rows."""
    task = tasks.multi_positive_unlabelled(AB, noise=True)
    classes = np.repeat([0, 1, 2], [200, 100, 100])
    codes = np.repeat([0, 1, 2, 1, 2], [200, 90, 10, 20, 80])
    start = np.array([[1.0, 0.0, 0.0], [0.5, 0.3, 0.2], [0.6, 0.2, 0.2]])
    found = updated_transitions(task, np.eye(3)[classes], start, codes, np.ones(400))
    np.testing.assert_allclose(found, [[1, 0, 0], [0.5, 0.45, 0.05], [0.6, 0.08, 0.32]], atol=1e-3)


def test_an_update_of_transitions_makes_the_labels_more_likely():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.3, 0.3], 400)
    truth = np.array([[0.7, 0.3], [0.3, 0.7]])
    codes = (rng.random(400) > (proba @ truth)[:, 0]).astype(int)
    start = np.array([[0.95, 0.05], [0.05, 0.95]])
    found = updated_transitions(tasks.noisy(AB), proba, start, codes, np.ones(400))

    def likely(T):
        return np.log((proba @ T)[np.arange(400), codes]).sum()

    assert likely(found) > likely(start) + 10
    assert abs(found[0, 1] - 0.3) < abs(start[0, 1] - 0.3) / 2
