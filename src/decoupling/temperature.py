"""How sure probabilities may be: one temperature, by what was seen."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import softmax

from decoupling._typing import FloatArray

# A label that was seen is never impossible: probabilities of labels stay above this.
LEAST: Final = 1e-9
# The logarithm of a temperature is believed to be 0, give or take so much: a handful of labels may
# well be all right, or all wrong, and would call for any.
TEMPERATURE_SPREAD: Final = 0.5
HOTTEST: Final = 20.0


def log_proba(proba: FloatArray) -> FloatArray:
    """Logarithms, of which none is infinite."""
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
        q = softmax(logs * np.exp(-log_temperature), axis=1)
        seen = np.log((q * emits).sum(axis=1))
        return 0.5 * (log_temperature / TEMPERATURE_SPREAD) ** 2 - float(weight @ seen)

    def slope(log_temperature: float) -> float:
        """Its derivative."""
        cold = np.exp(-log_temperature)
        q = softmax(logs * cold, axis=1)
        after = q * emits
        after /= after.sum(axis=1, keepdims=True)
        pull = ((after - q) * logs).sum(axis=1)
        return log_temperature / TEMPERATURE_SPREAD**2 + float(cold * (weight @ pull))

    # A minimum is found to half the digits only, and then depends on the order of the rows.
    rough = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-3}).x
    ends = max(rough - 0.01, low), min(rough + 0.01, high)
    if slope(ends[0]) >= 0:
        return float(np.exp(ends[0]))
    if slope(ends[1]) <= 0:
        return float(np.exp(ends[1]))
    return float(np.exp(brentq(slope, *ends, xtol=1e-14)))
