"""Names that look alike to a reader and are different to a computer."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable
from decimal import Decimal
from functools import cache
from typing import Final

__all__ = ["appearance", "lookalikes"]

# A number as programs write it. At most four digits of an exponent: with more of them no program
# would write it, and `Decimal` would refuse it.
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?")
# Signs that word processors put in the place of those on a keyboard. Dashes have a category of
# Unicode of their own, Pd; the minus is none of them.
_TYPED: Final = {"‘": "'", "’": "'", "“": '"', "”": '"', "−": "-"}
# Letters and symbols that draw nothing, though Unicode does not count them as format characters:
# a joiner, fillers for missing Korean letters, and the empty pattern of Braille.
_EMPTY: Final = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0")


def lookalikes(names: Iterable[Hashable]) -> list[tuple[Hashable, ...]]:
    r"""Groups of different names that look alike, in the order in which they come.

    Names look alike if they differ only in upper and lower case, in blanks, in characters that
    nobody sees, in the way that Unicode composes letters, in kinds of dashes and quotation marks,
    or in how a number is written.

    Parameters
    ----------
    names : iterable of hashable
        The names. What is no text is compared as it prints, so 1 looks like "1".

    Returns
    -------
    list of tuples
        Each has two names or more. Names without a lookalike are left out.

    Examples
    --------
    >>> lookalikes(["ant", "Ant ", "bee", "1", "1.0"])
    [('ant', 'Ant '), ('1', '1.0')]
    >>> [len(group) for group in lookalikes(["caf\u00e9", "cafe\u0301", "bee", "be\u200be"])]
    [2, 2]
    """
    groups: defaultdict[Hashable, list[Hashable]] = defaultdict(list)
    for name in dict.fromkeys(names):
        groups[appearance(name)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def appearance(name: Hashable) -> Hashable:
    r"""What a name looks like: equal for names that look alike, "" for one that shows nothing.

    Examples
    --------
    >>> appearance("\ufeffTwo  Words "), appearance(" \u200b"), appearance("1e2") == 100
    ('two words', '', True)
    """
    text = str(name)
    if not text.isascii():
        # Folding the case can leave letters decomposed, so the text is normalised once more.
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = "".join(map(_drawn, text))
    text = " ".join(text.casefold().split())
    return Decimal(text) if _NUMBER.fullmatch(text) else text


@cache  # names have few different characters
def _drawn(character: str) -> str:
    """The character as it is typed; nothing for one that is not drawn."""
    if character in _TYPED:
        return _TYPED[character]
    category = unicodedata.category(character)
    if category == "Pd":
        return "-"
    control = category == "Cc" and not character.isspace()
    selector = "VARIATION SELECTOR" in unicodedata.name(character, "")
    hidden = category == "Cf" or control or selector or character in _EMPTY
    return "" if hidden else character
