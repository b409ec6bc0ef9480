"""Text to show: messages in two vocabularies, names that users chose, and where to read on."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Final, Self

__all__ = [
    "COLLAPSE",
    "CONVERGENCE",
    "OUT_OF_FOLD",
    "OVERLAP",
    "RATES",
    "TOLD_APART",
    "Argument",
    "Message",
    "guide",
    "message_of",
    "name_text",
    "visible",
]

_FORMATTER: Final = Formatter()
# Stands for letters of a name that are left out.
_GAP: Final = "..."
# Name of the label None in texts; T has a column for it.
UNLABELLED: Final = "unlabelled"


@dataclass(frozen=True)
class Argument:
    """The name of an argument of Python, as a field of a message."""

    name: str


class Message(str):
    """Something said to people: a text that knows its code and the values it is made of.

    It is the text in the words of Python. `told` gives that of the command line, where arguments
    have options. Errors and warnings of the library carry a message as their argument.

    The template is that of `str.format`, with two more kinds of placeholders:

    - ``{@rounds:=0}`` is an argument, ``rounds=0`` in Python and ``--rounds 0`` as an option.
      A field that is an `Argument` is one, too.
    - ``{python|command line}`` has different words in the two.

    Parameters
    ----------
    code : str
        Name of what happened. It stays when the words change; empty for a text from elsewhere.
    template : str
        The sentence.
    **fields : object
        Values for the template. A message within a message is worded with it.

    Examples
    --------
    >>> few = Message("few-rows", "{n} rows are few: {pass|give} {@noise:=0.2}.", n=12)
    >>> print(few)
    12 rows are few: pass noise=0.2.
    >>> few.told({"noise": "--noise"})
    '12 rows are few: give --noise 0.2.'
    >>> few.code, few.fields
    ('few-rows', {'n': 12})
    """

    code: str
    template: str
    fields: dict[str, object]

    def __new__(cls, code: str, template: str, /, **fields: object) -> Self:
        message = super().__new__(cls, _filled(template, fields, None))
        message.code, message.template, message.fields = code, template, fields
        return message

    @classmethod
    def plain(cls, text: object, code: str = "") -> Self:
        """A text from elsewhere, which reads the same everywhere."""
        return cls(code, "{text}", text=str(text))

    def told(self, options: Mapping[str, str] | None) -> str:
        """The text with the option of each argument; without options the text for Python."""
        return _filled(self.template, self.fields, options)

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, object]]:
        return (self.code, self.template), self.fields


def _filled(template: str, fields: Mapping[str, object], options: Mapping[str, str] | None) -> str:
    """A template with all its placeholders filled."""
    parts = []
    for literal, name, spec, conversion in _FORMATTER.parse(template):
        parts.append(literal)
        if name is None:
            continue
        if "|" in name:
            python, command_line = name.split("|")
            parts.append(python if options is None else command_line)
            continue
        given = (spec or "").format(**fields)
        value = Argument(name[1:]) if name.startswith("@") else fields[name]
        if isinstance(value, Argument):
            parts.append(_worded(value.name, given, options))
        elif isinstance(value, Message):
            parts.append(value.told(options))
        else:
            parts.append(format(_FORMATTER.convert_field(value, conversion), given))
    return "".join(parts)


def _worded(name: str, given: str, options: Mapping[str, str] | None) -> str:
    """An argument with what is given to it: nothing, ``=``, ``=0`` or ``="noisy"``."""
    if options is None or name not in options:
        return name + given
    value = given.removeprefix("=")
    if value[:1] in {"'", '"'} and value.endswith(value[0]):
        value = value[1:-1]
    return f"{options[name]} {shlex.quote(value)}" if value else options[name]


def message_of(raised: BaseException | str) -> Message:
    """The message of an error or a warning; one from elsewhere has its text alone, and no code.

    Examples
    --------
    >>> message_of(ValueError(Message("empty", "{@y} is empty."))).code
    'empty'
    >>> str(message_of(ValueError("From elsewhere.")))
    'From elsewhere.'
    """
    first = raised.args[0] if isinstance(raised, BaseException) and raised.args else None
    return first if isinstance(first, Message) else Message.plain(raised)


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
OVERLAP: Final = guide("What one label per row cannot tell")
TOLD_APART: Final = guide("When labels do not tell classes apart")


# A message lists this many names, and counts the rest.
_SHOWN: Final = 5


def listed(names: Sequence[Hashable]) -> str:
    """The first few names, and how many more there are."""
    return first_few([repr(name) for name in names])


def first_few(texts: Sequence[str], separator: str = ", ") -> str:
    """The first few texts, and how many more there are."""
    rest = len(texts) - _SHOWN
    return separator.join(texts[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
