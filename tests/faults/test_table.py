"""The table of faults in README.md: every number has a test, and every test has a number."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PARTS = re.split(r"^## ", (FOLDER / "README.md").read_text(), flags=re.MULTILINE)[1:]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.partition(":")[0])
def test_numbers_of_a_part_are_those_of_its_file(part):
    (name,) = re.findall(r"`(test_\w+\.py)`", part.splitlines()[0])
    tests = re.findall(r"^def (test_\w+)", (FOLDER / name).read_text(), flags=re.MULTILINE)
    numbers = [re.match(r"test_(d?\d\d)_", test) for test in tests]
    assert None not in numbers
    rows = re.findall(r"^\| (D?\d+) \|", part, flags=re.MULTILINE)
    assert sorted({number[1] for number in numbers}) == [row_in_name(row) for row in rows]


def row_in_name(row):
    """A number as names of tests have it: 7 is 07, D7 is d07."""
    letter, number = re.match(r"(D?)(\d+)", row).groups()
    return f"{letter.lower()}{int(number):02}"


def test_numbers_are_counted_through_and_every_file_has_a_part():
    rows = [int(n) for part in PARTS for n in re.findall(r"^\| (\d+) \|", part, re.MULTILINE)]
    assert rows == list(range(1, len(rows) + 1))
    files = {path.name for path in FOLDER.glob("test_*.py")} - {Path(__file__).name}
    assert files == set(re.findall(r"^.*`(test_\w+\.py)`$", "\n".join(PARTS), re.MULTILINE))
