"""A bar for the fits of classifiers, which tell of themselves in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Remaining

from decoupling.cli.terminal import errors


def bar(**options: Any) -> Progress:
    """A bar with a number, the time gone and the time left."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), Remaining(), **options,
    )  # fmt: skip


class _Bar(logging.Handler):
    """Moves on with each fit, and shows the name of each step."""

    def __init__(self, progress: Progress, total: int) -> None:
        super().__init__(logging.DEBUG)
        self.progress = progress
        self.bar = progress.add_task("reading", total=total)

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.DEBUG:
            self.progress.advance(self.bar)
        else:
            self.progress.update(self.bar, description=record.getMessage())


@contextmanager
def fits_shown(total: int) -> Iterator[None]:
    """Show how many classifiers of ``total`` are fitted, where somebody watches."""
    if not errors.is_terminal:
        yield
        return
    log = logging.getLogger("decoupling")
    level, propagate = log.level, log.propagate
    with bar(console=errors, transient=True) as progress:
        handler = _Bar(progress, total)
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        log.propagate = False
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.setLevel(level)
            log.propagate = propagate
