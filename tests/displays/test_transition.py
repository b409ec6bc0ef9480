"""T as a map, and as a list of pairs."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from figures import HOSTILE, assert_nothing_is_cut, names_of, noisy, spread
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from decoupling import DecouplingClassifier, TransitionDisplay, TransitionPrior, infer
from decoupling._text import name_text
from decoupling.displays.drawing import pair_text


@pytest.fixture(scope="module")
def posterior():
    return noisy(["cat", "dog", "emu"])


# The map


def test_cells_hold_value_and_interval(posterior):
    display = TransitionDisplay.from_posterior(posterior, level=0.8)
    lower, upper = posterior.transition_interval(0.8)
    T = posterior.transitions
    assert display.text_.shape == (3, 4)
    assert display.text_[1, 2].get_text() == f"{T[1, 2]:.2f}\n{lower[1, 2]:.2f}–{upper[1, 2]:.2f}"
    np.testing.assert_array_equal(display.im_.get_array(), T)
    assert names_of(display.ax_.xaxis) == ["unlabelled", "cat", "dog", "emu"]
    assert names_of(display.ax_.yaxis) == ["cat", "dog", "emu"]
    assert display.ax_.get_title() == "p(label | class), 80% intervals"
    assert display.figure_ is display.ax_.figure


def test_what_is_known_has_no_interval():
    mean = [[0.4, 0.6], [1.0, 0.0]]
    prior = TransitionPrior(mean, [np.inf, np.inf], classes=["yes", "no"], labels=[None, "yes"])
    display = TransitionDisplay.from_posterior(infer([[0.5, 0.5], [1.0, 0.0]], prior))
    texts = [text.get_text() for text in display.text_.flat]
    assert texts == ["0.40", "0.60", "1.00", "0.00"]
    assert display.ax_.get_title() == "p(label | class)"


@pytest.mark.parametrize("n_classes", [2, 3, 10, 30])
def test_text_fits_into_its_cell_and_can_be_read(n_classes):
    display = spread(n_classes)
    display.figure_.draw_without_rendering()
    origin, corner = display.ax_.transData.transform([[0.0, 0.0], [1.0, 1.0]])
    width, height = np.abs(corner - origin)
    for text in display.text_[0]:
        box = text.get_window_extent()
        assert box.width <= width
        assert box.height <= height
    assert display.text_[0, 0].get_fontsize() >= 6
    assert "\n" in display.text_[0, 0].get_text()
    assert_nothing_is_cut(display.figure_)


def luminance(colour):
    channels = np.array(colour[:3])
    linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("cmap", ["Blues", "viridis", "gray"])
def test_contrast_of_text(cmap):
    T = np.linspace([0, 1], [1, 0], 21)
    display = TransitionDisplay(T, T, T, list(range(21)), ["a", "b"]).plot(cmap=cmap)
    for value, text in zip(T.flat, display.text_.flat, strict=True):
        ink = {"black": 0.0, "white": 1.0}[text.get_color()]
        light, dark = sorted([luminance(display.im_.cmap(value)), ink], reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_small_axes_leave_out_intervals_and_then_everything():
    figure = Figure(figsize=(5, 4), layout="constrained")
    display = spread(10, ax=figure.subplots())
    assert {len(text.get_text()) for text in display.text_.flat} == {4}
    assert display.ax_.get_title() == "p(label | class)"
    figure = Figure(figsize=(2, 2), layout="constrained")
    display = spread(10, ax=figure.subplots())
    assert display.text_ is None
    assert not display.ax_.texts


def test_text_that_was_there_before_is_left_alone(posterior):
    ax = Figure(figsize=(3, 2)).subplots()
    mine = ax.text(0, 0, "mine", fontsize=30)
    TransitionDisplay.from_posterior(posterior, ax=ax, colorbar=False)
    assert mine.get_fontsize() == 30
    assert mine in ax.texts


def test_inside_a_subfigure(posterior):
    figure = Figure(figsize=(10, 4), layout="constrained")
    part = figure.subfigures(1, 2)[0]
    display = TransitionDisplay.from_posterior(posterior, ax=part.subplots())
    assert display.figure_ is part
    assert display.text_ is not None


def test_large_map_has_no_text_and_few_names():
    display = spread(120, kind="map")
    assert display.text_ is None
    assert names_of(display.ax_.yaxis)[:2] == ["0", "2"]
    assert_nothing_is_cut(display.figure_)


def test_truth_beside_it(posterior):
    truth = np.full((3, 4), 0.25)
    display = TransitionDisplay.from_posterior(posterior, true_transitions=truth.tolist())
    assert display.true_ax_.get_title() == "in truth"
    assert {text.get_text() for text in display.true_ax_.texts} == {"0.25"}
    assert len(display.figure_.axes) == 3  # and the colour bar
    axes = plt.figure().subplots(1, 2)
    display = TransitionDisplay.from_posterior(posterior, true_transitions=truth, ax=axes)
    assert (display.ax_, display.true_ax_) == tuple(axes)


@pytest.mark.parametrize("kind", ["map", "pairs"])
def test_hostile_names(kind):
    posterior = noisy(HOSTILE)
    display = TransitionDisplay.from_posterior(posterior, kind=kind, top=200)
    assert_nothing_is_cut(display.figure_)
    texts = [*display.ax_.get_xticklabels(), *display.ax_.get_yticklabels()]
    if kind == "map":
        assert names_of(display.ax_.yaxis) == list(map(name_text, HOSTILE))
    else:
        texts = display.ax_.get_yticklabels()
    assert not any(text.get_parse_math() or text.get_usetex() for text in texts)
    assert all(len(text.get_text()) < 50 and "\n" not in text.get_text() for text in texts)


# The pairs


def test_many_classes_fold_to_pairs():
    display = spread(32)
    assert display.im_ is None
    assert len(names_of(display.ax_.yaxis)) == 20
    assert "20 of 992 pairs" in display.ax_.get_title()


def test_pairs_are_wrong_labels_by_frequency(posterior):
    display = TransitionDisplay.from_posterior(posterior, kind="pairs", top=4)
    T = posterior.transitions[:, 1:]
    names = posterior.classes
    wrong = {(c, s): T[c, s] for c in range(3) for s in range(3) if c != s}
    ranked = sorted(wrong, key=wrong.get, reverse=True)[:4]
    assert names_of(display.ax_.yaxis) == [pair_text(names[c], names[s]) for c, s in ranked]
    np.testing.assert_allclose(display.ax_.lines[0].get_xdata(), [wrong[pair] for pair in ranked])
    assert display.ax_.yaxis_inverted()


def test_truth_among_pairs(posterior):
    truth = np.full((3, 4), 0.25)
    display = TransitionDisplay.from_posterior(posterior, kind="pairs", true_transitions=truth)
    assert set(display.ax_.lines[-1].get_xdata()) == {0.25}
    assert "diamonds: in truth" in display.ax_.get_xlabel()


def test_no_pairs():
    prior = TransitionPrior.positive_unlabelled(labelled=0.3)
    posterior = infer([[0.8, 0.2], [1.0, 0.0]] * 10, prior)
    display = TransitionDisplay.from_posterior(posterior, kind="pairs")
    assert [text.get_text() for text in display.ax_.texts] == ["no class gets the label of another"]
    display.figure_.canvas.draw()


# Sources and bad input


def test_from_estimator():
    X, y = load_iris(return_X_y=True)
    clf = DecouplingClassifier(task="noisy", noise=0.1, cv=3, rounds=0, random_state=0)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TransitionDisplay.from_estimator(clf)
    display = TransitionDisplay.from_estimator(clf.fit(X, y), level=0.5, colorbar=False)
    np.testing.assert_array_equal(display.transitions, clf.transitions_)
    np.testing.assert_array_equal(display.upper, clf.transition_interval(0.5)[1])
    assert len(display.figure_.axes) == 1
    with pytest.raises(TypeError, match="fitted DecouplingClassifier; got LogisticRegression"):
        TransitionDisplay.from_estimator(LogisticRegression().fit(X[:, :1], y))


def test_drawn_again(posterior):
    display = TransitionDisplay.from_posterior(posterior)
    first = display.ax_
    assert display.plot(kind="pairs") is display
    assert display.ax_ is not first
    assert display.im_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "heat"}, "kind must be one of 'auto', 'map', 'pairs'; got 'heat'"),
        ({"top": 0}, "top must be an integer, at least 1"),
        ({"level": 1.0}, "level must lie between 0 and 1"),
        ({"true_transitions": np.eye(3)}, r"shape \(3, 4\); got \(3, 3\)"),
        ({"true_transitions": np.full((3, 4), 25)}, "no probability"),
        ({"true_transitions": np.full((3, 4), np.nan)}, "no probability"),
    ],
)
def test_bad_options(posterior, options, message):
    with pytest.raises(ValueError, match=message):
        TransitionDisplay.from_posterior(posterior, **options)
    assert not plt.get_fignums()


def test_wrong_number_of_axes(posterior):
    axes = Figure().subplots(1, 2)
    with pytest.raises(ValueError, match="1 axes to draw 1 maps; got 2"):
        TransitionDisplay.from_posterior(posterior, ax=axes)
    with pytest.raises(ValueError, match="2 axes to draw 2 maps; got 1"):
        TransitionDisplay.from_posterior(
            posterior, ax=axes[0], true_transitions=np.full((3, 4), 0.25)
        )


def test_without_matplotlib(posterior, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    with pytest.raises(ModuleNotFoundError, match=r'pip install "decoupling\[plot\]"'):
        TransitionDisplay.from_posterior(posterior)
