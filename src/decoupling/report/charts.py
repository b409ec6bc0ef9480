"""Coordinates of the two small charts; the template draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# Width of the line chart, in units of the drawing, which scale with the page.
WIDTH: Final = 640
# Height of the line chart, in the same units.
HEIGHT: Final = 200
# Room around the line, in the same units, so that a dot at its end is whole.
MARGIN: Final = 12
# Width and height of the square chart, in the same units.
SIDE: Final = 260
# Room around the frame of the square chart, in the same units, for the names of its axes.
EDGE: Final = 18
# Points that a line shows one by one at most; more would run into each other.
DOTS: Final = 40
# Radius of a dot for no rows, in the same units: a smaller one is not seen.
DOT: Final = 3
# Radius that the dot of the most rows has beyond that; areas grow with the rows.
GROWTH: Final = 7
# Size of a bound from which on its first decimal says nothing.
_LARGE: Final = 10_000


def trace_chart(elbo: Sequence[float]) -> dict[str, Any]:
    """A line through the bound at every iteration."""
    low, high = min(elbo), max(elbo)
    steps, span = max(len(elbo) - 1, 1), (high - low) or 1.0
    points = [
        (
            round(MARGIN + k / steps * (WIDTH - 2 * MARGIN), 1),
            round(HEIGHT - MARGIN - (value - low) / span * (HEIGHT - 2 * MARGIN), 1),
        )
        for k, value in enumerate(elbo)
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "points": " ".join(f"{x},{y}" for x, y in points),
        "dots": points if len(points) <= DOTS else points[-1:],
        "low": _large(low),
        "high": _large(high),
    }


def _large(value: float) -> str:
    """A bound as text; of a large one only the digits before the point."""
    return f"{value:,.1f}" if abs(value) < _LARGE else f"{value:,.0f}"


def calibration_chart(bins: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Dots of confidence against the share that is right, as large as their rows are many."""
    most = max((entry["rows"] for entry in bins), default=1.0)
    inner = SIDE - 2 * EDGE
    return {
        "side": SIDE,
        "margin": EDGE,
        "dots": [
            {
                "x": round(EDGE + entry["confidence"] * inner, 1),
                "y": round(SIDE - EDGE - entry["right"] * inner, 1),
                "r": round(DOT + GROWTH * (entry["rows"] / most) ** 0.5, 1),
            }
            for entry in bins
        ],
    }
