"""Files of a run: the folder they go to, the report among them, and how they are written."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from decoupling.cli.pipes import beside
from decoupling.cli.terminal import busy
from decoupling.run.settings import OPTIONS, Settings, option_of

if TYPE_CHECKING:
    from decoupling.report.document import Report
    from decoupling.run.solving import Solved

# A copy of the decisions that a run was given.
DECISIONS: Final = "decisions.csv"
_FILES: Final = (
    "labels.csv", "transitions.csv", "report.html", "report.md", "report.json",
    "model.decoupling", "run.toml",
)  # fmt: skip
# Endings that are left out where a folder is named after a table; any other is part of the name.
_ENDINGS: Final = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq")


def folder_for(file: Path) -> Path:
    """Default folder of a run: beside the table, by its name."""
    name = file.name.removesuffix(".gz") if file.is_file() else "stdin"
    ending = Path(name).suffix
    name = name.removesuffix(ending) if ending.lower() in _ENDINGS else name
    return beside(file) / f"{name}_labels"


def file_names(settings: Settings) -> list[str]:
    """Files that a run writes."""
    decided = [] if settings.decisions is None else [DECISIONS]
    return [f"probabilities.{settings.format}", *_FILES, *decided]


def replaced_names(settings: Settings) -> list[str]:
    """Files that a run writes or removes: probabilities of the other form are of another run."""
    other = "csv" if settings.format == "parquet" else "parquet"
    return [*file_names(settings), f"probabilities.{other}"]


def command_of(file: str, settings: Settings) -> str:
    """The command that does the same again."""
    default = type(settings)()
    parts = ["decoupling", "run", file]
    for name, value in vars(settings).items():
        if value is True:
            parts.append(option_of(name))
        elif value != getattr(default, name):
            for one in value if isinstance(value, tuple) else [value]:
                parts += [option_of(name), str(one)]
    return shlex.join(parts)


def report_of(
    solved: Solved,
    settings: Settings,
    digest: str | None,
    *,
    title: str,
    command: str,
    **more: Any,
) -> Report:
    """The report on what was found; ``more`` goes to `report_content`."""
    from decoupling.report.content import report_content
    from decoupling.report.document import Report

    given = {name: value for name, value in vars(settings).items() if value not in (None, ())}
    report = Report(
        report_content(
            solved.clf, row_names=solved.problem.row_names, title=title, settings=given,
            data_hash=digest, warnings=solved.warnings, commands=[command],
            decided=solved.decided, options=OPTIONS,
            **({"thumbnails": solved.problem.images} | more),
        )
    )  # fmt: skip
    if solved.problem.images is not None:
        solved.problem.images.warn_if_failed()
    return report


def write_files(
    solved: Solved,
    settings: Settings,
    report: Report,
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
    from decoupling.run.about import about_run
    from decoupling.run.outputs import write_tables
    from decoupling.run.settings import settings_toml
    from decoupling.tables.writing import whole_files, write_csv

    others = list(more or {})
    with (
        whole_files(out, [*replaced_names(settings), *others], force=force) as folder,
        busy("writing"),
    ):
        write_tables(solved, folder, form=settings.format, raw=settings.raw_csv)
        for suffix in ("html", "md", "json"):
            report.save(folder / f"report.{suffix}")
        about = about_run(solved, settings, report.content, digest)
        save(solved.clf, folder / "model.decoupling", about=about)
        if decisions is not None:
            shutil.copyfile(decisions, folder / DECISIONS)
        toml = settings_toml(settings, file, digest)
        (folder / "run.toml").write_text(toml, encoding="utf-8")
        for name, columns in (more or {}).items():
            write_csv(folder / name, columns)
    return [out / each for each in [*file_names(settings), *others]]


def path_from(folder: Path, file: Path) -> str:
    """Path of a table from a folder; "-" for a pipe."""
    if not file.is_file():
        return "-"
    here, there = folder.resolve(), file.resolve()
    return Path(os.path.relpath(there, here) if here.anchor == there.anchor else there).as_posix()
