"""`decoupling apply`, `report` and `explain`, which use the model of a run; and `info`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table as Grid

from decoupling.cli.checking import print_warnings
from decoupling.cli.options import NOTHING_WRITTEN, File, Force, Json, Model, with_settings
from decoupling.cli.pipes import as_file
from decoupling.cli.terminal import console, plainly, print_json, print_written, shown, told
from decoupling.run.settings import OPTIONS, Settings

if TYPE_CHECKING:
    from decoupling.run.about import About
    from decoupling.run.explanation import Explanation
    from decoupling.tables.reading import Table

# Packages whose versions matter for a report of a bug.
_PACKAGES: Final = (
    "decoupling", "numpy", "scipy", "scikit-learn", "pyarrow", "matplotlib", "jinja2", "skops",
    "typer", "rich", "pandas", "polars", "torch",
)  # fmt: skip


@with_settings("delimiter", "encoding", "decimal", "raw_csv")
def apply(
    model: Model,
    file: File,
    *,
    settings: Settings,
    out: Annotated[Path, typer.Option(help="File to write: .parquet or .csv.")] = Path(
        "classes.csv"
    ),
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model of trees, if you know who made the file.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Give new rows their class probabilities by the model of a run.

    decoupling apply demo/run demo/digits.csv --out demo/classes.csv --force
    """
    from decoupling.run.solving import collected_warnings
    from decoupling.tables.reading import TableError
    from decoupling.tables.writing import refuse_existing

    with plainly(NOTHING_WRITTEN):
        if out.suffix not in (".csv", ".parquet"):
            raise TableError(f"--out must end in .csv or .parquet; got {out.name!r}.")
        refuse_existing(out.parent, [out.name], force=force, inputs=[file, model])
        clf, about = _loaded(model, classifiers=True, trust=trust)
        with collected_warnings() as warned:
            table = _applied(clf, about, file, settings, out, force=force)
        if as_json:
            found = {"rows": len(table), "guesses": table.guesses, "warnings": told(warned)}
            print_json(found | {"files": [str(out)]})
            return
        console.print(f"{len(table):,} rows")
        if table.guesses:
            guesses = ", ".join(f"{name} {value!r}" for name, value in table.guesses.items())
            console.print(f"  guessed: {shown(guesses)}", markup=False)
        print_warnings(warned)
        print_written([out])


def _applied(
    clf: Any, about: About, file: Path, settings: Settings, out: Path, *, force: bool
) -> Table:
    """Read a table, and write a file with the classes of its rows."""
    from decoupling.run.outputs import class_columns, new_rows
    from decoupling.tables.reading import read_table
    from decoupling.tables.writing import whole_file, write_csv, write_parquet

    with as_file(file) as path:
        table = read_table(
            path,
            delimiter=settings.delimiter,
            encoding=settings.encoding,
            decimal=settings.decimal,
        )
        columns = class_columns(clf, new_rows(table, about, clf), table, about.id)
    with whole_file(out, force=force) as part:
        if out.suffix == ".csv":
            write_csv(part, columns, raw=settings.raw_csv)
        else:
            write_parquet(part, columns)
    return table


def _loaded(model: Path, *, classifiers: bool = False, trust: bool = False) -> tuple[Any, About]:
    """The model of a run, without its classifiers if they are not needed; and what goes with it."""
    from decoupling.persistence import describe, load, untrusted_types
    from decoupling.run.about import read_about

    path = model / "model.decoupling" if model.is_dir() else model
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist. Give the folder of a run, or its model.")
    manifest = describe(path)
    if manifest["holds"] != "DecouplingClassifier":
        raise ValueError(
            f"{path} holds a {manifest['holds']}, and a DecouplingClassifier is needed: give the "
            "folder of a run, or its model."
        )
    risky: list[str] | None = None
    if classifiers:
        risky = untrusted_types(path)
        if risky and not trust:
            raise ValueError(
                f"{path.name} holds types that a forged file could do harm with: "
                f"{', '.join(risky)}. If you know who made it, give --trust."
            )
    clf = load(path, trusted=risky)
    return clf, read_about(path, manifest["about"], len(clf.label_proba_))


