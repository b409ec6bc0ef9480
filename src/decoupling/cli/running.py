"""`decoupling run`: from a table to all files."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from decoupling._text import Message
from decoupling.cli.checking import described, print_problem, print_warnings
from decoupling.cli.options import (
    LARGEST_SEED,
    NOTHING_WRITTEN,
    TABLE,
    Categorical,
    Decimal,
    DecisionsFile,
    Delimiter,
    Encoding,
    Estimator,
    Exclude,
    Folds,
    Force,
    Id,
    Image,
    Json,
    Label,
    Labelled,
    LabelProba,
    Negative,
    Noise,
    Numeric,
    RawCsv,
    Task,
    Unlabelled,
    tab,
)  # fmt: skip
from decoupling.cli.pipes import as_file, beside
from decoupling.cli.progress import fits_shown
from decoupling.cli.terminal import (
    INTERRUPTED,
    NOT_CONVERGED,
    busy,
    console,
    errors,
    plainly,
    print_json,
    shown,
    told,
    written,
)  # fmt: skip

_WARNED: Final = 1
_FILES: Final = (
    "labels.csv", "transitions.csv", "report.html", "report.md", "report.json",
    "model.decoupling", "run.toml",
)  # fmt: skip
_DECISIONS: Final = "decisions.csv"
# What the name of a table ends in; anything else is part of the name.
_ENDINGS: Final = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq")


def run(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help=f"{TABLE} May be left out with --config.")
    ] = None,
    label: Label = None,
    task: Task = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Folder; NAME_labels beside the table if left out.")
    ] = None,
    estimator: Estimator = "logistic",
    id: Id = None,
    exclude: Exclude = None,
    categorical: Categorical = None,
    numeric: Numeric = None,
    unlabelled: Unlabelled = None,
    negative: Negative = "negative",
    noise: Noise = None,
    labelled: Labelled = None,
    label_proba: LabelProba = None,
    image: Image = None,
    decisions: DecisionsFile = None,
    folds: Folds = 5,
    rounds: Annotated[
        int, typer.Option(min=0, help="Rounds of retraining at most; 0 is the paper.")
    ] = 5,
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=LARGEST_SEED, help="Deals rows to folds, and draws bags of a rare label."
        ),
    ] = 0,
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
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from the fits that an interrupted run has kept in OUT.resume; from the "
            "start if there are none. Table and options must be the same.",
        ),
    ] = False,
    force: Force = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 after a warning.")] = False,
    as_json: Json = False,
) -> None:
    """Find the true classes behind the labels of a table; write tables, a report and a model.

    Interrupted, it keeps the fits that are finished: the same command with --resume goes on.

    decoupling run demo/digits.csv --label label --task noisy --out demo/run --force
    """
    from decoupling.run.settings import Settings, file_digest, read_settings
    from decoupling.run.solving import collected_warnings
    from decoupling.tables.writing import refuse_existing

    with plainly(NOTHING_WRITTEN):
        settings, expected = Settings(
            label=label, id=id, exclude=tuple(exclude or ()),
            categorical=tuple(categorical or ()), numeric=tuple(numeric or ()),
            unlabelled=unlabelled,
            label_proba=label_proba, image=image, task=task, negative=negative, noise=noise,
            labelled=labelled, estimator=estimator, folds=folds, rounds=rounds, seed=seed,
            delimiter=tab(delimiter), encoding=encoding, decimal=decimal,
            decisions=None if decisions is None else str(decisions), format=form, raw_csv=raw_csv,
        ), None  # fmt: skip
        if config is not None:
            _refuse_options(ctx)
            settings, table, expected = read_settings(config)
            file = file or table
        if file is None:
            raise ValueError("There is no table: name one, or a run.toml that does with --config.")
        if settings.format not in ("parquet", "csv"):
            raise ValueError(f"--format must be parquet or csv; got {settings.format!r}.")
        out = out or _folder_for(file)
        inputs = [file, *(Path(path) for path in (config, settings.decisions) if path is not None)]
        refuse_existing(out, file_names(settings), force=force, inputs=inputs)
        decided = settings.decisions
        with as_file(file) as path:
            digest = file_digest(path)
            with _resumable(out, settings, digest, resume=resume):
                solved = _solve_file(path, settings, beside(file), quiet=as_json)
                settings = replace(
                    settings, label=solved.problem.label, decisions=decided and _DECISIONS
                )
                if expected and expected != digest:
                    text = "{file} is not the file that {config} was written for."
                    solved.warnings.append(
                        Message("other-file", text, file=file.name, config=config)
                    )
                with collected_warnings() as warned:
                    command = _command(file.name, settings)
                    report = report_of(solved, settings, digest, title=file.name, command=command)
                    paths = write_files(
                        solved, settings, report, _seen_from(out, file), digest, out, force=force,
                        decisions=decided,
                    )  # fmt: skip
        solved.warnings.extend(warned)
        _tell(solved, report, paths, as_json=as_json)
    _leave(solved, strict)


@contextmanager
def _resumable(out: Path, settings: Any, table: str, *, resume: bool) -> Iterator[None]:
    """Keep the fits of a run beside its folder if it is interrupted; go on from those there."""
    from decoupling.run.fits_kept import (
        KeptFits,
        is_there,
        keeping_fits,
        refuse_other_run,
        what_runs,
    )
    from decoupling.run.settings import file_digest

    decided = settings.decisions and file_digest(Path(settings.decisions))
    run = what_runs(vars(settings), table, decided)
    kept = KeptFits(out.with_name(f"{out.name}.resume"), run)
    if resume and is_there(kept.folder):
        refuse_other_run(kept.folder, run)
        _note(f"Going on from {len(kept)} fits in {kept.folder}.")
    elif resume:
        _note(f"There is nothing in {kept.folder} to go on from: the run begins from the start.")
    elif is_there(kept.folder):
        _note(f"The fits of an interrupted run in {kept.folder} are removed: no --resume.")
        kept.remove()
    try:
        with keeping_fits(kept):
            yield
    except KeyboardInterrupt:
        if kept.n_waiting:
            _note(f"Interrupted. Writing {kept.n_waiting} fits; a second time stops that too.")
        try:
            kept.write_waiting()
        except KeyboardInterrupt:
            pass
        if not is_there(kept.folder):
            raise
        _note(
            f"Interrupted. {len(kept)} fits are kept in {kept.folder}: to go on, run the same "
            "command with --resume."
        )
        raise typer.Exit(INTERRUPTED) from None


def _note(text: str) -> None:
    errors.print(shown(text), markup=False)


def _folder_for(file: Path) -> Path:
    """Where the files of a run go if nothing is said: beside the table, by its name."""
    name = file.name.removesuffix(".gz") if file.is_file() else "stdin"
    ending = Path(name).suffix
    name = name.removesuffix(ending) if ending.lower() in _ENDINGS else name
    return beside(file) / f"{name}_labels"


def _seen_from(folder: Path, file: Path) -> str:
    """The path of a table from a folder; whatever is no file is taken from standard input."""
    if not file.is_file():
        return "-"
    here, there = folder.resolve(), file.resolve()
    return Path(os.path.relpath(there, here) if here.anchor == there.anchor else there).as_posix()


def _refuse_options(ctx: typer.Context) -> None:
    """Options that a file of settings would override without a word."""
    allowed = {"file", "out", "config", "resume", "force", "strict", "as_json"}
    given = [
        f"--{name.replace('_', '-')}"
        for name in ctx.params
        if name not in allowed
        and getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]
    if given:
        raise ValueError(f"--config holds all settings: leave out {', '.join(given)}.")


def file_names(settings: Any) -> list[str]:
    """Files of a run."""
    decided = [] if settings.decisions is None else [_DECISIONS]
    return [f"probabilities.{settings.format}", *_FILES, *decided]


def _solve_file(file: Path, settings: Any, folder: Path, *, quiet: bool) -> Any:
    from decoupling.run.solving import collected_warnings, read_problem

    with collected_warnings() as warned, busy(f"reading {file.name}"):
        table, problem, decided = read_problem(file, settings, folder)
    if not quiet:
        print_problem(described(table, problem))
    del table
    return solve_shown(problem, settings, decided, warned)


def solve_shown(problem: Any, settings: Any, decided: Any, warned: list[Message]) -> Any:
    """What is found, with a bar for the fits; ``warned`` comes before its own warnings."""
    from decoupling.run.solving import solve

    with fits_shown():
        solved = solve(problem, settings, decided)
    return replace(solved, warnings=[*warned, *solved.warnings])


def _command(file: str, settings: Any) -> str:
    """The command that does the same again."""
    default = type(settings)()
    parts = ["decoupling", "run", file]
    for name, value in vars(settings).items():
        if value is True:
            parts.append(f"--{name.replace('_', '-')}")
        elif value != getattr(default, name):
            for one in value if isinstance(value, tuple) else [value]:
                parts += [f"--{name.replace('_', '-')}", str(one)]
    return shlex.join(parts)


def report_of(
    solved: Any, settings: Any, digest: str | None, *, title: str, command: str, **more: Any
) -> Any:
    """The report on what was found; ``more`` goes to `report_content`."""
    from decoupling.report.content import report_content
    from decoupling.report.document import Report
    from decoupling.run.wording import OPTIONS

    given = {name: value for name, value in vars(settings).items() if value not in (None, ())}
    return Report(
        report_content(
            solved.clf, row_names=solved.problem.row_names, title=title, settings=given,
            data_hash=digest, warnings=solved.warnings, commands=[command],
            decided=solved.decided, options=OPTIONS,
            **({"thumbnails": solved.problem.images} | more),
        )
    )  # fmt: skip


def write_files(
    solved: Any,
    settings: Any,
    report: Any,
    file: str,
    digest: str,
    out: Path,
    *,
    force: bool,
    decisions: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write all files at once, a copy of the decisions with them.

    ``file`` is the path of the table from ``out``; ``more`` are tables by the names of their files.
    """
    from decoupling.persistence import save
    from decoupling.run.outputs import about_model, write_tables
    from decoupling.run.settings import settings_toml
    from decoupling.tables.writing import whole_files, write_csv

    names = [*file_names(settings), *(more or {})]
    with whole_files(out, names, force=force) as folder, busy("writing"):
        write_tables(solved, folder, form=settings.format, raw=settings.raw_csv)
        for suffix in ("html", "md", "json"):
            report.save(folder / f"report.{suffix}")
        about = about_model(solved, settings) | {
            "report": {
                "title": report.content["title"], "data": digest,
                "commands": report.content["reproduce"]["commands"],
            }
        }  # fmt: skip
        save(solved.clf, folder / "model.decoupling", about=about)
        if decisions is not None:
            shutil.copyfile(decisions, folder / _DECISIONS)
        toml = settings_toml(settings, file, digest)
        (folder / "run.toml").write_text(toml, encoding="utf-8")
        for name, columns in (more or {}).items():
            write_csv(folder / name, columns)
    # A table of the other form would be that of another run.
    (out / f"probabilities.{'csv' if settings.format == 'parquet' else 'parquet'}").unlink(
        missing_ok=True
    )
    return [out / each for each in names]


def _tell(solved: Any, report: Any, paths: list[Path], *, as_json: bool) -> None:
    content = report.content
    if as_json:
        print_json(
            {
                "verdict": content["verdict"],
                "transitions": content["transitions"],
                "warnings": told(solved.warnings),
                "converged": solved.converged,
                "files": [str(path) for path in paths],
            }
        )
        return
    verdict = content["verdict"]
    console.print(f"\n{shown(verdict['headline'])}", markup=False, style="bold")
    for sentence in verdict["sentences"]:
        console.print(shown(sentence), markup=False)
    trust = verdict["trust"]
    console.print(f"{shown(trust['words'])} ({trust['light']} light).", markup=False)
    for reason in trust["reasons"]:
        if reason["light"] != "green":
            console.print(f"  {shown(reason['text'])}", markup=False)
    print_warnings(solved.warnings)
    console.print()
    written(paths)


def _leave(solved: Any, strict: bool) -> None:
    """End with the exit code of what happened."""
    if not solved.converged:
        raise typer.Exit(NOT_CONVERGED)
    if strict and solved.warnings:
        raise typer.Exit(_WARNED)
