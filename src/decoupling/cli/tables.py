"""`decoupling check`, `run`, `apply`, `report`, `explain`, `demo` and `info`."""

from __future__ import annotations

import json
import platform
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table as Grid

from decoupling.cli.progress import fits_shown
from decoupling.cli.terminal import NOT_CONVERGED, console, errors, plainly, shown, written

_NOTHING_WRITTEN: Final = "Nothing was written."
_WARNED: Final = 1
_PACKAGES: Final = (
    "decoupling", "numpy", "scipy", "scikit-learn", "pyarrow", "matplotlib", "jinja2", "skops",
    "typer", "rich", "pandas", "polars", "torch",
)  # fmt: skip
_FILES: Final = (
    "labels.csv", "transitions.csv", "report.html", "report.md", "report.json",
    "model.decoupling", "run.toml",
)  # fmt: skip

# The table of the demonstration.
_DIGITS: Final = "digits.csv"

File = Annotated[Path, typer.Argument(help="CSV, TSV or Parquet, also compressed with gzip.")]
Model = Annotated[Path, typer.Argument(help="model.decoupling of a run, or its folder.")]
Label = Annotated[str | None, typer.Option(help="Column of the labels; guessed if left out.")]
Id = Annotated[str | None, typer.Option(help="Column that names the rows; it is no feature.")]
Exclude = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
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
Delimiter = Annotated[str | None, typer.Option(help="Between cells; guessed if left out.")]
Encoding = Annotated[str | None, typer.Option(help="Of the text; guessed if left out.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal point or comma; guessed if left out.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
RawCsv = Annotated[
    bool,
    typer.Option("--raw-csv", help="Leave texts alone that a spreadsheet would take for formulas."),
]


def check(
    file: File,
    label: Label = None,
    id: Id = None,
    exclude: Exclude = None,
    unlabelled: Unlabelled = None,
    label_proba: LabelProba = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    as_json: Json = False,
) -> None:
    """Say what is in a file and what would be made of it; change nothing.

    decoupling check survey.csv --label answer
    """
    from decoupling.run.settings import Settings
    from decoupling.run.solving import collected_warnings, read_problem

    settings = Settings(
        label=label, id=id, exclude=tuple(exclude or ()), unlabelled=unlabelled,
        label_proba=label_proba, delimiter=_tab(delimiter), encoding=encoding, decimal=decimal,
    )  # fmt: skip
    with plainly(_NOTHING_WRITTEN):
        with collected_warnings() as warned:
            table, problem = read_problem(file, settings)
        found = _described(table, problem)
        if as_json:
            print(json.dumps(found | {"warnings": warned}, indent=2, ensure_ascii=False))
            return
        _print_problem(found)
        _warn(warned)
        console.print("This file can be run. Nothing was written.")


def _tab(delimiter: str | None) -> str | None:
    return "\t" if delimiter in ("tab", "\\t") else delimiter


def _described(table: Any, problem: Any) -> dict[str, Any]:
    counts = Counter("" if value is None else str(value) for value in problem.labels.tolist())
    unlabelled = sum(value is None for value in problem.labels.tolist())
    counts.pop("", None)
    kinds = Counter(feature.kind for feature in problem.features)
    return {
        "file": table.name,
        "rows": len(table),
        "columns": len(table.columns),
        "guesses": problem.guesses,
        "label_column": problem.label,
        "labels": dict(counts.most_common()),
        "unlabelled": unlabelled,
        "features": dict(kinds) if kinds else {"p(label | x)": len(problem.label_names)},
        "left_out": {column.name: column.reason for column in problem.left_out},
    }


def _print_problem(found: dict[str, Any]) -> None:
    def line(text: str) -> None:
        console.print(shown(text), markup=False)

    line(f"{found['file']}: {found['rows']:,} rows, {found['columns']:,} columns")
    if found["guesses"]:
        line("  guessed: " + ", ".join(f"{k} {v!r}" for k, v in found["guesses"].items()))
    labels = [f"{name} {number:,}" for name, number in found["labels"].items()]
    more = f", and {len(labels) - 10} more" if len(labels) > 10 else ""
    line(f"  labels in {found['label_column']!r}: {', '.join(labels[:10])}{more}")
    if found["unlabelled"]:
        line(f"  unlabelled: {found['unlabelled']:,}")
    kinds = {"number": "numbers", "category": "categories", "text": "texts"}
    features = [f"{number} {kinds.get(k, k)}" for k, number in found["features"].items()]
    line(f"  features: {', '.join(features)}")
    for name, reason in found["left_out"].items():
        line(f"  left out: {name}, since {reason}")


def _warn(texts: list[str]) -> None:
    for text in texts:
        errors.print(f"[yellow]Warning:[/] {escape(shown(text))}")


def run(
    file: File,
    label: Label = None,
    task: Task = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder to write to; NAME_labels.")] = None,
    estimator: Annotated[
        str, typer.Option(help="logistic, forest, boosting, mlp, or module:object.")
    ] = "logistic",
    id: Id = None,
    exclude: Exclude = None,
    unlabelled: Unlabelled = None,
    negative: Annotated[
        str, typer.Option(help="Class that is never labelled, in positive-unlabelled tasks.")
    ] = "negative",
    noise: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of wrong labels, if it is known.")
    ] = None,
    labelled: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of rows with a label, by class.")
    ] = None,
    label_proba: LabelProba = None,
    decisions: Annotated[
        Path | None, typer.Option(help="decisions.csv from the report: labels that are right.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-fitting.")] = 5,
    rounds: Annotated[int, typer.Option(min=0, help="Rounds of retraining; 0 is the paper.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Deals rows to folds.")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    config: Annotated[
        Path | None, typer.Option(help="run.toml of another run, instead of these options.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="Of the probabilities: parquet or csv.")
    ] = "parquet",
    raw_csv: RawCsv = False,
    force: Force = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 after a warning.")] = False,
    as_json: Json = False,
) -> None:
    """Find the true classes behind the labels of a table; write tables, a report and a model.

    decoupling run survey.csv --label answer --out survey_labels

    decoupling run reviews.tsv --label stars --estimator boosting --seed 1

    decoupling run scans.parquet --label-proba p_ --task positive-unlabelled
    """
    from decoupling.run.settings import Settings, file_digest, read_settings

    with plainly(_NOTHING_WRITTEN):
        settings = Settings(
            label=label, id=id, exclude=tuple(exclude or ()), unlabelled=unlabelled,
            label_proba=label_proba, task=task, negative=negative, noise=noise, labelled=labelled,
            estimator=estimator, folds=folds, rounds=rounds, seed=seed, delimiter=_tab(delimiter),
            encoding=encoding, decimal=decimal,
        )  # fmt: skip
        if form not in ("parquet", "csv"):
            raise ValueError(f"--format must be parquet or csv; got {form!r}.")
        expected = None
        if config is not None:
            settings, expected = read_settings(config)
        out = out or file.with_name(f"{file.name.split('.')[0]}_labels")
        _refuse(out, form, force)
        solved = _solve_file(file, settings, decisions, quiet=as_json)
        digest = file_digest(file)
        if expected not in (None, digest):
            solved.warnings.append(f"{file.name} is not the file that {config} was written for.")
        command = _command(file.name, settings, decisions)
        report = _report_of(solved, settings, digest, title=file.name, command=command)
        paths = _write(
            solved, settings, report, file.name, digest, out, form=form, raw=raw_csv, force=force
        )
        _tell(solved, report, paths, as_json=as_json)
    _leave(solved, strict)


def _refuse(out: Path, form: str, force: bool) -> None:
    """Before the work, not after it."""
    from decoupling.tables.writing import refuse_existing

    refuse_existing(out, [*_FILES, f"probabilities.{form}"], force=force)


def _solve_file(file: Path, settings: Any, decisions: Path | None, *, quiet: bool) -> Any:
    from decoupling.run.decisions import read_decisions
    from decoupling.run.solving import collected_warnings, read_problem

    with collected_warnings() as warned:
        table, problem = read_problem(file, settings)
        decided = None if decisions is None else read_decisions(decisions, problem)
    if not quiet:
        _print_problem(_described(table, problem))
    del table
    return _solved(problem, settings, decided, warned)


def _solved(problem: Any, settings: Any, decided: Any, warned: list[str]) -> Any:
    from decoupling.run.solving import solve

    with fits_shown(0 if problem.label_names else settings.folds * (1 + settings.rounds)):
        solved = solve(problem, settings, decided)
    return replace(solved, warnings=[*warned, *solved.warnings])


def _command(file: str, settings: Any, decisions: Path | None) -> str:
    """The command that does the same again."""
    default = type(settings)()
    parts = ["decoupling", "run", file]
    for name, value in vars(settings).items():
        if value != getattr(default, name):
            for one in value if isinstance(value, tuple) else [value]:
                parts += [f"--{name.replace('_', '-')}", str(one)]
    if decisions is not None:
        parts += ["--decisions", decisions.name]
    return shlex.join(parts)


def _report_of(
    solved: Any, settings: Any, digest: str | None, *, title: str, command: str, **more: Any
) -> Any:
    from decoupling.report.content import report_content
    from decoupling.report.document import Report

    given = {name: value for name, value in vars(settings).items() if value not in (None, ())}
    return Report(
        report_content(
            solved.clf, row_names=solved.problem.row_names, title=title, settings=given,
            data_hash=digest, warnings=solved.warnings, commands=[command], **more,
        )
    )  # fmt: skip


def _write(
    solved: Any,
    settings: Any,
    report: Any,
    name: str,
    digest: str,
    out: Path,
    *,
    form: str,
    raw: bool,
    force: bool,
    more: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write all files at once; ``more`` are tables by the names of their files."""
    from decoupling.persistence import save
    from decoupling.run.outputs import about_model, write_tables
    from decoupling.run.settings import settings_toml
    from decoupling.tables.writing import whole_files, write_csv

    names = [f"probabilities.{form}", *_FILES, *(more or {})]
    with whole_files(out, names, force=force) as folder:
        write_tables(solved, folder, form=form, raw=raw)
        for suffix in ("html", "md", "json"):
            report.save(folder / f"report.{suffix}")
        about = about_model(solved.problem, settings) | {"report": {"title": name, "data": digest}}
        save(solved.clf, folder / "model.decoupling", about=about)
        toml = settings_toml(replace(settings, label=solved.problem.label), name, digest)
        (folder / "run.toml").write_text(toml, encoding="utf-8")
        for file, columns in (more or {}).items():
            write_csv(folder / file, columns)
    return [out / each for each in names]


def _tell(solved: Any, report: Any, paths: list[Path], *, as_json: bool) -> None:
    content = report.content
    if as_json:
        print(
            json.dumps(
                {
                    "verdict": content["verdict"],
                    "transitions": content["transitions"],
                    "warnings": solved.warnings,
                    "converged": solved.converged,
                    "files": [str(path) for path in paths],
                },
                indent=2,
                ensure_ascii=False,
            )
        )
        return
    verdict = content["verdict"]
    console.print(f"\n{shown(verdict['headline'])}", markup=False, style="bold")
    for sentence in verdict["sentences"]:
        console.print(shown(sentence), markup=False)
    _warn(solved.warnings)
    console.print()
    written(paths)


def _leave(solved: Any, strict: bool) -> None:
    """End with the exit code of what happened."""
    if not solved.converged:
        raise typer.Exit(NOT_CONVERGED)
    if strict and solved.warnings:
        raise typer.Exit(_WARNED)


def apply(
    model: Model,
    file: File,
    out: Annotated[Path, typer.Option(help="File to write: .parquet or .csv.")] = Path(
        "classes.csv"
    ),
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model of trees, if you know who made the file.")
    ] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    raw_csv: RawCsv = False,
    force: Force = False,
) -> None:
    """Give new rows their class probabilities by the model of a run.

    decoupling apply survey_labels new.csv --out classes.csv
    """
    from decoupling.run.outputs import class_columns, new_rows
    from decoupling.tables.reading import TableError, read_table
    from decoupling.tables.writing import whole_files, write_csv, write_parquet

    with plainly(_NOTHING_WRITTEN):
        if out.suffix not in (".csv", ".parquet"):
            raise TableError(f"--out must end in .csv or .parquet; got {out.name!r}.")
        clf, about = _loaded(model, classifiers=True, trust=trust)
        table = read_table(file, delimiter=_tab(delimiter), encoding=encoding, decimal=decimal)
        columns = class_columns(clf, new_rows(table, about), table, about.get("id"))
        with whole_files(out.parent, [out.name], force=force) as folder:
            if out.suffix == ".csv":
                write_csv(folder / out.name, columns, raw=raw_csv)
            else:
                write_parquet(folder / out.name, columns)
        console.print(f"{len(table):,} rows")
        written([out])


def _loaded(
    model: Path, *, classifiers: bool = False, trust: bool = False
) -> tuple[Any, dict[str, Any]]:
    """The model of a run, without its classifiers if they are not needed; and what goes with it."""
    from decoupling.persistence import describe, load, untrusted_types

    path = model / "model.decoupling" if model.is_dir() else model
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist. Give the folder of a run, or its model.")
    about = describe(path).get("about") or {}
    if not classifiers:
        return load(path, trusted=None), about
    risky = untrusted_types(path)
    if risky and not trust:
        raise ValueError(
            f"{path.name} holds types that a forged file could do harm with: {', '.join(risky)}. "
            "If you know who made it, give --trust."
        )
    return load(path, trusted=risky), about


def report(
    model: Model,
    out: Annotated[Path, typer.Option(help="File to write: .html, .md or .json.")] = Path(
        "report.html"
    ),
    review: Annotated[int, typer.Option(min=0, help="Rows to list, at most 500.")] = 50,
    force: Force = False,
) -> None:
    """Write the report of a run again, with more rows or in another form.

    decoupling report survey_labels --out report.md --review 200
    """
    from decoupling.report.content import report_content
    from decoupling.report.document import Report

    with plainly(_NOTHING_WRITTEN):
        if out.exists() and not force:
            raise FileExistsError(f"{out} is there already; --force replaces it.")
        clf, about = _loaded(model)
        kept = about.get("report", {})
        content = report_content(
            clf, row_names=about.get("row_names"), title=kept.get("title"),
            data_hash=kept.get("data"), n_review=review,
        )  # fmt: skip
        written([Report(content).save(out)])


def explain(
    row: Annotated[str, typer.Argument(help="Number of the row, from 0, or its id.")],
    model: Model,
    as_json: Json = False,
) -> None:
    """Say in words and numbers how the classes of one row came about.

    decoupling explain 17 survey_labels
    """
    from decoupling.run.explanation import explain as explained

    with plainly(_NOTHING_WRITTEN):
        clf, about = _loaded(model)
        found = explained(clf, _row_number(row, about.get("row_names")))
        if as_json:
            print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
            return
        console.print(shown(found.words()), markup=False)
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


def _row_number(row: str, names: list[str] | None) -> int:
    if names is not None and row in names:
        return names.index(row)
    if row.isdecimal():
        return int(row)
    raise ValueError(f"{row!r} is neither the number of a row nor the id of one.")


def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Of the corruption and the folds.")] = 0,
    force: Force = False,
) -> None:
    """Digits with labels made wrong and taken away on purpose, and found again.

    decoupling demo --force
    """
    import numpy as np

    from decoupling.run.demo import MISSING, NOISE, covered, demo_table, make_demo
    from decoupling.run.settings import Settings

    with plainly(_NOTHING_WRITTEN):
        _refuse(out, "parquet", force)
        made = make_demo(seed)
        settings = Settings(task="noisy", seed=seed)
        given = made.problem.labels
        has = np.array([label is not None for label in given.tolist()])
        right = (given[has] == made.classes[has]).mean()
        console.print(
            f"{len(given):,} rows · 10 classes · {NOISE:.0%} of labels wrong on purpose · "
            f"{MISSING:.0%} taken away"
        )
        solved = _solved(made.problem, settings, None, [])
        lower, upper = solved.clf.transition_interval(0.9)
        inside, n_intervals = covered(lower, upper, made.transitions)
        error = np.abs(solved.clf.transitions_ - made.transitions).max()
        report = _report_of(
            solved, settings, None, title="Digits with bad labels", command="decoupling demo",
            thumbnails=list(made.pictures), true_classes=made.classes,
        )  # fmt: skip
        paths = _write(
            solved, settings, report, "digits", "", out, form="parquet", raw=False, force=force,
            more={_DIGITS: demo_table(made)},
        )  # fmt: skip
        console.print(
            f"accuracy of the labels {right:.1%}  →  after decoupling "
            f"{(solved.clf.transduction_ == made.classes).mean():.1%}, on all rows\n"
            f"largest error of T {error:.3f}, and {inside} of its {n_intervals} 90% intervals hold "
            "the truth"
        )
        written(paths)
        console.print(
            f"next: open {out / 'report.html'}, or decoupling run {out / _DIGITS} --label label"
        )


def info() -> None:
    """Versions, for a report of a bug.

    decoupling info
    """
    console.print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for name in _PACKAGES:
        try:
            console.print(f"{name} {version(name)}")
        except PackageNotFoundError:
            console.print(f"{name} is not installed")


COMMANDS: Final = (demo, check, run, apply, report, explain, info)
