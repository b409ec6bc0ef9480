"""The bar of the fits: its length comes from the plan, and its end is at 100%."""

import logging
from io import StringIO

import numpy as np
import pytest
from problems import draw_labelled
from rich.console import Console

from decoupling import DecouplingClassifier
from decoupling.cli import progress

NAMES = np.array([None, "ant", "bee", "cat"], dtype=object)


class Watched(progress._Bar):
    """Writes down where the bar is after each message."""

    seen: list[tuple[int, float | None]]

    def emit(self, record):
        super().emit(record)
        (task,) = self.progress.tasks
        self.seen.append((int(task.completed), task.total))


@pytest.fixture
def bar(monkeypatch):
    """A terminal that somebody watches, and what the bar shows there."""
    Watched.seen = []
    monkeypatch.setattr(progress, "_Bar", Watched)
    monkeypatch.setattr(progress, "errors", Console(file=StringIO(), force_terminal=True))
    return Watched.seen


@pytest.mark.parametrize("task", ["noisy", "semi-supervised"])
def test_the_bar_is_as_long_as_the_plan_and_ends_full(bar, task):
    X, codes = draw_labelled(3, 90)
    clf = DecouplingClassifier(cv=3, rounds=3, task=task, random_state=0)
    planned = clf.planned_fits(X, NAMES[codes])
    with progress.fits_shown():
        clf.fit(X, NAMES[codes])
    assert bar[0] == (0, planned.total)
    assert bar[-1][0] == bar[-1][1] > 0
    assert all(total is None or done <= total for done, total in bar)


def test_rounds_that_end_early_shorten_the_bar(bar):
    log = logging.getLogger("decoupling.test")
    with progress.fits_shown():
        log.info("p(label | x)", extra={"fits_left": 120})
        for _ in range(15):
            log.debug("a classifier is fitted on %d rows", 80)
        log.info("round %d of %d at most", 1, 5)  # says nothing of what is left
        log.info("done", extra={"fits_left": 0})
    assert bar[0] == (0, 120)
    assert bar[16] == (15, 120)
    assert bar[-1] == (15, 15)


def test_nothing_is_shown_where_nobody_watches(monkeypatch):
    out = StringIO()
    monkeypatch.setattr(progress, "errors", Console(file=out))
    log = logging.getLogger("decoupling")
    level = log.level
    with progress.fits_shown():
        assert log.level == level
    assert out.getvalue() == ""


def test_the_time_left_is_shown_though_a_fit_takes_long():
    """Minutes pass between fits, more than rich looks back unless it is told to."""
    now = [0.0]
    bar = progress.bar(console=Console(file=StringIO()), get_time=lambda: now[0])
    task = bar.add_task("fits", total=10)
    for _ in range(3):
        now[0] += 300.0
        bar.advance(task)
    assert bar.tasks[0].time_remaining == pytest.approx(7 * 300.0, rel=0.01)
