"""What the paper shows beside what was measured, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Something that the paper shows, measured.

    Attributes
    ----------
    claim : str
        What it says.
    measured : str
        What was found.
    holds : bool
        Whether that is the same.
    """

    claim: str
    measured: str
    holds: bool


def shape_table(found: list[Shape]) -> str:
    """In Markdown."""
    lines = [markdown_row(["the paper", "here", "holds"]), markdown_row(["---"] * 3)]
    lines += [markdown_row([s.claim, s.measured, "yes" if s.holds else "**no**"]) for s in found]
    return "\n".join(lines)


def markdown_row(cells: Iterable[str]) -> str:
    """Cells between bars."""
    return "| " + " | ".join(cells) + " |"
