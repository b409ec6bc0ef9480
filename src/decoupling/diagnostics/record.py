"""How far an answer can be trusted: a light, and its reasons in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["LIGHTS", "WORDS", "Diagnostics", "Reason", "worst_first"]

# From good to bad; the light is the worst of its reasons.
LIGHTS: Final = ("green", "amber", "red")
WORDS: Final = {
    "green": "Looks sound",
    "amber": "Use with care",
    "red": "Do not rely on this yet",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that was looked at, and what was found.

    Attributes
    ----------
    light : {"green", "amber", "red"}
        How much it takes from the trust.
    about : str
        What was looked at, such as "convergence".
    text : str
        What was found, in a sentence or two; where it is not green, what to do about it too.

    Examples
    --------
    >>> reason = Reason("amber", "convergence", "Not there yet: raise max_iter.")
    >>> Diagnostics((reason,)).light
    'amber'
    """

    light: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """A light, and the reasons for it, the worst first.

    Attributes
    ----------
    reasons : tuple of Reason
        All that was looked at.

    Examples
    --------
    >>> found = Diagnostics((Reason("green", "convergence", "The inference converged."),))
    >>> print(found)
    Looks sound (green light).
      green: The inference converged.
    """

    reasons: tuple[Reason, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "reasons", worst_first(self.reasons))

    @property
    def light(self) -> str:
        """The worst of the lights of the reasons; green if there are none."""
        return self.reasons[0].light if self.reasons else LIGHTS[0]

    @property
    def words(self) -> str:
        """The same in words."""
        return WORDS[self.light]

    def about(self, name: str) -> tuple[Reason, ...]:
        """Reasons that are about one thing, such as "identifiability"."""
        return tuple(reason for reason in self.reasons if reason.about == name)

    def __str__(self) -> str:
        lines = [f"  {reason.light}: {reason.text}" for reason in self.reasons]
        return "\n".join([f"{self.words} ({self.light} light).", *lines])


def worst_first(reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Reasons by their lights, from red to green; equal ones stay in order."""
    return tuple(sorted(reasons, key=lambda reason: -LIGHTS.index(reason.light)))
