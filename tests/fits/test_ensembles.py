"""Classifiers of the folds: what they are given, what is held out, what they predict."""

import numpy as np
import pytest
import sklearn
from problems import draw_labelled, folds_of
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling.fits.ensembles import Training, aligned_proba, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.fits.row_weights import weight_parameter

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


# What they predict


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
