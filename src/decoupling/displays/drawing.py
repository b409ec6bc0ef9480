"""What displays share: colours, axes, and text that shows names of users as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from decoupling._text import name_text
from decoupling._validation import needs_extra

# Told apart with any kind of sight (Okabe and Ito).
BLACK: Final = "#000000"
ORANGE: Final = "#e69f00"
BLUE: Final = "#0072b2"
GREEN: Final = "#009e73"
RED: Final = "#d55e00"
PURPLE: Final = "#cc79a7"
SKY: Final = "#56b4e9"

# No formula and no TeX: a name may be "$x_" or "\\frac".
AS_IS: Final = {"parse_math": False, "usetex": False}
# Sizes of letters, in points.
_LARGEST: Final = 10.0
_SMALLEST: Final = 3.0
# Text takes at most this share of the width and height of its cell.
_FILLED: Final = 0.86
_SMALLEST_NAME: Final = 5.0
# A line is so many times as high, and a letter so many times as wide, as the size of its font.
_LINE: Final = 1.25
_LETTER: Final = 0.65
# Lightness, between black and white, at which both are read equally well (WCAG).
_MIDDLE: Final = 0.179


def new_axes(width: float, height: float, **grid: Any) -> Any:
    """Axes of a new figure of pyplot, so that a notebook shows it; sizes in inches."""
    with needs_extra("plot", "Drawing a figure"):
        import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained", **grid)[1]


def axes_list(ax: Any) -> list[Any]:
    """One axes, or several in a list or an array, as a list."""
    return list(np.ravel(np.asarray(ax, dtype=object)))


def name_axis(axis: Any, texts: Sequence[str]) -> None:
    """Write names at 0, 1, ... along an axis: smaller, aslant, or some only, if there are many."""
    ax, across = axis.axes, axis.axis_name == "x"
    box = ax.get_window_extent()
    room = (box.width if across else box.height) * 72.0 / ax.figure.dpi / len(texts)
    size = float(np.clip(room / _LINE, _SMALLEST_NAME, _LARGEST))
    step = int(np.ceil(_SMALLEST_NAME * _LINE / room))
    slant: dict[str, Any] = {}
    if across and max(map(len, texts)) * _LETTER * size > room:
        few = len(texts) <= 12
        slant = {"rotation": 40 if few else 90, "ha": "right" if few else "center"}
        slant["rotation_mode"] = "anchor" if few else "default"
    shown = range(0, len(texts), max(step, 1))
    labels = [texts[i] for i in shown]
    axis.set_ticks(shown, labels=labels, fontsize=size, **AS_IS, **slant)


def name_texts(names: Iterable[object], letters: int = 24) -> list[str]:
    """Text of each name."""
    return [name_text(name, letters) for name in names]


def pair_text(first: object, second: object) -> str:
    """Two names of at most twenty letters with an arrow between them."""
    return f"{name_text(first, 20)} → {name_text(second, 20)}"


def ink_on(colour: Sequence[float]) -> str:
    """Black or white, whichever is read better on a colour (red, green, blue, ...) of [0, 1]."""
    red, green, blue = (
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]
    )
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > _MIDDLE else "white"


def fit_text(ax: Any, texts: Sequence[Any]) -> None:
    """Make text as large as cells of one unit by one unit hold it, and no larger than the rest."""
    # The layout decides how large a cell is.
    ax.figure.canvas.figure.draw_without_rendering()
    box = ax.get_window_extent()
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    cell = box.width / abs(right - left), box.height / abs(top - bottom)
    longest = max(texts, key=lambda text: max(map(len, text.get_text().split("\n"))))
    extent = longest.get_window_extent()
    scale = _FILLED * min(cell[0] / extent.width, cell[1] / extent.height)
    size = float(np.clip(scale * longest.get_fontsize(), _SMALLEST, _LARGEST))
    for text in texts:
        text.set_fontsize(size)


def bar_axes(n_bars: int) -> Any:
    """Axes of a new figure for so many horizontal bars with names."""
    return new_axes(6.8, 1.3 + 0.28 * max(n_bars, 4))


def name_bars(ax: Any, texts: Sequence[str]) -> None:
    """Names of horizontal bars, the first one above."""
    name_axis(ax.yaxis, texts)
    ax.set_ylim(len(texts) - 0.4, -0.6)


def say(ax: Any, text: str) -> None:
    """A sentence where there is nothing to draw."""
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    ax.set_yticks([])


def how_many(shown: int, in_all: int, what: str) -> str:
    """Such as "20 of 57 pairs", or "57 pairs" if all of them are shown."""
    counted = f"{in_all:,} {what}{'' if in_all == 1 else 's'}"
    return counted if shown == in_all else f"{shown:,} of {counted}"
