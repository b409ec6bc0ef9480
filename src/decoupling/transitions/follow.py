"""T that follows p(y|x)."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.transitions.conditional import label_conditional
from decoupling.transitions.tasks import Task, project

_STEPS: Final = 5

# A label that a class may get is never impossible: so many rows have it.
_POSSIBLE: Final = 1e-3


def updated_transitions(
    task: Task,
    class_proba: FloatArray,
    transitions: FloatArray,
    codes: IntArray,
    weight: FloatArray,
) -> FloatArray:
    r"""T with which the labels are more likely given p(y|x): a few steps of EM, (C, S).

    .. math:: T_{cs} \leftarrow \sum_{i: s_i = s} w_i\, p(y_i = c | s_i, x_i)

    as the task has it, among the labels that a class gets; p(unlabelled | class) stays. It cannot
    be told from p(y|x): a class that has lost its unlabelled rows would seem to be labelled more
    often, and lose more.
    """
    first = int(task.has_unlabelled)
    transitions = project(task, transitions)
    seen = np.eye(transitions.shape[1])[codes] * weight[:, None]  # (N, S)
    labelled = transitions[:, first:].sum(axis=1, keepdims=True)
    for _ in range(_STEPS):
        conditional = label_conditional(class_proba, transitions, codes)
        counts = conditional.T @ seen
        found = project(task, np.where(task.mask, np.maximum(counts, _POSSIBLE), 0.0))
        total = found[:, first:].sum(axis=1, keepdims=True)
        share = np.divide(labelled, total, out=np.zeros_like(total), where=total > 0)
        transitions = np.hstack([transitions[:, :first], share * found[:, first:]])
    return transitions
