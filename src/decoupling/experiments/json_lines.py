"""Results as lines of JSON in two files: one that a run appends to, and one that is small.

A run appends to ``results.jsonl``, so that it can go on where it stopped. `pack` moves the lines of
a finished run to ``results.jsonl.xz`` beside it, a tenth of the size. Both are read as one.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from decoupling._files import written_whole


def packed_file(path: Path) -> Path:
    """Path of the packed lines of a file."""
    return path.with_name(path.name + ".xz")


def packed_lines(path: Path) -> bytes:
    """Packed lines of a file; empty if it was never packed."""
    packed = packed_file(path)
    return lzma.decompress(packed.read_bytes()) if packed.exists() else b""


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Read all records, packed ones first; leave out a line that was cut off in the middle."""
    for line in _lines(path):
        record = _record(line)
        if record is not None:
            yield record


def append(path: Path, record: dict[str, Any]) -> None:
    """Add one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def pack(path: Path) -> None:
    """Move the lines of a file behind those that are packed, and remove the file."""
    if not path.exists():
        return
    whole = [line for line in _lines(path) if _record(line) is not None]
    with written_whole(packed_file(path)) as part:
        text = b"".join(line + b"\n" for line in whole)
        part.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    path.unlink()


def _lines(path: Path) -> list[bytes]:
    own = path.read_bytes() if path.exists() else b""
    return (packed_lines(path) + own).splitlines()


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return record
