"""Counts made to obey a task."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from patterns import TASKS

from decoupling.transitions import tasks
from decoupling.transitions.projection import project


@pytest.mark.parametrize(
    ("key", "counts", "expected"),
    [
        ("supervised", [[3, 1, 0], [9, 0, 0], [0, 0, 0]], np.eye(3)),
        (
            "semi",  # rates .5 and .3; the last class takes their mean
            [[5, 5, 0, 0], [7, 2, 1, 0], [0, 0, 0, 0]],
            [[0.6, 0.4, 0, 0], [0.6, 0, 0.4, 0], [0.6, 0, 0, 0.4]],
        ),
        ("pu", [[3, 1], [6, 2]], [[1, 0], [0.75, 0.25]]),
        (
            "multi-pu",  # labels of other classes count as labelled; nothing counted: uniform
            [[8, 1, 1, 0], [6, 1, 2, 1], [9, 0, 1, 0], [0, 0, 0, 0]],
            [[1, 0, 0, 0], [0.6, 0.4, 0, 0], [0.9, 0, 0.1, 0], [0.5, 0, 0, 0.5]],
        ),
        (
            "multi-pu noise",
            [[1, 0, 0, 0], [4, 4, 2, 0], [5, 1, 3, 1], [0, 0, 0, 2]],
            [[1, 0, 0, 0], [0.4, 0.4, 0.1, 0.1], [0.5, 0.1, 0.3, 0.1], [0, 0, 0, 1]],
        ),
        (
            "noisy",
            [[8, 1, 1], [4, 6, 0], [0, 0, 0]],
            [[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]],
        ),
        (
            "cond unlabelled",  # the mean rate of labelling, and each class's own noise
            [[4, 3, 3, 0], [10, 0, 0, 0], [7, 0, 0, 3]],
            [[0.7, 0.15, 0.15, 0], [0.7, 0, 0.15, 0.15], [0.7, 0, 0, 0.3]],
        ),
        (
            "complementary",
            [[9, 1, 0], [2, 0, 2], [1, 1, 1]],
            [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]],
        ),
        ("custom", [[5, 1, 4], [0, 0, 0]], [[0, 1, 0], [1 / 3, 1 / 3, 1 / 3]]),
    ],
)
def test_project(key, counts, expected):
    np.testing.assert_allclose(project(TASKS[key], counts), expected, atol=1e-15)


@st.composite
def custom_tasks(draw):
    n_classes, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    mask = draw(arrays(bool, (n_classes, n_labels)))
    possible = draw(arrays(int, n_classes, elements=st.integers(0, n_labels - 1)))
    mask[np.arange(n_classes), possible] = True
    labels = [draw(st.sampled_from([None, "first"])), *range(1, n_labels)]
    return tasks.custom(mask, range(n_classes), labels)


@st.composite
def tasks_with_counts(draw):
    task = draw(st.sampled_from(list(TASKS.values())) | custom_tasks())
    count = st.just(0.0) | st.integers(0, 20).map(float) | st.floats(0, 1e300)
    return task, draw(arrays(float, task.mask.shape, elements=count))


@given(tasks_with_counts())
def test_projection_obeys_the_task(case):
    task, counts = case
    before = counts.copy()
    transitions = project(task, counts)
    np.testing.assert_array_equal(counts, before)
    np.testing.assert_allclose(transitions.sum(axis=1), 1, rtol=1e-12)
    assert (transitions >= 0).all()
    assert (transitions[~task.mask] == 0).all()
    for group in set(task.tied[task.tied >= 0]):
        assert len(set(transitions[task.tied == group])) == 1
    np.testing.assert_allclose(project(task, transitions), transitions, rtol=1e-9, atol=1e-12)


@given(tasks_with_counts())
def test_projection_keeps_the_rate_of_labelling(case):
    """Of each class if it is free, on average over the classes with counts if it is tied."""
    task, counts = case
    kept = counts.any(axis=1) & task.mask[:, 0] & task.mask[:, 1:].any(axis=1)
    if not task.has_unlabelled or not kept.any():
        return
    scaled = counts[kept] / counts[kept].max(axis=1, keepdims=True)
    rate = scaled[:, 0] / scaled.sum(axis=1)
    expected = rate.mean() if task.rate_tied else rate
    np.testing.assert_allclose(project(task, counts)[kept, 0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 2], [3, -4]], r"counts: -4 at row 1, column 1 is negative or not finite"),
        ([[1, 2], [3, np.nan]], r"counts: nan"),
        ([[1, 2]], r"counts must have shape \(2, 2\); got \(1, 2\)"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(ValueError, match=message):
        project(TASKS["pu"], counts)
