"""Averages over mixtures and temperatures, beside fine grids and closed forms."""

import numpy as np
import pytest
from scipy.special import softmax

from decoupling.likelihood.average import AveragedAnswer, average_answers
from decoupling.likelihood.offsets import best_calibration
from decoupling.likelihood.temperature import log_proba, tempered

NOISE = np.array([[0.8, 0.2], [0.3, 0.7]])


def parts_and_labels(n_rows=60, n_parts=3, seed=0, sharpness=3.0):
    """p(y|x) that is too sure in several ways, and labels of which some are wrong."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=n_rows)
    truth = (rng.random(n_rows) < 1 / (1 + np.exp(-logits))).astype(int)
    codes = (rng.random(n_rows) < NOISE[truth, 1]).astype(int)
    blurred = [sharpness * logits + 0.7 * k * rng.normal(size=n_rows) for k in range(n_parts)]
    parts = [softmax(np.column_stack([np.zeros(n_rows), z]), axis=1) for z in blurred]
    return parts, NOISE[:, codes].T


def by_hand(parts, emits, weight, shares, resize=True, n_points=801):
    """Answer of a fine grid, and the share of each mixture in it."""
    answers, density, of = [], [], []
    grid = np.linspace(np.log(0.7), np.log(20.0), n_points)
    for k, share in enumerate(shares):
        proba = sum(m * part for m, part in zip(share, parts, strict=True))
        offsets = np.zeros(proba.shape[1])
        if resize:
            offsets = best_calibration(log_proba(proba), emits, weight)[1]
        for x in grid:
            answers.append(tempered(proba, np.exp(x), offsets))
            likelihood = np.log((answers[-1] * emits).sum(axis=1)) @ weight
            end = np.log(0.5) if x in grid[[0, -1]] else 0.0
            prior = -0.5 * (x / 0.5) ** 2 - 0.5 * (offsets**2).sum() / 0.3**2
            density.append(likelihood + prior + end)
            of.append(k)
    mass = softmax(density)
    return np.tensordot(mass, np.array(answers), axes=1), np.bincount(of, mass)


THREE = [
    (1, 0, 0), (0.75, 0, 0.25), (0.5, 0, 0.5), (0.75, 0.25, 0), (0.5, 0.25, 0.25), (0.5, 0.5, 0),
]  # fmt: skip
TWO = [(1, 0), (0.75, 0.25), (0.5, 0.5)]


@pytest.mark.parametrize("resize", [True, False])
@pytest.mark.parametrize("n_rows", [3, 60, 1000])
@pytest.mark.parametrize("shares", [[(1,)], TWO, THREE])
def test_a_fine_grid_over_all_mixtures(shares, n_rows, resize):
    parts, emits = parts_and_labels(n_rows, len(shares[0]))
    weight = np.random.default_rng(1).uniform(0.5, 1.5, n_rows)
    found = average_answers(parts, emits, weight, resize=resize)
    expected, evidence = by_hand(parts, emits, weight, shares, resize)
    np.testing.assert_allclose(found.apply(parts), expected, atol=1e-3)
    for share, amount in zip(shares, evidence, strict=True):
        counted = found.weights[(found.shares == share).all(axis=1)].sum()
        assert counted == pytest.approx(amount, abs=2e-3)
    assert (found.temperatures >= 0.7).all()
    assert (found.temperatures <= 20).all()


def test_the_likeliest_mixture_counts_when_it_is_too_unsure_and_labels_are_many():
    """The truth, somewhat unsure, beside another that is too sure and blurred: of many rows."""
    rng = np.random.default_rng(0)
    logits = 3.0 * rng.normal(size=(100, 2))
    noise = np.array([[0.9, 0.1], [0.1, 0.9]])
    blurred = softmax(1.3 * logits + 0.2 * rng.normal(size=(100, 2)), axis=1)
    parts = [np.tile(part, (2, 1)) for part in (softmax(0.84 * logits, axis=1), blurred)]
    # Each row is seen with either label, as often as it has it.
    emits = np.repeat(noise, 100, axis=1).T
    weight = 2000.0 * (softmax(logits, axis=1) @ noise).T.ravel()
    expected, evidence = by_hand(parts, emits, weight, TWO, n_points=1601)
    found = average_answers(parts, emits, weight)
    assert evidence[0] > 0.999
    assert (found.shares == (1, 0)).all()
    np.testing.assert_allclose(found.apply(parts), expected, atol=1e-4)


def test_what_must_be_softened_counts_where_classes_keep_their_sizes():
    """The truth, far too sure, beside a part that knows nothing."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=400)
    y = (rng.random(400) < 1 / (1 + np.exp(-logits))).astype(int)
    sure = softmax(np.column_stack([np.zeros(400), 4.0 * logits]), axis=1)
    parts, emits = [sure, np.full((400, 2), 0.5)], np.eye(2)[y]
    found = average_answers(parts, emits, np.full(400, 5.0), resize=False)
    expected, evidence = by_hand(parts, emits, np.full(400, 5.0), TWO, resize=False)
    assert evidence[0] > 0.99
    np.testing.assert_allclose(found.apply(parts), expected, atol=1e-3)


