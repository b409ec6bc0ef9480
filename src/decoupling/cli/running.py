"""`decoupling run`: from a table to all files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from decoupling._text import Message
from decoupling.cli.checking import described, print_problem, print_warnings
from decoupling.cli.options import NOTHING_WRITTEN, TABLE, Force, Json, with_settings
from decoupling.cli.pipes import as_file, beside
from decoupling.cli.progress import fits_shown
from decoupling.cli.run_files import (
    DECISIONS,
    command_of,
    folder_for,
    path_from,
    replaced_names,
    report_of,
    write_files,
)
from decoupling.cli.terminal import (
    INTERRUPTED,
    NOT_CONVERGED,
    busy,
    console,
    errors,
    plainly,
    print_json,
    print_written,
    shown,
    told,
)
from decoupling.run.settings import Settings, file_digest, option_of, read_settings

if TYPE_CHECKING:
    from decoupling.report.document import Report
    from decoupling.run.fits_kept import KeptFits
    from decoupling.run.solving import Solved

# Exit code of --strict after a warning.
_WARNED: Final = 1


@with_settings()
def run(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help=f"{TABLE} May be left out with --config.")
    ] = None,
    *,
    settings: Settings,
    out: Annotated[
        Path | None, typer.Option(help="Folder; NAME_labels beside the table if left out.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="run.toml of another run, instead of these options.")
    ] = None,
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
    from decoupling.tables.writing import refuse_existing

    with plainly(NOTHING_WRITTEN):
        if config is not None:
            _refuse_options(ctx)
        job = _job(file, settings, out, config)
        names = replaced_names(job.settings)
        refuse_existing(job.out, names, force=force, inputs=job.inputs)
        _refuse_unwritable_path(job)
        with as_file(job.file) as path:
            digest = file_digest(path)
            with _resumable(job.out, job.settings, digest, resume=resume) as kept:
                solved = _solve_file(path, job.settings, beside(job.file), quiet=as_json)
                kept.complete = True
                report, paths = _write(job, solved, digest, force=force)
        _tell(solved, report, paths, as_json=as_json)
    _leave(solved, strict)


@dataclass(frozen=True)
class _Job:
    """A run as it was asked for: what it reads, and where it writes to.

    Attributes
    ----------
    file, out : Path
        The table, and the folder to write to.
    settings : Settings
        All options.
    config : Path or None
        The run.toml that settings come from, if there is one.
    expected : str or None
        SHA-256 of the table that it was written for.
    """

    file: Path
    settings: Settings
    out: Path
    config: Path | None = None
    expected: str | None = None

    @property
    def inputs(self) -> list[Path]:
        """Files that are read, and must not be replaced."""
        decisions = self.settings.decisions
        others = (self.config, None if decisions is None else Path(decisions))
        return [self.file, *(path for path in others if path is not None)]


def _job(file: Path | None, settings: Settings, out: Path | None, config: Path | None) -> _Job:
    """Complete what was typed, by a run.toml if one was named."""
    expected = None
    if config is not None:
        settings, table, expected = read_settings(config)
        file = file or table
    if file is None:
        raise ValueError("There is no table: name one, or a run.toml that does with --config.")
    if settings.format not in ("parquet", "csv"):
        raise ValueError(f"--format must be parquet or csv; got {settings.format!r}.")
    return _Job(file, settings, out or folder_for(file), config, expected)


def _refuse_unwritable_path(job: _Job) -> None:
    """Refuse a table whose path run.toml cannot hold, before anything is fitted."""
    path = path_from(job.out, job.file)
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{path} is not in UTF-8, and run.toml cannot hold the path of such a table. Rename "
            "it, or give it through a pipe: the table is then -."
        ) from None


def _write(job: _Job, solved: Solved, digest: str, *, force: bool) -> tuple[Report, list[Path]]:
    """Write all files of a run; warnings go to those of the answer."""
    from decoupling.run.solving import collected_warnings

    file, decisions = job.file, job.settings.decisions
    settings = replace(job.settings, label=solved.problem.label, decisions=decisions and DECISIONS)
    if job.expected and job.expected != digest:
        text = "{file} is not the file that {config} was written for."
        solved.warnings.append(Message("other-file", text, file=file.name, config=job.config))
    with collected_warnings() as warned:
        command = command_of(file.name, settings)
        report = report_of(solved, settings, digest, title=file.name, command=command)
        paths = write_files(
            solved, settings, report, path_from(job.out, file), digest, job.out,
            force=force, decisions=decisions,
        )  # fmt: skip
    solved.warnings.extend(warned)
    return report, paths


def _beside(out: Path) -> Path:
    """Folder of the fits that are kept of a run, beside its own; or in it if it is a root."""
    if out.name in ("", ".."):
        out = Path(os.path.abspath(out))
    return out.with_name(f"{out.name}.resume") if out.name else out / "decoupling.resume"


@contextmanager
def _resumable(out: Path, settings: Settings, table: str, *, resume: bool) -> Iterator[KeptFits]:
    """Keep the fits of a run beside its folder if it is stopped; go on from those there."""
    from decoupling.run.fits_kept import (
        KeptFits,
        is_there,
        keeping_fits,
        refuse_other_run,
        what_runs,
    )

    decided = settings.decisions and file_digest(Path(settings.decisions))
    run = what_runs(vars(settings), table, decided)
    kept = KeptFits(_beside(out), run)
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
            yield kept
    except Exception as error:
        if kept.stays_after(error):
            kept.write_waiting()
            if is_there(kept.folder):
                _note(f"{_kept(kept)}: --resume goes on from them.")
        raise
    except KeyboardInterrupt:
        if kept.n_waiting:
            _note(f"Interrupted. Writing {kept.n_waiting} fits; a second time stops that too.")
        try:
            kept.write_waiting()
        except KeyboardInterrupt:
            pass
        if not is_there(kept.folder):
            raise
        _note(f"Interrupted. {_kept(kept)}: to go on, run the same command with --resume.")
        raise typer.Exit(INTERRUPTED) from None


def _kept(kept: KeptFits) -> str:
    """Say how many fits are kept, and how many could not be."""
    lost = f" (there is no room for {kept.n_waiting} more)" if kept.n_waiting else ""
    return f"{len(kept)} fits are kept in {kept.folder}{lost}"


def _note(text: str) -> None:
    errors.print(shown(text), markup=False)


def _refuse_options(ctx: typer.Context) -> None:
    """Refuse options that a file of settings would override without a word."""
    allowed = {"file", "out", "config", "resume", "force", "strict", "as_json"}
    given = [
        option_of(name)
        for name in ctx.params
        if name not in allowed
        and getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]
    if given:
        raise ValueError(f"--config holds all settings: leave out {', '.join(given)}.")


def _solve_file(file: Path, settings: Settings, folder: Path, *, quiet: bool) -> Solved:
    from decoupling.run.solving import collected_warnings, read_problem

    with collected_warnings() as warned, busy(f"reading {file.name}"):
        table, problem, decided = read_problem(file, settings, folder)
    if not quiet:
        print_problem(described(table, problem))
    del table
    return solve_shown(problem, settings, decided, warned)


def solve_shown(problem: Any, settings: Settings, decided: Any, warned: list[Message]) -> Solved:
    """Solve a problem and show a bar for the fits; ``warned`` comes before its own warnings."""
    from decoupling.run.solving import solve_problem

    with fits_shown():
        solved = solve_problem(problem, settings, decided)
    return replace(solved, warnings=[*warned, *solved.warnings])


def _tell(solved: Solved, report: Report, paths: list[Path], *, as_json: bool) -> None:
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
    print_written(paths)


def _leave(solved: Solved, strict: bool) -> None:
    """End with the exit code of what happened."""
    if not solved.converged:
        raise typer.Exit(NOT_CONVERGED)
    if strict and solved.warnings:
        raise typer.Exit(_WARNED)
