"""p(y|s,x): what the label of a row adds to p(y|x)."""

from __future__ import annotations

import numpy as np

from decoupling._typing import AnyArray, FloatArray, IntArray


def label_conditional(
    class_proba: FloatArray, transitions: FloatArray, codes: AnyArray
) -> FloatArray:
    """p(y|s,x), (N, C), called W: proportional to Y_ic T_cs, where s is the label of the row."""
    emits = transitions[:, codes].T  # (N, C): p(given label | class)
    joint = class_proba * emits
    # Where p(y|x) excludes every class that can have the label, the label alone decides.
    joint = np.where(joint.any(axis=1, keepdims=True), joint, emits)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def certain_where_known(conditional: FloatArray, known: IntArray) -> FloatArray:
    """p(y|s,x) with certainty of the class of each row whose class is known, (N, C).

    ``known`` (N,) is the row of T of that class, -1 where no class is known.
    """
    certain = np.eye(conditional.shape[1])[known]  # -1 is the last row, which is not taken
    return np.where(known[:, None] >= 0, certain, conditional)
