"""How sure probabilities may be: one temperature, by what was seen of the rows."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import softmax

from decoupling._typing import FloatArray

# Smallest probability of a label or a class, so that its logarithm is finite: a label that was seen
# cannot have been impossible. At twice this the logarithm of such a row is larger by 0.7.
LEAST: Final = 1e-9
# Prior standard deviation of the logarithm of a temperature, around 0. A handful of labels may all
# agree by chance; without a prior they would ask for any temperature.
TEMPERATURE_SPREAD: Final = 0.5
# Highest temperature. It turns 0.999 into 0.59.
HOTTEST: Final = 20.0
# Logarithm of a ratio of densities. Temperatures whose density is below the largest by more than
# this, a factor of 8,000, count for nothing.
_DEPTH: Final = 9.0
# Points of the grid over the temperatures that count.
_POINTS: Final = 17
# Times that the grid is laid anew over the points that count, at most. Each time it becomes at
# most half as long.
_LOOKS: Final = 8
# Tolerance of the first search for ln t.
_ROUGH: Final = 1e-3
# Distance from there, in ln t, within which the root of the slope is looked for: ten tolerances.
_AROUND: Final = 0.01
# Tolerance of the root in ln t, a few units of rounding.
_EXACT: Final = 1e-14


def log_proba(proba: FloatArray) -> FloatArray:
    """Logarithms of probabilities, none of them infinite."""
    return np.asarray(np.log(np.maximum(proba, LEAST)))


def tempered(
    proba: FloatArray, temperature: float, offsets: FloatArray | float = 0.0
) -> FloatArray:
    """Rows proportional to (proba * exp(offsets)) ** (1 / temperature), (N, K)."""
    return np.asarray(softmax((log_proba(proba) + offsets) / temperature, axis=1))


def best_temperature(
    logs: FloatArray, emits: FloatArray, weight: FloatArray, coldest: float
) -> float:
    r"""Most probable temperature t of p(c|x) given what was seen, from ``coldest`` to 20.

    .. math::

        \max_t \sum_i w_i \ln \sum_c q_{ic} e_{ic} - \frac{\ln^2 t}{2 \sigma^2}, \qquad
        q_{ic} \propto p_{ic}^{1/t},

    with :math:`\sigma = 0.5`, so that a few rows leave probabilities as they are.

    Parameters
    ----------
    logs : array (N, C)
        Logarithms of p, up to a constant per row.
    emits : array (N, C)
        How likely each c makes what was seen of the row, e.
    weight : array (N,)
        Weights of the rows.
    coldest : float
        1 never sharpens.
    """
    low, high = float(np.log(coldest)), float(np.log(HOTTEST))
    emits = np.maximum(emits, LEAST)

    def loss(log_temperature: float) -> float:
        return -log_density(log_temperature, logs, emits, weight)

    def slope(log_temperature: float) -> float:
        """Derivative of the loss."""
        cold = np.exp(-log_temperature)
        q = softmax(logs * cold, axis=1)
        after = q * emits
        after /= after.sum(axis=1, keepdims=True)
        pull = ((after - q) * logs).sum(axis=1)
        return log_temperature / TEMPERATURE_SPREAD**2 + float(cold * (weight @ pull))

    # The bounded search finds a minimum to half the digits only, and those depend on the order of
    # the rows. The root of the slope has all digits.
    options = {"xatol": _ROUGH}
    rough = minimize_scalar(loss, bounds=(low, high), method="bounded", options=options).x
    ends = max(rough - _AROUND, low), min(rough + _AROUND, high)
    if slope(ends[0]) >= 0:
        return float(np.exp(ends[0]))
    if slope(ends[1]) <= 0:
        return float(np.exp(ends[1]))
    return float(np.exp(brentq(slope, *ends, xtol=_EXACT)))


def likely_temperatures(
    logs: FloatArray, emits: FloatArray, weight: FloatArray, coldest: float
) -> tuple[FloatArray, FloatArray]:
    """Temperatures that matter, (K,), and the logarithms of their weights, (K,).

    The weights are the posterior density of ln t, whose maximum is `best_temperature`, on an even
    grid between ``coldest`` and 20, or between narrower ends outside which it is negligible. They
    follow the trapezoidal rule, so that their sum is the probability of all that was seen. It is
    nearly exact, but up to a tenth too large where the density is largest at one of its ends.

    Parameters
    ----------
    logs, emits, weight, coldest
        As for `best_temperature`.

    Examples
    --------
    Rows are said to be of the first class with probability 0.9, and 0.8 of them are:

    >>> logs = np.log([[0.9, 0.1], [0.9, 0.1]])
    >>> t, log_mass = likely_temperatures(logs, np.eye(2), np.array([800.0, 200.0]), coldest=1.0)
    >>> round(float(np.average(t, weights=softmax(log_mass))), 2)
    1.58
    """
    low, high = float(np.log(coldest)), float(np.log(HOTTEST))
    emits = np.maximum(emits, LEAST)
    for _ in range(_LOOKS):
        grid = np.linspace(low, high, _POINTS)
        density = np.array([log_density(point, logs, emits, weight) for point in grid])
        seen = np.flatnonzero(density >= density.max() - _DEPTH)
        first, last = max(seen[0] - 1, 0), min(seen[-1] + 1, _POINTS - 1)
        # At least half of the grid is left: its points are close enough.
        if 2 * (last - first) >= _POINTS - 1:
            break
        low, high = grid[first], grid[last]
    step = np.full(_POINTS, grid[1] - grid[0])
    step[[0, -1]] /= 2.0
    return np.exp(grid), density + np.log(step)


def log_density(
    log_temperature: float, logs: FloatArray, emits: FloatArray, weight: FloatArray
) -> float:
    """Log density of ln t given what was seen, up to a constant."""
    q = softmax(logs * np.exp(-log_temperature), axis=1)
    seen = np.log((q * emits).sum(axis=1))
    return float(weight @ seen) - 0.5 * (log_temperature / TEMPERATURE_SPREAD) ** 2
