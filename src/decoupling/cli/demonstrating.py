"""`decoupling demo`: a problem whose answer is known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from decoupling.cli.options import NOTHING_WRITTEN, Force, Json
from decoupling.cli.run_files import replaced_names, report_of, write_files
from decoupling.cli.running import solve_shown
from decoupling.cli.terminal import console, plainly, print_json, print_written, told
from decoupling.run.settings import LARGEST_SEED, Settings

if TYPE_CHECKING:
    from decoupling.run.demo import Demo, DemoScores

# The table, so that other commands can be tried on it.
_DIGITS: Final = "digits.csv"


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Of the corruption and the folds.")
    ] = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Digits with labels made wrong and taken away on purpose, and found again.

    decoupling demo --force
    """
    from decoupling.run.demo import demo_scores, demo_table, make_demo
    from decoupling.tables.writing import refuse_existing

    with plainly(NOTHING_WRITTEN):
        settings = Settings(task="noisy", seed=seed)
        refuse_existing(out, [*replaced_names(settings), _DIGITS], force=force)
        made = make_demo(seed)
        if not as_json:
            _tell_problem(made)
        solved = solve_shown(made.problem, settings, None, [])
        report = report_of(
            solved, settings, None, title="Digits with bad labels", command="decoupling demo",
            thumbnails=list(made.pictures), true_classes=made.classes,
        )  # fmt: skip
        paths = write_files(
            solved, settings, report, _DIGITS, "", out, force=force,
            more={_DIGITS: demo_table(made)},
        )  # fmt: skip
        scores = demo_scores(made, solved.clf)
        if as_json:
            print_json(
                asdict(scores)
                | {
                    "converged": solved.converged,
                    "warnings": told(solved.warnings),
                    "files": [str(path) for path in paths],
                }
            )
            return
        _tell_scores(scores)
        print_written(paths)
        console.print(
            f"next: open {out / 'report.html'}, or decoupling run {out / _DIGITS} --label label"
        )


def _tell_problem(made: Demo) -> None:
    from decoupling.run.demo import MISSING, NOISE

    console.print(
        f"{len(made.classes):,} rows · 10 classes · {NOISE:.0%} of labels wrong on purpose · "
        f"{MISSING:.0%} taken away"
    )


def _tell_scores(scores: DemoScores) -> None:
    from decoupling.run.demo import LEVEL

    console.print(
        f"accuracy of the labels {scores.accuracy_before:.1%}  →  after decoupling "
        f"{scores.accuracy_after:.1%}, on all rows\n"
        f"largest error of T {scores.largest_error:.3f}, and "
        f"{scores.intervals_that_hold_the_truth} of its {scores.intervals} {LEVEL:.0%} intervals "
        "hold the truth"
    )
