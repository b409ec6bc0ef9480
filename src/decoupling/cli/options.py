"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

NOTHING_WRITTEN: Final = "Nothing was written."
# Of those that numpy takes.
LARGEST_SEED: Final = 2**32 - 1

TABLE: Final = "CSV, TSV or Parquet, also compressed with gzip; - is standard input."

File = Annotated[Path, typer.Argument(help=TABLE)]
Model = Annotated[Path, typer.Argument(help="model.decoupling of a run, or its folder.")]
Label = Annotated[str | None, typer.Option(help="Column of the labels; guessed if left out.")]
Id = Annotated[str | None, typer.Option(help="Column that names the rows; it is no feature.")]
Exclude = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Column of categories, though of numbers by its looks; may be repeated."),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of numbers, though written like 1,234.50, 12% or $3; may be repeated."
    ),
]
Unlabelled = Annotated[
    str | None, typer.Option(help="Value that means unlabelled, besides an empty cell.")
]
LabelProba = Annotated[
    str | None,
    typer.Option(help="Columns whose names begin so are p(label | x), known from elsewhere."),
]
Task = Annotated[
    str,
    typer.Option(
        help="auto, supervised, semi-supervised, positive-unlabelled, multi-positive-unlabelled, "
        "noisy, class-conditional-noise or complementary."
    ),
]
Estimator = Annotated[str, typer.Option(help="logistic, forest, boosting, mlp, or module:object.")]
Negative = Annotated[
    str, typer.Option(help="Class that is never labelled, in positive-unlabelled tasks.")
]
Noise = Annotated[
    float | None, typer.Option(min=0, max=1, help="Share of wrong labels, if it is known.")
]
Labelled = Annotated[
    float | None, typer.Option(min=0, max=1, help="Share of rows with a label, by class.")
]
Image = Annotated[
    str | None, typer.Option(help="Column of images or of their paths, shown in the report.")
]
DecisionsFile = Annotated[
    Path | None,
    typer.Option("--decisions", help="decisions.csv from the report: classes that are known."),
]
Folds = Annotated[int, typer.Option(min=2, help="Folds of the cross-fitting.")]
Delimiter = Annotated[str | None, typer.Option(help="Between cells; guessed if left out.")]
Encoding = Annotated[str | None, typer.Option(help="Of the text; guessed if left out.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal point or comma; guessed if left out.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
RawCsv = Annotated[
    bool,
    typer.Option("--raw-csv", help="Leave texts alone that a spreadsheet would take for formulas."),
]


def tab(delimiter: str | None) -> str | None:
    """A delimiter as it was typed; a tab is hard to type."""
    return "\t" if delimiter in ("tab", "\\t") else delimiter
