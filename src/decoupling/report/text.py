"""Numbers and names as people read them; a name cannot steer the page or the terminal."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from typing import Final

from decoupling._text import visible

# Letters of a name within a sentence at most: a line has about a hundred.
LETTERS: Final = 40
# Letters of a name in a table of the report at most; what is longer is no name, but a text.
LONGEST: Final = 200
# What is said of a label that no row has: its column of T is the prior's word.
NO_DATA: Final = "no data"
# Names that a sentence lists at most; it counts the rest.
SHOWN: Final = 5


def short(text: object, letters: int = LETTERS) -> str:
    """A text cut to so many letters.

    Examples
    --------
    >>> short("abcdef", 4)
    'abc…'
    """
    shown = visible(text)
    return shown if len(shown) <= letters else shown[: letters - 1] + "…"


def quoted(name: object) -> str:
    """A name within a sentence."""
    return f"“{short(name)}”"


def joined_names(names: Sequence[object]) -> str:
    """The first few names, and how many more there are.

    Examples
    --------
    >>> joined_names(["a", "b", "c"])
    '“a”, “b” and “c”'
    """
    shown, rest = [quoted(name) for name in names[:SHOWN]], len(names) - SHOWN
    if rest > 0:
        shown.append(f"{rest} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def percent(share: float) -> str:
    """A share with two digits that count, and no more.

    Examples
    --------
    >>> [percent(share) for share in (0.314, 0.0214, 0.0002, 0.0, 0.9996, 1.0)]
    ['31%', '2.1%', '<0.1%', '0%', '>99.9%', '100%']
    """
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 <= share < 1:
        return ">99.9%"
    digits = 1 if 0 < share < 0.0995 or 0.9905 < share < 1 else 0
    return f"{share * 100:.{digits}f}%"


def interval(lower: float, upper: float) -> str:
    """Ends of an interval of shares.

    Examples
    --------
    >>> interval(0.281, 0.339)
    '28–34%'
    """
    low, high = percent(lower), percent(upper)
    return low if low == high else f"{low.removesuffix('%')}–{high}"


def whole_interval(lower: float, upper: float) -> str:
    """Ends of an interval in whole per cents, where there is little room.

    Examples
    --------
    >>> whole_interval(0.0031, 0.0271)
    '0–3%'
    """
    low, high = f"{lower * 100:.0f}", f"{upper * 100:.0f}"
    return f"{low}%" if low == high else f"{low}–{high}%"


def rate(mean: float, lower: float, upper: float, possible: bool) -> str:
    """An entry of T with its interval.

    Examples
    --------
    >>> rate(0.3, 0.28, 0.34, True), rate(0.0, 0.0, 0.0, False)
    ('30% (28–34%)', 'never')
    """
    return f"{percent(mean)} ({interval(lower, upper)})" if possible else "never"


def count(n: float) -> str:
    """A number of rows, with commas; weighted ones are rounded.

    Examples
    --------
    >>> count(12345.4)
    '12,345'
    """
    return f"{n:,.0f}"


def rows(n: float) -> str:
    """A number of rows, with the word.

    Examples
    --------
    >>> rows(1), rows(1200)
    ('1 row', '1,200 rows')
    """
    return f"{count(n)} {'row' if round(n) == 1 else 'rows'}"


def plain(name: Hashable) -> str | None:
    """A name for JSON: as text; unlabelled stays None.

    A name as long as a book is cut, and what it hashes to put at its end: it stays distinct, and
    whoever knows the whole name can tell that it is meant.

    Examples
    --------
    >>> plain(3), plain(None), len(plain("a" * 300_000))
    ('3', None, 210)
    """
    if name is None:
        return None
    whole = str(name)
    if len(whole) <= LONGEST:
        return whole
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{whole[:LONGEST]}… {digest[:8]}"
