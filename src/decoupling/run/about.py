"""Facts that a run keeps with its model: how to read new rows, and what to say of its own.

They are the ``about`` of the file, which anybody can write anything into. So they are checked when
they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, NoReturn

from decoupling._text import Message
from decoupling.persistence.kinds import fields_of, fits
from decoupling.run.settings import OPTIONS, Settings
from decoupling.run.solving import Solved
from decoupling.tables.features import Feature

# Keys that every run has written, and that say whether a file is of a run. A model that was saved
# in Python may have an ``about`` of its own.
_OF_A_RUN: Final = frozenset({"decided", "warnings", "label", "row_names", "features"})


@dataclass(frozen=True, eq=False)
class About:
    """Facts that a run keeps with its model.

    Attributes
    ----------
    of_a_run : bool
        Whether a run wrote the file; all else is empty if it was saved in Python.
    decided : tuple of int
        Rows that people have decided on.
    warnings : tuple of Message
        Warnings of the run.
    id : str or None
        Column that names the rows.
    row_names : tuple of str or None
        Names of the rows.
    features : tuple of Feature
        Columns of the table that are features.
    proba_columns : tuple of str
        Columns of p(label | x), if that was known already.
    title, data_hash : str or None
        Title of the report, and SHA-256 of the table.
    commands : tuple of str
        Commands that make the report.
    """

    of_a_run: bool = False
    decided: tuple[int, ...] = ()
    warnings: tuple[Message, ...] = ()
    id: str | None = None
    row_names: tuple[str, ...] | None = None
    features: tuple[Feature, ...] = ()
    proba_columns: tuple[str, ...] = ()
    title: str | None = None
    data_hash: str | None = None
    commands: tuple[str, ...] = ()


def about_run(
    solved: Solved, settings: Settings, report: Mapping[str, Any], digest: str | None
) -> dict[str, Any]:
    """Facts about a run, in values that JSON can hold; ``report`` is the content of its report."""
    problem = solved.problem
    return {
        "decided": solved.decided,
        "warnings": [message.told(OPTIONS) for message in solved.warnings],
        "warning_codes": [message.code for message in solved.warnings],
        "label": problem.label,
        "id": settings.id,
        "row_names": problem.row_names,
        "features": [asdict(feature) for feature in problem.features],
        "proba_columns": list(problem.proba_columns),
        "report": {
            "title": report["title"],
            "data": digest,
            "commands": report["reproduce"]["commands"],
        },
    }


def read_about(path: Path, said: Mapping[str, Any], n_rows: int) -> About:
    """Facts about a run, each of them checked.

    Parameters
    ----------
    path : Path
        The file that they are from, for messages.
    said : mapping
        What `about_run` gave, or anything else that somebody has put into the file.
    n_rows : int
        Rows that the model was fitted on.
    """
    if not set(said) >= _OF_A_RUN:
        return About()
    read = _Reading(path, said)
    texts = read.of("warnings", tuple[str, ...])
    # Older runs have no codes.
    codes = read.of("warning_codes", tuple[str, ...], ("",) * len(texts))
    names = read.of("row_names", tuple[str, ...] | None)
    decided = read.of("decided", tuple[int, ...])
    if len(codes) != len(texts):
        read.refuse("warning_codes")
    if names is not None and len(names) != n_rows:
        read.refuse("row_names")
    if not all(0 <= row < n_rows for row in decided):
        read.refuse("decided")
    report = read.of("report", dict, {})
    shown = _Reading(path, report)
    return About(
        of_a_run=True,
        decided=decided,
        warnings=tuple(map(Message.plain, texts, codes)),
        id=read.of("id", str | None, None),
        row_names=names,
        features=tuple(read.feature(one) for one in read.of("features", tuple[Any, ...])),
        proba_columns=read.of("proba_columns", tuple[str, ...], ()),
        title=shown.of("title", str | None, None),
        data_hash=shown.of("data", str | None, None),
        commands=shown.of("commands", tuple[str, ...], ()),
    )


_MISSING: Final = object()


@dataclass(frozen=True)
class _Reading:
    """A part of the facts, and the file that they are from."""

    path: Path
    said: Mapping[str, Any]

    def of(self, name: str, hint: Any, default: Any = _MISSING) -> Any:
        """A fact that must be of the type ``hint``; lists become tuples."""
        value = self.said.get(name, default)
        value = tuple(value) if isinstance(value, list) else value
        if value is _MISSING or not fits(value, hint):
            self.refuse(name)
        return value

    def feature(self, said: Any) -> Feature:
        """A feature, field by field."""
        hints = fields_of(Feature)
        if not isinstance(said, dict) or not set(said) <= set(hints):
            self.refuse("features")
        one = _Reading(self.path, said)
        return Feature(
            **{
                part.name: one.of(part.name, hints[part.name], part.default)
                for part in fields(Feature)
                if part.name in said or part.name in ("name", "kind")
            }
        )

    def refuse(self, name: str) -> NoReturn:
        """Say that a fact cannot be, and what to do."""
        raise ValueError(
            f"{self.path} says of itself what cannot be: {name!r} is missing, or is not what a run "
            "writes there. It was altered. Run again, or in Python load the model alone: "
            "decoupling.load."
        )
