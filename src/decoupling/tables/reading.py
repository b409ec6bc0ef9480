"""A table from a CSV, TSV or Parquet file, whatever its encoding and delimiter.

Cells of text files are read as text first, and a column becomes numbers if all of its cells are.
What had to be guessed is kept with the table, so that it can be told.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from decoupling._validation import needs_extra
from decoupling.tables.decoding import LONGEST, beginning_of, guess_encoding, utf8_stream
from decoupling.tables.decoding import TableError as TableError

# What stands for a missing number, besides an empty cell.
_GAPS: Final = (
    "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "?", "-", ".",
)  # fmt: skip
_DELIMITERS: Final = (",", ";", "\t", "|")
# Bad rows and names of columns that an error shows.
_SHOWN: Final = 3
_LISTED: Final = 20
_DECIMAL_COMMA: Final = re.compile(r"[-+]?\d+,\d+\Z")
_DECIMAL_POINT: Final = re.compile(r"[-+]?\d*\.\d+\Z")
_PARQUET: Final = b"PAR1"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a file.

    Attributes
    ----------
    data : pyarrow.Table
        Numbers where all cells of a column are, or truth values or times; else texts.
    name : str
        Name of the file.
    guesses : dict of str to str
        What was not given and had to be guessed, such as the delimiter.
    texts : pyarrow.Table or None
        Cells as they are written, if the file is one of text.
    """

    data: Any
    name: str
    guesses: dict[str, str] = field(default_factory=dict)
    texts: Any = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.data.column_names)

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def listed_columns(self) -> str:
        """Names of the columns with commas between; of many the first."""
        more = f" and {len(self.columns) - _LISTED} more" if len(self.columns) > _LISTED else ""
        return ", ".join(self.columns[:_LISTED]) + more

    def column(self, name: str) -> Any:
        """One column, as a pyarrow ChunkedArray; the error for a missing one names the nearest."""
        if name not in self.columns:
            near = get_close_matches(name, self.columns, n=3, cutoff=0.5)
            like = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise TableError(
                f"{self.name} has no column {name!r}.{like} Its columns are: "
                f"{self.listed_columns()}."
            )
        return self.data.column(name)

    def as_written(self, name: str) -> Any:
        """One column as it is written: names and labels that look like numbers are none."""
        column = self.column(name)
        return column if self.texts is None else self.texts.column(name)


def read_table(
    path: Path | str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> Table:
    """Read a file; what is not given is found out.

    Parameters
    ----------
    path : path
        A file of text with a header, or a Parquet file; text may be compressed with gzip.
    delimiter : str, optional
        Between the cells of a text file: a comma, semicolon, tab or bar.
    encoding : str, optional
        Of a text file: by default by its first bytes, or UTF-8, or else Windows-1252.
    decimal : {".", ","}, optional
        Decimal point of a text file.

    Raises
    ------
    TableError
        If the file is empty, has two columns of one name, rows of unequal length, bytes that are
        no text, or lines of more than 16 MB.
    """
    with needs_extra("cli", "Reading a table"):
        import pyarrow  # noqa: F401

    path = Path(path)
    if not path.exists():
        raise TableError(f"{path} does not exist.")
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file.")
    with path.open("rb") as file:
        first = file.read(4)
    if not first:
        raise TableError(f"{path.name} is empty.")
    if first == _PARQUET:
        return _from_parquet(path)
    return _from_text(path, delimiter, encoding, decimal)


def _from_parquet(path: Path) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        data = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path.name} begins like a Parquet file but is none: {error}") from error
    _check_names(path.name, data.column_names)
    columns = {name: _decoded_column(data.column(name)) for name in data.column_names}
    return Table(pa.table(columns), path.name)


