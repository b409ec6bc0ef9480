"""Labels that look wrong, as bars."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from figures import HOSTILE, assert_nothing_is_cut, names_of, noisy
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from decoupling import DecouplingClassifier, LabelIssuesDisplay, label_issues
from decoupling.classifier.issues import rank_issues
from decoupling.labels.libraries import Library
from decoupling.transitions import tasks

NAMES = ["cat", "dog", "emu"]
# Two rows of each class; two cats are called dogs, and one dog is called an emu.
GIVEN = ["dog", "dog", "dog", "emu", None, "emu"]


@pytest.fixture(scope="module")
def posterior():
    return noisy(NAMES, copies=2)


@pytest.mark.parametrize("library", [list, pd.Series, pl.Series], ids=["list", "pandas", "polars"])
def test_pairs(posterior, library):
    display = LabelIssuesDisplay.from_posterior(posterior, library(GIVEN))
    assert names_of(display.ax_.yaxis) == ["dog → cat", "emu → dog"]
    assert [bar.get_width() for bar in display.bars_] == [2, 1]
    assert display.ax_.get_title() == "labels that look wrong: 2 pairs"
    assert "rows" in display.ax_.get_xlabel()
    assert display.ax_.yaxis_inverted()
    assert_nothing_is_cut(display.figure_)


def test_rows(posterior):
    issues = label_issues(posterior, GIVEN)
    display = LabelIssuesDisplay(issues).plot(kind="rows", top=2)
    np.testing.assert_array_equal([bar.get_width() for bar in display.bars_], issues.p_wrong[:2])
    assert names_of(display.ax_.yaxis)[0] == (
        f"row {issues.row[0]}: {issues.given[0]} → {issues.suggested[0]}"
    )
    assert "2 of 3 rows" in display.ax_.get_title()
    assert_nothing_is_cut(display.figure_)


def test_no_class_alone_is_more_probable():
    W = np.array([[0.4, 0.3, 0.3]])
    issues = rank_issues(
        tasks.noisy(NAMES), W, np.array([0]), np.array(NAMES), Library(),
        threshold=0.5, all_rows=False, with_unlabelled=False,
    )  # fmt: skip
    display = LabelIssuesDisplay(issues).plot()
    assert names_of(display.ax_.yaxis) == ["cat → (unclear)"]
    assert names_of(display.plot(kind="rows").ax_.yaxis) == ["row 0: cat → (unclear)"]


def test_unlabelled_rows_are_shown_if_they_are_listed(posterior):
    issues = label_issues(posterior, GIVEN, with_unlabelled=True)
    assert "unlabelled → emu" in names_of(LabelIssuesDisplay(issues).plot().ax_.yaxis)


@pytest.mark.parametrize("kind", ["pairs", "rows"])
def test_nothing_looks_wrong(posterior, kind):
    display = LabelIssuesDisplay.from_posterior(posterior, np.repeat(NAMES, 2), kind=kind)
    assert display.bars_ is None
    assert [text.get_text() for text in display.ax_.texts] == ["no label looks wrong"]
    display.figure_.canvas.draw()


@pytest.mark.parametrize("kind", ["pairs", "rows"])
def test_hostile_names(kind):
    names = [name for name in HOSTILE if name]  # a blank label is warned of elsewhere
    posterior = noisy(names, copies=1)
    given = names[1:] + names[:1]
    display = LabelIssuesDisplay.from_posterior(posterior, given, kind=kind)
    assert len(display.bars_) == len(names)
    assert not any(text.get_parse_math() for text in display.ax_.get_yticklabels())
    assert_nothing_is_cut(display.figure_)


def test_from_estimator_on_given_axes():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 10 == 0, (y + 1) % 3, y)
    clf = DecouplingClassifier(task="noisy", noise=0.1, cv=3, rounds=0, random_state=0)
    with pytest.raises(NotFittedError):
        LabelIssuesDisplay.from_estimator(clf)
    ax = Figure().subplots()
    display = LabelIssuesDisplay.from_estimator(clf.fit(X, y), threshold=0.9, ax=ax, kind="rows")
    assert display.ax_ is ax
    assert len(display.issues) == len(clf.label_issues(0.9)) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "bars"}, "kind must be one of 'pairs', 'rows'; got 'bars'"),
        ({"top": 2.5}, "top must be an integer"),
        ({"threshold": 2}, "threshold must be a probability"),
    ],
)
def test_bad_options(posterior, options, message):
    with pytest.raises(ValueError, match=message):
        LabelIssuesDisplay.from_posterior(posterior, GIVEN, **options)
