"""Text to show: names that users chose, and where to read on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

__all__ = [
    "COLLAPSE",
    "CONVERGENCE",
    "OUT_OF_FOLD",
    "RATES",
    "TOLD_APART",
    "guide",
    "name_text",
    "visible",
]

_GAP: Final = "..."
# What the label None is called; T has a column for it.
UNLABELLED: Final = "unlabelled"


def visible(text: object) -> str:
    r"""Text in which control, direction and other invisible characters are written as escapes.

    Examples
    --------
    >>> print(visible("cat\n\x1b[31m\u202e"))
    cat\n\x1b[31m\u202e
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text)
    )


def name_text(name: object, letters: int = 24) -> str:
    r"""A name in at most so many letters, control and direction marks spelt out.

    Names are cut in the middle, since those that begin alike often end differently.

    Parameters
    ----------
    name : object
        Name of a class or a label; None is the label of what has none.
    letters : int
        Longest text to return, at least 5.

    Examples
    --------
    >>> name_text("a very long name, and number 12", letters=16)
    'a very ...ber 12'
    >>> print(name_text("two\nlines"))
    two\nlines
    >>> name_text(None)
    'unlabelled'
    """
    text = UNLABELLED if name is None else str(name)
    if not text.strip():
        text = repr(text)  # blanks alone would not be seen
    if len(text) > 2 * letters:
        text = text[:letters] + text[-letters:]  # a name may be as long as a book
    text = visible(text)
    if len(text) <= letters:
        return text
    tail = (letters - len(_GAP)) // 2
    return text[: letters - len(_GAP) - tail] + _GAP + text[-tail:]


def guide(section: str) -> str:
    """Where a message sends its reader: a heading of the user guide, docs/guide.

    Examples
    --------
    >>> guide("Predict out of fold")
    '(guide: "Predict out of fold")'
    """
    return f'(guide: "{section}")'


# What messages that name a remedy point to; a test looks for these headings.
COLLAPSE: Final = guide("When a class has no rows")
CONVERGENCE: Final = guide("When it does not converge")
OUT_OF_FOLD: Final = guide("Predict out of fold")
RATES: Final = guide("Say what you know")
TOLD_APART: Final = guide("When labels do not tell classes apart")


# A message lists this many names, and counts the rest.
_SHOWN: Final = 5


def listed(names: Sequence[Hashable]) -> str:
    """The first few names, and how many more there are."""
    return first_few([repr(name) for name in names])


def first_few(texts: Sequence[str]) -> str:
    """The first few texts, and how many more there are."""
    rest = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
