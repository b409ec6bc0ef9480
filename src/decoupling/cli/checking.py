"""`decoupling check`: what is in a file."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from rich.markup import escape

from decoupling._text import Message, name_text
from decoupling.cli.options import NOTHING_WRITTEN, File, Json, with_settings
from decoupling.cli.pipes import as_file, beside
from decoupling.cli.terminal import console, errors, plainly, print_json, shown, told
from decoupling.run.settings import Settings

# Labels that are listed by name. More would fill the screen.
_LISTED: Final = 10
# Kinds of features, where there are several.
_PLURAL: Final = {"number": "numbers", "category": "categories", "text": "texts"}


@with_settings(
    "label", "task", "estimator", "id", "exclude", "categorical", "numeric", "unlabelled",
    "negative", "noise", "labelled", "label_proba", "image", "images_anywhere", "decisions",
    "folds", "rounds", "seed", "delimiter", "encoding", "decimal",
)  # fmt: skip
def check(file: File, *, settings: Settings, as_json: Json = False) -> None:
    """Say what is in a file and what would be made of it; change nothing.

    It takes the options of a run that say what the table is and how it is solved. What passes with
    them is refused there only if the fit itself fails.

    decoupling check demo/digits.csv
    """
    from decoupling.run.solving import collected_warnings, read_problem, rehearse

    with plainly(NOTHING_WRITTEN):
        with collected_warnings() as warned, as_file(file) as path:
            table, problem, decided = read_problem(path, settings, beside(file))
            rehearsal = rehearse(problem, settings, decided)
        found = described(table, problem) | {
            "task": rehearsal.task.name, "fits": rehearsal.fits.as_dict(),
        }  # fmt: skip
        if decided is not None:
            found["decided"] = int(decided.rows.sum())
        if as_json:
            print_json(found | {"warnings": told(warned)})
            return
        print_problem(found)
        console.print(f"  task: {rehearsal.task.name}")
        console.print(f"  classifiers to fit: {rehearsal.fits}")
        if decided is not None:
            console.print(f"  decided: {found['decided']:,}")
        print_warnings(warned)
        console.print("This file can be run. Nothing was written.")


def described(table: Any, problem: Any) -> dict[str, Any]:
    """Describe a table and what was found in it, in values that JSON can hold."""
    counts = Counter(str(value) for value in problem.labels.tolist() if value is not None)
    kinds = Counter(feature.kind for feature in problem.features)
    return {
        "file": table.name,
        "rows": len(table),
        "columns": len(table.columns),
        "guesses": problem.guesses,
        "label_column": problem.label,
        "labels": dict(counts.most_common()),
        "unlabelled": len(problem.labels) - counts.total(),
        "features": dict(kinds) if kinds else {"p(label | x)": len(problem.label_names)},
        "left_out": {column.name: column.reason for column in problem.left_out},
    }


def print_problem(found: dict[str, Any]) -> None:
    """Print what `described` says, in a few lines."""

    def line(text: str) -> None:
        console.print(shown(text), markup=False)

    line(f"{found['file']}: {found['rows']:,} rows, {found['columns']:,} columns")
    if found["guesses"]:
        line("  guessed: " + ", ".join(f"{k} {v!r}" for k, v in found["guesses"].items()))
    labels = [f"{name_text(name, 40)} {number:,}" for name, number in found["labels"].items()]
    more = f", and {len(labels) - _LISTED} more" if len(labels) > _LISTED else ""
    line(f"  labels in {found['label_column']!r}: {', '.join(labels[:_LISTED])}{more}")
    if found["unlabelled"]:
        line(f"  unlabelled: {found['unlabelled']:,}")
    features = [
        f"{number} {kind if number == 1 else _PLURAL.get(kind, kind)}"
        for kind, number in found["features"].items()
    ]
    line(f"  features: {', '.join(features)}")
    for name, reason in found["left_out"].items():
        line(f"  left out: {name}, since {reason}")


def print_warnings(warned: list[Message]) -> None:
    """Print warnings to standard error."""
    for text in told(warned):
        errors.print(f"[yellow]Warning:[/] {escape(shown(text))}")
