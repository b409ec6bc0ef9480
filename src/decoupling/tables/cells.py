"""Cells of a text file as values: numbers, truth values, times, or the texts themselves."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

# What stands for a missing number, besides an empty cell.
_GAPS: Final = (
    "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "#N/A", "?", "-", ".",
)  # fmt: skip
# Numbers with a decimal comma, of which some may be thousands: 1,234.
_WITH_COMMA: Final = r"^[-+]?\d+,\d+$"
_THOUSANDS: Final = r"^[-+]?[1-9]\d{0,2}(,\d{3})+$"
# What people write as numbers, with thousands apart, per cent or money; and as dates.
NUMBER_LIKE: Final = "^[-+]?[$€£¥]? ?[-+]?[0-9][0-9.,'’ \u00a0\u202f]*([eE][-+]?[0-9]+)? ?[%€$£¥]?$"
DATE_LIKE: Final = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:.*)?$"
_NO_DIGITS: Final = re.compile(r"[^\d.,eE+-]")


def typed_columns(cells: Any, decimal: str | None, delimiter: str) -> tuple[list[Any], str]:
    """Values of all columns, and the decimal sign: the one given, or a comma if numbers have one.

    A comma, that is, if most cells of some column are numbers with one, and no column has numbers
    with a point.
    """
    if decimal is not None:
        return [_typed(column, decimal) for column in cells.columns], decimal
    columns = [_typed(column, ".") for column in cells.columns]
    if any(_has_points(column) for column in columns):
        return columns, "."
    commas = [k for k, column in enumerate(cells.columns) if _has_commas(column, delimiter)]
    for k in commas:
        columns[k] = _typed(cells.columns[k], ",")
    return columns, "," if commas else "."


def _has_points(column: Any) -> bool:
    from pyarrow import types

    return bool(types.is_floating(column.type)) and column.null_count < len(column)


def _has_commas(column: Any, delimiter: str) -> bool:
    """Whether most cells are numbers with a decimal comma, or whole ones beside these."""
    from pyarrow import compute

    # Most columns have no comma at all, which is soon seen.
    if not compute.any(compute.match_substring(column, ",")).as_py():
        return False
    some = column.drop_null()
    with_comma = some.filter(compute.match_substring_regex(some, _WITH_COMMA))
    whole = compute.sum(compute.match_substring_regex(some, r"^[-+]?\d+$")).as_py()
    if not len(with_comma) or len(with_comma) + whole <= len(some) // 2:
        return False
    # In a file whose delimiter is a comma, 1,234 is more likely a thousand than a decimal.
    thousands = compute.all(compute.match_substring_regex(with_comma, _THOUSANDS)).as_py()
    return not (delimiter == "," and thousands)


def _typed(column: Any, decimal: str) -> Any:
    """Numbers, if all cells are; else truth values or times, if all are; else the texts."""
    import pyarrow as pa
    from pyarrow import compute

    if column.null_count == len(column):
        return column.cast(pa.float64())
    # A number with zeros in front, such as a post code, is a name.
    if compute.any(compute.match_substring_regex(column, r"^[-+]?0\d")).as_py():
        return column
    filled = _without_gaps(column)
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


def _without_gaps(column: Any) -> Any:
    from pyarrow import compute

    words, nothing = _gaps()
    return compute.if_else(compute.is_in(column, words), nothing, column)


@cache
def _gaps() -> tuple[Any, Any]:
    """Words that stand for a missing number, and what they become."""
    import pyarrow as pa

    return pa.array(_GAPS), pa.scalar(None, pa.string())


def numbers_in(column: Any, decimal: str) -> tuple[list[float | None], list[str]]:
    """Numbers however they are written, None where there is none; and the cells that are none.

    Thousands may be parted by commas (points, if the decimal sign is a comma), blanks or
    apostrophes, and signs of per cent or money stand before or after.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers_in(pa.array(["1,234.5", "12%", "$ -3", "NA", "n.d."]), ".")
    ([1234.5, 12.0, -3.0, None, None], ['n.d.'])
    """
    found: list[float | None] = []
    odd: list[str] = []
    for cell in _without_gaps(column).to_pylist():
        found.append(None if cell is None else _number(cell, decimal))
        if cell is not None and found[-1] is None:
            odd.append(cell)
    return found, odd


def _number(cell: str, decimal: str) -> float | None:
    # Without its points, 17.04.2020 would be a number where the decimal sign is a comma.
    if not re.match(NUMBER_LIKE, cell) or re.match(DATE_LIKE, cell):
        return None
    plain = _NO_DIGITS.sub("", cell)
    plain = plain.replace("." if decimal == "," else ",", "").replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None
