"""`decoupling demo`: a problem whose answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from decoupling.cli.options import NOTHING_WRITTEN, Force, Json
from decoupling.cli.run_files import file_names, report_of, write_files
from decoupling.cli.running import solve_shown
from decoupling.cli.terminal import console, plainly, print_json, print_written, told
from decoupling.run.settings import LARGEST_SEED, Settings

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
    import numpy as np

    from decoupling.run.demo import MISSING, NOISE, covered, demo_table, make_demo
    from decoupling.tables.writing import refuse_existing

    with plainly(NOTHING_WRITTEN):
        settings = Settings(task="noisy", seed=seed)
        refuse_existing(out, [*file_names(settings), _DIGITS], force=force)
        made = make_demo(seed)
        given = made.problem.labels
        has = np.array([label is not None for label in given.tolist()])
        right = (given[has] == made.classes[has]).mean()
        if not as_json:
            console.print(
                f"{len(given):,} rows · 10 classes · {NOISE:.0%} of labels wrong on purpose · "
                f"{MISSING:.0%} taken away"
            )
        solved = solve_shown(made.problem, settings, None, [])
        lower, upper = solved.clf.transition_interval(0.9)
        inside, n_intervals = covered(lower, upper, made.transitions)
        error = np.abs(solved.clf.transitions_ - made.transitions).max()
        report = report_of(
            solved, settings, None, title="Digits with bad labels", command="decoupling demo",
            thumbnails=list(made.pictures), true_classes=made.classes,
        )  # fmt: skip
        paths = write_files(
            solved, settings, report, _DIGITS, "", out, force=force,
            more={_DIGITS: demo_table(made)},
        )  # fmt: skip
        found = (solved.clf.transduction_ == made.classes).mean()
        if as_json:
            print_json(
                {
                    "rows": len(given),
                    "accuracy_before": float(right),
                    "accuracy_after": float(found),
                    "largest_error": float(error),
                    "intervals": n_intervals,
                    "intervals_that_hold_the_truth": inside,
                    "converged": solved.converged,
                    "warnings": told(solved.warnings),
                    "files": [str(path) for path in paths],
                }
            )
            return
        console.print(
            f"accuracy of the labels {right:.1%}  →  after decoupling {found:.1%}, on all rows\n"
            f"largest error of T {error:.3f}, and {inside} of its {n_intervals} 90% intervals hold "
            "the truth"
        )
        print_written(paths)
        console.print(
            f"next: open {out / 'report.html'}, or decoupling run {out / _DIGITS} --label label"
        )
