"""Classifiers by name, on numbers, categories and texts with gaps."""

import numpy as np
import pytest

from decoupling.tables.estimators import ESTIMATORS, make_estimator
from decoupling.tables.features import Feature

RNG = np.random.default_rng(0)
CLASSES = np.repeat([0, 1], 100)
X = np.column_stack([CLASSES + 0.4 * RNG.normal(size=200), RNG.integers(0, 3, 200)])
X[::17, 0] = np.nan
X[::13, 1] = np.nan
FEATURES = (Feature("x", "number"), Feature("colour", "category", ("b", "g", "r")))
TEXT = Feature("text", "text")
IGNORED = pytest.mark.filterwarnings("ignore:Stochastic Optimizer")


@IGNORED
@pytest.mark.parametrize("name", ESTIMATORS)
def test_by_name(name):
    model = make_estimator(name, FEATURES, 0).fit(X, CLASSES)
    assert np.mean(model.predict(X) == CLASSES) > 0.8
    strange = np.array([[np.nan, np.nan], [1.0, 7.0]])
    assert np.isfinite(model.predict_proba(strange)).all()
    again = make_estimator(name, FEATURES, 0).fit(X, CLASSES)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@IGNORED
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "boosting"])
def test_texts(name):
    words = np.array(["good fine nice", "bad poor sad"], dtype=object)[CLASSES]
    both = np.column_stack([X.astype(object), words])
    model = make_estimator(name, (*FEATURES, TEXT), 0).fit(both, CLASSES)
    assert np.mean(model.predict(both) == CLASSES) > 0.95


def test_boosting_takes_no_texts():
    with pytest.raises(ValueError, match=r"boosting takes no texts, .* 'text'"):
        make_estimator("boosting", (TEXT,), 0)


@pytest.mark.parametrize(
    "name", ["sklearn.naive_bayes:GaussianNB", "sklearn.dummy:DummyClassifier"]
)
def test_from_a_module(name):
    model = make_estimator(name, FEATURES[:1], 0).fit(X[:, :1], CLASSES)
    assert model.predict_proba(X[:, :1]).shape == (200, 2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tree", "estimator must be one of logistic, forest, boosting, mlp, or module:object"),
        ("nothing:Model", "cannot be had"),
        ("sklearn.svm:Nothing", "cannot be had"),
        ("sklearn.linear_model:RidgeClassifier", "no predict_proba"),
        ("math:pi", "no fit"),
    ],
)
def test_what_is_no_classifier(name, message):
    with pytest.raises(ValueError, match=message):
        make_estimator(name, FEATURES, 0)
