"""Colours of all figures, and how figures are written."""

from __future__ import annotations

from io import BytesIO
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

# Pixels per inch: letters of 7 points, the smallest, are ten pixels high. Twice as many make a file
# three times as large.
_DPI: Final = 100
# Colours of a picture; a palette holds 256. With half as many shades show as bands, and with twice
# as many files are an eighth larger.
_COLOURS: Final = 128
# Turns of k-means that mend the colours that were cut at medians: without any, shades turn grey.
_TURNS: Final = 2


def new_figure(width: float, height: float, note: str) -> Any:
    """An empty figure, with a note of where it comes from in its lower right corner."""
    with needs_extra("plot", "Drawing a figure"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    plain = note.replace("$", r"\$")  # no formula
    figure.supxlabel(plain, x=0.99, ha="right", fontsize=7, color="0.4")
    return figure


def save_figure(figure: Any, path: Path) -> Path:
    """Write a PNG with few colours, a third of the size of one with all."""
    from PIL import Image

    whole = BytesIO()
    figure.savefig(whole, format="png", dpi=_DPI, metadata={"Software": None})
    with Image.open(whole) as picture, written_whole(path) as part:
        in_few_colours(picture).save(part, format="PNG", optimize=True)
    return path


def in_few_colours(picture: Any) -> Any:
    """A picture of the nearest of few colours, chosen for it, without dots that mix them."""
    from PIL import Image

    return picture.convert("RGB").quantize(
        _COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=_TURNS, dither=Image.Dither.NONE
    )
