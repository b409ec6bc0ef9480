"""Labels that may be a mistake: what is refused, and what is warned of."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from decoupling._text import Argument, Message, first_few
from decoupling._typing import AnyArray, IntArray
from decoupling._validation import is_gap, warn_user
from decoupling.labels.frames import in_other_order
from decoupling.labels.lookalikes import appearance, lookalikes
from decoupling.labels.wording import counted, label_shown, listed_labels, rows_text

# What gaps look like once they were made text; hardly anybody's name of a class.
_WRITTEN_GAPS: Final = {"nan", "<NA>", "NaT"}


def check_numbers(values: AnyArray, codes: IntArray) -> None:
    """Refuse infinite and fractional labels."""
    if values.dtype.kind != "f":
        return
    infinite = np.isin(codes, np.flatnonzero(np.isinf(values)))
    if infinite.any():
        raise ValueError(
            "Input contains infinity or a value too large for dtype('float64'). In y it is first "
            f"at row {int(infinite.argmax())}, in {rows_text(infinite.sum())} in all. Pass NaN or "
            "None where a row is unlabelled."
        )
    fractional = values != np.floor(values)
    if fractional.any():
        check_classification_targets(values[fractional])  # raises: the label type is continuous


def warn_about_text(values: AnyArray, codes: IntArray) -> None:
    """Warn of labels that show nothing, that look like gaps, or that look alike.

    Parameters
    ----------
    values : (L,) array
        The distinct labels, texts.
    codes : (N,) array of int
        Index into them of each row's label, -1 for none.
    """
    labelled = np.flatnonzero(codes >= 0)
    rows = np.bincount(codes[labelled], minlength=len(values))  # (L,)
    blank = [i for i, value in enumerate(values) if appearance(value) == ""]
    if blank:
        warn_user(
            Message(
                "blank-label",
                "{y|The column of labels} has a blank string as its label in {rows}. It is kept as "
                'a label; if it means unlabelled, {pass|give} {@unlabelled:=""}.',
                rows=rows_text(rows[blank].sum()),
            )
        )
    written = [i for i, value in enumerate(values) if value in _WRITTEN_GAPS]
    if written:
        warn_user(
            Message(
                "gap-as-text",
                "{y|The column of labels} has {label} as a string in {rows}: a gap that was made "
                "text? It is kept as a label; if it means unlabelled, {pass|give} "
                "{@unlabelled:={label}}.",
                label=label_shown(values[written[0]]),
                rows=rows_text(rows[written].sum()),
            )
        )
    place = {value: i for i, value in enumerate(values.tolist())}
    groups = [[place[name] for name in group] for group in lookalikes(values.tolist())]
    groups = [group for group in groups if group[0] not in blank]
    if groups:
        first = labelled[np.unique(codes[labelled], return_index=True)[1]]  # (L,)
        twins = [_twins(values[group], rows[group], first[group]) for group in groups]
        warn_user(
            Message(
                "twin-labels",
                "{y|The column of labels} has labels that look alike and are kept apart: {twins}. "
                "They differ in case, in blanks, in characters that are not seen, or in how a "
                "letter or a number is written. If they mean the same, make them equal first.",
                twins=first_few(twins, "; "),
            )
        )


def _twins(values: AnyArray, rows: IntArray, first: IntArray) -> str:
    """Labels that look alike, with their numbers of rows and the first row of each."""
    composed = {unicodedata.normalize("NFKC", value) for value in values}
    show = label_shown if len(composed) == len(values) else ascii  # nobody would see a difference
    order = np.argsort(-rows, kind="stable")
    return ", ".join(
        f"{show(str(values[i]))} ({rows_text(rows[i])}, first {first[i]})" for i in order
    )


def warn_if_unmatched(labels: AnyArray, unlabelled: Hashable) -> None:
    """Warn if a label only looks like the value that means unlabelled: "-1" is not -1."""
    if is_gap(unlabelled):
        return
    shape = appearance(unlabelled)
    alike = [label for label in labels.tolist() if appearance(label) == shape]
    if alike:
        warn_user(
            Message(
                "unlabelled-of-other-type",
                "unlabelled is {value}, and {y|the column of labels} has {label}, which looks like "
                "it, is not equal to it, and is kept as a label. If it means unlabelled, "
                "{pass|give} {@unlabelled:={label}}.",
                value=label_shown(unlabelled),
                label=label_shown(alike[0]),
            )
        )


def warn_of_index(X: Any, **columns: Any) -> None:
    """Warn of columns, by the names of their arguments, whose index has the order of other rows."""
    for name, column in columns.items():
        if in_other_order(X, column):
            warn_user(
                Message(
                    "other-index",
                    "X and {name} have the same names of rows in their indices, in another order. "
                    "Rows are taken by their place, the first with the first. If the index says "
                    "which belong together, pass {name}.loc[X.index]; if not, "
                    "{name}.reset_index(drop=True).",
                    name=name,
                )
            )


def refuse_unknown(name: str, unknown: AnyArray, rows: IntArray, known: Sequence[Hashable]) -> None:
    """Raise a ValueError about labels that nobody knows; ``rows`` says how many rows have each."""
    by_look = {appearance(label): label for label in known if label is not None}
    pairs = [(label, by_look.get(appearance(label))) for label in unknown.tolist()]
    alike = [f"{one!a} looks like {other!a}" for one, other in pairs if other is not None]
    raise ValueError(
        Message(
            "unknown-labels",
            "{name} has unknown labels in {rows}: {labels}. Known are {known}. {alike}Correct "
            "them, or {make them None|leave their cells empty} where a row is unlabelled.",
            alike=f"{first_few(alike)}. " if alike else "",
            name=Argument(name),
            rows=rows_text(rows.sum()),
            labels=counted(unknown, rows),
            known=listed_labels(known),
        )
    )
