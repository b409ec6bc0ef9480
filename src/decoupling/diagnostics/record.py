"""`Diagnostics`: how far an answer can be trusted, as a light with its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from decoupling._text import Message

__all__ = ["LIGHTS", "WORDS", "Diagnostics", "Reason", "worst_first"]

# Lights from good to bad.
LIGHTS: Final = ("green", "amber", "red")
# What each light means.
WORDS: Final = {
    "green": "Looks sound",
    "amber": "Use with care",
    "red": "Do not rely on this yet",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """A thing that was checked, and what was found.

    Attributes
    ----------
    light : {"green", "amber", "red"}
        How bad it is.
    about : str
        What was checked, such as "convergence".
    message : Message
        What was found, as a record.

    Examples
    --------
    >>> message = Message("not-yet", "Not there yet after {n} steps: raise max_iter.", n=5)
    >>> reason = Reason("amber", "convergence", message)
    >>> reason.code, reason.fields, reason.text
    ('not-yet', {'n': 5}, 'Not there yet after 5 steps: raise max_iter.')
    """

    light: str
    about: str
    message: Message

    @property
    def text(self) -> str:
        """What was found, in a sentence or two, and what to do about it if it is not green."""
        return str(self.message)

    @property
    def code(self) -> str:
        """Name of what was found, which stays when the words change."""
        return self.message.code

    @property
    def fields(self) -> dict[str, object]:
        """Values in the text, by name."""
        return self.message.fields


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """A light, and the reasons for it, the worst first.

    Attributes
    ----------
    reasons : tuple of Reason
        Everything that was checked.

    Examples
    --------
    >>> converged = Message("converged", "The inference converged.")
    >>> print(Diagnostics((Reason("green", "convergence", converged),)))
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
        """What the light means."""
        return WORDS[self.light]

    def about(self, name: str) -> tuple[Reason, ...]:
        """Reasons that are about one thing, such as "identifiability"."""
        return tuple(reason for reason in self.reasons if reason.about == name)

    def __str__(self) -> str:
        lines = [f"  {reason.light}: {reason.text}" for reason in self.reasons]
        return "\n".join([f"{self.words} ({self.light} light).", *lines])


def worst_first(reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """Reasons from red to green; those of one light keep their order."""
    return tuple(sorted(reasons, key=lambda reason: -LIGHTS.index(reason.light)))
