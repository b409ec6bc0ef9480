"""What all figures share: colours, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from decoupling._files import written_whole
from decoupling._validation import needs_extra

# Told apart with any kind of sight (Okabe and Ito).
BLACK: Final = "#000000"
ORANGE: Final = "#e69f00"
BLUE: Final = "#0072b2"
GREEN: Final = "#009e73"
RED: Final = "#d55e00"
PURPLE: Final = "#cc79a7"
_DPI: Final = 120


def new_figure(width: float, height: float, note: str) -> Any:
    """An empty figure, with a note of where it comes from in its lower right corner."""
    with needs_extra("plot", "Drawing a figure"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    plain = note.replace("$", r"\$")  # no formula
    figure.supxlabel(plain, x=0.99, ha="right", fontsize=7, color="0.4")
    return figure


def save(figure: Any, path: Path) -> Path:
    """Write a PNG."""
    with written_whole(path) as part:
        figure.savefig(part, dpi=_DPI, metadata={"Software": None})
    return path
