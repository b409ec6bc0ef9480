"""What was measured, what was aimed for, and both as a Markdown table."""

import os
import platform
import re
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

PACKAGES = ("decoupling", "numpy", "scipy", "scikit-learn", "gensim", "cleanlab", "pulearn")


@dataclass(frozen=True)
class Measurement:
    """One line of the table; without a target it is there for information.

    Attributes
    ----------
    what : str
        What was measured.
    value : float
        The outcome, in `unit`.
    target, limit : float, {"at least", "at most"}
        What was aimed for.
    unit : str
        Sign after the number; a ratio by default.
    """

    what: str
    value: float
    target: float | None = None
    limit: Literal["at least", "at most"] = "at most"
    unit: str = "x"

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none."""
        if self.target is None:
            return None
        if self.limit == "at least":
            return self.value >= self.target
        return self.value <= self.target

    def cells(self) -> tuple[str, str, str, str]:
        """Return the line as text: what, measured, target, met."""
        verdict = {None: "", True: "yes", False: "NO"}[self.met]
        target = "" if self.target is None else f"{self.limit} {self.target:g} {self.unit}"
        return self.what, f"{_number(self.value)} {self.unit}".strip(), target.strip(), verdict


def _number(value: float) -> str:
    """Three significant digits without an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def markdown(measurements: list[Measurement]) -> str:
    """Return a Markdown table that also reads well as plain text."""
    header = ("what", "measured", "target", "met")
    rows = [header, *(m.cells() for m in measurements)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(header))]
    lines = [_line(row, widths) for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
    return "| " + " | ".join(cells) + " |"


def environment() -> str:
    """Return the versions of what was measured, and the number of cores."""
    versions = [f"Python {platform.python_version()}", *map(_package, PACKAGES)]
    return ", ".join(versions) + f"; {os.cpu_count()} cores"


def measured() -> str:
    """Return today's date, and what was measured with."""
    return f"on {date.today():%Y-%m-%d}, with {environment()}"


def _package(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def write_between(path: Path, begin: str, end: str, content: str) -> None:
    """Replace what stands between two markers of a file."""
    whole = f"{begin}\n{content}\n{end}"
    text, found = re.subn(
        f"{re.escape(begin)}.*?{re.escape(end)}",
        lambda _: whole,
        path.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if found != 1:
        raise SystemExit(f"{path.name} needs the markers {begin} and {end} once, in this order")
    path.write_text(text, encoding="utf-8")
