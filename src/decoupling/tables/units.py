"""Units of numbers: what one of them is, so that numbers of another unit are not taken for it."""

from __future__ import annotations

from typing import Any, Final

from decoupling.tables.cells import DATE_LIKE, NUMBER_LIKE

# Plain numbers, times (in days), and truth values (0 and 1); any other unit is the sign of one.
NUMBER: Final = "number"
TIME: Final = "time"
TRUTH: Final = "truth value"
# Signs of money. A number without one may well be in the same money; per cent is another matter.
_MONEY: Final = ("$", "€", "£", "¥")
_SIGNS: Final = ("%", *_MONEY)


def units_of(column: Any) -> dict[str, Any]:
    """Units that the cells of a column are in, and the cells in each.

    Plain numbers among money are in that money. A column without values has no unit.

    Examples
    --------
    >>> import pyarrow as pa
    >>> list(units_of(pa.chunked_array([["$3", "4", None]])))
    ['$']
    >>> list(units_of(pa.chunked_array([["0.1", "2%"]])))
    ['%', 'number']
    """
    import pyarrow as pa
    from pyarrow import types

    if column.null_count == len(column):
        return {}
    if types.is_string(column.type) or types.is_large_string(column.type):
        return _units_of_texts(column.cast(pa.string()).drop_null())
    temporal, truth = types.is_temporal(column.type), types.is_boolean(column.type)
    unit = TIME if temporal else TRUTH if truth else NUMBER
    return {unit: column}


def first_of(cells: Any) -> str:
    """The first cell that is there, as text."""
    return str(cells.drop_null()[0].as_py())


def _units_of_texts(cells: Any) -> dict[str, Any]:
    from pyarrow import compute

    dated = compute.match_substring_regex(cells, DATE_LIKE)
    found = {TIME: cells.filter(dated)}
    rest = cells.filter(compute.invert(dated))
    rest = rest.filter(compute.match_substring_regex(rest, NUMBER_LIKE))
    for sign in _SIGNS:
        signed = compute.match_substring(rest, sign)
        found[sign], rest = rest.filter(signed), rest.filter(compute.invert(signed))
    found[NUMBER] = rest
    units = {unit: some for unit, some in found.items() if len(some)}
    if NUMBER in units and set(units) & set(_MONEY):
        del units[NUMBER]
    return units


def agree(one: str, other: str) -> bool:
    """Whether a number means the same in both units.

    Examples
    --------
    >>> agree("$", "number"), agree("$", "€"), agree("%", "number"), agree("time", "number")
    (True, False, False, False)
    """
    return one == other or {one, other} in [{NUMBER, sign} for sign in _MONEY]