def test_one_part_alone_is_as_the_others_are_not_there():
    parts, emits = parts_and_labels(n_parts=1)
    found = average_answers(parts, emits, np.ones(60))
    assert found.n_parts == 1
    assert (found.shares == 1).all()


def test_what_held_out_labels_tell_apart_is_told_apart():
    """One part knows the classes, the other has them the wrong way round."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    right = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    emits = NOISE[:, np.where(rng.random(1000) < 0.25, 1 - y, y)].T
    found = average_answers([right, right[:, ::-1]], emits, np.ones(1000))
    assert found.weights @ found.shares[:, 0] > 0.99
    assert (found.apply([right, right[:, ::-1]]).argmax(axis=1) == y).all()


def test_few_labels_leave_it_less_sure_than_the_most_probable_temperature():
    parts, emits = parts_and_labels(n_rows=20, n_parts=1, sharpness=8.0)
    temperature, offsets = best_calibration(log_proba(parts[0]), emits, np.ones(20))
    averaged = average_answers(parts, emits, np.ones(20)).apply(parts)
    chosen = tempered(parts[0], temperature, offsets)
    assert averaged.max(axis=1).mean() < chosen.max(axis=1).mean()


def test_many_labels_leave_one_temperature():
    """Nine to one, of which six in ten are right: 9 ** (1 / t) = 6 / 4."""
    sure = np.array([[0.9, 0.1], [0.9, 0.1]])
    found = average_answers([sure], np.eye(2), 1e9 * np.array([0.6, 0.4]), resize=False)
    np.testing.assert_allclose(found.temperatures, np.log(9) / np.log(1.5), rtol=1e-3)
    np.testing.assert_allclose(found.apply([sure])[0], [0.6, 0.4], atol=1e-4)


def test_weights_count_rows_and_classes_have_no_order():
    parts, emits = parts_and_labels()
    weight = np.arange(60) % 3 + 1
    found = average_answers(parts, emits, weight.astype(float)).apply(parts)
    again = [np.repeat(part, weight, axis=0) for part in parts]
    repeated = average_answers(again, np.repeat(emits, weight, axis=0), np.ones(weight.sum()))
    np.testing.assert_allclose(repeated.apply(parts), found, atol=1e-7)
    turned = [part[:, ::-1] for part in parts]
    other = average_answers(turned, emits[:, ::-1], weight.astype(float)).apply(turned)
    np.testing.assert_allclose(other[:, ::-1], found, atol=1e-7)


def test_certain_and_impossible_labels_are_answered():
    certain = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    emits = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    proba = average_answers([certain, certain], emits, np.ones(3)).apply([certain, certain])
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_a_single_mixture():
    parts, _ = parts_and_labels(n_parts=2)
    offsets = np.array([0.2, -0.2])
    one = AveragedAnswer.single((0.75, 0.25), 1.5, offsets)
    expected = tempered(0.75 * parts[0] + 0.25 * parts[1], 1.5, offsets)
    np.testing.assert_array_equal(one.apply(parts), expected)
    with pytest.raises(ValueError, match="1 parts were given, and 2 are needed"):
        one.apply(parts[:1])
