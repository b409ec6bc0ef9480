"""T that follows p(y|x) from round to round of retraining, by a few EM steps."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.transitions.conditional import label_conditional
from decoupling.transitions.projection import project
from decoupling.transitions.tasks import Task

# EM steps. T need not converge: p(y|x) moves as well before the next call.
_STEPS: Final = 5
# Rows of a class that have a label at least, if the class may get it. At 0 EM could never find it.
_POSSIBLE: Final = 1e-3


def updated_transitions(
    task: Task,
    class_proba: FloatArray,
    transitions: FloatArray,
    codes: IntArray,
    weight: FloatArray,
) -> FloatArray:
    r"""T that makes the labels more likely given p(y|x), by a few EM steps, (C, S).

    .. math:: T_{cs} \leftarrow \sum_{i: s_i = s} w_i\, p(y_i = c | s_i, x_i)

    within the pattern of the task, among the labels that a class gets. p(unlabelled | class) stays:
    p(y|x) cannot tell it. A class that has lost its unlabelled rows would seem to be labelled more
    often, and would lose more.
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
