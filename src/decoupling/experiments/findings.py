"""Findings of the paper beside what was measured here, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from decoupling._typing import FloatArray


@dataclass(frozen=True)
class Shape:
    """A finding of the paper, and what was measured here.

    Attributes
    ----------
    claim : str
        What the paper says.
    measured : str
        What was found.
    holds : bool
        Whether that is the same.
    """

    claim: str
    measured: str
    holds: bool


def shape_table(found: list[Shape]) -> str:
    """Table of findings in Markdown."""
    lines = [markdown_row(["the paper", "here", "holds"]), markdown_row(["---"] * 3)]
    lines += [markdown_row([s.claim, s.measured, "yes" if s.holds else "**no**"]) for s in found]
    return "\n".join(lines)


def value_cell(values: FloatArray) -> str:
    """Mean over the runs, with the standard deviation in parentheses if there are several."""
    spread = f" ({values.std(ddof=1):.3f})" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"


def markdown_row(cells: Iterable[str]) -> str:
    """Cells between bars."""
    return "| " + " | ".join(cells) + " |"
