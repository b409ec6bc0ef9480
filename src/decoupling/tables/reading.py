"""A table from a CSV, TSV or Parquet file, whatever its encoding and delimiter.

`decoding` finds the encoding of a text file, `parsing` its delimiter and its header.
Cells of text files are read as text first, and a column becomes numbers if all of its cells are.
What had to be guessed is kept with the table, so that it can be told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from decoupling._text import Message
from decoupling._validation import needs_extra
from decoupling.tables.cells import typed_columns
from decoupling.tables.decoding import TableError as TableError
from decoupling.tables.decoding import beginning_of, guess_encoding
from decoupling.tables.parsing import find_layout, parse, refuse_equal_names

# Names of columns that an error shows; more would not be read.
_LISTED: Final = 20
# What a Parquet file begins with.
_PARQUET: Final = b"PAR1"
# First bytes of files that are no tables yet; a workbook of today is a zip file.
_FOREIGN: Final = {
    b"PK\x03\x04": "an Excel workbook or a zip file. Save its sheet as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "an Excel workbook. Save its sheet as CSV",
    b"BZh": "compressed with bzip2. Unpack it, or compress it with gzip",
    b"\xfd7zX": "compressed with xz. Unpack it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd. Unpack it, or compress it with gzip",
}
# First bytes that are looked at. All of the files above have bytes among them that no text has.
_LOOKED_AT: Final = 4096
# Bytes of no text: control characters but tabulators and ends of lines. In UTF-16 zeros are usual.
_CONTROL: Final = frozenset(range(32)) - frozenset(b"\t\n\v\f\r")


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
    decimal : {".", ","}
        Decimal sign of the cells as they are written.
    """

    data: Any
    name: str
    guesses: dict[str, str] = field(default_factory=dict)
    texts: Any = None
    decimal: str = "."

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.data.column_names)

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each column: a wide table is asked for it many times."""
        return {name: place for place, name in enumerate(self.columns)}

    def __len__(self) -> int:
        return int(self.data.num_rows)

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def listed_columns(self) -> str:
        """Names of the columns with commas between; of many the first."""
        more = f" and {len(self.columns) - _LISTED} more" if len(self.columns) > _LISTED else ""
        return ", ".join(self.columns[:_LISTED]) + more

    def column(self, name: str) -> Any:
        """One column, as a pyarrow ChunkedArray; the error for a missing one names the nearest."""
        if name not in self:
            near = get_close_matches(name, self.columns, n=3, cutoff=0.5)
            like = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise TableError(
                f"{self.name} has no column {name!r}.{like} Its columns are: "
                f"{self.listed_columns()}."
            )
        return self.data.column(self.places[name])

    def as_written(self, name: str) -> Any:
        """One column as it is written: names and labels that look like numbers are none."""
        column = self.column(name)
        return column if self.texts is None else self.texts.column(self.places[name])


def read_table(
    path: Path | str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    trimmed: bool = True,
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
    trimmed : bool
        Whether blanks around the cells of a text file are cut off.

    Raises
    ------
    TableError
        If the file is empty, has two columns of one name, rows of unequal length, bytes that are
        no text, or lines of more than 16 MB; or if ``decimal`` is another sign.
    """
    with needs_extra("cli", "Reading a table"):
        import pyarrow  # noqa: F401

    if decimal not in (None, ".", ","):
        text = "{@decimal} must be . or ,; got {decimal!r}."
        raise TableError(Message("decimal", text, decimal=decimal))
    path = Path(path)
    if not path.exists():
        raise TableError(f"{path} does not exist.")
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file.")
    with path.open("rb") as file:
        first = file.read(_LOOKED_AT)
    if not first:
        raise TableError(f"{path.name} is empty.")
    # A text may begin with the same letters: items of questionnaires are called PAR1 and BZh.
    if not _CONTROL.isdisjoint(first):
        for start, what in _FOREIGN.items():
            if first.startswith(start):
                raise TableError(f"{path.name} is no text but {what}.")
        if first.startswith(_PARQUET):
            return _from_parquet(path)
    return _from_text(path, delimiter, encoding, decimal, trimmed=trimmed)


def _from_parquet(path: Path) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            refuse_equal_names(path.name, file.schema_arrow.names)
            data = file.read()
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"{path.name} begins like a Parquet file, and is none, or damaged."
        ) from error
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
    path: Path, delimiter: str | None, encoding: str | None, decimal: str | None, *, trimmed: bool
) -> Table:
    guesses: dict[str, str] = {}
    if encoding is None:
        encoding = guess_encoding(path)
        if encoding != "utf-8":
            guesses["encoding"] = encoding
    sample = beginning_of(path, encoding)
    if not sample.strip():
        raise TableError(f"{path.name} has no text in it.")
    layout = find_layout(path.name, sample, delimiter)
    if delimiter is None:
        guesses["delimiter"] = {"\t": "tab"}.get(layout.delimiter, layout.delimiter)
    if layout.skipped:
        guesses["header"] = f"line {layout.skipped + 1}"
    cells = parse(path, encoding, layout, trimmed=trimmed)
    columns, sign = typed_columns(cells, decimal, layout.delimiter)
    if sign != (decimal or "."):
        guesses["decimal"] = sign
    import pyarrow as pa

    data = pa.table(dict(zip(layout.names, columns, strict=True)))
    return Table(data, path.name, guesses, cells, sign)
