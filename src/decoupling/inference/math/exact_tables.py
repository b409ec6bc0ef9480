"""Tables for the exact expected logarithm: quadrature nodes, and M as a function of pi.

`exact_log` states the integral. M is tabulated in two ways: where Theta_cs is
well above pi, -ln M / pi is a low polynomial in pi (`LogTable`); elsewhere M, a mixture of
exponentials exp(-pi w), is interpolated from its values at a few dozen pi (`RoughTable`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev
from scipy.linalg import qr

from decoupling._typing import FloatArray, IntArray
from decoupling.inference.math.beta_laplace import BetaCell
from decoupling.inference.math.dirichlet import DirichletRows

# Error of the trapezoid rule. In the stretched tail, exp(-a u) with u = e^v, it is
# 2 |Gamma(1 + i w)| / a at the frequency w = 2 pi / step.
_PRECISION: Final = 1e-9
# t * Z at the first node; the series left of it is cut after its square.
_FIRST_NODE: Final = 2e-3
# Error allowed in ln M, the numbers of Chebyshev points tried in turn, and how far Theta_cs must be
# above pi for ln M to be a low polynomial: then the tilted Beta stays near its own bulk.
_LOG_ERROR: Final = 1e-10
_LOG_DEGREES: Final = (3, 4, 5, 6, 8, 10, 13, 18, 24)
_SMOOTH: Final = 3.0
# Error of the interpolation of M in pi, added up over the nodes.
_INTERPOLATION: Final = 3e-10
# M is accurate absolutely, not relatively: what is below this is as good as 0, and is kept above 0
# so that one factor can be divided out of the product again.
_TINY: Final = 1e-30
# Rows are evaluated in chunks with about this many (row, label, node) entries.
_CHUNK: Final = 2**17

# Beyond it a Beta density is lost in the rounding of its own logarithm.
_LARGEST: Final = 1e13

Cells: TypeAlias = dict[int, BetaCell]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Trapezoid nodes of the outer integral.

    Attributes
    ----------
    log_t, weight : arrays (Q,)
        Positions u = ln t and quadrature weights.
    scale : float
        The integrand is exp(-scale t) less the product; the integral then gives E[ln Z] - ln scale.
    reference : float
        ln scale plus the sum of the weighted exp(-scale t).
    first, second : float
        Sums of the weighted t and t² over all the nodes left of the first one kept.
    """

    log_t: FloatArray
    weight: FloatArray
    scale: float
    reference: float
    first: float
    second: float

    @classmethod
    def between(cls, left: float, bend: float, right: float, *, scale: float, step: float) -> Nodes:
        """Nodes u(v) = v + exp(v - bend) from ``left`` to ``right``; left of it is summed up."""
        stop = bend + np.log1p(max(right - bend, 1.0))
        steps = np.arange(-round(38 / step), int((stop - left) / step) + 2)
        v = left + step * steps
        stretch = np.exp(v - bend)
        log_t, weight = v + stretch, step * (1.0 + stretch)
        tail, kept = steps < 0, steps >= 0
        t = np.exp(log_t[tail])
        reference = weight[kept] @ np.exp(-np.exp(np.minimum(log_t[kept] + np.log(scale), 700.0)))
        return cls(
            log_t[kept],
            weight[kept],
            scale,
            float(np.log(scale) + reference),
            float(weight[tail] @ t),
            float(weight[tail] @ t**2),
        )


