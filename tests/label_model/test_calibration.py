"""Calibration of p(s|x): the share of labelled rows, and the temperature of the labels."""

import numpy as np
import pytest
from problems import assert_probabilities

from decoupling.label_model.calibration import Calibration, fit_calibration
from decoupling.likelihood.temperature import tempered


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_the_temperature_of_simulated_labels_is_recovered(temperature):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(4), 4000)
    codes = (rng.random((4000, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    given = tempered(proba, 1 / temperature)
    calibration = fit_calibration(given, codes, np.ones(4000), has_unlabelled=False)
    assert calibration.labelled is None
    assert calibration.temperature == pytest.approx(temperature, rel=0.05)
    np.testing.assert_allclose(calibration.apply(given), proba, atol=0.03)


def with_unlabelled(share, n_labels=3):
    """p(s|x) with these p(labelled | x), and labels in the ratio 2 to 1."""
    share = np.asarray(share, dtype=float)
    given = np.array([1.0]) if n_labels == 2 else np.array([2.0, 1.0]) / 3
    return np.column_stack([1 - share, share[:, None] * given])


def test_the_share_of_labelled_rows_by_hand():
    """Rows two and three are in the wrong order, so they take their mean; ends stay off 0 and 1."""
    proba = with_unlabelled([0.1, 0.2, 0.3, 0.9], 2)
    calibration = fit_calibration(proba, np.array([0, 1, 0, 1]), np.ones(4), has_unlabelled=True)
    expected = with_unlabelled([1e-4, 0.5, 0.5, 1 - 1e-4], 2)
    np.testing.assert_allclose(calibration.apply(proba), expected, atol=1e-12)
    assert calibration.temperature == 1.0


def test_the_share_of_labelled_rows_with_weights_by_hand():
    proba = with_unlabelled([0.2, 0.3], 2)
    weight = np.array([3.0, 1.0])
    calibration = fit_calibration(proba, np.array([1, 0]), weight, has_unlabelled=True)
    np.testing.assert_allclose(1 - calibration.apply(proba)[:, 0], 0.75)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_share_grows_with_that_of_the_classifier(n_labels):
    rng = np.random.default_rng(1)
    share = np.sort(rng.random(200))
    codes = np.where(rng.random(200) < share**3, rng.integers(1, n_labels, 200), 0)
    proba = with_unlabelled(share, n_labels)
    calibration = fit_calibration(proba, codes, np.ones(200), has_unlabelled=True)
    grid = with_unlabelled(np.linspace(0, 1, 300), n_labels)
    mapped = calibration.apply(grid)
    assert_probabilities(mapped, grid.shape)
    assert (np.diff(mapped[:, 0]) <= 0).all()
    assert mapped[-1, 0] < mapped[0, 0]
    # On average as many labels as there are, each of them.
    found = calibration.apply(proba).mean(axis=0)
    np.testing.assert_allclose(found[0], np.mean(codes == 0), atol=1e-3)


def test_a_constant_share_is_left_alone():
    proba = with_unlabelled([0.3, 0.3, 0.3])
    calibration = fit_calibration(proba, np.array([0, 1, 2]), np.ones(3), has_unlabelled=True)
    assert calibration.labelled is None
    np.testing.assert_allclose(calibration.apply(proba)[:, 0], 0.7)


def test_the_temperature_is_of_the_labels_among_themselves():
    proba = np.array([[0.5, 0.4, 0.1], [0.2, 0.4, 0.4]])
    expected = [[0.5, 1 / 3, 1 / 6], [0.2, 0.4, 0.4]]
    np.testing.assert_allclose(Calibration(None, 2.0, True).apply(proba), expected)


def test_unlabelled_rows_do_not_move_the_temperature():
    rng = np.random.default_rng(2)
    proba = rng.dirichlet([4, 1, 1], 50)
    codes = rng.integers(0, 3, 50)
    odd = proba.copy()
    odd[codes == 0, 1:] = odd[codes == 0, :0:-1]
    found = [
        fit_calibration(p, codes, np.ones(50), has_unlabelled=True).temperature
        for p in (proba, odd)
    ]
    assert found[0] == found[1]
