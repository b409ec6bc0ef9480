"""Numbers and names as people read them."""

import pytest

from decoupling._text import visible
from decoupling.report.text import interval, joined_names, percent, plain, rows, short


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0%"),
        (1e-9, "<0.1%"),
        (0.0004, "<0.1%"),
        (0.0006, "0.1%"),
        (0.0994, "9.9%"),
        (0.0996, "10%"),
        (0.5, "50%"),
        (0.99, "99%"),
        (0.995, "99.5%"),
        (0.99949, "99.9%"),
        (0.9996, ">99.9%"),
        (1.0, "100%"),
    ],
)
def test_shares_never_look_surer_than_they_are(share, words):
    assert percent(share) == words


def test_intervals():
    assert interval(0.281, 0.339) == "28–34%"
    assert interval(0.02, 0.12) == "2.0–12%"
    assert interval(1.0, 1.0) == "100%"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cat", "cat"),
        ("naïve 猫", "naïve 猫"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202eabc", r"\u202eabc"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u2028", r"\u2028"),
        ("\ud800", r"\ud800"),
        ("<b>", "<b>"),
        (3, "3"),
    ],
)
def test_what_cannot_be_seen_is_written_out(name, shown):
    assert visible(name) == shown


def test_long_names_are_cut():
    assert short("x" * 41) == "x" * 39 + "…"
    assert short("x" * 40) == "x" * 40


def test_lists():
    assert joined_names(["a"]) == "“a”"
    assert joined_names(list("abcdefg")) == "“a”, “b”, “c”, “d”, “e” and 2 more"


def test_rows_and_names():
    assert rows(1.2) == "1 row"
    assert rows(0) == "0 rows"
    assert plain(None) is None
    assert plain(True) == "True"