def _decoded_column(column: Any) -> Any:
    """Categories as the values that they stand for, and nothing but gaps as numbers."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(column.type):
        return column.cast(column.type.value_type)
    return column.cast(pa.float64()) if types.is_null(column.type) else column


def _from_text(
    path: Path, delimiter: str | None, encoding: str | None, decimal: str | None
) -> Table:
    guesses: dict[str, str] = {}
    if encoding is None:
        encoding = guess_encoding(path)
        if encoding != "utf-8":
            guesses["encoding"] = encoding
    sample = beginning_of(path, encoding)
    if not sample.strip():
        raise TableError(f"{path.name} has no text in it.")
    if delimiter is None:
        delimiter = _guess_delimiter(sample)
        guesses["delimiter"] = {"\t": "tab"}.get(delimiter, delimiter)
    records = _records(sample, delimiter)
    names = _names(path.name, records[0])
    cells = _parse(path, encoding, delimiter, names)
    if decimal is None:
        decimal = _guess_decimal(records[1:-1] or records[1:])
        if decimal == ",":
            guesses["decimal"] = decimal
    import pyarrow as pa

    columns = [_typed(column, decimal) for column in cells.columns]
    return Table(pa.table(dict(zip(names, columns, strict=True))), path.name, guesses, cells)


# Text to cells


def _records(sample: str, delimiter: str) -> list[list[str]]:
    """Cells of the lines that have any."""
    try:
        lines = csv.reader(io.StringIO(sample, newline=None), delimiter=delimiter)
        return [record for record in lines if record]
    except (csv.Error, TypeError) as error:
        raise TableError(f"The text cannot be cut at {delimiter!r}: {error}.") from error


def _guess_delimiter(sample: str) -> str:
    """The one that cuts most records into as many cells, of these the one with most cells."""

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
    _check_names(file, names)
    return names


def _check_names(file: str, names: list[str]) -> None:
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise TableError(
            f"{file} has more than one column called {', '.join(map(repr, twice))}. Rename them, "
            "so that it is clear which is meant."
        )


def _parse(path: Path, encoding: str, delimiter: str, names: list[str]) -> Any:
    """All cells as texts, (pyarrow.Table); rows of unequal length are an error."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    bad: list[Any] = []

    def keep(row: Any) -> str:
        bad.append(row)
        return "skip"

    try:
        cells = arrow_csv.read_csv(
            utf8_stream(path, encoding),
            # One thread, since rows have no numbers otherwise.
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=LONGEST, column_names=names, skip_rows=0
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=keep
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise TableError(
                f"{path.name} has a line of more than {LONGEST >> 20} MB, or a quote that is "
                "never closed."
            ) from error
        raise TableError(f"{path.name} cannot be read as a table: {error}") from error
    if bad:
        shown = "; ".join(f"row {row.number - 1} has {row.actual_columns}" for row in bad[:_SHOWN])
        raise TableError(
            f"{path.name}: {len(bad)} of its rows have not as many cells as the header, which has "
            f"{len(names)}: {shown}{'; ...' if len(bad) > _SHOWN else ''}. Is the delimiter "
            f"{delimiter!r}, and is every text that holds it in quotes?"
        )
    cells = cells.slice(1)  # the header
    if cells.num_rows == 0:
        raise TableError(f"{path.name} has a header and no rows.")
    last = [column[-1].as_py() for column in cells.columns]
    if any("\n" in (cell or "") for cell in last):
        _refuse_open_quote(path, encoding, delimiter)
    return pa.table({name: _trimmed(cells.column(name)) for name in names})


def _refuse_open_quote(path: Path, encoding: str, delimiter: str) -> None:
    """An error if a quote is never closed, so that it has swallowed the rest of the file."""
    lines = io.TextIOWrapper(utf8_stream(path, encoding), encoding="utf-8", newline="")
    reader, begun = csv.reader(lines, delimiter=delimiter, strict=True), 1
    try:
        for _ in reader:
            begun = reader.line_num + 1
    except csv.Error as error:
        raise TableError(
            f"{path.name}, line {begun}: a quote is opened and never closed ({error})."
        ) from error


def _trimmed(column: Any) -> Any:
    """Texts without blanks around them; nothing but blanks is no value."""
    import pyarrow as pa
    from pyarrow import compute

    trimmed = compute.utf8_trim_whitespace(column)
    return compute.if_else(compute.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


# Cells to values


def _guess_decimal(records: list[list[str]]) -> str:
    """A comma, if there are numbers with one and none with a point."""
    cells = [cell.strip() for record in records for cell in record]
    with_comma = any(map(_DECIMAL_COMMA.match, cells))
    return "," if with_comma and not any(map(_DECIMAL_POINT.match, cells)) else "."


def _typed(column: Any, decimal: str) -> Any:
    """Numbers, if all cells are; else truth values or times, if all are; else the texts."""
    import pyarrow as pa
    from pyarrow import compute

    if column.null_count == len(column):
        return column.cast(pa.float64())
    # A number with zeros in front, such as a post code, is a name.
    if compute.any(compute.match_substring_regex(column, r"^[-+]?0\d")).as_py():
        return column
    gaps = compute.is_in(column, pa.array(_GAPS))
    filled = compute.if_else(gaps, pa.scalar(None, pa.string()), column)
    plain = compute.replace_substring(filled, ",", ".") if decimal == "," else filled
    for cells, kind in ((plain, pa.int64()), (plain, pa.float64()), (filled, pa.timestamp("us"))):
        try:
            return cells.cast(kind)
        except pa.ArrowInvalid:
            continue
    lower = compute.utf8_lower(filled)
    if compute.all(compute.is_in(lower, pa.array(["true", "false", None]))).as_py():
        return compute.equal(lower, "true")
    return column
