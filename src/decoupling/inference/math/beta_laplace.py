r"""ln E[(1 + t T)^-pi] for T ~ Beta(a, b), and its derivatives in a and b.

The trapezoid rule in w = logit(T), where the density is
:math:`\propto \sigma(w)^a \sigma(-w)^b`, analytic with exponential tails. Far out on either side
the terms of the rule form geometric series, which are summed in closed form, so that concentrations
of 1e-3, whose tails are ten thousand units long, cost no more nodes than others:

- w far below -u - ln(1 + pi), u = ln t: the factor (1 + t T)^-pi is 1, terms grow like e^{aw};
- between there and w = -ln(1 + b): terms go like e^{(a - pi) w};
- w far above ln(1 + a): T is 1, terms fall like e^{-bw}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import FloatArray

# How far from a bend of the integrand its exponential pieces are exact to rounding: e^-36.
_CLEAR: Final = 36.0
# The density is cut off where it has fallen by e^-50 from its peak.
_NEGLIGIBLE: Final = 50.0
# Spacing of the grid in logit(T) at most; twice as much loses half of the digits.
_STEP: Final = 0.36
# Spacing of the grid in standard deviations of logit(T), where these are short.
_STEP_IN_DEVIATIONS: Final = 0.5
# Below this a geometric series is flat, and the formula for its sum would divide rounding by
# rounding.
_FLAT: Final = 1e-8
# Halvings of the interval in which the edge of the density lies: 1e-12 of it is left.
_BISECTIONS: Final = 40
# Entries (pi, t, node) that are evaluated at once: 8 MB.
_CHUNK: Final = 2**20


@dataclass(frozen=True, eq=False)
class BetaCell:
    """T ~ Beta(a, b) on a uniform grid of logit(T), anchored on the right.

    Attributes
    ----------
    own, rest : float
        The concentrations a and b.
    step : float
        Spacing of the grid.
    right : float
        Its last node; the terms beyond it are summed into that node.
    left : float
        Where the density has become negligible: no node is needed further to the left.
    """

    own: float
    rest: float
    step: float
    right: float
    left: float

    @classmethod
    def of(cls, own: float, rest: float) -> BetaCell:
        """Grid for Beta(``own``, ``rest``)."""
        step = min(_STEP, _STEP_IN_DEVIATIONS * np.sqrt(1.0 / own + 1.0 / rest))
        right = min(_edge(own, rest, 1.0), _CLEAR + np.log1p(own))
        return cls(own, rest, float(step), float(right), float(_edge(own, rest, -1.0)))

    def log_transform(self, log_t: FloatArray, concentration: FloatArray) -> FloatArray:
        """ln E[(1 + t T)^-pi] and its derivatives in a and in b, (3, D, Q).

        ``log_t`` is (Q,), ``concentration`` pi (D,).
        """
        highest = float(concentration.max())
        clear = _CLEAR + np.log1p(highest)
        # Up to here one grid without a gap serves every t at once.
        gap = 2.0 * _CLEAR + np.log1p(highest) + np.log1p(self.rest)
        together = (log_t <= gap + _CLEAR) | (-self.left <= gap + _CLEAR)
        out = np.empty((3, len(concentration), len(log_t)))
        if together.any():
            lowest = -max(float(log_t[together].max()), 0.0) - clear
            first = max(self.left, min(lowest, -_CLEAR - np.log1p(self.rest)))
            nodes = self._nodes(first)
            size = max(1, _CHUNK // (len(nodes) * int(np.count_nonzero(together))))
            for start in range(0, len(concentration), size):
                part = slice(start, start + size)
                out[:, part, together] = self._sum(
                    nodes, log_t[together], concentration[part], None
                )
        for q in np.nonzero(~together)[0]:
            out[:, :, q] = self._with_gap(log_t[q], concentration, clear)[:, :, 0]
        return out

    def _nodes(self, first: float, last: float | None = None) -> FloatArray:
        """Grid points from about ``first`` to ``last`` (the right end by default)."""
        low = int(np.ceil((self.right - first) / self.step))
        high = 0 if last is None else int(np.floor((self.right - last) / self.step))
        return np.asarray(self.right - self.step * np.arange(low, high - 1, -1), dtype=np.float64)

    def _with_gap(self, log_t: float, concentration: FloatArray, clear: float) -> FloatArray:
        """Nodes around -u and around the density's own bends; the plateau between summed up."""
        bends = self._nodes(-_CLEAR - np.log1p(self.rest))
        wing = self._nodes(-log_t - clear, min(-log_t + _CLEAR, bends[0] - self.step))
        count = round((bends[0] - wing[-1]) / self.step) - 1
        plateau = (float(wing[-1]) + self.step, count) if count > 0 else None
        return self._sum(np.concatenate([wing, bends]), np.array([log_t]), concentration, plateau)

    def _sum(
        self,
        nodes: FloatArray,
        log_t: FloatArray,
        concentration: FloatArray,
        plateau: tuple[float, int] | None,
    ) -> FloatArray:
        log_density, log_own, log_rest = self._density(nodes)
        if plateau is None:
            shift = 0.0
        else:
            piece = _geometric(self.own, self.step, plateau[1])
            shift = piece[0]
            log_density = np.append(log_density, self.own * plateau[0] + piece[0])
            log_own = np.append(log_own, plateau[0] + piece[1])
            log_rest = np.append(log_rest, 0.0)
        # The peak goes first: a normaliser as large as the concentrations would lose digits.
        log_density = log_density - log_density.max()
        log_density -= np.log(np.exp(log_density).sum())
        base = np.exp(log_density)
        # ln T itself, not the mean over a tail, goes into the factor (1 + t T)^-pi.
        log_values = -np.logaddexp(0.0, -nodes)
        factor = np.logaddexp(0.0, log_t[:, None] + log_values)  # (Q, J)
        exponent = -concentration[:, None, None] * factor  # (D, Q, J)
        statistics = np.stack([np.ones_like(log_own), log_own, log_rest], axis=1)  # (J, 3)
        if plateau is not None:
            return self._sum_plateau(
                log_density, exponent, statistics, base, log_t, concentration, plateau, shift
            )
        exponent += log_density
        return _tilted(exponent, statistics, base @ statistics)

    def _sum_plateau(
        self,
        log_density: FloatArray,
        exponent: FloatArray,
        statistics: FloatArray,
        base: FloatArray,
        log_t: FloatArray,
        concentration: FloatArray,
        plateau: tuple[float, int],
        shift: float,
    ) -> FloatArray:
        start, count = plateau
        pieces = [_geometric(self.own - pi, self.step, count) for pi in concentration]
        log_sums = np.array([p[0] for p in pieces])[:, None, None]  # (D, 1, 1)
        centres = np.array([p[1] for p in pieces])
        tilt = -concentration[:, None, None] * (log_t[:, None] + start)
        last = tilt + log_sums - shift
        exponent = np.concatenate([exponent, last], axis=2) + log_density
        per_pi = np.broadcast_to(statistics, (len(concentration), *statistics.shape)).copy()
        per_pi[:, -1, 1] = start + centres
        return _tilted(exponent, per_pi, base @ statistics)

    def _density(self, nodes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log-weight of each node, and the means of ln T and ln(1 - T) that it stands for."""
        log_own, log_rest = -np.logaddexp(0.0, -nodes), -np.logaddexp(0.0, nodes)
        log_density = self.own * log_own + self.rest * log_rest
        # The tails beyond both ends: geometric series that fall at these rates.
        left, right = self.own * self.step, self.rest * self.step
        log_density[0] -= np.log(-np.expm1(-left))
        log_own[0] -= self.step * _bose(left)
        log_density[-1] -= np.log(-np.expm1(-right))
        log_rest[-1] -= self.step * _bose(right)
        return log_density, log_own, log_rest


def _tilted(exponent: FloatArray, statistics: FloatArray, plain: FloatArray) -> FloatArray:
    """Log-sum of exp(exponent), and the tilted less the plain mean of each statistic, (3, D, Q).

    ``statistics`` is (J, 3), or (D, J, 3) where they depend on pi; ``plain`` (3,) are their means.
    """
    peak = exponent.max(axis=2, keepdims=True)
    np.exp(exponent - peak, out=exponent)
    sums = np.moveaxis(exponent @ statistics, 2, 0)  # (3, D, Q)
    out = np.empty_like(sums)
    out[0] = np.log(sums[0]) + peak[:, :, 0]
    out[1:] = sums[1:] / sums[0] - plain[1:, None, None]
    return out


def _geometric(rate: float, step: float, count: int) -> tuple[float, float]:
    """ln sum_{k<count} e^{rate step k}, and the mean of step k under these weights."""
    x = rate * step
    if abs(x) * count < _FLAT:
        return float(np.log(count)), step * (count - 1) / 2
    y = abs(x)
    log_sum = float(np.log(-np.expm1(-count * y)) - np.log(-np.expm1(-y)))
    # Mean of k for the falling series; the rising one is its mirror image.
    falling = _bose(y) - count * _bose(count * y)
    if x < 0:
        return log_sum, step * falling
    return log_sum + (count - 1) * y, step * (count - 1 - falling)


def _bose(y: float) -> float:
    """1 / (e^y - 1) without overflow."""
    return float(-np.exp(-y) / np.expm1(-y))


def _edge(own: float, rest: float, side: float) -> float:
    """Where the density of logit(T) has fallen by `_NEGLIGIBLE` from its peak, on one side."""
    peak = np.log(own / rest)

    def log_density(w: float) -> float:
        return float(-own * np.logaddexp(0.0, -w) - rest * np.logaddexp(0.0, w))

    target = log_density(peak) - _NEGLIGIBLE
    inner, outer = 0.0, 1.0
    while log_density(peak + side * outer) > target:
        inner, outer = outer, 2.0 * outer
    for _ in range(_BISECTIONS):
        middle = (inner + outer) / 2
        if log_density(peak + side * middle) > target:
            inner = middle
        else:
            outer = middle
    return float(peak + side * outer)
