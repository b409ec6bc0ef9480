"""Which rows are held out from which."""

import numpy as np
import pytest
from problems import draw_labelled, folds_of
from sklearn.model_selection import KFold, ShuffleSplit

from decoupling.fits.folds import check_fold_weights, make_folds


@pytest.mark.parametrize("n_folds", [2, 5])
@pytest.mark.parametrize("members", [[20, 13, 7], [30, 3, 1], [11, 0, 2], [4, 4, 4]])
def test_every_row_is_held_out_once_and_labels_are_dealt_evenly(members, n_folds):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(3), members))
    folds = folds_of(codes, n_folds)
    held_out = np.concatenate([fold.predict for fold in folds])
    np.testing.assert_array_equal(np.sort(held_out), np.arange(len(codes)))
    for fold in folds:
        both = np.concatenate([fold.fit, fold.predict])
        np.testing.assert_array_equal(np.sort(both), np.arange(len(codes)))
    assert len(folds) == n_folds
    counts = np.array([np.bincount(codes[fold.predict], minlength=3) for fold in folds])
    assert np.ptp(counts, axis=0).max() <= 1
    assert np.ptp(counts.sum(axis=1)) <= 1


def test_no_more_folds_than_rows():
    folds = folds_of(np.array([0, 1, 1]), 5)
    assert sorted(fold.predict.tolist() for fold in folds) == [[0], [1], [2]]


def test_folds_depend_on_the_seed_alone():
    codes = draw_labelled()[1]
    first, again, other = (folds_of(codes, seed=seed)[0].predict for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("kind", ["splitter", "pairs", "generator"])
def test_folds_of_the_user(kind):
    X, codes = draw_labelled()
    splitter = KFold(4)
    cv = splitter if kind == "splitter" else splitter.split(X)
    folds = make_folds(X, codes, list(cv) if kind == "pairs" else cv, np.random.RandomState(0))
    for fold, (train, test) in zip(folds, splitter.split(X), strict=True):
        np.testing.assert_array_equal(fold.fit, train)
        np.testing.assert_array_equal(fold.predict, test)


@pytest.mark.parametrize(
    ("cv", "n_rows", "message"),
    [
        (1, 9, "cv must be at least 2 folds; got 1"),
        (5, 1, "cv needs at least 2 rows; got n_samples = 1"),
        ("five", 9, "cv must be a number, a splitter, .*; got 'five'"),
        (ShuffleSplit(1, test_size=3), 9, "6 rows are never held out, 0 more than once"),
        ([([0], [0, 1]), ([0], [1, 2])], 4, "1 rows are never held out, 1 more than once"),
        ([([2, 3], [0, 1]), ([], [2, 3])], 4, "fold 1 has no rows to fit on"),
        ([([0, 1], [2, -1]), ([2, 3], [0, 1])], 4, "cv has row -1, and X has rows 0 to 3"),
        ([([0, 1], [2, 4]), ([2, 3], [0, 1])], 4, "cv has row 4, and X has rows 0 to 3"),
        ([([0.0, 1.0], [2, 3]), ([2, 3], [0, 1])], 4, "rows as integers; got an array of float"),
        ([[0, 1, 2], [3]], 4, "cv must be pairs of rows"),
    ],
)
def test_bad_folds(cv, n_rows, message):
    with pytest.raises(ValueError, match=message):
        make_folds(np.zeros((n_rows, 1)), np.zeros(n_rows, int), cv, np.random.RandomState(0))


def test_folds_as_masks():
    held = np.array([True, False, True, False])
    folds = make_folds(
        np.zeros((4, 1)), np.zeros(4, int), [(~held, held), (held, ~held)], np.random.RandomState(0)
    )
    assert [fold.predict.tolist() for fold in folds] == [[0, 2], [1, 3]]
    assert [fold.fit.tolist() for fold in folds] == [[1, 3], [0, 2]]


def test_a_fold_needs_rows_that_count():
    folds = folds_of(np.zeros(6, dtype=int))
    check_fold_weights(folds, None)
    check_fold_weights(folds, np.ones(6))
    weight = np.zeros(6)
    weight[folds[1].predict] = 1.0
    with pytest.raises(ValueError, match="0 for all 4 rows that fold 1 is trained on"):
        check_fold_weights(folds, weight)
