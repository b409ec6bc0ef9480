"""What the ascent is given, what it infers of all rows together, and how it is to go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

from decoupling._typing import AnyArray, FloatArray
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math.dirichlet import DirichletRows

Callback: TypeAlias = Callable[[int, Terms], Any]


class Gamma(Protocol):
    """The class prior gamma, known or learned, as the ascent sees it."""

    @property
    def mean(self) -> FloatArray:
        """E[gamma], (C,)."""

    @property
    def learned(self) -> bool:
        """Whether gamma can change."""

    @property
    def moving(self) -> dict[str, FloatArray]:
        """Fields that change from step to step."""

    @property
    def fixed(self) -> tuple[AnyArray, float | None, AnyArray | None]:
        """What does not change: gamma or the rates of its prior, their eta, and the shares."""

    def terms(self, n_rows: float) -> Terms:
        """Terms of the bound that depend on gamma alone."""

    def raised(self, log_sum: FloatArray, n_rows: float) -> Self:
        """q(gamma) that suits rows with this sum of E[ln Y], (C,)."""

    def stepped(self, log_sum: FloatArray, n_rows: float) -> Self:
        """q(gamma) for the next rows, no lower in the bound than it was."""

    def moved_from(self, other: Self) -> float:
        """Distance from ``other``, in standard deviations given the rows."""

    def covariance(self, log_slope: FloatArray, n_rows: float) -> FloatArray:
        """Covariance of gamma once the rows have followed it, (C, C).

        ``log_slope``, (C, C), is the mean slope of E[ln Y] in gamma.
        """

    def moved_to(self, fields: dict[str, Any]) -> Self:
        """Return a copy with other values in the fields that change."""

    def resumed(self, other: Gamma) -> Self:
        """Return where another run ended, if that says anything of this gamma."""


@dataclass(frozen=True, eq=False)
class AscentProblem:
    """What is given of all the rows together.

    Attributes
    ----------
    class_prior : Gamma
        The Dirichlet prior of each row of Y (gamma), or where q(gamma) begins.
    transition_prior : DirichletRows
        Prior of T (A), in the units of the evidence.
    n_rows, total_evidence : float
        Number of rows, each as often as it stands there, and of observations in all.
    """

    class_prior: Gamma
    transition_prior: DirichletRows
    n_rows: float
    total_evidence: float


@dataclass(eq=False)
class State:
    """What is inferred of all the rows together, updated from step to step.

    Attributes
    ----------
    transitions : DirichletRows
        q(T).
    class_prior : Gamma
        Gamma, or q(gamma).
    transition_step : float
        Length of the next natural step of T, where it must be checked.
    """

    transitions: DirichletRows
    class_prior: Gamma
    transition_step: float = 1.0


@dataclass(frozen=True, eq=False)
class AscentOptions:
    """How to ascend, and when to stop: the arguments of `infer` with these names."""

    learn_transitions: bool
    max_iter: int
    tol: float
    local_steps: int = 1
    callback: Callback | None = None
