"""p(y|x) that agrees with the labels: temperature, offsets and T, by closed forms and by search."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import softmax

from decoupling.likelihood.offsets import best_calibration
from decoupling.likelihood.temperature import tempered
from decoupling.retraining.sizes import calibrate_classes
from decoupling.transitions import tasks
from decoupling.transitions.follow import updated_transitions

AB = ("a", "b")
CLEAN = tasks.semi_supervised(AB)  # where T is held
# Each class is called by 9 to 1, and either label is seen.
CALLED = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]])
SEEN = np.array([0, 1, 1, 0])


def called(right, called_first=0.5):
    """Weights of the rows above: so many that no prior matters, a share of them called rightly."""
    first = called_first * np.array([right, 1 - right])
    return 1e9 * np.concatenate([first, (1 - called_first) * np.array([right, 1 - right])])


def objective(point, logs, emits, weight):
    """As the docstring has it, of ln t and b; in plain numbers."""
    total = -(point[0] ** 2) / (2 * 0.5**2) - (point[1:] ** 2).sum() / (2 * 0.3**2)
    for row, emit, w in zip(logs, emits, weight, strict=True):
        q = np.exp((row + point[1:]) / np.exp(point[0]))
        total += w * np.log((q / q.sum() * emit).sum())
    return total


def problem(n_classes, seed=0, n_rows=60):
    rng = np.random.default_rng(seed)
    logs = np.log(rng.dirichlet(np.full(n_classes, 0.5), n_rows).clip(1e-9))
    emits = rng.uniform(0.01, 1.0, (n_rows, n_classes))
    return logs, emits, rng.uniform(0.5, 2.0, n_rows)


# How sure, and how large


@pytest.mark.parametrize("soften", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_best_calibration_is_that_of_a_search(n_classes, soften):
    logs, emits, weight = problem(n_classes)
    temperature, offsets = best_calibration(logs, emits, weight, soften=soften)
    found = np.append(np.log(temperature), offsets)

    def loss(point):
        return -objective(point, logs, emits, weight)

    hottest = None if soften else 0.0
    bounds = [(0.0, hottest), *[(None, None)] * n_classes]
    best = minimize(loss, np.zeros(n_classes + 1), bounds=bounds, method="L-BFGS-B")
    np.testing.assert_allclose(found, best.x, atol=1e-3)
    assert loss(found) <= best.fun + 1e-9
    slope = approx_fprime(found, loss, 1e-6)
    free = slice(int(temperature == 1), None)
    np.testing.assert_allclose(slope[free], 0, atol=1e-4)
    assert temperature >= 1
    if soften:
        assert slope[0] > -1e-4  # if 1, then since it would sharpen


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


def test_a_few_rows_leave_probabilities_as_they_are():
    found = best_calibration(np.log(CALLED[:2]), np.eye(2)[[1, 1]], np.ones(2))
    assert found[0] < 2
    assert np.abs(found[1]).max() < 0.5


def test_neither_the_order_of_rows_nor_copies_of_them_matter():
    logs, emits, _ = problem(3)
    weight = np.random.default_rng(1).integers(0, 4, len(logs))
    one = best_calibration(logs, emits, weight.astype(float))
    copies = np.random.default_rng(2).permutation(np.repeat(np.arange(len(logs)), weight))
    other = best_calibration(logs[copies], emits[copies], np.ones(len(copies)))
    assert one[0] == pytest.approx(other[0], rel=1e-12)
    np.testing.assert_allclose(one[1], other[1], atol=1e-12)


def test_impossible_classes_and_labels_have_no_nan():
    proba = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    found = calibrate_classes(CLEAN, proba, np.eye(2), np.array([1, 0, 0]), np.ones(3))
    assert np.isfinite(found.apply(proba)).all()
    assert np.isfinite(found.offsets).all()


# T


def test_transitions_are_updated_as_the_task_has_it():
    """Classes are known: T is the share of each label, and tied cells are equal."""
    classes = np.repeat([0, 1], [60, 40])
    codes = np.where(np.arange(100) % 5 == 0, 1 - classes, classes)
    proba = np.eye(2)[classes]
    start = np.array([[0.6, 0.4], [0.4, 0.6]])
    codes[:3] = 1  # three more wrong ones in the first class
    by_class = tasks.class_conditional_noise(AB)
    found = updated_transitions(by_class, proba, start, codes, np.ones(100))
    wrong = np.mean(codes[:60] == 1)
    np.testing.assert_allclose(found, [[1 - wrong, wrong], [0.2, 0.8]], atol=1e-3)
    tied = updated_transitions(tasks.noisy(AB), proba, start, codes, np.ones(100))
    assert tied[0, 1] == pytest.approx(tied[1, 0])
    assert tied[0, 1] == pytest.approx((wrong + 0.2) / 2, abs=1e-3)


def test_the_rate_of_labelling_stays():
    """Of "a" half is labelled, it is said; p(y|x) has none of its unlabelled rows."""
    task = tasks.multi_positive_unlabelled(AB, noise=True)
    classes = np.repeat([0, 1, 2], [200, 100, 100])
    codes = np.repeat([0, 1, 2, 1, 2], [200, 90, 10, 20, 80])
    start = np.array([[1.0, 0.0, 0.0], [0.5, 0.3, 0.2], [0.6, 0.2, 0.2]])
    found = updated_transitions(task, np.eye(3)[classes], start, codes, np.ones(400))
    np.testing.assert_allclose(found, [[1, 0, 0], [0.5, 0.45, 0.05], [0.6, 0.08, 0.32]], atol=1e-3)


def test_an_update_of_transitions_makes_the_labels_more_likely():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.3, 0.3], 400)
    truth = np.array([[0.7, 0.3], [0.3, 0.7]])
    codes = (rng.random(400) > (proba @ truth)[:, 0]).astype(int)
    start = np.array([[0.95, 0.05], [0.05, 0.95]])
    found = updated_transitions(tasks.noisy(AB), proba, start, codes, np.ones(400))

    def likely(T):
        return np.log((proba @ T)[np.arange(400), codes]).sum()

    assert likely(found) > likely(start) + 10
    assert abs(found[0, 1] - 0.3) < abs(start[0, 1] - 0.3) / 2


@pytest.mark.parametrize("soften", [True, False])
def test_but_for_the_prior_classes_are_as_large_before_the_labels_as_after(soften):
    logs, emits, weight = problem(3, n_rows=4000)
    temperature, offsets = best_calibration(logs, emits, weight, soften=soften)
    q = softmax((logs + offsets) / temperature, axis=1)
    after = q * emits / (q * emits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weight @ (after - q) / temperature, offsets / 0.3**2, atol=1e-6)


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
