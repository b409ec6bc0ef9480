r"""An average over the answers that held-out labels leave open.

Several p(y|x) may be nearest to the truth: that of the rounds of retraining, p(s|x) with T undone,
p(s|x) as it is. Held-out labels, many of them wrong, say only in part which one it is, and how sure
it may be. So none is chosen. Mixtures in quarters, at all temperatures, are averaged with weights
that say how probable those labels make each of them:

.. math::

    p(y_i = c | x_i) = \sum_k \omega_k\, q^{(k)}_{ic}, \qquad
    q^{(k)}_{ic} \propto \left( e^{b^{(k)}_c} \sum_p m_{kp}\, p_{pic} \right)^{1/t_k}, \qquad
    \omega_k \propto p(m_k, b^{(k)}, t_k) \prod_i \Big( \sum_c q^{(k)}_{ic} T_{c s_i} \Big)^{w_i} .
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple, Self

import numpy as np
from scipy.special import softmax

from decoupling._typing import FloatArray
from decoupling.likelihood.offsets import OFFSET_SPREAD, best_calibration
from decoupling.likelihood.temperature import (
    LEAST,
    best_temperature,
    likely_temperatures,
    log_density,
    log_proba,
)

# Shares of a part beside the first one. The first part has at least what the largest leaves.
_SHARES: Final = (0.0, 0.25, 0.5)
# Lowest temperature. A mean over rounds may be too unsure, and then only a little.
_COLDEST: Final = 0.7
# Weight below which an answer is left out; twice as much would change probabilities by 0.0001.
_NEGLIGIBLE: Final = 1e-4
# Logarithm of a ratio of densities. A mixture whose density at best is below the largest by more
# than this is left out before its temperatures are tried.
_HOPELESS: Final = 20.0


@dataclass(frozen=True, eq=False)
class AveragedAnswer:
    """Calibrated mixtures of several p(y|x), and how much each of them counts.

    Attributes
    ----------
    weights : array (K,)
        How much each mixture counts, a distribution; called omega above.
    shares : array (K, P)
        How much each part counts in a mixture, called m above; rows are distributions.
    temperatures : array (K,)
        t. Logarithms are divided by it; more than 1 makes probabilities less sure.
    offsets : array (K, C)
        b, added to the logarithms before they are divided.
    """

    weights: FloatArray
    shares: FloatArray
    temperatures: FloatArray
    offsets: FloatArray

    @classmethod
    def single(cls, shares: Sequence[float], temperature: float, offsets: FloatArray) -> Self:
        """Answer that is one mixture alone."""
        return cls(
            np.ones(1), np.array([shares], dtype=float), np.array([temperature]), offsets[None]
        )

    @property
    def n_parts(self) -> int:
        """How many p(y|x) it is made of."""
        return int(self.shares.shape[1])

    def apply(self, parts: Sequence[FloatArray]) -> FloatArray:
        """p(y|x), (N, C), from the p(y|x) of each part."""
        if len(parts) != self.n_parts:
            raise ValueError(f"{len(parts)} parts were given, and {self.n_parts} are needed.")
        out = np.zeros_like(parts[0])
        for shares in np.unique(self.shares, axis=0):
            logs = log_proba(_mixture(parts, shares))
            for k in np.flatnonzero((self.shares == shares).all(axis=1)):
                cooled = (logs + self.offsets[k]) / self.temperatures[k]
                out += self.weights[k] * softmax(cooled, axis=1)
        return out


def average_answers(
    parts: Sequence[FloatArray], emits: FloatArray, weight: FloatArray, *, resize: bool = True
) -> AveragedAnswer:
    """Weigh mixtures of several p(y|x), and how sure each may be, by what was seen of its rows.

    The offsets of a mixture are those of `best_calibration`. Its temperatures have the posterior of
    `likely_temperatures`.

    Parameters
    ----------
    parts : sequence of arrays (N, C)
        p(y|x); the first has at least half of every mixture.
    emits : array (N, C)
        How likely each class makes what was seen of the row.
    weight : array (N,)
        Weights of the rows.
    resize : bool
        Whether there are offsets.

    Examples
    --------
    This is certain of a class where half of the labels are of the other. Many labels outweigh it:

    >>> certain, emits = np.array([[0.99, 0.01], [0.99, 0.01]]), np.eye(2)
    >>> few, many = (average_answers([certain], emits, np.full(2, n)) for n in (1.0, 100.0))
    >>> few.apply([certain])[0].round(2), many.apply([certain])[0].round(2)
    (array([0.91, 0.09]), array([0.6, 0.4]))
    """
    found = [
        _calibrated(np.array(shares), parts, emits, weight, resize=resize)
        for shares in _mixtures(len(parts))
    ]
    best = max(mixture.peak for mixture in found)
    answers: list[tuple[FloatArray, float, FloatArray]] = []
    log_weights = []
    for mixture in found:
        if mixture.peak < best - _HOPELESS:
            continue
        # Computed once more, since all mixtures at once may not fit into memory.
        moved = log_proba(_mixture(parts, mixture.shares)) + mixture.offsets
        temperatures, log_mass = likely_temperatures(moved, emits, weight, _COLDEST)
        answers.extend((mixture.shares, t, mixture.offsets) for t in temperatures)
        log_weights.append(log_mass - _penalty(mixture.offsets))
    weights = softmax(np.concatenate(log_weights))
    kept = np.flatnonzero(weights >= _NEGLIGIBLE)
    some = [np.array(part) for part in zip(*(answers[k] for k in kept), strict=True)]
    return AveragedAnswer(weights[kept] / weights[kept].sum(), *some)


class _Mixture(NamedTuple):
    """Shares of the parts, (P,), offsets, (C,), and how probable they are at best."""

    shares: FloatArray
    offsets: FloatArray
    peak: float


def _calibrated(
    shares: FloatArray,
    parts: Sequence[FloatArray],
    emits: FloatArray,
    weight: FloatArray,
    *,
    resize: bool,
) -> _Mixture:
    """A mixture with its offsets, and its largest log density."""
    logs = log_proba(_mixture(parts, shares))
    offsets = best_calibration(logs, emits, weight)[1] if resize else np.zeros(logs.shape[1])
    moved = logs + offsets
    # The temperature of `best_calibration` is never below 1; this one may be.
    temperature = best_temperature(moved, emits, weight, _COLDEST)
    peak = log_density(np.log(temperature), moved, np.maximum(emits, LEAST), weight)
    return _Mixture(shares, offsets, peak - _penalty(offsets))


def _penalty(offsets: FloatArray) -> float:
    """Minus the log prior of the offsets."""
    return 0.5 * float(offsets @ offsets) / OFFSET_SPREAD**2


def _mixtures(n_parts: int) -> list[tuple[float, ...]]:
    """Shares of the parts, in quarters."""
    others = product(_SHARES, repeat=n_parts - 1)
    return [(1.0 - sum(rest), *rest) for rest in others if sum(rest) <= max(_SHARES)]


def _mixture(parts: Sequence[FloatArray], shares: FloatArray) -> FloatArray:
    """Mean of the parts in these shares, (N, C)."""
    return np.asarray(sum(m * part for m, part in zip(shares, parts, strict=True) if m))
