"""Bytes of a file as text: what encoding they are in, and all of them as UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from decoupling._text import Message

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP: Final = b"\x1f\x8b"
# So much is read to guess from, and at a time.
_SAMPLE: Final = 1 << 16
_CHUNK: Final = 1 << 20
# The longest line, in bytes.
LONGEST: Final = 1 << 24


class TableError(ValueError):
    """A file that cannot be read as a table, or a column that is not there."""


def guess_encoding(path: Path) -> str:
    """By its first bytes; UTF-8 if all of it is; UTF-16 by its zeros; else Windows-1252."""
    with _reading(path) as file:
        beginning = file.read(_SAMPLE)
        for mark, name in _BOMS:
            if beginning.startswith(mark):
                return name
        zeros = beginning.count(0)
        if zeros > len(beginning) // 4:
            return "utf-16-le" if beginning[1::2].count(0) > zeros // 2 else "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(beginning)
            while part := file.read(_CHUNK):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


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
            f"{path.name} is compressed, and its end is missing or damaged: {error}"
        ) from error


def beginning_of(path: Path, encoding: str) -> str:
    """Whole lines from the beginning of a file."""
    with _reading(path) as file:
        raw = file.read(_SAMPLE)
        # A header may be longer than that.
        parts = [raw]
        while b"\n" not in parts[-1] and len(parts) * _SAMPLE < LONGEST:
            parts.append(file.read(_SAMPLE))
            if not parts[-1]:
                break
        raw = b"".join(parts)
        more = bool(file.read(1))
    try:
        "".encode(encoding)
        text = codecs.getincrementaldecoder(encoding)().decode(raw, final=not more)
    except UnicodeDecodeError as error:
        raise _not_this_encoding(path, encoding, error) from error
    except LookupError as error:
        template = "{@encoding} {name!r} is none of texts that Python knows."
        raise TableError(Message("unknown-encoding", template, name=encoding)) from error
    return text.rsplit("\n", 1)[0] + "\n" if more and "\n" in text else text


def _not_this_encoding(path: Path, encoding: str, error: UnicodeDecodeError) -> TableError:
    return TableError(
        f"{path.name} is not {encoding}: byte {error.object[error.start]:#04x} means nothing in "
        "it. Give another --encoding, such as cp1252 or utf-16."
    )


def _as_utf8(path: Path, encoding: str) -> Iterator[bytes]:
    """A file as UTF-8 without a byte order mark, part by part; refused if there is a NUL in it."""
    line = 1
    with _reading(path) as file:
        decoder = codecs.getincrementaldecoder(encoding)()
        while True:
            part = file.read(_CHUNK)
            try:
                text = decoder.decode(part, final=not part)
            except UnicodeDecodeError as error:
                raise _not_this_encoding(path, encoding, error) from error
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise TableError(
                    f"{path.name}, line {line} has a NUL character. The file is binary or damaged, "
                    "or its encoding is another: give --encoding, such as utf-16."
                )
            line += text.count("\n")
            yield text.encode()
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
