"""Coordinates of the two small charts; the template draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# Of the drawing, in units that scale with the page.
WIDTH: Final = 640
HEIGHT: Final = 200
MARGIN: Final = 12
SIDE: Final = 240


def trace_chart(elbo: Sequence[float]) -> dict[str, Any]:
    """A line through the bound at every iteration.

    The scale begins at the second entry where the first is far below all others, as it tends to be.
    """
    first = 1 if len(elbo) > 3 and elbo[1] - elbo[0] > 4 * (elbo[-1] - elbo[1]) else 0
    shown = elbo[first:]
    low, high = min(shown), max(shown)
    steps, span = max(len(shown) - 1, 1), (high - low) or 1.0
    points = [
        (
            round(MARGIN + k / steps * (WIDTH - 2 * MARGIN), 1),
            round(HEIGHT - MARGIN - (value - low) / span * (HEIGHT - 2 * MARGIN), 1),
        )
        for k, value in enumerate(shown)
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "points": " ".join(f"{x},{y}" for x, y in points),
        "dots": points if len(points) <= 40 else points[-1:],
        "low": f"{low:,.5g}",
        "high": f"{high:,.5g}",
        "first": first,
        "last": len(elbo) - 1,
    }


def calibration_chart(bins: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Dots of confidence against the share that is right, as large as their rows are many."""
    most = max((entry["rows"] for entry in bins), default=1.0)
    inner = SIDE - 2 * MARGIN
    return {
        "side": SIDE,
        "margin": MARGIN,
        "dots": [
            {
                "x": round(MARGIN + entry["confidence"] * inner, 1),
                "y": round(SIDE - MARGIN - entry["right"] * inner, 1),
                "r": round(3 + 7 * (entry["rows"] / most) ** 0.5, 1),
            }
            for entry in bins
        ],
    }