def report(
    model: Model,
    out: Annotated[Path, typer.Option(help="File to write: .html, .md or .json.")] = Path(
        "report.html"
    ),
    review: Annotated[int, typer.Option(min=0, help="Rows to list, at most 500.")] = 50,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the report of a run again, with more rows or in another form.

    decoupling report demo/run --out demo/more.html --review 200 --force
    """
    from decoupling.report.content import report_content
    from decoupling.report.document import Report
    from decoupling.tables.writing import refuse_existing, whole_file

    with plainly(NOTHING_WRITTEN):
        refuse_existing(out.parent, [out.name], force=force, inputs=[model])
        clf, about = _loaded(model)
        content = report_content(
            clf, row_names=about.row_names, title=about.title, data_hash=about.data_hash,
            n_review=review, warnings=about.warnings, commands=about.commands,
            decided=about.decided, options=OPTIONS,
        )  # fmt: skip
        with whole_file(out, force=force) as part:
            Report(content).save(part)
        if as_json:
            print_json({"verdict": content["verdict"], "files": [str(out)]})
            return
        print_written([out])


def explain(
    row: Annotated[
        str, typer.Argument(help="Id of the row, or its number, from 0, if rows have no ids.")
    ],
    model: Annotated[
        Path | None, typer.Argument(help="model.decoupling of a run, or its folder.")
    ] = None,
    number: Annotated[
        str | None,
        typer.Option(
            "--row", help="Number of the row, from 0, also if rows have ids; without ROW."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say in words and numbers how the classes of one row came about.

    decoupling explain 17 demo/run

    decoupling explain --row 17 demo/run
    """
    from decoupling.run.explanation import explanation_of, row_of_id, row_of_number

    with plainly(NOTHING_WRITTEN):
        if (model is None) == (number is None):
            raise ValueError("Give ROW and MODEL, or --row NUMBER and MODEL.")
        clf, about = _loaded(Path(row) if model is None else model)
        names, n_rows = about.row_names, len(clf.label_proba_)
        if number is not None:
            place = row_of_number(number, n_rows)
        else:
            place = row_of_number(row, n_rows) if names is None else row_of_id(row, names)
        found = explanation_of(
            clf, place, id=None if names is None else names[place], decided=place in about.decided
        )
        if as_json:
            print_json(found.as_dict())
            return
        console.print(shown(found.words()), markup=False)
        _print_parts(found)


def _print_parts(found: Explanation) -> None:
    """The numbers of an explanation, class by class, and p(label | x)."""
    grid = Grid(box=None, padding=(0, 2, 0, 0))
    for name in (
        "class",
        "share",
        "p(class | x)",
        "p(given label | class)",
        "p(class | label, x)",
    ):
        grid.add_column(escape(name), justify="left" if name == "class" else "right")
    for c, name in enumerate(found.classes):
        values = (found.shares, found.class_proba, found.given_label, found.result)
        grid.add_row(escape(shown(str(name))), *(f"{value[c]:.4f}" for value in values))
    console.print()
    console.print(grid)
    seen = ", ".join(
        f"{'unlabelled' if name is None else name} {p:.4f}"
        for name, p in zip(found.labels, found.label_proba, strict=True)
    )
    console.print(shown(f"\np(label | x): {seen}"), markup=False)


def info(as_json: Json = False) -> None:
    """Versions, for a report of a bug.

    decoupling info
    """
    system = f"{platform.system()} {platform.machine()}"
    packages = {name: _version(name) for name in _PACKAGES}
    if as_json:
        print_json({"python": platform.python_version(), "system": system, "packages": packages})
        return
    console.print(f"Python {platform.python_version()}, {system}")
    for name, found in packages.items():
        console.print(f"{name} {found or 'is not installed'}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
