"""Classes that people have decided on, from the file that the report gives out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from decoupling._text import UNLABELLED
from decoupling._typing import AnyArray, BoolArray
from decoupling.report.text import plain
from decoupling.tables.label_column import label_reader
from decoupling.tables.problem import Problem
from decoupling.tables.reading import TableError, read_table
from decoupling.tables.writing import as_written

_DECISIONS: Final = ("accept", "reject", "change")
_COLUMNS: Final = ("row", "given", "decision", "class")


def _cells(path: Path, problem: Problem) -> dict[str, list[str | None]]:
    """Columns of a file of decisions, with blanks that belong to names.

    A text file has one sign for an empty name and for none: where a label is empty, it means that.
    """
    table = read_table(path, trimmed=False)
    columns = {name: table.as_written(name).to_pylist() for name in _COLUMNS}
    if "" not in problem.labels.tolist():
        return columns
    names = problem.row_names or map(str, range(len(problem.labels)))
    empty = {plain(name) for name, label in zip(names, problem.labels, strict=True) if label == ""}
    for k, (row, given, decision, name) in enumerate(zip(*columns.values(), strict=True)):
        columns["given"][k] = "" if given is None and as_written(row) in empty else given
        if name is None:
            columns["class"][k] = columns["given"][k] if decision == "reject" else ""
    return columns


@dataclass(frozen=True, eq=False)
class Decisions:
    """Classes that people have decided on.

    They are known classes of these rows, and no labels: see ``known_classes`` in
    `DecouplingClassifier.fit`.

    Attributes
    ----------
    rows : bool array (N,)
        Rows with a decision.
    classes : array (N,) of object
        The class that was decided on, None elsewhere.
    """

    rows: BoolArray
    classes: AnyArray


class _Decided(NamedTuple):
    """A decision: the row of its file, and the class; None if the row stays unlabelled."""

    number: int
    class_: Any


def read_decisions(path: Path, problem: Problem) -> Decisions:
    """Read decisions as the report gives them out: columns row, given, decision and class.

    Names of rows, labels and classes may be whole, or cut as they are in the report. A row may be
    decided on twice if that is the same decision.
    """
    columns = _cells(path, problem)
    names = problem.row_names or [str(row) for row in range(len(problem.labels))]
    place = {text: k for k, name in enumerate(names) for text in (plain(name), name)}
    known = {value for value in problem.labels.tolist() if value is not None}
    whole = {plain(label): str(label) for label in known}
    read = label_reader(known)
    decided: dict[int, _Decided] = {}
    for number, cells in enumerate(zip(*columns.values(), strict=True), start=1):
        row, given, decision, name = map(as_written, cells)
        where = f"{path.name}, row {number}"
        if row not in place:
            raise TableError(f"{where}: {row!r} is no row of the table.")
        label = problem.labels[place[row]]
        if whole.get(given, given) != (None if label is None else str(label)):
            raise TableError(
                f"{where}: row {row!r} had the label {given!r}, and has {label!r} in the table. "
                "Are these decisions of another table?"
            )
        if decision not in _DECISIONS:
            raise TableError(
                f"{where}: decision must be one of {', '.join(_DECISIONS)}; got {decision!r}."
            )
        class_ = None if name is None else read(whole.get(name, name))
        if decision == "reject":
            if class_ not in (None, label):
                raise TableError(
                    f"{where}: to reject is to keep what was given, {_called(label)}, and the "
                    f"class is {class_!r}. Write change for the decision, or no class."
                )
            class_ = label  # a row without a label stays so
        elif class_ is None:
            raise TableError(f"{where}: no class is given.")
        before = decided.setdefault(place[row], _Decided(number, class_))
        if before.class_ != class_:
            raise TableError(
                f"{path.name}, rows {before.number} and {number}: row {row!r} is decided on twice, "
                f"as {_called(before.class_)} and as {_called(class_)}. Leave one of them."
            )
    classes = np.full(len(names), None, dtype=object)
    for k, one in decided.items():
        classes[k] = one.class_
    return Decisions(np.array([name is not None for name in classes]), classes)


def _called(label: Any) -> str:
    """A label in a message."""
    return UNLABELLED if label is None else repr(label)
