"""Names as text: short, on one line, and harmless."""

import numpy as np
import pytest

from decoupling._text import name_text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cat", "cat"),
        ("été 猫", "été 猫"),
        (3, "3"),
        (np.float64(0.5), "0.5"),
        (True, "True"),
        (None, "unlabelled"),
        ("", "''"),
        ("  ", "'  '"),
        ("\n", r"'\n'"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("a\u2028b\u200f", r"a\u2028b\u200f"),
        ("$x_", "$x_"),
    ],
)
def test_text_of_a_name(name, text):
    assert name_text(name) == text


def test_names_are_cut_in_the_middle():
    assert name_text("x" * 24) == "x" * 24
    assert name_text("a" * 50 + "b" * 50) == "a" * 11 + "..." + "b" * 10
    assert name_text("http://names.org/class/cat", 13) != name_text(
        "http://names.org/class/dog", 13
    )


@pytest.mark.parametrize("letters", [5, 6, 24, 25])
@pytest.mark.parametrize("name", ["\u202e" * 5, "\n" * 10**6, "x" * 49, "ab" * 12 + "c"])
def test_no_text_is_longer_than_asked(name, letters):
    text = name_text(name, letters)
    assert len(text) == letters
    assert text.isprintable()
