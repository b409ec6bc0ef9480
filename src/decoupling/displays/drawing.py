"""Helpers of displays: colours, axes, and text that shows names of users as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from unicodedata import bidirectional

import numpy as np

from decoupling._text import name_text
from decoupling._typing import FloatArray, IntArray
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
# Names in Arabic or Hebrew would change places around an arrow without a mark.
_RIGHT_TO_LEFT: Final = ("R", "AL", "AN")
_LEFT_TO_RIGHT: Final = "\u200e"
# Size of letters at most, in points: that of the other text of a figure.
_LARGEST: Final = 10.0
# Size of letters at least, in points; smaller ones cannot be read on paper.
_SMALLEST: Final = 6.0
# Size of letters, in points, below which names are turned instead of made smaller.
_SMALLEST_LEVEL: Final = 7.0
# Height of a line, as a multiple of the size of its font.
_LINE: Final = 1.25
# Width of a letter, as a multiple of the size of its font; few fonts are wider on average.
_LETTER: Final = 0.65
# Names that are turned aslant at most; more of them stand upright, where they need less room.
_SLANTED: Final = 12
# Size of the letters of counts, in points.
_COUNTS: Final = 8.0
# Share of the width and height of a cell that its text takes at most.
_FILLED: Final = 0.8
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
    room = _room(axis, len(texts))
    size, turned = min(room / _LINE, _LARGEST), {}
    if axis.axis_name == "x":
        level = room / (_LETTER * max(map(len, texts)))
        if level >= _SMALLEST_LEVEL:
            size = min(size, level)
        elif len(texts) <= _SLANTED:
            turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        else:
            turned = {"rotation": 90}
    step = max(int(np.ceil(_SMALLEST * _LINE / room)), 1)
    places = range(0, len(texts), step)
    names = [texts[i] for i in places]
    axis.set_ticks(places, labels=names, fontsize=max(size, _SMALLEST), **AS_IS, **turned)


def write_counts(ax: Any, middle: FloatArray, count: IntArray) -> None:
    """Numbers above the axes, abbreviated if they would run into each other."""
    from matplotlib.ticker import EngFormatter

    texts = [f"{n:,}" for n in count]
    if max(map(len, texts)) * _LETTER * _COUNTS > _room(ax.xaxis, len(texts)):
        texts = list(map(EngFormatter(places=0, sep=""), count.tolist()))
    above = ax.get_xaxis_transform()
    for x, text in zip(middle, texts, strict=True):
        ax.text(x, 1.01, text, ha="center", transform=above, fontsize=_COUNTS)


def _room(axis: Any, n: int) -> float:
    """Points for each of n things along an axis, as far as is known before it is drawn."""
    ax = axis.axes
    box = ax.get_window_extent()
    length = box.width if axis.axis_name == "x" else box.height
    return float(length * 72.0 / ax.figure.dpi / n)


def pair_text(first: object, second: object) -> str:
    """Two names of at most twenty letters with an arrow between them, from left to right."""
    one, other = name_text(first, 20), name_text(second, 20)
    mark = _LEFT_TO_RIGHT if any(bidirectional(c) in _RIGHT_TO_LEFT for c in one + other) else ""
    return f"{mark}{one}{mark} → {other}"


def ink_on(colour: Sequence[float]) -> str:
    """Black or white, whichever is read better on a colour (red, green, blue, ...) of [0, 1]."""
    red, green, blue = (
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]
    )
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > _MIDDLE else "white"


def fitting_size(ax: Any, text: str) -> float | None:
    """Size of a text that fills a cell of one unit by one unit; None if that cannot be read.

    The figure must have been laid out, since that decides how large a cell is.
    """
    box = ax.get_window_extent()
    left, right = ax.get_xlim()
    bottom, top = ax.get_ylim()
    trial = ax.text(0.0, 0.0, text, fontsize=_LARGEST)
    extent = trial.get_window_extent()
    trial.remove()
    across = box.width / abs(right - left) / extent.width
    upwards = box.height / abs(top - bottom) / extent.height
    size = _LARGEST * min(1.0, _FILLED * across, _FILLED * upwards)
    return float(size) if size >= _SMALLEST else None


def bar_axes(ax: Any, texts: Sequence[str]) -> Any:
    """Axes for horizontal bars of these names, the first one above; new ones if there are none."""
    if ax is None:
        width = 4.0 + 0.085 * max(map(len, texts), default=0)
        ax = new_axes(width, 1.1 + 0.28 * max(len(texts), 3))
    if texts:
        name_axis(ax.yaxis, texts)
        ax.set_ylim(len(texts) - 0.4, -0.6)
    return ax


def say(ax: Any, text: str) -> None:
    """A sentence instead of a figure, where there is nothing to draw."""
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    ax.set_axis_off()


def how_many(shown: int, in_all: int, what: str) -> str:
    """Count what is shown: "20 of 57 pairs", or "57 pairs" if all of them are."""
    counted = f"{in_all:,} {what}{'' if in_all == 1 else 's'}"
    return counted if shown == in_all else f"{shown:,} of {counted}"
