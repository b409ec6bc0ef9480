"""The four parts of the evidence lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan


@dataclass(frozen=True, slots=True)
class Terms:
    """The four parts of the bound, see `elbo`; they add up over blocks of rows.

    Prior and entropy of tiny concentrations are huge numbers that nearly cancel. ``together`` is
    their sum, computed as one where rounding would eat it; otherwise it is just their sum.
    """

    likelihood: float = 0.0
    prior: float = 0.0
    entropy: float = 0.0
    constant: float = 0.0
    together: float = nan

    def __post_init__(self) -> None:
        """Add prior and entropy, unless their sum is given."""
        if isnan(self.together):
            object.__setattr__(self, "together", self.prior + self.entropy)

    @property
    def elbo(self) -> float:
        """The bound itself."""
        return self.likelihood + self.together + self.constant

    def __add__(self, other: Terms) -> Terms:
        """Sum term by term."""
        return Terms(
            self.likelihood + other.likelihood,
            self.prior + other.prior,
            self.entropy + other.entropy,
            self.constant + other.constant,
            self.together + other.together,
        )
