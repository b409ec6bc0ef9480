"""A bar for the fits of classifiers, which tell of themselves in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Remaining

from decoupling.cli.terminal import errors

# Seconds: the time that is left is judged by what was done in the last hour. A single fit may take
# many minutes; with the half a minute that rich takes by default, no time would be shown then.
_JUDGED: Final = 3600.0


def bar(**options: Any) -> Progress:
    """A bar with a number, the time gone and the time left."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), Remaining(), speed_estimate_period=_JUDGED, **options,
    )  # fmt: skip


class _Bar(logging.Handler):
    """Moves on with each fit and shows the name of each step.

    Steps of the fit say how many classifiers are left at most. The bar is as long as what is done
    and what is left, so that rounds which end early shorten it and the end is at 100%.
    """

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.DEBUG)
        self.progress = progress
        self.bar = progress.add_task("reading", total=None)
        self.done = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.DEBUG:
            self.done += 1
            self.progress.advance(self.bar)
            return
        left = getattr(record, "fits_left", None)
        total = {} if left is None else {"total": self.done + left}
        self.progress.update(self.bar, description=record.getMessage(), **total)


@contextmanager
def fits_shown() -> Iterator[None]:
    """Show how many classifiers are fitted of how many, if the output is a terminal."""
    if not errors.is_terminal:
        yield
        return
    log = logging.getLogger("decoupling")
    level, propagate = log.level, log.propagate
    with bar(console=errors, transient=True) as progress:
        handler = _Bar(progress)
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        log.propagate = False
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(level)
            log.propagate = propagate
