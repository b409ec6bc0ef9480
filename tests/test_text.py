"""Names as text: short, on one line, and harmless."""

import pickle

import numpy as np
import pytest

from decoupling._text import Argument, Message, message_of, name_text


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


OPTIONS = {"rounds": "--rounds", "task": "--task", "unlabelled": "--unlabelled"}


@pytest.mark.parametrize(
    ("template", "fields", "python", "command_line"),
    [
        ("Use {@rounds:=0}.", {}, "Use rounds=0.", "Use --rounds 0."),
        ('Use {@task:="noisy"}.', {}, 'Use task="noisy".', "Use --task noisy."),
        ("{pass|give} {@task:=}", {}, "pass task=", "give --task"),
        ('{@unlabelled:=""}', {}, 'unlabelled=""', "--unlabelled"),
        ("{@unlabelled:={v!r}}", {"v": "a b"}, "unlabelled='a b'", "--unlabelled 'a b'"),
        ("{name} is {n:.1%}", {"name": Argument("rounds"), "n": 0.5}, "rounds is 50.0%", None),
        ("{@n_jobs:=1}", {}, "n_jobs=1", "n_jobs=1"),
        ("{{class: rate}}{ in Python|}", {}, "{class: rate} in Python", "{class: rate}"),
        ("{text}", {"text": "{@rounds} {a|b}"}, "{@rounds} {a|b}", "{@rounds} {a|b}"),
    ],
)
def test_messages_in_two_vocabularies(template, fields, python, command_line):
    message = Message("code", template, **fields)
    assert message == python
    told = python.replace("rounds", "--rounds") if command_line is None else command_line
    assert message.told(OPTIONS) == told


def test_a_message_within_a_message_is_worded_with_it():
    inner = Message("inner", "Use {@rounds:=0}.")
    outer = Message("outer", "It said: {why}", why=message_of(ValueError(inner)))
    assert outer == "It said: Use rounds=0."
    assert outer.told(OPTIONS) == "It said: Use --rounds 0."


def test_messages_travel_between_processes():
    message = Message("code", "{@rounds} is {n}.", n=3)
    again = message_of(pickle.loads(pickle.dumps(ValueError(message))))
    assert (again, again.code, again.fields) == (message, "code", {"n": 3})
    assert again.told(OPTIONS) == "--rounds is 3."


def test_a_field_that_is_missing_is_an_error():
    with pytest.raises(KeyError):
        Message("code", "{nothing}")