@dataclass(frozen=True, eq=False)
class ExponentialBasis:
    """Interpolation of mixtures of exp(-pi w), w >= 0, over a range of pi.

    f(pi) = sum_d phi_d(pi) f(points_d), with phi_d a polynomial in ln pi.

    Attributes
    ----------
    log_range : (float, float)
        Range of ln pi.
    points : array (D,)
        Where f must be known.
    polynomials : array (P, D)
        Chebyshev coefficients of each phi_d.
    """

    log_range: tuple[float, float]
    points: FloatArray
    polynomials: FloatArray

    @classmethod
    @lru_cache(maxsize=256)
    def over(cls, low: float, high: float, tolerance: float) -> ExponentialBasis:
        """Basis for pi from ``low`` to ``high`` with this absolute error.

        The singular vectors of exp(-pi w) span what is needed, and a pivoted QR factorisation
        picks as many points from which they are known.
        """
        log_low, log_high = float(np.log(low)), float(np.log(high))
        # In ln pi, exp(-pi w) is analytic in a strip of half-width pi / 2, which gives the rate.
        ratio = np.pi / (log_high - log_low)
        size = int(np.ceil(-np.log(tolerance * 1e-2) / np.arcsinh(ratio))) + 4
        x = chebyshev.chebpts1(size)
        points = np.exp((log_low + log_high) / 2 + (log_high - log_low) / 2 * x)
        # Below exp(-14) / pi the function is a straight line, above exp(4) / pi it is 0.
        exponents = np.exp(np.linspace(-log_high - 14.0, -log_low + 4.0, 8 * size))
        kernel = np.exp(-points[:, None] * exponents)
        left, singular, _ = np.linalg.svd(
            np.hstack([np.ones((size, 1)), kernel]), full_matrices=False
        )
        rank = max(2, int(np.count_nonzero(singular > tolerance)))
        left = left[:, :rank]
        pivots = qr(left.T, mode="r", pivoting=True)[1][:rank]
        cardinal = np.linalg.solve(
            left[pivots].T, left.T
        ).T  # (P, D) values at the Chebyshev points
        return cls((log_low, log_high), points[pivots], _to_chebyshev(x) @ cardinal)

    def functions(self, concentration: FloatArray) -> FloatArray:
        """phi_d(pi), (n, D)."""
        return np.asarray(self._vandermonde(concentration) @ self.polynomials)

    def derivatives(self, concentration: FloatArray) -> FloatArray:
        """phi_d'(pi), (n, D)."""
        slope = np.zeros_like(self.polynomials)
        slope[:-1] = chebyshev.chebder(self.polynomials, axis=0)
        slope *= 2.0 / (self.log_range[1] - self.log_range[0])
        return np.asarray(self._vandermonde(concentration) @ slope / concentration[:, None])

    def _vandermonde(self, concentration: FloatArray) -> FloatArray:
        low, high = self.log_range
        unit = (2.0 * np.log(concentration) - low - high) / (high - low)
        return np.asarray(chebyshev.chebvander(unit, len(self.polynomials) - 1), dtype=np.float64)


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
            out = np.einsum("ed,kdsq->kesq", _to_chebyshev(x), values)
            # An error counts only where the product over classes is not negligible.
            largest = np.where(pi[:, None, None] * values[0] < 40.0, pi[:, None, None], 0.0)
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


def _to_chebyshev(points: FloatArray) -> FloatArray:
    """Matrix from values at the Chebyshev points to Chebyshev coefficients."""
    matrix = chebyshev.chebvander(points, len(points) - 1).T * (2.0 / len(points))
    matrix[0] /= 2.0
    return np.asarray(matrix)


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
        tolerance = 10.0 ** max(-15, np.floor(np.log10(_INTERPOLATION / nodes.weight.sum())))
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
    bend = max(left + 11.0, float(starts[possible].max()) + 4.5)
    # ... and the smaller of both concentrations how fast it falls in the end.
    rate = np.where(known, low[:, None], np.minimum(low[:, None], parameters))
    slowest = float(np.where(possible, rate, 0.0).sum(axis=0).min())
    right = bend + max(6.0, (40.0 + 2.0 * len(low)) / slowest)
    # |Gamma(1 + i w)| = sqrt(pi w / sinh(pi w)), about 10 exp(-pi w / 2) here. Where two equal
    # rates meet the tail is u exp(-a u), whose error is larger by w: hence the power.
    frequency = np.log(20.0 / (_PRECISION * min(1.0, slowest) ** 1.5)) * 2.0 / np.pi
    step = float(2.0 * np.pi / frequency)
    return Nodes.between(left, bend, right, scale=max(1.0, total), step=step)
