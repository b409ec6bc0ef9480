"""Folds within folds: who may see what."""

import numpy as np
import pytest

from decoupling.fits.folds import Fold, make_folds
from decoupling.fits.nested import nest, shared_fits

CODES = np.tile([0, 0, 1, 2], 10)


def folds_of(cv):
    return make_folds(None, CODES, cv, np.random.RandomState(0))


@pytest.mark.parametrize("cv", [2, 3, 5])
def test_every_row_that_a_fold_may_see_is_predicted_once_by_a_classifier_that_has_not(cv):
    for view in nest(folds_of(cv), CODES):
        predicted = np.concatenate([fold.predict for fold in view.inner])
        np.testing.assert_array_equal(np.sort(predicted), view.outer.fit)
        for fold in view.inner:
            assert len(fold.fit)
            assert not np.isin(fold.fit, fold.predict).any()
            assert not np.isin(fold.fit, view.outer.predict).any()


def test_inner_folds_are_the_other_ones():
    first, *others = folds_of(4)
    view = nest([first, *others], CODES)[0]
    for fold, other in zip(view.inner, others, strict=True):
        np.testing.assert_array_equal(fold.predict, other.predict)
        np.testing.assert_array_equal(fold.fit, np.intersect1d(first.fit, other.fit))


def test_halves_have_their_share_of_every_label():
    for view in nest(folds_of(2), CODES):
        assert len(view.inner) == 2
        counts = [np.bincount(CODES[fold.fit], minlength=3) for fold in view.inner]
        assert np.abs(counts[0] - counts[1]).max() <= 1


def test_what_a_fold_may_not_see_is_not_seen_within_it():
    """As of a splitter that looks ahead in time: the first fold is fitted on what follows."""
    folds = [Fold(np.arange(4, 12), np.arange(4)), Fold(np.arange(4), np.arange(4, 12))]
    first, second = nest(folds, np.zeros(12, int))
    assert all(fold.fit.min() >= 4 for fold in first.inner)
    assert all(fold.fit.max() < 4 for fold in second.inner)


def test_rows_that_predict_themselves_do_so_within():
    """No row is held out from anything: the settings of the paper."""
    everything = np.arange(len(CODES))
    (view,) = nest([Fold(everything, everything)], CODES)
    (fold,) = view.inner
    np.testing.assert_array_equal(fold.fit, everything)
    np.testing.assert_array_equal(fold.predict, everything)


def test_a_classifier_that_has_seen_neither_of_two_folds_serves_both():
    folds = folds_of(5)
    nested = nest(folds, CODES)
    shared = shared_fits(nested)
    assert len(shared) == 10  # of 20
    for fold in shared:
        np.testing.assert_array_equal(np.union1d(fold.fit, fold.predict), np.arange(len(CODES)))
    by_fit = {fold.fit.tobytes(): fold.predict for fold in shared}
    for view in nested:
        for fold in view.inner:
            assert np.isin(fold.predict, by_fit[fold.fit.tobytes()]).all()


def test_a_row_that_a_fold_has_twice_counts_once():
    twice = Fold(np.array([0, 0, 1, 1, 2, 3]), np.arange(4, 8))
    view = nest([twice, Fold(np.arange(4, 8), np.arange(4))], np.zeros(8, int))[0]
    np.testing.assert_array_equal(view.outer.fit, np.arange(4))
    for fold in view.inner:
        assert not np.isin(fold.fit, fold.predict).any()
