"""Text to cells: delimiter, header and rows, all of one length.

Excel may say the delimiter in a first line, ``sep=;``, and programs put comments before the header,
in lines that begin with ``#``. Neither is part of the table.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._text import Message
from decoupling.tables.decoding import LONGEST, TableError, utf8_stream

# Delimiters that are tried, from the most usual to the rarest; of two that fit equally the first.
_DELIMITERS: Final = (",", ";", "\t", "|")
# Signs that mean something else in every text file.
_NEVER_DELIMITERS: Final = ('"', "\n", "\r")
# The first line in which Excel says the delimiter.
_SAYS_DELIMITER: Final = re.compile(r'"?sep=(.)"?\s*\Z', re.IGNORECASE)
# Below so many rows, the pieces that a file is read in are joined. A wide table has many pieces of
# a few rows, and every step would take as many times as long. Joining long ones takes memory.
_FEW_ROWS: Final = 10_000
# Bad rows that an error shows; enough to see what is wrong with them.
_SHOWN: Final = 3


@dataclass(frozen=True)
class Layout:
    """Delimiter and header of a text file, and how many lines to skip before the header.

    Attributes
    ----------
    delimiter : str
        Between cells.
    names : list of str
        Of the columns.
    skipped : int
        Lines before the header.
    """

    delimiter: str
    names: list[str]
    skipped: int


def find_layout(file: str, sample: str, delimiter: str | None) -> Layout:
    """Delimiter, if it is not given, and header of a text, from its beginning."""
    lines = sample.split("\n")
    said = _SAYS_DELIMITER.match(lines[0])
    begun = 1 if said else 0
    ended = begun
    while ended < len(lines) - 1 and lines[ended].lstrip()[:1] in ("#", ""):
        ended += 1
    rest = "\n".join(lines[ended:])
    if not rest.strip():  # nothing but comments: one of them may be the header
        rest, ended = "\n".join(lines[begun:]), begun
    delimiter = delimiter or (said[1] if said else _guess_delimiter(rest))
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in _NEVER_DELIMITERS:
        text = (
            "{@delimiter} must be one ASCII character, and neither a quote nor a line break; got "
            "{delimiter!r}."
        )
        raise TableError(Message("delimiter", text, delimiter=delimiter))
    records = _records(rest, delimiter)
    if ended > begun and re.match(r"#\S", lines[ended - 1]):
        # A header may begin with the sign of a comment, and is then as long as what follows.
        (record,) = _records(lines[ended - 1], delimiter)
        if 1 < len(record) == len(records[0]):
            records, ended = [record], ended - 1
    return Layout(delimiter, _names(file, records[0]), ended)


def _records(sample: str, delimiter: str) -> list[list[str]]:
    """Cells of each line that is not empty; a cell too long for the csv module ends the list."""
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(sample, newline=None), delimiter=delimiter):
            if record:
                records.append(record)
    except csv.Error as error:
        if not records:
            raise TableError(
                f"A cell of the header has more than {csv.field_size_limit():,} characters. Is it "
                "a table, with names of columns in its first line?"
            ) from error
    return records


def _guess_delimiter(sample: str) -> str:
    """The delimiter that cuts most lines into equally many cells.

    Of several that do so equally well, it is the one with the most cells in a line.
    """

    def agreement(delimiter: str) -> tuple[float, int]:
        try:
            widths = Counter(len(record) for record in _records(sample, delimiter))
        except TableError:
            return 0.0, 0
        width, number = max(widths.items(), key=lambda item: (item[1], item[0]))
        return (number / widths.total() if width > 1 else 0.0), width

    return max(_DELIMITERS, key=agreement)


def _names(file: str, header: Iterable[str]) -> list[str]:
    """Names of the columns; those without one are called by their number."""
    names = [name.strip() or f"column {k}" for k, name in enumerate(header, start=1)]
    refuse_equal_names(file, names)
    return names


def refuse_equal_names(file: str, names: list[str]) -> None:
    """Refuse two columns of one name."""
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise TableError(
            f"{file} has more than one column called {', '.join(map(repr, twice))}. Rename them, "
            "so that it is clear which is meant."
        )


def parse(path: Path, encoding: str, layout: Layout, *, trimmed: bool = True) -> Any:
    """All cells as texts, (pyarrow.Table); rows of unequal length are an error.

    Blanks around cells are cut off if ``trimmed``.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    bad: list[Any] = []
    names = layout.names

    def keep(row: Any) -> str:
        bad.append(row)
        return "skip"

    try:
        cells = arrow_csv.read_csv(
            _from_header(path, encoding, layout),
            # With several threads pyarrow does not number the bad rows.
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=LONGEST, column_names=names, skip_rows=0
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=keep
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise _too_long(path) from error
        raise TableError(
            f"{path.name} cannot be read as a table. Is the delimiter {layout.delimiter!r}, and "
            "are quotes within cells doubled?"
        ) from error
    if bad:
        _refuse_ragged(path, encoding, layout, [row.actual_columns for row in bad], cells.num_rows)
    # The reader lets rows of up to two blocks through if they have line breaks in their cells.
    if cells.nbytes > LONGEST and _longest_row(cells) > LONGEST:
        raise _too_long(path)
    cells = cells.slice(1)  # the header
    if cells.num_rows < _FEW_ROWS:
        cells = cells.combine_chunks()
    if cells.num_rows == 0:
        raise TableError(f"{path.name} has a header and no rows.")
    last = [column[-1].as_py() for column in cells.columns]
    if any("\n" in (cell or "") for cell in last):
        _refuse_open_quote(path, encoding, layout)
    return pa.table({name: _trimmed(cells.column(name)) for name in names}) if trimmed else cells


def _too_long(path: Path) -> TableError:
    return TableError(
        f"{path.name} has a row of more than {LONGEST >> 20} MB, or a quote that is never closed."
    )


def _longest_row(cells: Any) -> int:
    """Bytes of the longest row, without delimiters and quotes."""
    from pyarrow import compute

    sizes = np.zeros(cells.num_rows, dtype=np.int64)
    for column in cells.columns:
        sizes += compute.fill_null(compute.binary_length(column), 0).to_numpy()
    return int(sizes.max(initial=0))


def _from_header(path: Path, encoding: str, layout: Layout) -> io.BufferedReader:
    """A file as UTF-8, from its header on."""
    stream = utf8_stream(path, encoding)
    for _ in range(layout.skipped):
        stream.readline()
    return stream


def _numbered(
    path: Path, encoding: str, layout: Layout, *, strict: bool
) -> Iterator[tuple[int, list[str]]]:
    """Records of a file from the header on, each with the line that it begins in; slow."""
    stream = _from_header(path, encoding, layout)
    lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    reader, line = csv.reader(lines, delimiter=layout.delimiter, strict=strict), layout.skipped + 1
    limit = csv.field_size_limit(LONGEST)
    try:
        for record in reader:
            yield line, record
            line = layout.skipped + reader.line_num + 1
    except csv.Error as error:
        if "end of data" in str(error):
            raise TableError(
                f"{path.name}, line {line}: a quote is opened and never closed."
            ) from error
        # Other errors of quoting do no harm: the table has been read.
    finally:
        csv.field_size_limit(limit)


def _refuse_ragged(
    path: Path, encoding: str, layout: Layout, widths: list[int], n_good: int
) -> None:
    """An error that says in which lines of the file rows have another length than the header."""
    wanted = len(layout.names)
    records = _numbered(path, encoding, layout, strict=False)
    odd = ((line, len(record)) for line, record in records if len(record) not in (0, wanted))
    shown = "; ".join(f"line {line} has {width}" for line, width in islice(odd, _SHOWN))
    shown = shown or f"the first has {widths[0]}"
    header = f" Is line {layout.skipped + 1} the header?" if len(widths) > n_good else ""
    raise TableError(
        f"{path.name}: {len(widths)} of its rows have not as many cells as the header, which has "
        f"{wanted}: {shown}{'; ...' if len(widths) > _SHOWN else ''}.{header} Is the delimiter "
        f"{layout.delimiter!r}, and is every text that holds it in quotes?"
    )


def _refuse_open_quote(path: Path, encoding: str, layout: Layout) -> None:
    """An error if a quote is never closed, so that it has swallowed the rest of the file."""
    for _ in _numbered(path, encoding, layout, strict=True):
        pass


def _trimmed(column: Any) -> Any:
    """Texts without blanks around them; nothing but blanks is no value."""
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column)
    return compute.if_else(compute.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
