"""p(y|x) that agrees with the labels: temperature, offsets and T, by closed forms."""

import numpy as np
import pytest

from decoupling.likelihood.temperature import tempered
from decoupling.retraining.sizes import calibrate_classes
from decoupling.transitions import tasks

AB = ("a", "b")
CLEAN = tasks.semi_supervised(AB)  # where T is held
# Each class is called by 9 to 1, and either label is seen.
CALLED = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]])
SEEN = np.array([0, 1, 1, 0])


def called(right, called_first=0.5):
    """Weights of the rows above: so many that no prior matters, a share of them called rightly."""
    first = called_first * np.array([right, 1 - right])
    return 1e9 * np.concatenate([first, (1 - called_first) * np.array([right, 1 - right])])


@pytest.mark.parametrize(
    ("right", "temperature"),
    [(0.6, np.log(9) / np.log(1.5)), (0.75, np.log(9) / np.log(3)), (0.9, 1), (0.99, 1)],
)
def test_the_temperature_in_closed_form(right, temperature):
    """Rows of 9 to 1, of which a share is right; it never sharpens."""
    found = calibrate_classes(CLEAN, CALLED, np.eye(2), SEEN, called(right))
    assert found.temperature >= 1
    assert found.temperature == pytest.approx(temperature, rel=1e-4)
    np.testing.assert_allclose(found.offsets, 0, atol=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_offsets_in_closed_form(share):
    """Rows of which nothing is known but how many are of each class."""
    proba, codes = np.full((2, 2), 0.5), np.array([0, 1])
    found = calibrate_classes(CLEAN, proba, np.eye(2), codes, 1e9 * np.array([share, 1 - share]))
    np.testing.assert_allclose(found.apply(proba), [[share, 1 - share]] * 2, rtol=1e-6)
    np.testing.assert_allclose(found.offsets.sum(), 0, atol=1e-6)


def test_they_see_classes_through_their_labels():
    """With one label in five wrong, p(label 0) is .8 y + .2 (1 - y); at y = .9 this is .74."""
    transitions = np.array([[0.8, 0.2], [0.2, 0.8]])

    def found(right):
        return calibrate_classes(CLEAN, CALLED, transitions, SEEN, called(right)).temperature

    assert found(0.74) == pytest.approx(1)
    assert found(0.8) == 1
    assert found(0.65) == pytest.approx(np.log(9) / np.log(3), rel=1e-4)  # y = .75


def test_classes_are_as_large_as_the_rate_of_labelling_has_them():
    """A tenth of the rows is labelled, and a quarter of "yes" is: two fifths of all are "yes"."""
    task = tasks.positive_unlabelled("yes", "no")
    rng = np.random.default_rng(0)
    truth = rng.beta(0.5, 0.75, 20_000)
    truth *= 0.4 / truth.mean()
    truth = truth.clip(1e-3, 1 - 1e-3)
    codes = (rng.random(20_000) < 0.25 * truth).astype(int)
    proba = tempered(np.column_stack([1 - truth, truth]), 1.0, np.array([1.0, -1.0]))
    assert proba[:, 1].mean() < 0.3
    transitions = np.array([[1.0, 0.0], [0.75, 0.25]])
    found = calibrate_classes(task, proba, transitions, codes, np.ones(20_000), soften=False)
    assert found.apply(proba)[:, 1].mean() == pytest.approx(truth.mean(), abs=0.02)
    assert found.temperature == 1


def test_transitions_that_are_known_are_left():
    """Labels agree with p(y|x) in 6 of 10 rows: T is wrong or p(y|x) is too sure."""
    proba, noisy = np.abs(CALLED - 0.09), tasks.noisy(AB)
    said = np.array([[0.9, 0.1], [0.1, 0.9]])
    held = calibrate_classes(noisy, proba, said, SEEN, called(0.6), learn_transitions=False)
    odds = np.log(proba.max() / proba.min())
    assert held.temperature == pytest.approx(odds / np.log(0.625 / 0.375), rel=1e-4)
    np.testing.assert_array_equal(held.transitions, said)
    learnt = calibrate_classes(noisy, proba, said, SEEN, called(0.6))
    assert learnt.temperature < held.temperature / 1.5
    assert learnt.transitions[0, 1] > 0.2


def test_the_calibration_of_simulated_classes_is_recovered():
    rng = np.random.default_rng(0)
    transitions = np.array([[0.5, 0.4, 0.05, 0.05], [0.3, 0.1, 0.6, 0], [0.2, 0.1, 0, 0.7]])
    task = tasks.semi_supervised(("a", "b", "c"))
    proba = rng.dirichlet(np.ones(3), 6000)
    codes = (rng.random((6000, 1)) > (proba @ transitions).cumsum(axis=1)).sum(axis=1)
    offsets = np.array([0.4, 0.0, -0.4])
    sharpened = tempered(proba, 0.4, -offsets)
    found = calibrate_classes(task, sharpened, transitions, codes, np.ones(6000))
    assert found.temperature == pytest.approx(2.5, rel=0.1)
    np.testing.assert_allclose(found.offsets, 2.5 * offsets, atol=0.25)
    softened = tempered(proba, 2.0)
    found = calibrate_classes(task, softened, transitions, codes, np.ones(6000))
    assert found.temperature == 1


def test_impossible_classes_and_labels_have_no_nan():
    proba = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    found = calibrate_classes(CLEAN, proba, np.eye(2), np.array([1, 0, 0]), np.ones(3))
    assert np.isfinite(found.apply(proba)).all()
    assert np.isfinite(found.offsets).all()


@pytest.mark.parametrize("sure", [1.0, 1 - 1e-5])
def test_a_classifier_that_is_all_but_certain_is_softened(sure):
    """There the slope at temperature 1 is next to nothing; three in five labels agree with it."""
    proba = np.where(CALLED > 0.5, sure, 1 - sure)
    transitions = np.array([[0.9, 0.1], [0.1, 0.9]])
    found = calibrate_classes(CLEAN, proba, transitions, SEEN, called(0.6) / 1e3)
    odds = np.log(sure / max(1 - sure, 1e-9))  # nothing is impossible
    expected = min(odds / np.log(0.625 / 0.375), 20)
    assert found.temperature == pytest.approx(expected, rel=0.05)
    np.testing.assert_allclose(found.offsets, 0, atol=1e-9)


def test_a_few_rows_that_it_is_sure_of_wrongly_do_not_move_all_others():
    """One row in fifty is called "a" for certain and is "b"; it takes heat, and no offset to it."""
    rng = np.random.default_rng(0)
    truth = rng.random(3000)
    classes = (rng.random(3000) < truth).astype(int)
    proba = np.column_stack([1 - truth, truth])
    wrong = (classes == 1) & (np.arange(3000) % 25 == 0)
    proba[wrong] = [1.0, 0.0]
    found = calibrate_classes(CLEAN, proba, np.eye(2), classes, np.ones(3000))
    assert found.temperature > 2
    moved = found.apply(proba).argmax(axis=1) != proba.argmax(axis=1)
    assert moved.mean() < 0.2
