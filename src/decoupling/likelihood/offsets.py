"""How sure p(y|x) may be and how large its classes are: one temperature, one offset per class."""

from __future__ import annotations

from dataclasses import dataclass
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

# Prior standard deviation of an offset, in units of ln p, around 0. One deviation changes the odds
# of a class by a factor of 1.35; at twice this by 1.8.
OFFSET_SPREAD: Final = 0.3
# Slope per unit of weight at which the search for the minimum ends.
_FLAT: Final = 1e-6
# Newton steps from there, so that the end does not depend on the order of the rows.
_NEWTON_STEPS: Final = 2


def best_calibration(
    logs: FloatArray, emits: FloatArray, weight: FloatArray, *, soften: bool = True
) -> tuple[float, FloatArray]:
    r"""Temperature t of 1 or more, and offsets b, that are most probable given what was seen.

    .. math::

        \max_{t, b} \sum_i w_i \ln \sum_c q_{ic} e_{ic}
        - \frac{\ln^2 t}{2 \sigma^2} - \sum_c \frac{b_c^2}{2 \tau^2}, \qquad
        q_{ic} \propto \left( p_{ic} e^{b_c} \right)^{1/t},

    with :math:`\sigma = 0.5` and :math:`\tau = 0.3`, so that a few rows leave probabilities as they
    are. It never sharpens: a classifier that was trained on its own answers is too sure, not too
    unsure. A temperature does not change which class is the most probable one, and the higher it
    is, the less the offsets change it. There may be several maxima; the search begins at the best
    temperature without offsets.

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
    p is even, and seven in ten of what was seen is of the first class:

    >>> temperature, offsets = best_calibration(
    ...     np.zeros((2, 2)), np.eye(2), np.array([700.0, 300.0])
    ... )
    >>> softmax(offsets).round(2)
    array([0.7, 0.3])
    """
    objective = _Objective(logs, np.maximum(emits, LEAST), weight)
    n_classes = logs.shape[1]
    start, free = np.zeros(n_classes + 1), np.full(n_classes + 1, True)
    free[0] = soften
    if soften:  # where p is all but certain the loss is flat around 1
        start[0] = np.log(best_temperature(logs, objective.emits, weight, coldest=1.0))
    point = _minimum(objective, start, free)
    if not 0.0 <= point[0] <= np.log(HOTTEST):
        start = np.zeros(n_classes + 1)
        start[0], free[0] = np.clip(point[0], 0.0, np.log(HOTTEST)), False
        point = _minimum(objective, start, free)
    # By the prior alone the mean of the offsets is 0, but for rounding.
    return float(np.exp(point[0])), point[1:] - point[1:].mean()


@dataclass(frozen=True, eq=False)
class _Objective:
    """Minus the log density of ln t and b, a point (1 + C,), given what was seen.

    Attributes
    ----------
    logs, emits, weight
        As for `best_calibration`; no entry of ``emits`` is 0.
    """

    logs: FloatArray
    emits: FloatArray
    weight: FloatArray

    @property
    def tolerance(self) -> float:
        """Norm of the slope at which a point is a minimum."""
        return _FLAT * (1.0 + float(self.weight.sum()))

    def _precision(self) -> FloatArray:
        """Precisions of the prior, (1 + C,)."""
        offsets = np.full(self.logs.shape[1], OFFSET_SPREAD)
        return np.asarray(np.append(TEMPERATURE_SPREAD, offsets) ** -2.0)

    def _rows(self, point: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """ln p at the temperature, q and q after what was seen, (N, C); its probability, (N,)."""
        cooled = (self.logs + point[1:]) * np.exp(-point[0])
        q = softmax(cooled, axis=1)
        joint = q * self.emits
        seen = joint.sum(axis=1)
        return cooled, q, joint / seen[:, None], seen

    def loss(self, point: FloatArray) -> tuple[float, FloatArray]:
        """Value, and gradient (1 + C,)."""
        precision, weight = self._precision(), self.weight
        cooled, q, after, seen = self._rows(point)
        pull = weight[:, None] * (after - q)  # (N, C)
        by_offset = -np.exp(-point[0]) * pull.sum(axis=0)
        gradient = np.append((pull * cooled).sum(), by_offset) + precision * point
        value = 0.5 * float(precision @ point**2) - float(weight @ np.log(seen))
        return value, gradient

    def curvature(self, point: FloatArray) -> FloatArray:
        """Matrix of second derivatives, (1 + C, 1 + C)."""
        weight, n = self.weight, len(point)
        cooled, q, after, _ = self._rows(point)
        pull = weight[:, None] * (after - q)
        cold = np.exp(-point[0])
        mean_after, mean = (after * cooled).sum(axis=1), (q * cooled).sum(axis=1)  # (N,)
        turned = (pull * cooled).sum(axis=0) - ((weight * mean_after) @ after - (weight * mean) @ q)
        out = np.empty((n, n))
        out[0, 0] = weight @ (mean_after**2 - mean**2) - (pull * (cooled**2 + cooled)).sum()
        out[0, 1:] = out[1:, 0] = cold * (turned + pull.sum(axis=0))
        out[1:, 1:] = cold**2 * (
            after.T @ (weight[:, None] * after)
            - q.T @ (weight[:, None] * q)
            - np.diag(pull.sum(axis=0))
        )
        return out + np.diag(self._precision())


def _minimum(objective: _Objective, start: FloatArray, free: BoolArray) -> FloatArray:
    """Point of the least loss, from the start, in the directions that are free."""

    def whole(part: FloatArray) -> FloatArray:
        point = start.copy()
        point[free] = part
        return point

    def loss(part: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective.loss(whole(part))
        return value, gradient[free]

    def curvature(part: FloatArray) -> FloatArray:
        return objective.curvature(whole(part))[np.ix_(free, free)]

    part = minimize(
        loss,
        start[free],
        jac=True,
        hess=curvature,
        method="trust-exact",
        options={"gtol": objective.tolerance},
    ).x
    # The search ends within the tolerance, and where exactly depends on the order of the rows.
    slope = loss(part)[1]
    for _ in range(_NEWTON_STEPS):
        nearer = part - np.linalg.lstsq(curvature(part), slope)[0]
        before, slope = slope, loss(nearer)[1]
        if np.linalg.norm(slope) > np.linalg.norm(before):
            break  # there is no minimum nearby but for rounding
        part = nearer
    return whole(part)
