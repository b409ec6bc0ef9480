"""Confidence beside accuracy, in bins."""

import numpy as np

from decoupling.evaluation.bins import calibration_bins

RNG = np.random.default_rng(0)
CONFIDENCE, RIGHT = RNG.random(200), RNG.random(200) < 0.6


def test_against_a_loop():
    for number, (mean, accuracy, count) in enumerate(
        zip(*calibration_bins(CONFIDENCE, RIGHT, 7), strict=True)
    ):
        inside = (CONFIDENCE >= number / 7) & (CONFIDENCE < (number + 1) / 7)
        assert count == inside.sum()
        np.testing.assert_allclose(mean, CONFIDENCE[inside].mean())
        np.testing.assert_allclose(accuracy, RIGHT[inside].mean())


def test_weights_are_repeated_rows():
    weight = RNG.integers(0, 4, 200)
    repeated = calibration_bins(CONFIDENCE.repeat(weight), RIGHT.repeat(weight), 5)
    for found, expected in zip(
        calibration_bins(CONFIDENCE, RIGHT, 5, weight.astype(float)), repeated, strict=True
    ):
        np.testing.assert_allclose(found, expected)


def test_certain_and_empty():
    mean, _, count = calibration_bins(np.array([1.0]), np.array([True]), 10)
    assert count.tolist() == [0] * 9 + [1]
    assert np.isnan(mean[:9]).all()
