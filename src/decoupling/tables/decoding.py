"""Bytes of a file as text: what encoding they are in, and all of them as UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from decoupling._text import Message
from decoupling._validation import warn_user

# What files begin with that say what encoding they are in.
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What a file that is compressed with gzip begins with.
_GZIP: Final = b"\x1f\x8b"
# Bytes from which delimiter, header and encoding are guessed: some hundred rows of most tables.
# Twice as many take twice as long and say the same.
_SAMPLE: Final = 1 << 16
# Bytes that are decoded at a time. With fewer the calls cost time, with more the parts cost memory.
_CHUNK: Final = 1 << 20
# Bytes of the longest line, 16 MB: a row of a million numbers fits. A file that is no table may
# have no line at all, and each costs some times its length in memory.
LONGEST: Final = 1 << 24
# Share of zeros among the first bytes from which on they are UTF-16. Half the bytes of a text of
# Latin letters are zero then, and none otherwise.
_ZEROS: Final = 1 / 4
# Bytes that are no UTF-8, as the error handler "surrogateescape" decodes them; and other letters
# beyond ASCII.
_STRAY: Final = re.compile("[\udc80-\udcff]")
_BEYOND: Final = re.compile("[^\x00-\x7f\udc80-\udcff]")


class TableError(ValueError):
    """A file that cannot be read as a table, or a column that is not there."""


def guess_encoding(path: Path) -> str:
    """Guess the encoding of a file: its byte order mark, UTF-8, UTF-16 or Windows-1252.

    A file that is UTF-8 but for a few bytes is refused: all of its other letters beyond ASCII would
    be read as something else.
    """
    with _reading(path) as file:
        beginning = file.read(_SAMPLE)
        for mark, name in _BOMS:
            if beginning.startswith(mark):
                return name
        zeros = beginning.count(0)
        if zeros > len(beginning) * _ZEROS:
            return "utf-16-le" if beginning[1::2].count(0) > zeros // 2 else "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(beginning)
            while part := file.read(_CHUNK):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            pass
        else:
            return "utf-8"
    _doubt_cp1252(path)
    return "cp1252"


class _Letters:
    """Counts characters of a kind in a text, and keeps the first of them with its line."""

    def __init__(self, kind: re.Pattern[str]) -> None:
        self.kind = kind
        self.count, self.first, self.line = 0, "", 0

    def add(self, text: str, line: int) -> None:
        """Count the characters in another part of the text; ``line`` is the line it begins in."""
        found = None if self.count else self.kind.search(text)
        if found:
            self.first, self.line = found[0], line + text.count("\n", 0, found.start())
        self.count += len(self.kind.findall(text))


def _doubt_cp1252(path: Path) -> None:
    """Refuse a file of which more letters are UTF-8 than not; warn if some are.

    By chance hardly any two letters of Windows-1252 are one of UTF-8; É and a closing quote are.
    """
    stray, letters, line = _Letters(_STRAY), _Letters(_BEYOND), 1
    with _reading(path) as file:
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        part = b" "
        while part:
            part = file.read(_CHUNK)
            text = decoder.decode(part, final=not part)
            stray.add(text, line)
            letters.add(text, line)
            line += text.count("\n")
    if letters.count >= stray.count:
        raise TableError(
            f"{path.name} is UTF-8 but for {stray.count} of its bytes, the first of them "
            f"{ord(stray.first) - 0xDC00:#04x} in line {stray.line}. Correct them; or give "
            "--encoding cp1252, and all letters are read so."
        )
    if letters.count:
        template = (
            "{file} is read as cp1252, and {n} of its letters look like UTF-8, the first in line "
            "{line}: {wrong!r} may be {right!r}. Files of two encodings cannot be told apart: give "
            "{@encoding}."
        )
        wrong = letters.first.encode().decode("cp1252", "replace")
        found = {"n": letters.count, "line": letters.line, "wrong": wrong, "right": letters.first}
        warn_user(Message("two-encodings", template, file=path.name, **found))


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed if need be."""
    with path.open("rb") as file:
        zipped = file.read(2) == _GZIP
    try:
        with gzip.open(path, "rb") if zipped else path.open("rb") as opened:
            yield cast(BinaryIO, opened)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(
            f"{path.name} is compressed, and its end is missing or damaged."
        ) from error


def beginning_of(path: Path, encoding: str) -> str:
    """Whole lines from the beginning of a file."""
    with _reading(path) as file:
        parts = [file.read(_SAMPLE // 2), file.read(_SAMPLE // 2)]
        # A header may be longer than that.
        while parts[-1] and b"\n" not in parts[-1] and len(parts) * (_SAMPLE // 2) < LONGEST:
            parts.append(file.read(_SAMPLE // 2))
        raw, more = b"".join(parts), bool(file.read(1))
    if more and b"\n" not in raw:
        raise _too_long(path, 1)
    try:
        "".encode(encoding)
        text = codecs.getincrementaldecoder(encoding)().decode(raw, final=not more)
    except UnicodeError as error:
        raise _not_this_encoding(path, encoding, error, 1) from error
    except LookupError as error:
        template = "{@encoding} {name!r} is none of texts that Python knows."
        raise TableError(Message("unknown-encoding", template, name=encoding)) from error
    return text.rsplit("\n", 1)[0] + "\n" if more and "\n" in text else text


def _not_this_encoding(path: Path, encoding: str, error: UnicodeError, line: int) -> TableError:
    """An error for bytes that begin in this line."""
    what = "its bytes mean"
    if isinstance(error, UnicodeDecodeError):
        line += error.object.count(b"\n", 0, error.start)
        what = f"byte {error.object[error.start]:#04x} in line {line} means"
    return TableError(
        f"{path.name} is not {encoding}: {what} nothing in it. Give another --encoding, such as "
        "cp1252 or utf-16."
    )


def _too_long(path: Path, line: int) -> TableError:
    return TableError(
        f"{path.name}, line {line} has more than {LONGEST >> 20} MB. Is it a table, with a row in "
        "each line?"
    )


def _as_utf8(path: Path, encoding: str) -> Iterator[bytes]:
    """A file as UTF-8 without a byte order mark, part by part.

    It is refused if there is a NUL in it, or a line of more than `LONGEST` bytes.
    """
    line, length = 1, 0  # the line that has begun, and its bytes so far
    with _reading(path) as file:
        decoder = codecs.getincrementaldecoder(encoding)()
        while True:
            part = file.read(_CHUNK)
            try:
                text = decoder.decode(part, final=not part)
                plain = text.encode()  # some encodings can write letters that are none
            except UnicodeError as error:
                raise _not_this_encoding(path, encoding, error, line) from error
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise TableError(
                    f"{path.name}, line {line} has a NUL character. The file is binary or damaged, "
                    "or its encoding is another: give --encoding, such as utf-16."
                )
            end = plain.find(b"\n")
            if length + (len(plain) if end < 0 else end) > LONGEST:
                raise _too_long(path, line)
            length = len(plain) - plain.rfind(b"\n") - 1 + (length if end < 0 else 0)
            line += text.count("\n")
            yield plain
            if not part:
                return


class _Stream(io.RawIOBase):
    """Parts of bytes as a file."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self.parts = parts
        self.rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.rest:
            part = next(self.parts, None)
            if part is None:
                return 0
            self.rest = part
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def utf8_stream(path: Path, encoding: str) -> io.BufferedReader:
    """A file of any encoding as one of UTF-8."""
    return io.BufferedReader(_Stream(_as_utf8(path, encoding)), _CHUNK)
