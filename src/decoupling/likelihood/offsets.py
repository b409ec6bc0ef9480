"""How sure p(y|x) may be and how large its classes are: one temperature, an offset per class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from decoupling._typing import BoolArray, FloatArray
from decoupling.likelihood.temperature import (
    HOTTEST,
    LEAST,
    TEMPERATURE_SPREAD,
    best_temperature,
)

# Offsets are believed to be 0, give or take so much.
OFFSET_SPREAD: Final = 0.3

# The slope at the minimum, per row, and steps of Newton from there.
_FLAT: Final = 1e-6

_POLISHES: Final = 2


def best_calibration(
    logs: FloatArray, emits: FloatArray, weight: FloatArray, *, soften: bool = True
) -> tuple[float, FloatArray]:
    r"""Temperature t of 1 or more, and offsets b, that are most probable given what was seen.

    .. math::

        \max_{t, b} \sum_i w_i \ln \sum_c q_{ic} e_{ic}
        - \frac{\ln^2 t}{2 \sigma^2} - \sum_c \frac{b_c^2}{2 \tau^2}, \qquad
        q_{ic} \propto \left( p_{ic} e^{b_c} \right)^{1/t},

    with :math:`\sigma = 0.5` and :math:`\tau = 0.3`, so that a few rows leave probabilities as they
    are. It never sharpens: training on its own answers makes a classifier too sure, not too unsure.
    A temperature makes no difference to which class is the most probable one, and offsets no more
    of a difference the higher it is. There may be more than one maximum; the search begins at the
    best temperature without offsets.

    Parameters
    ----------
    logs : array (N, C)
        Logarithms of p, up to a constant per row.
    emits : array (N, C)
        How likely each class makes what was seen of the row, e.
    weight : array (N,)
        Weights of the rows.
    soften : bool
        If False t is 1.

    Examples
    --------
    Of rows that are called even seven in ten are of the first class:

    >>> temperature, offsets = best_calibration(
    ...     np.zeros((2, 2)), np.eye(2), np.array([700.0, 300.0])
    ... )
    >>> softmax(offsets).round(2)
    array([0.7, 0.3])
    """
    emits = np.maximum(emits, LEAST)
    n_classes = logs.shape[1]
    precision = np.append(TEMPERATURE_SPREAD, np.full(n_classes, OFFSET_SPREAD)) ** -2.0

    def rows(point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        cooled = (logs + point[1:]) * np.exp(-point[0])
        q = softmax(cooled, axis=1)
        joint = q * emits
        seen = joint.sum(axis=1)
        return cooled, q, joint / seen[:, None], seen

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        """Of ln t and b, and its gradient."""
        cooled, q, after, seen = rows(point)
        pull = weight[:, None] * (after - q)  # (N, C)
        by_offset = -np.exp(-point[0]) * pull.sum(axis=0)
        gradient = np.append((pull * cooled).sum(), by_offset) + precision * point
        value = 0.5 * float(precision @ point**2) - float(weight @ np.log(seen))
        return value, gradient

    def curvature(point: FloatArray) -> FloatArray:
        cooled, q, after, _ = rows(point)
        pull = weight[:, None] * (after - q)
        cold = np.exp(-point[0])
        mean_after, mean = (after * cooled).sum(axis=1), (q * cooled).sum(axis=1)  # (N,)
        turned = (pull * cooled).sum(axis=0) - ((weight * mean_after) @ after - (weight * mean) @ q)
        out = np.empty((n_classes + 1, n_classes + 1))
        out[0, 0] = weight @ (mean_after**2 - mean**2) - (pull * (cooled**2 + cooled)).sum()
        out[0, 1:] = out[1:, 0] = cold * (turned + pull.sum(axis=0))
        out[1:, 1:] = cold**2 * (
            after.T @ (weight[:, None] * after)
            - q.T @ (weight[:, None] * q)
            - np.diag(pull.sum(axis=0))
        )
        return out + np.diag(precision)

    start, free = np.zeros(n_classes + 1), np.full(n_classes + 1, True)
    free[0] = soften
    if soften:  # where p is all but certain the loss is flat around 1
        start[0] = np.log(best_temperature(logs, emits, weight, coldest=1.0))
    tolerance = _FLAT * (1.0 + float(weight.sum()))
    point = _minimum(loss, curvature, start, free, tolerance)
    if not 0.0 <= point[0] <= np.log(HOTTEST):
        start = np.zeros(n_classes + 1)
        start[0], free[0] = np.clip(point[0], 0.0, np.log(HOTTEST)), False
        point = _minimum(loss, curvature, start, free, tolerance)
    # Their mean is 0 but for rounding, by the prior alone.
    return float(np.exp(point[0])), point[1:] - point[1:].mean()


def _minimum(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    curvature: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    free: BoolArray,
    tolerance: float,
) -> FloatArray:
    """Where the loss is least, moving from the start in the directions that are free."""

    def whole(part: FloatArray) -> FloatArray:
        point = start.copy()
        point[free] = part
        return point

    def free_loss(part: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = loss(whole(part))
        return value, gradient[free]

    def free_curvature(part: FloatArray) -> FloatArray:
        return curvature(whole(part))[np.ix_(free, free)]

    part = minimize(
        free_loss,
        start[free],
        jac=True,
        hess=free_curvature,
        method="trust-exact",
        options={"gtol": tolerance},
    ).x
    # It ends within the tolerance, and where exactly depends on the order of the rows.
    slope = free_loss(part)[1]
    for _ in range(_POLISHES):
        nearer = part - np.linalg.lstsq(free_curvature(part), slope)[0]
        before, slope = slope, free_loss(nearer)[1]
        if np.linalg.norm(slope) > np.linalg.norm(before):
            break  # there is no minimum nearby but for rounding
        part = nearer
    return whole(part)
