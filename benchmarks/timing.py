"""Clocks: how long a call takes when nothing gets in its way."""

import sys
import time
from collections.abc import Callable


def seconds(function: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def best_of(function: Callable[[], object], repeats: int) -> float:
    """Return the shortest wall time of several calls: other work on the machine only adds to it."""
    return min(seconds(function) for _ in range(repeats))


def progress(text: str) -> None:
    """Say on standard error what is going on."""
    print(text, file=sys.stderr, flush=True)
