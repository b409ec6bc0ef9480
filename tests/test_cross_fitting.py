"""Classifiers of the folds: what they are given, what is held out, what they predict."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from problems import draw_labelled, folds_of
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling.cross_fitting import (
    Fold,
    Training,
    aligned_proba,
    as_rows,
    check_weights,
    make_folds,
    out_of_fold,
    weight_parameter,
)

BAYES = GaussianNB()  # it takes weights, and has a closed form
LOGISTIC = LogisticRegression()


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted with, and finds all classes equally likely."""

    def fit(self, X, y, sample_weight=None, site=None, level=None):
        self.classes_ = np.unique(y)
        self.X_, self.y_, self.weight_, self.site_, self.level_ = X, y, sample_weight, site, level
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


# What classifiers are given


@pytest.mark.parametrize(
    "X",
    [["a text", "another"], np.array(["a", "b"]), pd.DataFrame({"x": [1, 2]}), [{"a": 1}, {}]],
    ids=["list", "array", "dataframe", "dicts"],
)
def test_texts_tables_and_records_stay_as_they_are(X):
    assert as_rows(X) is X


def test_numbers_become_an_array_and_keep_their_gaps():
    np.testing.assert_array_equal(as_rows([[1, np.nan], [3, 4]]), [[1, np.nan], [3, 4]])
    assert as_rows(sp.coo_array(np.eye(3))).format == "csr"
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        as_rows([1.0, 2.0])


def test_weights():
    assert check_weights(None, np.ones((2, 1))) is None
    np.testing.assert_array_equal(check_weights([0, 3], np.ones((2, 1))), [0.0, 3.0])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1], "Negative values"),
        ([1, np.nan], "NaN"),
        ([1, 2, 3], r"shape == \(3,\), expected \(2,\)"),
        ([0, 0], "at least one non-zero"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weight, np.ones((2, 1)))


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LOGISTIC, "sample_weight"),
        (KNeighborsClassifier(), None),
        (make_pipeline(StandardScaler(), LOGISTIC), "logisticregression__sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (
            make_pipeline(StandardScaler(), make_pipeline(LOGISTIC)),
            "pipeline__logisticregression__sample_weight",
        ),
    ],
)
def test_what_fit_calls_the_weights(estimator, name):
    assert weight_parameter(estimator) == name
    assert Training(estimator, {}).takes_weights is (name is not None)


@pytest.mark.parametrize("asked", [True, False])
def test_pipelines_under_metadata_routing(asked):
    """They take weights by their plain name there, and only if the last step asks for them."""
    X, codes = draw_labelled()
    weight = np.linspace(1, 2, len(codes))
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(Recorder().set_fit_request(sample_weight=asked))
        assert weight_parameter(pipeline) == ("sample_weight" if asked else None)
        if asked:
            ensemble = Training(pipeline, {}).ensemble(X, codes, weight, folds_of(codes), 4)
            assert all(model[-1].weight_ is not None for model in ensemble.models)


def test_each_classifier_gets_the_rows_weights_and_parameters_of_its_fold():
    X, codes = draw_labelled()
    folds = folds_of(codes)
    weight, site = np.linspace(1, 2, len(codes)), [f"site {i}" for i in range(len(codes))]
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), Recorder())
    params = {"recorder__site": site, "recorder__level": "high"}
    ensemble = Training(pipeline, params).ensemble(X, codes, weight, folds, 4)
    for model, fold in zip(ensemble.models, folds, strict=True):
        np.testing.assert_array_equal(model[-1].X_, X[fold.fit])
        np.testing.assert_array_equal(model[-1].y_, codes[fold.fit])
        np.testing.assert_array_equal(model[-1].weight_, weight[fold.fit])
        assert model[-1].site_ == [site[i] for i in fold.fit]
        assert model[-1].level_ == "high"


def test_without_weights_the_classifier_is_given_none():
    X, codes = draw_labelled()
    ensemble = Training(Recorder(), {}).ensemble(X, codes, None, folds_of(codes), 4)
    assert all(model.weight_ is None for model in ensemble.models)


def test_weights_that_the_classifier_cannot_take_are_refused():
    X, codes = draw_labelled()
    training = Training(KNeighborsClassifier(), {})
    with pytest.raises(ValueError, match="passed, but KNeighborsClassifier takes none"):
        training.ensemble(X, codes, np.ones(len(codes)), folds_of(codes), 4)


# Folds


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
    ],
)
def test_bad_folds(cv, n_rows, message):
    with pytest.raises(ValueError, match=message):
        make_folds(np.zeros((n_rows, 1)), np.zeros(n_rows, int), cv, np.random.RandomState(0))


def test_a_column_for_every_code():
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [3, 1, 1])
    proba = aligned_proba(model, [[0.5]], 5)
    np.testing.assert_array_equal(proba[:, [1, 3]], model.predict_proba([[0.5]]))
    np.testing.assert_array_equal(proba[:, [0, 2, 4]], 0)


def test_a_fold_with_a_single_code_predicts_it():
    codes = np.array([0, 0, 2, 2])
    folds = [Fold(np.array([0, 1]), np.array([2, 3])), Fold(np.array([2, 3]), np.array([0, 1]))]
    X = np.arange(4.0)[:, None]
    ensemble = Training(LOGISTIC, {}).ensemble(X, codes, None, folds, 3)
    expected = [[0, 0, 1], [0, 0, 1], [1, 0, 0], [1, 0, 0]]
    np.testing.assert_array_equal(out_of_fold(ensemble, X, folds, 4), expected)
    np.testing.assert_array_equal(ensemble.predict_proba(X), np.tile([0.5, 0, 0.5], (4, 1)))


def test_a_fold_without_a_row_knows_nothing_and_excludes_nothing():
    folds = [Fold(np.array([2, 3]), np.array([0, 1])), Fold(np.array([0, 1]), np.array([2, 3]))]
    weight = np.array([1.0, 1.0, 0.0, 0.0])
    X, codes = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    ensemble = Training(LOGISTIC, {}).ensemble(X, codes, weight, folds, 3)
    np.testing.assert_allclose(out_of_fold(ensemble, X, folds, 4)[:2], 1 / 3)


def test_a_row_does_not_see_its_own_label():
    X, codes = draw_labelled()
    folds = folds_of(codes)
    other = codes.copy()
    other[7] = (codes[7] + 1) % 4
    raws = [
        out_of_fold(Training(BAYES, {}).ensemble(X, c, None, folds, 4), X, folds, len(X))
        for c in (codes, other)
    ]
    np.testing.assert_array_equal(raws[0][7], raws[1][7])
    assert np.abs(raws[0] - raws[1]).max() > 1e-3


def test_rows_that_no_model_saw_are_predicted_by_all():
    X, codes = draw_labelled()
    folds, unseen = folds_of(codes), codes == 0
    fitted_on = [Fold(fold.fit[~unseen[fold.fit]], fold.predict) for fold in folds]
    ensemble = Training(BAYES, {}).ensemble(X, codes, None, fitted_on, 4)
    found = out_of_fold(ensemble, X, folds, len(X), unseen)
    np.testing.assert_allclose(found[unseen], ensemble.predict_proba(X)[unseen], rtol=1e-12)
    own = out_of_fold(ensemble, X, folds, len(X))
    np.testing.assert_array_equal(found[~unseen], own[~unseen])
    assert np.abs(found - own)[unseen].max() > 0
