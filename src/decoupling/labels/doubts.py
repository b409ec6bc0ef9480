"""Labels that may be a mistake: what is refused, and what is warned of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from decoupling._text import Argument, Message, first_few
from decoupling._typing import AnyArray, IntArray
from decoupling._validation import is_gap, warn_user
from decoupling.labels.distinct import key_of
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


def warn_about_text(values: AnyArray, rows: IntArray) -> None:
    """Warn of blank labels, and of those that differ in case or surrounding spaces only."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, value in enumerate(values):
        groups[value.strip().casefold()].append(i)
    blank = groups.pop("", [])
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
    twins = [counted(values[group], rows[group]) for group in groups.values() if len(group) > 1]
    if twins:
        warn_user(
            Message(
                "twin-labels",
                "{y|The column of labels} has labels that differ only in case or surrounding "
                "spaces, and are kept apart: {twins}. If they mean the same, make them equal "
                "first.",
                twins=first_few(twins, "; "),
            )
        )


def warn_if_unmatched(distinct: AnyArray, unlabelled: Hashable) -> None:
    """Warn if a label only looks like the value that means unlabelled: "-1" is not -1."""
    if is_gap(unlabelled):
        return
    alike = [v for v in distinct.tolist() if str(v) == str(unlabelled)]
    if alike and all(key_of(v) != key_of(unlabelled) for v in alike):
        warn_user(
            Message(
                "unlabelled-of-other-type",
                "unlabelled is {value}, and {y|the column of labels} has {label}, of another type "
                "and kept as a label. If it means unlabelled, {pass|give} {@unlabelled:={label}}.",
                value=label_shown(unlabelled),
                label=label_shown(alike[0]),
            )
        )


def refuse_unknown(name: str, unknown: AnyArray, rows: IntArray, known: Sequence[Hashable]) -> None:
    """Raise a ValueError about labels that nobody knows; ``rows`` says how many rows have each."""
    raise ValueError(
        Message(
            "unknown-labels",
            "{name} has unknown labels in {rows}: {labels}. Known are {known}. Correct them, or "
            "{make them None|leave their cells empty} where a row is unlabelled.",
            name=Argument(name),
            rows=rows_text(rows.sum()),
            labels=counted(unknown, rows),
            known=listed_labels(known),
        )
    )
