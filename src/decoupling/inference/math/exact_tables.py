"""Tables for the exact expected logarithm: M as a function of pi.

`exact_log` states the integral. M is tabulated in two ways: where Theta_cs is
well above pi, -ln M / pi is a low polynomial in pi (`LogTable`); elsewhere M, a mixture of
exponentials exp(-pi w), is interpolated from its values at a few dozen pi (`RoughTable`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev

from decoupling._typing import FloatArray, IntArray
from decoupling.inference.math.beta_laplace import BetaCell
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.exact_nodes import (
    ExponentialBasis,
    Nodes,
    to_chebyshev,
)

# Error of the trapezoid rule. In the stretched tail, exp(-a u) with u = e^v, it is
# 2 |Gamma(1 + i w)| / a at the frequency w = 2 pi / step.
_PRECISION: Final = 1e-9
# t * Z at the first node; the series left of it is cut after its square.
_FIRST_NODE: Final = 2e-3
# The bend of the nodes lies at least this far right of the first one, in ln t.
_LEFT_TO_BEND: Final = 11.0
# And at least this far right of where the last class starts to fall, in ln t.
_PAST_START: Final = 4.5
# Nodes go on right of the bend until the slowest tail has fallen by e^-40 ...
_RIGHT_TAIL: Final = 40.0
# ... and by e^-2 more for each class, whose constants multiply it.
_RIGHT_TAIL_PER_CLASS: Final = 2.0
# They go on at least so far right of the bend.
_LEAST_RIGHT: Final = 6.0
# Absolute error allowed in ln M where it counts, a part of the 1e-8 of the method.
_LOG_ERROR: Final = 1e-10
# Numbers of Chebyshev points that are tried in turn.
_LOG_DEGREES: Final = (3, 4, 5, 6, 8, 10, 13, 18, 24)
# How many times Theta_cs must be above the largest pi for ln M to be a low polynomial in pi: the
# tilted Beta distribution then stays near its own bulk.
_SMOOTH: Final = 3.0
# ln M below minus this is as good as minus infinity: such cells need not be interpolated well.
_VANISHED: Final = 40.0
# Error of the interpolation of M in pi, added up over the nodes: a part of the 1e-8 of the method.
_INTERPOLATION: Final = 3e-10
# Exponent of ten of the smallest error that is asked of one value of M. Below it is rounding.
_LEAST_TOLERANCE: Final = -15
# M is accurate absolutely, not relatively: what is below this is as good as 0, and is kept above 0
# so that one factor can be divided out of the product again.
_TINY: Final = 1e-30
# Entries (row, label, node) of a chunk of rows: 1 MB of each temporary array, which fits the cache.
_CHUNK: Final = 2**17
# Largest concentration. Beyond it a Beta density is lost in the rounding of its own logarithm.
_LARGEST: Final = 1e13

Cells: TypeAlias = dict[int, BetaCell]


@dataclass(frozen=True, eq=False)
class LogTable:
    """-ln M / pi of one class as a polynomial in pi; 0 for the labels of its `RoughTable`.

    Attributes
    ----------
    low, high : float
        Range of pi.
    values, by_own, by_rest : arrays (D, S, Q)
        Chebyshev coefficients, and their derivatives in Theta_cs and in Theta_c0 - Theta_cs.
    """

    low: float
    high: float
    values: FloatArray
    by_own: FloatArray
    by_rest: FloatArray

    @classmethod
    def known(cls, row: FloatArray, low: float, high: float, log_t: FloatArray) -> LogTable:
        """A known row of T: ln(1 + t T), whatever pi is."""
        logs = np.log(np.where(row > 0, row, 1.0))[:, None]
        values = np.where(row[:, None] > 0, np.logaddexp(0.0, log_t + logs), 0.0)[None]
        return cls(low, high, values, np.zeros_like(values), np.zeros_like(values))

    @classmethod
    def fitted(
        cls, cells: Cells, n_labels: int, low: float, high: float, log_t: FloatArray
    ) -> LogTable:
        """Polynomials of the lowest degree that serves these cells."""
        for n_points in _LOG_DEGREES:
            x = chebyshev.chebpts1(n_points)
            pi = (low + high) / 2 + (high - low) / 2 * x
            values = np.zeros((3, n_points, n_labels, len(log_t)))
            for s, cell in cells.items():
                values[:, :, s] = cell.log_transform(log_t, pi)
            values /= -pi[:, None, None]
            out = np.einsum("ed,kdsq->kesq", to_chebyshev(x), values)
            # An error counts only where the product over classes is not negligible.
            largest = np.where(pi[:, None, None] * values[0] < _VANISHED, pi[:, None, None], 0.0)
            if (np.abs(out[0, -2:]).max(axis=0) * largest.max(axis=0)).max() < _LOG_ERROR:
                break
        return cls(low, high, *out)

    def gradient(self, statistic: FloatArray) -> tuple[FloatArray, float]:
        """Gradient in the row of Theta and in its total from that in ``values``."""
        return _row_gradient(statistic, self.by_own, self.by_rest)


@dataclass(frozen=True, eq=False)
class RoughTable:
    """M of one class for the labels with small Theta_cs, at the points of an exponential basis.

    Attributes
    ----------
    row : int
        The class.
    labels : array (R,)
        The labels.
    basis : ExponentialBasis
    values, by_own, by_rest : arrays (D, R, Q)
        M at the basis' points, and its derivatives in Theta_cs and in Theta_c0 - Theta_cs.
    """

    row: int
    labels: IntArray
    basis: ExponentialBasis
    values: FloatArray
    by_own: FloatArray
    by_rest: FloatArray

    @classmethod
    def of(cls, row: int, cells: Cells, basis: ExponentialBasis, log_t: FloatArray) -> RoughTable:
        """Table for these cells of one class."""
        logs = np.stack([c.log_transform(log_t, basis.points) for c in cells.values()], axis=2)
        values = np.exp(logs[0])
        return cls(row, np.array(list(cells)), basis, values, values * logs[1], values * logs[2])

    def factor(self, block: FloatArray) -> FloatArray:
        """M for each row of Pi, (n, R, Q)."""
        flat = self.basis.functions(block[:, self.row]) @ self._flat
        return np.maximum(flat, _TINY, out=flat).reshape(len(block), *self.values.shape[1:])

    def gradients(self, block: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients of ``sum(others * factor)`` in the class's column of Pi and in ``values``."""
        flat = others.reshape(len(block), -1)
        by_function = flat @ self._flat.T
        by_function *= self.basis.derivatives(block[:, self.row])
        statistic = self.basis.functions(block[:, self.row]).T @ flat
        return by_function.sum(axis=1), statistic.reshape(self.values.shape)

    def gradient(self, statistic: FloatArray) -> tuple[FloatArray, float]:
        """Gradient in the row of Theta, at ``labels``, and in its total from that in ``values``."""
        return _row_gradient(statistic, self.by_own, self.by_rest)

    @property
    def _flat(self) -> FloatArray:
        return self.values.reshape(len(self.values), -1)


