r"""p(y|x) that agrees with held-out labels: how sure it may be, and how large its classes are.

A classifier that was trained on inferred classes is too sure, and finds some classes too often and
others too rarely. Labels that it has not seen correct it. One temperature, one offset per class
and, where it is not known, T are chosen so that these labels are most probable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.fits.given_rows import GivenRows
from decoupling.likelihood.offsets import best_calibration
from decoupling.likelihood.temperature import log_proba, tempered
from decoupling.transitions.follow import updated_transitions
from decoupling.transitions.tasks import Task

# Turns in which T, and then temperature and offsets, are found one after the other. Three turns
# come nearly to where more of them would end.
_TURNS: Final = 3


@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """Temperature, offsets and T that make p(y|x) agree with the labels.

    Attributes
    ----------
    temperature : float
        t, 1 or more. Logarithms are divided by it, which makes probabilities less sure.
    offsets : array (C,)
        b, added to the logarithms before they are divided.
    transitions : array (C, S)
        T under which the labels are most probable with these two.
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

    Where labels may be wrong T is found with them, in turn, unless it is known: under a T with too
    many wrong labels any p(y|x) would seem unsure enough.

    Parameters
    ----------
    task : Task
        Says which labels are whose.
    class_proba : array (N, C)
        p(y|x), out of fold.
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
    logs = log_proba(class_proba)
    temperature, offsets = 1.0, np.zeros(class_proba.shape[1])

    def followed() -> FloatArray:
        """T as it follows p(y|x) with the present temperature and offsets."""
        if not follows:
            return transitions
        now = tempered(class_proba, temperature, offsets)
        return updated_transitions(task, now, transitions, codes, weight)

    for _ in range(_TURNS if follows else 1):
        transitions = followed()
        emits = transitions[:, codes].T  # (N, C): p(given label | class)
        temperature, offsets = best_calibration(logs, emits, weight, soften=soften)
    return ClassCalibration(temperature, offsets, followed())


def sizes_of(
    task: Task,
    class_proba: FloatArray,
    transitions: FloatArray,
    given: GivenRows,
    learn_transitions: bool,
) -> ClassCalibration:
    """Offsets of p(y|x) by the labels of all rows, without a temperature; and T with them."""
    return calibrate_classes(
        task, class_proba, transitions, given.codes, given.counts,
        learn_transitions=learn_transitions, soften=False,
    )  # fmt: skip


def in_right_sizes(
    task: Task, class_proba: FloatArray, transitions: FloatArray, given: GivenRows, rows: IntArray
) -> FloatArray:
    """p(y|x) with classes as large as the labels of some rows have them, (N, C)."""
    found = calibrate_classes(
        task, class_proba[rows], transitions, given.codes[rows], given.counts[rows],
        learn_transitions=False, soften=False,
    )  # fmt: skip
    return found.apply(class_proba)
