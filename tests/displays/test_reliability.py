"""Confidence against accuracy."""

import numpy as np
import pytest
from figures import HOSTILE, assert_nothing_is_cut, noisy
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from decoupling import ReliabilityDisplay
from decoupling.experiments.scores import calibration_error

PROBA = np.array([[0.95, 0.05], [0.65, 0.35], [0.62, 0.38], [0.1, 0.9]])
TRUTH = ["a", "a", "b", "b"]


def test_bins_by_hand():
    display = ReliabilityDisplay.from_predictions(TRUTH, PROBA)
    assert display.count.tolist() == [0, 0, 0, 0, 0, 0, 2, 0, 0, 2]
    np.testing.assert_allclose(display.confidence[[6, 9]], [0.635, 0.925])
    np.testing.assert_allclose(display.accuracy[[6, 9]], [0.5, 1.0])
    assert np.isnan(display.accuracy[0])
    np.testing.assert_allclose(display.calibration_error, (0.135 + 0.075) / 2)
    np.testing.assert_allclose(display.line_.lines[0].get_ydata(), [0.5, 1.0])
    assert [text.get_text() for text in display.ax_.texts] == list("0000002002")
    assert [bar.get_height() for bar in display.bars_][6] == 0.5
    assert_nothing_is_cut(display.figure_)


def random_predictions(n_rows=500, n_classes=4):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(n_classes, 0.4), n_rows)
    truth = np.array([rng.choice(n_classes, p=row) for row in proba])
    return truth, proba


def test_calibration_error_agrees_with_the_experiments():
    truth, proba = random_predictions()
    display = ReliabilityDisplay.from_predictions(truth, proba, n_bins=15)
    np.testing.assert_allclose(display.calibration_error, calibration_error(proba, truth))
    assert display.calibration_error < 0.1
    assert display.count.sum() == 500


def test_intervals_hold_the_accuracy():
    display = ReliabilityDisplay.from_predictions(*random_predictions())
    (segments,) = display.line_.lines[2]
    accuracy = display.accuracy[display.count > 0]
    for share, ((_, low), (_, high)) in zip(accuracy, segments.get_segments(), strict=True):
        assert 0 <= low <= share <= high <= 1
        assert low < high


def test_rows_without_a_true_class_are_left_out():
    display = ReliabilityDisplay.from_predictions(
        ["b", None, "b", np.nan], PROBA, classes=["a", "b"]
    )
    assert display.count.sum() == 2
    assert np.nansum(display.accuracy) == 0


def test_order_of_the_classes():
    right = ReliabilityDisplay.from_predictions(TRUTH, PROBA, classes=["a", "b"])
    wrong = ReliabilityDisplay.from_predictions(TRUTH, PROBA, classes=("b", "a"))
    np.testing.assert_allclose(right.accuracy + wrong.accuracy, np.where(right.count, 1, np.nan))


def test_two_on_the_same_axes():
    first = ReliabilityDisplay.from_predictions(TRUTH, PROBA, name="first")
    second = ReliabilityDisplay.from_predictions(
        TRUTH, PROBA, name="second", ax=first.ax_, counts=False, color="#d55e00"
    )
    assert second.bars_ is None
    assert len(first.ax_.texts) == 10
    labels = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert len(labels) == len(set(labels)) == 4


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_name(name):
    display = ReliabilityDisplay.from_predictions(TRUTH, PROBA, name=name)
    texts = display.ax_.get_legend().get_texts()
    assert len(texts) == 3
    assert not any(text.get_parse_math() for text in texts)
    assert_nothing_is_cut(display.figure_)


def test_large_counts_are_abbreviated_and_many_bins_not_counted():
    counted = ReliabilityDisplay(np.full(10, 0.5), np.full(10, 0.5), np.full(10, 12_345_678))
    assert counted.plot().ax_.texts[0].get_text() == "12M"
    assert not ReliabilityDisplay.from_predictions(TRUTH, PROBA, n_bins=50).ax_.texts


def test_sources():
    posterior = noisy(["a", "b"])
    truth = np.repeat(["a", "b"], 20)
    display = ReliabilityDisplay.from_posterior(posterior, truth)
    assert display.count.sum() == 40
    X = np.arange(40.0)[:, None]
    clf = LogisticRegression()
    with pytest.raises(NotFittedError):
        ReliabilityDisplay.from_estimator(clf, X, truth)
    display = ReliabilityDisplay.from_estimator(clf.fit(X, truth), X, truth, n_bins=5)
    assert len(display.count) == 5
    assert np.nanmin(display.accuracy) > 0


def test_single_precision_may_exceed_one():
    proba = np.array([[1.0000001, 0.0], [0.0, 1.0]], dtype=np.float32)
    display = ReliabilityDisplay.from_predictions(["a", "b"], proba)
    assert display.count[-1] == 2


@pytest.mark.parametrize(
    ("truth", "proba", "options", "message"),
    [
        (TRUTH, PROBA[:3], {}, "y_true has 4 rows and proba 3"),
        (TRUTH, PROBA * 2, {}, "no probability"),
        (TRUTH, PROBA * np.nan, {}, "no probability"),
        (TRUTH, PROBA[:, 0], {}, "proba must have 2 axes"),
        (TRUTH, PROBA, {"n_bins": 0}, "n_bins must be an integer"),
        (TRUTH, PROBA, {"classes": ["a", "b", "c"]}, "2 columns, and there are 3 names"),
        (["a"] * 4, PROBA, {}, "2 columns, and there are 1 classes in y_true: pass classes="),
        (TRUTH, PROBA, {"classes": ["a", "c"]}, "'b'"),
        ([None] * 4, PROBA, {"classes": ["a", "b"]}, "no true class"),
    ],
)
def test_bad_input(truth, proba, options, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(truth, proba, **options)
