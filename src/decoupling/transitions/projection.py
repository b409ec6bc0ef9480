"""Counts, or a rough T, turned into a T that obeys a task."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling._validation import as_float, first_offence
from decoupling.transitions.tasks import Task


def project(task: Task, counts: ArrayLike) -> FloatArray:
    r"""Turn counts of labels per class, or a rough T, into a T that obeys `task`.

    With :math:`M_c` the labels other than unlabelled that class c may get, counts :math:`n_{cs}`
    become

    .. math::

        T_{c0} = \frac{n_{c0}}{\sum_s n_{cs}}, \qquad
        T_{cs} = (1 - T_{c0}) \frac{n_{cs}}{\sum_{t \in M_c} n_{ct}} \quad (s \in M_c),

    equal shares where the last sum is 0: p(labelled | class) is kept, and what was counted for
    impossible labels goes to the possible ones. Without an unlabelled label :math:`T_{c0} = 0` in
    the second formula; a class that can only be unlabelled has :math:`T_{c0} = 1`. Then each group
    G of tied cells takes its mean over the classes that have counts,

    .. math:: T_{cs} \leftarrow \frac{1}{|G|} \sum_{(d, t) \in G} T_{dt} \quad ((c, s) \in G),

    and cells that are not shared between classes are scaled to what the shared ones leave of their
    row. A class without any counts takes the shared cells of the others, and is uniform over its
    possible labels in the rest.

    Parameters
    ----------
    task : Task
        The pattern to obey.
    counts : array-like (C, S)
        Counts or probabilities, at least 0.

    Returns
    -------
    (C, S) array
        Rows sum to 1, impossible transitions are 0, tied ones are equal. A T that obeys the task
        already is returned as it is, to rounding.

    Examples
    --------
    Three of the 40 labels of class "a" are impossible; it is still labelled 4 times in 10:

    >>> from decoupling.transitions.tasks import multi_positive_unlabelled
    >>> project(multi_positive_unlabelled(["a", "b"]), [[50, 0, 0], [60, 37, 3], [20, 0, 20]])
    array([[1. , 0. , 0. ],
           [0.6, 0.4, 0. ],
           [0.5, 0. , 0.5]])
    """
    rows = _check_counts(task, counts)
    seen = np.asarray(rows.any(axis=1))
    uniform = _shares(np.zeros_like(rows), task.mask)
    transitions = np.where(seen[:, None], _obey_mask(task, rows), uniform)
    return _fill_rows(task, _pool(task.tied, transitions, seen))


def _obey_mask(task: Task, rows: FloatArray) -> FloatArray:
    """Rows sum to 1 and are 0 outside the mask; p(labelled | class) is that of `rows`."""
    labelled = task.labelled_mask
    unlabelled = np.zeros(len(rows))
    if task.has_unlabelled:
        share = _shares(rows, np.ones_like(task.mask))[:, 0]
        unlabelled = np.where(labelled.any(axis=1), np.where(task.mask[:, 0], share, 0.0), 1.0)
    transitions = (1 - unlabelled)[:, None] * _shares(rows, labelled)
    transitions[:, 0] += unlabelled
    return transitions


def _pool(tied: IntArray, transitions: FloatArray, seen: BoolArray) -> FloatArray:
    """Give each group of tied cells its mean over the classes in `seen`, over all if none is."""
    cells = tied >= 0
    groups = tied[cells]
    weight = np.broadcast_to(seen[:, None], tied.shape)[cells].astype(np.float64)
    weight[np.bincount(groups, weight)[groups] == 0] = 1.0
    total = np.bincount(groups, weight * transitions[cells])
    pooled = transitions.copy()
    pooled[cells] = total[groups] / np.bincount(groups, weight)[groups]
    return pooled


def _fill_rows(task: Task, transitions: FloatArray) -> FloatArray:
    """Keep the cells that classes share, and scale the others to the rest of their row."""
    shared = task.shared
    fixed = np.where(shared, transitions, 0.0)
    # Rounding may bring the shared cells above 1 by a hair.
    rest = np.maximum(1 - fixed.sum(axis=1, keepdims=True), 0.0)
    return np.asarray(fixed + rest * _shares(transitions, task.mask & ~shared))


def _shares(values: FloatArray, cells: BoolArray) -> FloatArray:
    """Each row's values within `cells` over their sum; equal shares if that is 0; 0 elsewhere."""
    inside = np.where(cells, values, 0.0)
    inside = np.where(inside.any(axis=1, keepdims=True), inside, cells)
    largest = inside.max(axis=1, keepdims=True)
    # By the largest first, so that sums of huge or of tiny counts stay within range.
    inside = inside / np.where(largest > 0, largest, 1.0)
    total = inside.sum(axis=1, keepdims=True)
    return np.asarray(inside / np.where(total > 0, total, 1.0))


def _check_counts(task: Task, counts: ArrayLike) -> FloatArray:
    rows = as_float("counts", counts, ndim=2)
    if rows.shape != task.mask.shape:
        raise ValueError(f"counts must have shape {task.mask.shape}; got {rows.shape}.")
    bad = ~(np.isfinite(rows) & (rows >= 0))
    first_offence("counts", rows, bad, "negative or not finite", "Counts are at least 0.")
    return rows
