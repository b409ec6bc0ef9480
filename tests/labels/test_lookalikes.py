import sys
import unicodedata

import pytest

from decoupling.labels.lookalikes import appearance, lookalikes


@pytest.mark.parametrize(
    "pair",
    [
        ("ant", "ANT"),
        ("ant", " ant\t"),
        ("two words", "two \u00a0 words"),
        ("café", "cafe\u0301"),
        ("ant", "a\u200bnt"),
        ("ant", "\ufeffant"),
        ("ant", "ant\x00"),
        ("no\u2011one", "no-one"),
        ("O’Brien", "O'Brien"),
        ("ﬁsh", "fish"),
        ("１", "1"),
        ("straße", "STRASSE"),
        ("☺\ufe0f", "☺"),
        ("1", "1.0"),
        ("1", "01"),
        ("100", "1e2"),
        ("-1", "−1"),
        ("0", "-0"),
        (".5", "0.50"),
        ("true", True),
        (1, "1"),
        ("", "\u200b"),
    ],
    ids=ascii,
)
def test_alike(pair):
    assert lookalikes(pair) == [pair]


@pytest.mark.parametrize(
    "pair",
    [
        ("a b", "ab"),
        ("cafe", "café"),
        ("1", "-1"),
        ("1", "1.5"),
        ("12345678901234567890123456789012345678901", "12345678901234567890123456789012345678902"),
        ("1e99999", "2e99999"),
        ("1,0", "10"),
        ("a_b", "a-b"),
        ("l", "1"),
        ("nan", "NA"),
        ("1_0", "10"),
    ],
    ids=ascii,
)
def test_not_alike(pair):
    assert lookalikes(pair) == []


def test_groups_in_order_and_without_what_is_single_or_equal():
    names = ["b", "a", "B", "c", "A", " b", "b"]
    assert lookalikes(names) == [("b", "B", " b"), ("a", "A")]
    assert lookalikes([1, True, 1.0, "x"]) == []  # equal, so that they are one name
    assert lookalikes([]) == []


def test_what_shows_nothing():
    assert [appearance(name) for name in ("", " ", "\u200b", "\u3164", "\t\x07")] == [""] * 5


def test_every_character_looks_like_itself_composed_otherwise():
    """Whatever the form of Unicode, and whatever the case."""
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        found = appearance(f"a{character}b")
        assert appearance(unicodedata.normalize("NFD", f"a{character}b")) == found
        assert appearance(unicodedata.normalize("NFKC", f"a{character}b")) == found
