r"""p(y|x) that agrees with the labels: how sure it may be, and how large its classes are.

A classifier that is trained on classes which were inferred is too sure, and finds more of one class
and less of another than there are. Its answers are mended by what is always there, labels that it
has not seen: one temperature, one offset per class, and T where it is not known, with which these
are most likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.likelihood.offsets import best_calibration
from decoupling.likelihood.temperature import (
    log_proba,
    tempered,
)
from decoupling.transitions.follow import updated_transitions
from decoupling.transitions.tasks import Task

# T and the rest are found in turn so often, with so many steps of EM for T each time.
_TURNS: Final = 3


@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """What makes p(y|x) agree with the labels.

    Attributes
    ----------
    temperature : float
        t, 1 or more: softens.
    offsets : array (C,)
        b, added to the logarithms before that.
    transitions : array (C, S)
        T that goes with it.
    """

    temperature: float
    offsets: FloatArray
    transitions: FloatArray

    def apply(self, class_proba: FloatArray) -> FloatArray:
        """Calibrated p(y|x), (N, C)."""
        return tempered(class_proba, self.temperature, self.offsets)


def calibrate_classes(
    task: Task,
    class_proba: FloatArray,
    transitions: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    *,
    learn_transitions: bool = True,
    soften: bool = True,
) -> ClassCalibration:
    """Temperature and offsets of p(y|x) given labels that it has not seen.

    Where labels may be wrong T is found with them, in turn, unless it is known: one that has too
    many of them wrong would find p(y|x) unsure enough, whatever it is.

    Parameters
    ----------
    task : Task
        Says which labels are whose.
    class_proba : array (N, C)
        p(y|x), held out from the labels.
    transitions : array (C, S)
        T to begin with.
    codes, weight
        Columns of the labels, and weights of the rows.
    learn_transitions : bool
        Whether T follows, where labels may be wrong.
    soften : bool
        Whether there is a temperature; offsets alone if not.
    """
    follows = learn_transitions and not task.clean

    def followed(found: ClassCalibration) -> ClassCalibration:
        """With the T that goes with it."""
        if not follows:
            return found
        now = found.apply(class_proba)
        return replace(
            found, transitions=updated_transitions(task, now, found.transitions, codes, weight)
        )

    logs = log_proba(class_proba)
    found = ClassCalibration(1.0, np.zeros(class_proba.shape[1]), transitions)
    for _ in range(_TURNS if follows else 1):
        found = followed(found)
        emits = found.transitions[:, codes].T  # (N, C): p(given label | class)
        best = best_calibration(logs, emits, weight, soften=soften)
        found = ClassCalibration(*best, found.transitions)
    return followed(found)
