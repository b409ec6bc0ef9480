"""Cells as values; how files with them are read is tested with reading."""

import re

import pyarrow as pa
import pytest

from decoupling.tables.cells import DATE_LIKE, NUMBER_LIKE, numbers_in, typed_columns


@pytest.mark.parametrize(
    ("cell", "decimal", "number"),
    [
        ("1,234,567.5", ".", 1234567.5),
        ("1.234.567,5", ",", 1234567.5),
        ("1'234.5", ".", 1234.5),
        ("1\u202f234,5 €", ",", 1234.5),
        ("-12 %", ".", -12.0),
        ("$-3", ".", -3.0),
        ("2e3", ".", 2000.0),
        ("room 5", ".", None),
        ("1.2.3", ".", None),
        ("5 apples", ".", None),
    ],
)
def test_numbers_however_they_are_written(cell, decimal, number):
    found, odd = numbers_in(pa.array([cell, "NA", None]), decimal)
    assert found == [number, None, None]
    assert odd == ([cell] if number is None else [])


def test_what_looks_like_a_number_or_a_date():
    for text in ("12", "-1,5", "$ 3", "3%"):
        assert re.match(NUMBER_LIKE, text)
    for text in ("1/31/2020", "31.1.20", "2020/1/31 10:00"):
        assert re.match(DATE_LIKE, text)
    for text in ("a1", "", "1-2"):
        assert not re.match(NUMBER_LIKE, text)
        assert not re.match(DATE_LIKE, text)


def test_a_decimal_sign_that_is_given_holds_for_all_columns():
    cells = pa.table({"x": ["1,5", "2"], "y": ["0.5", "1"]})
    (x, y), sign = typed_columns(cells, ",", ";")
    assert (x.to_pylist(), y.to_pylist(), sign) == ([1.5, 2.0], [0.5, 1.0], ",")
