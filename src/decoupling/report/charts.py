"""Coordinates of the two small charts; the template draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# Of the drawing, in units that scale with the page.
WIDTH: Final = 640
HEIGHT: Final = 200
MARGIN: Final = 12
SIDE: Final = 260
# The frame of the square chart leaves room for the names of its axes.
EDGE: Final = 18
# A line of so many points shows each.
DOTS: Final = 40


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
    """A bound, whose digits before the point matter."""
    return f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"


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
                "r": round(3 + 7 * (entry["rows"] / most) ** 0.5, 1),
            }
            for entry in bins
        ],
    }
