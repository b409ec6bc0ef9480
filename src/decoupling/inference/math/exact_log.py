r"""E[ln X] with X = sum_c Y_c T_c, exactly: a one-dimensional integral.

Write :math:`Y = g / \sum g` with independent :math:`g_c \sim Gamma(\Pi_c)`. The Laplace transform
of :math:`Z = \sum_c g_c T_c` factorises, so with :math:`t = e^u` and any scale z > 0

.. math::

    E[\ln X_{is}] = \ln z + \int \Big( e^{-zt} - \prod_c M_{cs}(t; \Pi_{ic}) \Big) du
    - \psi(\Pi_{i0}), \qquad M_{cs}(t; \pi) = E[(1 + t T_{cs})^{-\pi}].

The integrand is analytic and the trapezoid rule converges exponentially. Left of the first node
the integrand is its own second-order series in t, which needs only the first two agreement terms;
the right tail decays like :math:`e^{-au}` with a as small as the smallest concentrations, so the
nodes spread out exponentially there.

When T is known, :math:`\ln M = -\pi \ln(1 + t T)`: one matrix product for all rows, labels and
nodes, then one exponential. When :math:`\Theta_{cs}` is well above :math:`\pi`,
:math:`-\ln M / \pi` is a low polynomial in :math:`\pi`, and the product only gets a few more
columns (`LogTable`). Else M itself, a mixture of exponentials :math:`e^{-\pi w}`, is interpolated
from its values at a few dozen :math:`\pi` (`RoughTable`), at one matrix product per class. M comes
from `math.beta_laplace`, the tables are in `math.exact_tables`.

A label that a single class can emit needs no integral:
:math:`E[\ln X] = E[\ln Y_c] + E[\ln T_{cs}]`.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

import numpy as np
from scipy.special import psi

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet
from decoupling.inference.math.agreement_series import (
    AgreementSeries,
    exp_series,
    exp_series_gradient,
)
from decoupling.inference.math.dirichlet import DirichletRows, trigamma
from decoupling.inference.math.exact_nodes import Nodes
from decoupling.inference.math.exact_tables import Tables
from decoupling.inference.math.method import Method, Range, Slopes, concentration_range

# Rounding error of the binary logarithm of a concentration, generously. With far more, tables would
# be used a little outside the range that they were made for.
_ROUNDING: Final = 1e-9


class Exact(Method):
    """E[ln X] by quadrature, to 1e-8 for concentrations from 1e-3 to 1e6.

    Tables are made for the range of concentrations announced to `prepare`, and further ones for
    calls that leave it. Threads may share an instance.
    """

    def __init__(self, transitions: DirichletRows) -> None:
        super().__init__(transitions)
        possible = transitions.parameters > 0
        lone = np.count_nonzero(possible, axis=0) == 1
        # A label that every class always emits has X = 1, and nothing is to be integrated.
        certain = (possible & (np.count_nonzero(possible, axis=1) == 1)[:, None]).all(axis=0)
        self._mixed = np.nonzero(~lone & ~certain)[0]  # labels that several classes can emit
        self._lone = np.nonzero(lone)[0]
        self._source = possible[:, lone].argmax(axis=0)  # the class that emits each lone label
        self._series = AgreementSeries.of(transitions, 2)
        self._prepared: Range | None = None
        self._made: dict[bytes, Tables] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """What other processes need: tables are made where they are used."""
        return vars(self) | {"_made": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"_lock": Lock()})

    @property
    def keeps_tables(self) -> bool:
        """True: tables serve a range of concentrations, which `prepare` announces."""
        return True

    def prepare(self, low: FloatArray, high: FloatArray) -> None:
        """Serve concentrations of this range, and those near it, from one set of tables.

        The range of each class and of their sum, as of `concentration_range`.
        """
        low, high = _powers_of_two(low, high)
        self._prepared = low / 2.0, high * 2.0

    @property
    def bounds(self) -> Range | None:
        """Range of concentrations that was prepared for, of the classes and of their sum."""
        return self._prepared

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        out = np.zeros((len(class_concentration), self.transitions.parameters.shape[1]))
        if len(self._lone):
            out[:, self._lone] = self._lone_value(class_concentration)
        if len(self._mixed):
            out[:, self._mixed] = self._mixed_value(class_concentration)
        return out

    def slopes(self, class_concentration: FloatArray, weight: FloatArray) -> Slopes:
        """Gradients of ``sum(weight * E[ln X])``."""
        class_gradient = np.zeros_like(class_concentration)
        transition_gradient = np.zeros_like(self.transitions.parameters)
        if len(self._lone):
            by_class, by_transition = self._lone_counts(weight[:, self._lone])
            class_gradient += dirichlet.fisher_product(class_concentration, by_class)
            transition_gradient += self.transitions.fisher_product(by_transition)
        if len(self._mixed):
            by_class, by_transition = self._mixed_slopes(
                class_concentration, weight[:, self._mixed]
            )
            class_gradient += by_class
            transition_gradient += by_transition
        return Slopes(class_gradient, transition_gradient)

    def _lone_value(self, class_concentration: FloatArray) -> FloatArray:
        logs = dirichlet.mean_log(class_concentration)[:, self._source]
        return np.asarray(logs + self.transitions.expected_log()[self._source, self._lone])

    def _lone_counts(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights as counts of classes (N, C) and of transitions (C, S)."""
        by_class = weight @ np.eye(len(self.transitions.parameters))[self._source]
        by_transition = np.zeros_like(self.transitions.parameters)
        by_transition[self._source, self._lone] = weight.sum(axis=0)
        return by_class, by_transition

    def _mixed_value(self, class_concentration: FloatArray) -> FloatArray:
        tables = self._tables(class_concentration)
        out = self._outside(tables.nodes, class_concentration)
        functions = tables.functions(class_concentration)
        for rows in tables.chunks(len(out)):
            factors = [table.factor(class_concentration[rows]) for table in tables.rough]
            out[rows] -= tables.product(functions[:, rows], factors) @ tables.nodes.weight
        return out

    def _mixed_slopes(
        self, class_concentration: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        tables = self._tables(class_concentration)
        node_weight = np.tile(tables.nodes.weight, weight.shape[1])  # (S Q,)
        weighted = tables.exponents * node_weight
        starts = np.cumsum([0] + [len(t.values) for t in tables.logs[:-1]])
        class_gradient, transition_gradient = self._outside_gradients(
            tables.nodes, class_concentration, weight
        )
        smooth = np.zeros_like(weighted)
        rough = [np.zeros_like(t.values) for t in tables.rough]
        functions = tables.functions(class_concentration)  # (sum of D, N)
        derivatives = tables.derivatives(class_concentration)
        for rows in tables.chunks(len(weight)):
            block = class_concentration[rows]
            factors = [table.factor(block) for table in tables.rough]
            product = tables.product(functions[:, rows], factors)  # (n, S, Q)
            product *= weight[rows, :, None]
            flat = product.reshape(len(block), -1)
            by_function = weighted @ flat.T
            by_function *= derivatives[:, rows]
            class_gradient[rows] -= np.add.reduceat(by_function, starts, axis=0).T
            smooth += functions[:, rows] @ flat
            for table, factor, statistic in zip(tables.rough, factors, rough, strict=True):
                others = product[:, table.labels] * tables.nodes.weight
                by_class, by_value = table.gradients(block, np.divide(others, factor, out=others))
                class_gradient[rows, table.row] -= by_class
                statistic -= by_value
        by_label, by_total = tables.transition_gradient(smooth * node_weight, rough)
        by_row = np.tile(by_total[:, None], self.transitions.parameters.shape[1])
        by_row[:, self._mixed] += by_label
        free = (self.transitions.parameters > 0) & ~self.transitions.known[:, None]
        return class_gradient, transition_gradient + np.where(free, by_row, 0.0)

    def _tables(self, class_concentration: FloatArray) -> Tables:
        """Tables that serve these concentrations.

        Which ones they are depends on the call and on `prepare` alone, not on earlier calls, so
        that threads cannot change an answer.
        """
        low, high = _powers_of_two(*concentration_range(class_concentration))
        if self._prepared is not None:
            low, high = np.minimum(low, self._prepared[0]), np.maximum(high, self._prepared[1])
        key = np.concatenate([low, high]).tobytes()
        with self._lock:
            if key not in self._made:
                self._made[key] = Tables.of(self.transitions, self._mixed, low, high)
            return self._made[key]

    def _outside(self, nodes: Nodes, class_concentration: FloatArray) -> FloatArray:
        """Everything but the nodes kept: the reference, the left tail and psi(Pi_0)."""
        series = exp_series(self._series.log_series(class_concentration))
        first, second = series[:, :, self._mixed]
        out = nodes.first * (first - nodes.scale) + nodes.second * (nodes.scale**2 / 2 - second)
        out += nodes.reference
        return np.asarray(out - psi(class_concentration.sum(axis=1, keepdims=True)))

    def _outside_gradients(
        self, nodes: Nodes, class_concentration: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        series = exp_series(self._series.log_series(class_concentration))
        by_term = np.zeros_like(series)
        by_term[:, :, self._mixed] = nodes.first * weight, -nodes.second * weight
        class_gradient, transition_gradient = self._series.log_series_gradients(
            class_concentration, exp_series_gradient(series, by_term)
        )
        total = class_concentration.sum(axis=1, keepdims=True)
        class_gradient -= trigamma(total) * weight.sum(axis=1, keepdims=True)
        return class_gradient, transition_gradient


def _powers_of_two(low: FloatArray, high: FloatArray) -> Range:
    """The range widened to powers of two, so that small changes of it need no new tables.

    Steps often end exactly at an edge of the last range, which is a power of two. Rounding must not
    widen such a range to the next power.
    """
    low = np.exp2(np.floor(np.log2(low) + _ROUNDING))
    high = np.exp2(np.ceil(np.log2(high) - _ROUNDING))
    return low, np.where(high > low, high, 2.0 * low)
