"""Names and numbers in figures."""

import pytest
from matplotlib.figure import Figure

from decoupling.displays.drawing import how_many, ink_on, name_axis, pair_text


def test_pairs_are_read_from_left_to_right():
    assert pair_text("cat", None) == "cat → unlabelled"
    # Without marks these two would change places around the arrow.
    assert pair_text("עברית", "dog") == "\u200eעברית\u200e → dog"
    assert pair_text("cat", "قطة") == "\u200ecat\u200e → قطة"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [((3, 3), "3 pairs"), ((1, 1), "1 pair"), ((20, 5700), "20 of 5,700 pairs")],
)
def test_how_many(arguments, text):
    assert how_many(*arguments, "pair") == text


def test_ink():
    assert [ink_on((x, x, x)) for x in (0.0, 0.4, 0.5, 1.0)] == ["white", "white", "black", "black"]


@pytest.mark.parametrize(
    ("texts", "rotation"), [(["a"] * 10, 0), (["long name"] * 10, 40), (["long name"] * 40, 90)]
)
def test_names_are_turned_if_there_is_no_room(texts, rotation):
    ax = Figure(figsize=(6, 4)).subplots()
    name_axis(ax.xaxis, texts)
    name_axis(ax.yaxis, texts)
    assert ax.get_xticklabels()[0].get_rotation() == rotation
    assert ax.get_yticklabels()[0].get_rotation() == 0


def test_every_name_or_some_of_them():
    ax = Figure(figsize=(6, 4)).subplots()
    name_axis(ax.yaxis, [str(i) for i in range(200)])
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert 20 <= len(shown) <= 40
    assert shown == [str(i) for i in ax.get_yticks()]
