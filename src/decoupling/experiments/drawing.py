"""What all figures share: colours, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from decoupling._files import written_whole
from decoupling._validation import needs_extra
from decoupling.displays.drawing import BLACK as BLACK
from decoupling.displays.drawing import BLUE as BLUE
from decoupling.displays.drawing import GREEN as GREEN
from decoupling.displays.drawing import ORANGE as ORANGE
from decoupling.displays.drawing import PURPLE as PURPLE
from decoupling.displays.drawing import RED as RED

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
