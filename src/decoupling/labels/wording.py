"""Labels as messages show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from decoupling._text import first_few
from decoupling._typing import AnyArray, IntArray

# Characters of a label that a message shows; a longer one would hide the rest of the message.
_LONGEST: Final = 80


def counted(values: AnyArray, rows: IntArray) -> str:
    """Labels with their numbers of rows, the most frequent first."""
    order = np.argsort(-rows, kind="stable")
    return first_few([f"{label_shown(values[i])} ({rows[i]})" for i in order])


def listed_labels(values: Sequence[Any]) -> str:
    """The first few labels, and how many more there are."""
    return first_few([label_shown(value) for value in values])


def rows_text(count: int) -> str:
    """A number of rows in words."""
    return "1 row" if count == 1 else f"{count} rows"


def label_shown(value: Any) -> str:
    """A label as Python writes it, without the type of numpy around it; a long one is cut."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