def _row_gradient(
    statistic: FloatArray, by_own: FloatArray, by_rest: FloatArray
) -> tuple[FloatArray, float]:
    """Gradient in Theta_cs (S,) at a fixed total Theta_c0, and in the total."""
    own = (statistic * by_own).sum(axis=(0, 2))
    rest = (statistic * by_rest).sum(axis=(0, 2))
    return np.asarray(own - rest), float(rest.sum())


@dataclass(frozen=True, eq=False)
class Tables:
    """Nodes and tables for one distribution of T and one range of concentrations.

    Attributes
    ----------
    nodes : Nodes
    logs : list of LogTable
        One per class.
    rough : list of RoughTable
        One per class that has labels with small Theta_cs.
    exponents : array (sum of D, S Q)
        Minus the values of all the log tables: ln M is one matrix product.
    """

    nodes: Nodes
    logs: list[LogTable]
    rough: list[RoughTable]
    exponents: FloatArray

    @classmethod
    def of(
        cls, transitions: DirichletRows, labels: IntArray, low: FloatArray, high: FloatArray
    ) -> Tables:
        """Tables for these labels and Pi from ``low`` to ``high``.

        Both are (C + 1,): the concentrations of the classes and their sum.
        """
        if high[-1] > _LARGEST or transitions.parameters.max() > _LARGEST:
            raise ValueError(
                f'expected_log="exact" is for concentrations up to {_LARGEST:g}. Use "bound" or '
                '"beta", or make the row of T known (strength=inf).'
            )
        nodes = _place_nodes(transitions, labels, low[:-1], float(high[-1]))
        # A power of 10, and ranges in powers of 2: bases are used again from step to step.
        tolerance = 10.0 ** max(
            _LEAST_TOLERANCE, np.floor(np.log10(_INTERPOLATION / nodes.weight.sum()))
        )
        logs, rough = [], []
        for c, total in enumerate(transitions.total):
            row, bounds = transitions.parameters[c, labels], (float(low[c]), float(high[c]))
            if transitions.known[c]:
                logs.append(LogTable.known(row, *bounds, nodes.log_t))
                continue
            cells = {s: BetaCell.of(own, total - own) for s, own in enumerate(row) if own > 0}
            smooth = {s: cell for s, cell in cells.items() if cell.own >= _SMOOTH * bounds[1]}
            logs.append(LogTable.fitted(smooth, len(row), *bounds, nodes.log_t))
            rest = {s: cell for s, cell in cells.items() if s not in smooth}
            if rest:
                basis = ExponentialBasis.over(*bounds, tolerance)
                rough.append(RoughTable.of(c, rest, basis, nodes.log_t))
        exponents = np.concatenate([-t.values.reshape(len(t.values), -1) for t in logs])
        return cls(nodes, logs, rough, exponents)

    def chunks(self, n_rows: int) -> list[slice]:
        """Slices of rows whose temporaries fit into the cache."""
        size = max(1, _CHUNK // self.exponents.shape[1])
        return [slice(start, start + size) for start in range(0, n_rows, size)]

    def functions(self, block: FloatArray) -> FloatArray:
        """Basis functions pi T_d(x) of all the log tables, (sum of D, n)."""
        polynomials, _ = self._chebyshev(block, derivatives=False)
        return np.asarray(polynomials * block.T)[self._used]

    def derivatives(self, block: FloatArray) -> FloatArray:
        """Derivatives of the basis functions in the class's concentration, (sum of D, n)."""
        polynomials, slopes = self._chebyshev(block, derivatives=True)
        slopes *= block.T
        slopes += polynomials
        return slopes[self._used]

    def _chebyshev(self, block: FloatArray, *, derivatives: bool) -> tuple[FloatArray, FloatArray]:
        """Chebyshev polynomials of every class's pi, and their derivatives in pi, (D, C, n)."""
        low, high = np.array([[t.low, t.high] for t in self.logs]).T[:, :, None]
        slope = 2.0 / (high - low)  # (C, 1)
        x = slope * block.T - (high + low) / (high - low)
        size = max(len(t.values) for t in self.logs)
        polynomials = np.empty((size, *x.shape))
        polynomials[0] = 1.0
        slopes = np.zeros_like(polynomials) if derivatives else polynomials[:0]
        if size > 1:
            polynomials[1] = x
            slopes[1:2] = slope
        for d in range(2, size):
            polynomials[d] = 2.0 * x * polynomials[d - 1] - polynomials[d - 2]
            if derivatives:
                step = slope * polynomials[d - 1] + x * slopes[d - 1]
                slopes[d] = 2.0 * step - slopes[d - 2]
        return polynomials, slopes

    @property
    def _used(self) -> tuple[IntArray, IntArray]:
        """Degrees and classes of the basis functions, class by class."""
        sizes = [len(t.values) for t in self.logs]
        return np.concatenate([np.arange(n) for n in sizes]), np.repeat(
            np.arange(len(sizes)), sizes
        )

    def product(self, functions: FloatArray, factors: list[FloatArray]) -> FloatArray:
        """The product over classes of M, (n, S, Q)."""
        flat = functions.T @ self.exponents
        np.exp(flat, out=flat)
        out = flat.reshape(len(flat), -1, len(self.nodes.log_t))
        for table, factor in zip(self.rough, factors, strict=True):
            out[:, table.labels] *= factor
        return out

    def transition_gradient(
        self, smooth: FloatArray, rough: list[FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Gradients in Theta (C, S) and in its row sums (C,) from those in the tables' values."""
        parts = np.split(smooth, np.cumsum([len(t.values) for t in self.logs])[:-1])
        gradients = [
            table.gradient(part.reshape(table.values.shape))
            for table, part in zip(self.logs, parts, strict=True)
        ]
        own, total = np.array([g[0] for g in gradients]), np.array([g[1] for g in gradients])
        for table, statistic in zip(self.rough, rough, strict=True):
            by_label, by_total = table.gradient(statistic)
            own[table.row, table.labels] += by_label
            total[table.row] += by_total
        return own, total


def _place_nodes(
    transitions: DirichletRows, labels: IntArray, low: FloatArray, total: float
) -> Nodes:
    """Nodes for class concentrations of at least ``low`` (C,) and at most ``total`` in all."""
    parameters, known = transitions.parameters[:, labels], transitions.known[:, None]
    possible = parameters > 0
    # The largest values of T that still matter decide where M starts to fall ...
    free = (parameters + 1.0) / (transitions.total[:, None] + 1.0)
    reach = np.where(known, parameters, free)
    starts = -np.log(np.where(possible, reach, 1.0)) - np.log(np.maximum(1.0, low))[:, None]
    left = float(np.log(_FIRST_NODE) - np.log(total + 2.0))
    bend = max(left + _LEFT_TO_BEND, float(starts[possible].max()) + _PAST_START)
    # ... and the smaller of both concentrations how fast it falls in the end.
    rate = np.where(known, low[:, None], np.minimum(low[:, None], parameters))
    slowest = float(np.where(possible, rate, 0.0).sum(axis=0).min())
    right = bend + max(_LEAST_RIGHT, (_RIGHT_TAIL + _RIGHT_TAIL_PER_CLASS * len(low)) / slowest)
    # |Gamma(1 + i w)| = sqrt(pi w / sinh(pi w)), about 10 exp(-pi w / 2) here. Where two equal
    # rates meet the tail is u exp(-a u), whose error is larger by w: hence the power.
    frequency = np.log(20.0 / (_PRECISION * min(1.0, slowest) ** 1.5)) * 2.0 / np.pi
    step = float(2.0 * np.pi / frequency)
    return Nodes.between(left, bend, right, scale=max(1.0, total), step=step)
