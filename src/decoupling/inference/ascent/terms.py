"""The four parts of the evidence lower bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Terms:
    """The four parts of the bound, see `elbo`; they add up over blocks of rows."""

    likelihood: float = 0.0
    prior: float = 0.0
    entropy: float = 0.0
    constant: float = 0.0

    @property
    def elbo(self) -> float:
        """The bound itself."""
        return self.likelihood + self.prior + self.entropy + self.constant

    def __add__(self, other: Terms) -> Terms:
        """Sum term by term."""
        return Terms(
            self.likelihood + other.likelihood,
            self.prior + other.prior,
            self.entropy + other.entropy,
            self.constant + other.constant,
        )
