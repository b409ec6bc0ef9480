"""What every evaluation of E[ln X], X = sum_c Y_c T_c, must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows

# Least and largest values of each class's concentration and of their sum, each (C + 1,).
Range: TypeAlias = tuple[FloatArray, FloatArray]


class Slopes(NamedTuple):
    """Gradients of ``sum(weight * E[ln X])``.

    Attributes
    ----------
    by_class : array (N, C)
        In the concentrations of Y (Pi).
    by_transition : array (C, S)
        In the concentrations of T (Theta); 0 in known rows and at structural zeros.
    """

    by_class: FloatArray
    by_transition: FloatArray


class Method(ABC):
    """One way to evaluate E[ln X] for one distribution of T.

    Every label must be possible for at least one class.
    """

    def __init__(self, transitions: DirichletRows) -> None:
        self.transitions = transitions

    def of(self, transitions: DirichletRows) -> Self:
        """Return this method for another distribution of T."""
        return type(self)(transitions)

    @property
    def keeps_tables(self) -> bool:
        """Whether `prepare` has to know where the rows are."""
        return False

    def prepare(self, low: FloatArray, high: FloatArray) -> None:
        """Get ready for rows of this range, see `concentration_range`."""
        del low, high  # most methods have nothing to prepare

    @property
    def bounds(self) -> Range | None:
        """Range of the concentrations that was prepared for, if steps must stay in it.

        They must where every row is to be served by the same tables.
        """
        return None

    @abstractmethod
    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""

    @abstractmethod
    def slopes(self, class_concentration: FloatArray, weight: FloatArray) -> Slopes:
        """Gradients of ``sum(weight * E[ln X])``, ``weight`` (N, S)."""


class CoordinateRows(ABC):
    """Some rows of Y as a `CoordinateMethod` sees them, from their E[ln Y] alone."""

    @abstractmethod
    def value(self) -> FloatArray:
        """E[ln X], (N, S)."""

    @abstractmethod
    def class_counts(self, weight: FloatArray) -> FloatArray:
        """Expected counts of classes, (N, C), for ``weight`` (N, S)."""

    @abstractmethod
    def transition_counts(self, weight: FloatArray) -> FloatArray:
        """Expected counts of the possible transitions, (P,), which add up over blocks of rows.

        `CoordinateMethod.transition_matrix` puts them in their places.
        """


class CoordinateMethod(Method):
    """A method that depends on the concentrations through E[ln Y] and E[ln T] alone.

    The gradients in these are expected counts, which are at once the natural gradients in the
    concentrations: no Fisher matrix is needed. A full step sets each concentration to its prior
    plus the counts: the classic coordinate ascent, which always ascends.
    """

    @abstractmethod
    def rows(self, class_logs: FloatArray) -> CoordinateRows:
        """Rows with these E[ln Y], (N, C)."""

    @abstractmethod
    def rough_class_counts(self, concentration: FloatArray, weight: FloatArray) -> FloatArray:
        """Expected counts of classes, (N, C), for rows at Pi, (N, C): fast, and a little off."""

    @abstractmethod
    def transition_matrix(self, counts: FloatArray) -> FloatArray:
        """Counts of transitions, as its rows give them, as a matrix, (C, S)."""

    def value(self, class_concentration: FloatArray) -> FloatArray:
        """E[ln X], (N, S)."""
        return self.rows(dirichlet.mean_log(class_concentration)).value()

    def slopes(self, class_concentration: FloatArray, weight: FloatArray) -> Slopes:
        """Gradients of ``sum(weight * E[ln X])``: the Fisher matrices times the counts."""
        rows = self.rows(dirichlet.mean_log(class_concentration))
        transition_counts = self.transition_matrix(rows.transition_counts(weight))
        return Slopes(
            dirichlet.fisher_product(class_concentration, rows.class_counts(weight)),
            self.transitions.fisher_product(transition_counts),
        )


def concentration_range(class_concentration: FloatArray) -> Range:
    """Least and largest concentration of each class and of their sum, each (C + 1,)."""
    total = class_concentration.sum(axis=1)
    return (
        np.append(class_concentration.min(axis=0), total.min()),
        np.append(class_concentration.max(axis=0), total.max()),
    )
