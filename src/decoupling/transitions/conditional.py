"""p(y|s,x): what the label of a row adds to p(y|x)."""

from __future__ import annotations

import numpy as np

from decoupling._typing import AnyArray, FloatArray


def label_conditional(
    class_proba: FloatArray, transitions: FloatArray, codes: AnyArray
) -> FloatArray:
    """p(y|s,x), (N, C), proportional to Y_ic T_cs with the row's own label s."""
    emits = transitions[:, codes].T  # (N, C): p(given label | class)
    joint = class_proba * emits
    # Where every class that can have the label is excluded, the label alone decides.
    joint = np.where(joint.any(axis=1, keepdims=True), joint, emits)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))
