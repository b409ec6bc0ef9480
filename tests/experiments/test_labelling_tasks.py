"""Labels of the paper's tasks: who has one, how often it is wrong, and T."""

import numpy as np
import pytest

from decoupling.experiments.labelling_tasks import NEGATIVE, TASKS, UNLABELLED

CLASSES = np.repeat(np.arange(10), 600)


@pytest.mark.parametrize("name", TASKS)
def test_as_many_labels_as_asked_for_and_as_often_wrong_as_said(name):
    task = TASKS[name]
    given = task.draw(CLASSES, 10, 500, run=0)
    scored = task.scored(10)
    labelled = given != UNLABELLED
    assert np.isin(given[labelled], scored).all()
    counts = np.bincount(CLASSES[labelled], minlength=10)
    np.testing.assert_array_equal(counts, np.where(np.isin(np.arange(10), scored), 500, 0))
    wrong = given[labelled] != CLASSES[labelled]
    rate = task.noise * (0.9 if task.downwards else 1.0)
    assert wrong.mean() == pytest.approx(rate, abs=0.02)
    if task.downwards:
        assert (given[labelled] <= CLASSES[labelled]).all()


@pytest.mark.parametrize("name", TASKS)
def test_transitions_are_the_frequencies_of_labels(name):
    task = TASKS[name]
    T = task.transitions(CLASSES, 10, 300)
    np.testing.assert_allclose(T.sum(axis=1), 1)
    columns = [UNLABELLED, *task.scored(10)]
    rows = np.unique(task.targets(np.arange(10)))
    seen = np.zeros_like(T)
    for run in range(20):
        given = task.draw(CLASSES, 10, 300, run)
        for k, c in enumerate(rows):
            members = given[task.targets(CLASSES) == c]
            seen[k] += [(members == label).mean() / 20 for label in columns]
    np.testing.assert_allclose(seen, T, atol=0.015)


def test_samples_with_labels_are_among_those_with_more():
    few, many = (TASKS["noise50"].draw(CLASSES, 10, count, run=3) for count in (50, 400))
    labelled = few != UNLABELLED
    np.testing.assert_array_equal(few[labelled], many[labelled])


def test_runs_and_tasks_draw_their_own():
    drawn = [
        TASKS[name].draw(CLASSES, 10, 100, run).tobytes()
        for name, run in (("semi", 0), ("semi", 1), ("noise20", 0))
    ]
    assert len(set(drawn)) == 3
    again = TASKS["semi"].draw(CLASSES, 10, 100, 0).tobytes()
    assert again == drawn[0]


def test_all_but_the_positive_classes_are_negative():
    targets = TASKS["pu3"].targets(np.arange(6))
    np.testing.assert_array_equal(targets, [NEGATIVE, 1, 2, 3, NEGATIVE, NEGATIVE])
    assert TASKS["pu3"].suits(4)
    assert not TASKS["pu3"].suits(3)


def test_the_same_share_of_unequal_classes():
    classes = np.repeat([0, 1, 2], [400, 100, 200])
    given = TASKS["semi"].draw(classes, 3, 50, run=0)
    np.testing.assert_array_equal(np.bincount(classes[given != UNLABELLED]), [200, 50, 100])
    np.testing.assert_allclose(TASKS["semi"].transitions(classes, 3, 50)[:, 0], 0.5)
