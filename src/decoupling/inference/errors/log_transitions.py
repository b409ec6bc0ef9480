"""p(T), with the classes of the rows integrated out, as a function of the logarithms of T."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.inference.errors.drawn_rows import Curvature, DrawnRows

# Entries of T are raised to this, so that they have a logarithm and can be divided by.
_TINY: Final = 1e-290


@dataclass(frozen=True, eq=False)
class Position:
    """T by the logarithms z of its free entries, each row up to a constant.

    Attributes
    ----------
    first : array (C, S)
        T at the start, which entries that are not free keep.
    free : bool array (C, S)
        Entries that can vary.
    """

    first: FloatArray
    free: BoolArray

    @property
    def index(self) -> IntArray:
        """Numbers of the free entries in T as a vector, (free,)."""
        return np.flatnonzero(self.free)

    @property
    def start(self) -> FloatArray:
        """Logarithms of the free entries at the start, (free,)."""
        return np.log(np.maximum(self.first[self.free], _TINY))

    def transitions(self, z: FloatArray) -> FloatArray:
        """T, (C, S), at these logarithms, (free,)."""
        logs = np.full(self.first.shape, -np.inf)
        logs[self.free] = z
        taken = np.where(self.free, 0.0, self.first).sum(axis=1, keepdims=True)
        logs -= np.where(self.free.any(axis=1), logs.max(axis=1), 0.0)[:, None]
        out = np.exp(logs)
        total = np.maximum(out.sum(axis=1, keepdims=True), _TINY)
        return np.asarray(np.where(self.free, (1.0 - taken) * out / total, self.first))

    def _share(self, transitions: FloatArray) -> FloatArray:
        """Share of each free entry in the sum of the free entries of its class, (C, S)."""
        free = np.where(self.free, transitions, 0.0)
        return np.asarray(free / np.maximum(free.sum(axis=1, keepdims=True), _TINY))

    def slope(self, transitions: FloatArray, by_logs: FloatArray) -> FloatArray:
        """Slope in z, (free,), of what has the slope ``by_logs``, (C, S), in ln T."""
        totals = np.where(self.free, by_logs, 0.0).sum(axis=1, keepdims=True)
        return np.asarray((by_logs - self._share(transitions) * totals)[self.free])

    def project(self, transitions: FloatArray) -> FloatArray:
        """Derivative of ln T in z, transposed, (free, C S): z as a whole does not move T."""
        classes = np.nonzero(self.free)[0]
        same = classes[:, None] == classes
        out = np.zeros((len(classes), transitions.size))
        out[:, self.index] = (
            np.eye(len(classes)) - same * self._share(transitions)[self.free][:, None]
        )
        return out

    def of_logs(
        self, curvature: FloatArray, transitions: FloatArray, by_logs: FloatArray
    ) -> FloatArray:
        """Negative second derivative in z, from the second and the first derivative in ln T."""
        turned = self.project(transitions)
        second = -turned @ curvature @ turned.T
        # ln T is itself curved: ln T_s = z_s - ln sum exp z.
        totals = np.where(self.free, by_logs, 0.0).sum(axis=1)
        classes, share = np.nonzero(self.free)[0], self._share(transitions)[self.free]
        same = classes[:, None] == classes
        second += totals[classes] * (np.diag(share) - same * np.outer(share, share))
        return np.asarray(second)


@dataclass(frozen=True, eq=False)
class Objective:
    """Minus the logarithm of p(T), with rows integrated out, and its slope, both in z.

    Attributes
    ----------
    position : Position
        T by z.
    rows : DrawnRows
        The rows that are integrated out.
    prior : array (C, S)
        Dirichlet concentrations of T, 0 where T cannot vary.
    """

    position: Position
    rows: DrawnRows
    prior: FloatArray

    def _log_prior(self, transitions: FloatArray) -> float:
        safe = np.where(self.prior > 0, np.maximum(transitions, _TINY), 1.0)
        return float((self.prior * np.log(safe)).sum())

    def with_balance(
        self, transitions: FloatArray, share: FloatArray, n_rows: float
    ) -> tuple[float, FloatArray, FloatArray]:
        """The logarithm at this T, and the balance of classes there: its mean and variance."""
        value, mean, variance = self.rows.with_balance(transitions, share, n_rows)
        return value + self._log_prior(transitions), mean, variance

    def __call__(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Value and slope at z."""
        transitions = self.position.transitions(z)
        value, by_logs = self.rows.value(transitions)
        value += self._log_prior(transitions)
        return -value, -self.position.slope(transitions, by_logs + self.prior)

    def precision(self, transitions: FloatArray, curvature: Curvature) -> FloatArray:
        """Negative second derivative in z, (free, free)."""
        slope = curvature.slopes.sum(axis=0).reshape(transitions.shape) + self.prior
        return self.position.of_logs(curvature.second, transitions, slope)
