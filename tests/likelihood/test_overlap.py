"""What p(label | x) and labels say by themselves."""

import numpy as np
import pytest

from decoupling.likelihood.overlap import (
    OVERLAPS,
    GivenLabels,
    OverlapAnswer,
    of_label,
    settle,
    sharpened,
    undone,
    wrong_share_ends,
)
from decoupling.transitions.conditional import label_conditional

EVEN = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])


def simulated(n_rows, T, overlap, seed=0):
    """Rows of which some lie between two classes, p(label | x) as it is, labels, and classes."""
    rng = np.random.default_rng(seed)
    n_classes = len(T)
    q = np.eye(n_classes)[rng.integers(0, n_classes, n_rows)]
    between = rng.random(n_rows) < overlap
    q[between] = rng.dirichlet(np.ones(n_classes), between.sum())
    classes = np.array([rng.choice(n_classes, p=row) for row in q])
    labels = np.array([rng.choice(n_classes, p=T[c]) for c in classes])
    return GivenLabels(q @ T, labels, np.ones(n_rows), np.arange(n_classes)), classes


def test_t_is_undone_where_it_made_p():
    q = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    found = undone(q @ EVEN, EVEN)
    np.testing.assert_allclose(found @ EVEN, q @ EVEN, atol=0.02)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_each_step_of_undoing_brings_p_nearer():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 20)
    start = np.full((20, 3), 1 / 3)
    before, after = (-(p * np.log(q @ EVEN)).sum() for q in (start, undone(p, EVEN)))
    assert after < before


def test_sharpened_towards_the_largest():
    p = np.array([[0.6, 0.4], [0.5, 0.5]])
    np.testing.assert_allclose(sharpened(p, 1.0), p, atol=1e-3)
    np.testing.assert_allclose(sharpened(p, 0.5)[0], [0.36 / 0.52, 0.16 / 0.52], atol=1e-3)
    np.testing.assert_allclose(sharpened(p, 0.01), [[1.0, 0.0], [0.5, 0.5]], atol=1e-9)


def test_the_label_of_each_row():
    p = np.array([[0.1, 0.9], [0.3, 0.7]])
    np.testing.assert_allclose(of_label(p, np.array([0, 1]), np.array([1, 0])), [0.9, 0.3])


def test_classes_that_do_not_overlap():
    given, classes = simulated(3000, EVEN, overlap=0.0)
    found = settle(given)
    np.testing.assert_allclose(found.transitions, EVEN, atol=0.05)
    assert np.mean(found.conditional.argmax(axis=1) == classes) > 0.99
    assert np.mean(given.codes == classes) < 0.8


def test_every_answer_is_a_distribution():
    given, _ = simulated(200, EVEN, overlap=0.5)
    found = settle(given)
    for proba in (found.class_proba, found.conditional, found.transitions):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert (proba >= 0).all()


def test_new_rows_are_answered_as_the_old_ones_are():
    given, _ = simulated(500, EVEN, overlap=0.3)
    found = settle(given)
    again = found.answer.class_proba(given.proba)
    assert np.abs(again - found.class_proba).mean() < 0.01
    assert np.mean(again.argmax(axis=1) == found.class_proba.argmax(axis=1)) > 0.99


def test_the_mean_is_that_of_the_overlaps():
    given, _ = simulated(300, EVEN, overlap=0.3)
    alone = [settle(given, (o,)) for o in OVERLAPS]
    np.testing.assert_allclose(
        settle(given).conditional, np.mean([one.conditional for one in alone], axis=0)
    )
    assert isinstance(alone[0].answer, OverlapAnswer)


def test_little_overlap_believes_the_first_choice_and_much_the_label():
    given, _ = simulated(2000, np.eye(3), overlap=1.0)
    first, own = given.first_choice, given.codes
    differs = first != own
    little, much = (settle(given, (o,)).conditional.argmax(axis=1) for o in (0.1, 1.0))
    assert np.mean(little[differs] == first[differs]) > 0.8
    assert np.mean(much[differs] == own[differs]) > 0.8


def test_mistakes_that_gather_on_hard_rows():
    """Labels of hard rows are wrong in half of the cases, and T knows which rows are hard."""
    rng = np.random.default_rng(0)
    hard = np.arange(4000) < 2000
    classes = rng.integers(0, 3, 4000)
    wrong = rng.random(4000) < np.where(hard, 0.55, 0.02)
    labels = np.where(wrong, (classes + rng.integers(1, 3, 4000)) % 3, classes)
    rate = np.where(hard, 0.55, 0.02) * rng.uniform(0.8, 1.2, 4000)
    proba = np.where(np.eye(3, dtype=bool)[classes], 1 - rate[:, None], rate[:, None] / 2)
    given = GivenLabels(proba, labels, np.ones(4000), np.arange(3))
    found = settle(given, (0.3,))
    one_t = label_conditional(found.class_proba, found.transitions, labels)
    right = [np.mean(w.argmax(axis=1)[hard] == classes[hard]) for w in (found.conditional, one_t)]
    assert right[0] > right[1] + 0.05
    called = 1.0 - of_label(found.conditional, labels, np.arange(3))
    assert abs(called[hard].mean() - 0.55) < 0.15
    assert called[~hard].mean() < 0.1


def test_a_weight_counts_as_equal_rows():
    given, _ = simulated(100, EVEN, overlap=0.3)
    twice = given.some(np.repeat(np.arange(100), 2))
    heavy = given._replace(weight=np.full(100, 2.0))
    np.testing.assert_allclose(settle(heavy).transitions, settle(twice).transitions, atol=0.02)


def test_own_labels_may_stand_anywhere():
    given, _ = simulated(300, EVEN, overlap=0.2)
    turned = GivenLabels(
        given.proba[:, ::-1], 2 - given.codes, given.weight, given.own[::-1].copy()
    )
    np.testing.assert_allclose(settle(turned).conditional, settle(given).conditional, atol=1e-6)


@pytest.mark.parametrize("overlap", [0.0, 0.3])
def test_the_ends_hold_the_share_of_wrong_labels(overlap):
    given, classes = simulated(4000, EVEN, overlap=overlap)
    low, high = wrong_share_ends(given)
    assert low - 0.02 <= np.mean(given.codes != classes) <= high + 0.02


def test_a_class_that_is_nobodys_first_choice():
    proba = np.tile([0.6, 0.3, 0.1], (60, 1))
    given = GivenLabels(proba, np.arange(60) % 3, np.ones(60), np.arange(3))
    found = settle(given)
    assert np.isfinite(found.conditional).all()
    assert np.isfinite(found.transitions).all()
