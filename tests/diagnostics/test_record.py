"""The record of a light and its reasons."""

import pytest

from decoupling._text import Message
from decoupling.diagnostics.record import LIGHTS, WORDS, Diagnostics, Reason


def test_the_light_is_the_worst_of_its_reasons():
    reasons = [
        Reason(light, "this", Message.plain(f"{light} here."))
        for light in ("green", "red", "amber")
    ]
    found = Diagnostics(tuple(reasons))
    assert found.light == "red"
    assert found.words == "Do not rely on this yet"
    assert [reason.light for reason in found.reasons] == ["red", "amber", "green"]
    assert str(found).splitlines()[:2] == [
        "Do not rely on this yet (red light).",
        "  red: red here.",
    ]


def test_no_reason_is_no_doubt():
    assert Diagnostics(()).light == "green"


def test_reasons_by_what_they_are_about():
    one = Reason("green", "one", Message.plain("1."))
    other = Reason("amber", "other", Message.plain("2."))
    assert Diagnostics((one, other)).about("one") == (one,)
    assert Diagnostics((one, other)).about("nothing") == ()


def test_every_light_has_words():
    assert list(WORDS) == list(LIGHTS)


def test_a_reason_has_the_code_and_the_values_of_its_message():
    reason = Reason("amber", "this", Message("few", "Only {n:.0f} rows.", n=3.0))
    assert (reason.code, reason.fields, reason.text) == ("few", {"n": 3.0}, "Only 3 rows.")


def test_it_is_immutable():
    with pytest.raises(AttributeError):
        Diagnostics(()).reasons = ()
