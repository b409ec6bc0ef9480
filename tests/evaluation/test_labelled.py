"""Folds and scores when some rows are unlabelled: only labelled rows are tested."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.preprocessing import StandardScaler

from decoupling import LabelledKFold, labelled_scorer

SOME = np.array(["a", "b", None, "a", "b", None, "a", "b", "a", "b", None, "a"], dtype=object)
LABELLED = np.array([label is not None for label in SOME])
X = np.column_stack([np.arange(12.0), np.arange(12.0) % 5])
FITTED = GaussianNB().fit(X[LABELLED], SOME[LABELLED].astype(str))


# Folds


@pytest.mark.parametrize("shuffle", [False, True])
def test_labelled_rows_are_tested_once_and_others_always_train(shuffle):
    folds = list(
        LabelledKFold(3, shuffle=shuffle, random_state=0 if shuffle else None).split(X, SOME)
    )
    assert len(folds) == 3
    tested = np.concatenate([test for _, test in folds])
    assert sorted(tested) == np.flatnonzero(LABELLED).tolist()
    for train, test in folds:
        assert np.isin(np.flatnonzero(~LABELLED), train).all()
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(12))
        assert set(SOME[test]) == {"a", "b"}  # stratified


def test_folds_of_complete_labels_are_those_of_scikit_learn():
    y = np.arange(12) % 2
    for ours, theirs in zip(
        LabelledKFold(3).split(X, y), StratifiedKFold(3).split(X, y), strict=True
    ):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.mark.parametrize(
    ("y", "unlabelled"),
    [
        (SOME.tolist(), None),
        (np.array([{"a": 0.0, "b": 1.0}.get(label, np.nan) for label in SOME]), None),
        (np.array([{"a": 0, "b": 1}.get(label, -1) for label in SOME]), -1),
        (np.where(LABELLED, SOME, "?"), "?"),
        (pd.Series(SOME, dtype="category", index=np.arange(12)[::-1]), None),
        (pl.Series(SOME.tolist()), None),
    ],
    ids=["list", "nan", "minus one", "text", "pandas", "polars"],
)
def test_folds_of_labels_of_any_type(y, unlabelled):
    expected = LabelledKFold(3).split(X, SOME)
    found = LabelledKFold(3, unlabelled=unlabelled).split(X, y)
    for (_, test), (_, same) in zip(expected, found, strict=True):
        np.testing.assert_array_equal(test, same)


def test_shuffled_folds_follow_the_seed():
    def tests(seed):
        folds = LabelledKFold(3, shuffle=True, random_state=seed).split(X, SOME)
        return [test.tolist() for _, test in folds]

    assert tests(0) == tests(0)
    assert tests(0) != tests(1)


def test_folds_show_themselves():
    folds = LabelledKFold(3, unlabelled=-1)
    assert folds.get_n_splits() == folds.get_n_splits(X, SOME, None) == 3
    assert (
        repr(folds) == "LabelledKFold(n_splits=3, unlabelled=-1, shuffle=False, random_state=None)"
    )


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({}, [None] * 12, "y has no labelled rows"),
        ({}, None, "requires y"),
        ({}, SOME[:-1], r"inconsistent numbers of samples: \[12, 11\]"),
        ({"n_splits": 1}, SOME, "n_splits=1"),
        ({"n_splits": 10}, SOME, "n_splits=10"),
        ({"random_state": 0}, SOME, "random_state has no effect since shuffle is False"),
    ],
)
def test_bad_folds(options, y, message):
    with pytest.raises(ValueError, match=message):
        list(LabelledKFold(**{"n_splits": 2, **options}).split(X, y))


# Scores


def test_unlabelled_rows_are_left_out():
    rows, given = X[LABELLED], SOME[LABELLED].astype(str)
    assert labelled_scorer()(FITTED, X, SOME) == accuracy_score(given, FITTED.predict(rows))
    loss = labelled_scorer("neg_log_loss")(FITTED, X, SOME)
    np.testing.assert_allclose(loss, -log_loss(given, FITTED.predict_proba(rows)))
    assert labelled_scorer(unlabelled="?")(FITTED, X, np.where(LABELLED, SOME, "?")) == (
        labelled_scorer()(FITTED, X, SOME)
    )


def test_scores_of_complete_labels_are_those_of_scikit_learn():
    y = np.where(LABELLED, SOME, "a").astype(str)
    for name in ("accuracy", "f1_macro", "roc_auc", "neg_log_loss"):
        score = labelled_scorer(name)(FITTED, X, y)
        assert isinstance(score, float)
        np.testing.assert_allclose(score, get_scorer(name)(FITTED, X, y))


def test_a_scorer_of_ones_own():
    seen = []
    assert (
        labelled_scorer(lambda *arguments: seen.append(arguments) or 0.25)(FITTED, X, SOME) == 0.25
    )
    (_, rows, given), *_ = seen
    np.testing.assert_array_equal(rows, X[LABELLED])
    np.testing.assert_array_equal(given, SOME[LABELLED])


@pytest.mark.parametrize(
    ("y", "of_type"),
    [
        (np.array([{"a": 0.0, "b": 1.0}.get(label, np.nan) for label in SOME]), float),
        (pd.array([{"a": 0, "b": 1}.get(label) for label in SOME], dtype="Int64"), int),
        (np.array([{"a": False, "b": True}.get(label) for label in SOME], dtype=object), bool),
    ],
    ids=["nan", "Int64", "bool"],
)
def test_scores_of_labels_of_any_type(y, of_type):
    clf = GaussianNB().fit(X[LABELLED], (SOME == "b")[LABELLED].astype(of_type))
    expected = get_scorer("f1_macro")(FITTED, X[LABELLED], SOME[LABELLED].astype(str))
    assert labelled_scorer("f1_macro")(clf, X, y) == expected


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.coo_matrix, pd.DataFrame, np.ndarray.tolist])
def test_rows_of_any_kind(form):
    clf = MultinomialNB().fit(X[LABELLED], SOME[LABELLED].astype(str))
    rows = form(X)
    if form is pd.DataFrame:
        rows.columns = [0, 1]  # numbers are no names of features
    assert labelled_scorer()(clf, rows, SOME) == labelled_scorer()(clf, X, SOME)


def test_weights_of_the_rows_that_are_scored():
    weight = np.arange(12.0)
    given = SOME[LABELLED].astype(str)
    expected = accuracy_score(given, FITTED.predict(X[LABELLED]), sample_weight=weight[LABELLED])
    for values in (weight, weight.tolist(), pd.Series(weight)):
        assert labelled_scorer()(FITTED, X, SOME, sample_weight=values) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: labelled_scorer("guess"), "'guess' is not a valid scoring value"),
        (lambda: labelled_scorer(None), "scoring must be the name of a scorer.* got None"),
        (lambda: labelled_scorer()(FITTED, X, [None] * 12), "y has no labelled rows"),
        (lambda: labelled_scorer()(FITTED, X[:5], SOME), r"inconsistent .* \[5, 12\]"),
    ],
    ids=["name", "none", "unlabelled", "lengths"],
)
def test_bad_scores(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# With the tools of scikit-learn


class Forgetful(GaussianNB):
    """Learns from the labelled rows alone."""

    def fit(self, X, y):
        labelled = np.array([label is not None for label in y])
        return super().fit(X[labelled], y[labelled].astype(str))


def test_cross_validation():
    scores = cross_val_score(Forgetful(), X, SOME, cv=LabelledKFold(3), scoring=labelled_scorer())
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_a_search_can_be_pickled():
    search = GridSearchCV(
        Forgetful(),
        {"var_smoothing": [1e-9, 0.1]},
        cv=LabelledKFold(2),
        scoring={"accuracy": labelled_scorer(), "loss": labelled_scorer("neg_log_loss")},
        refit="loss",
    ).fit(X, SOME)
    loaded = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert loaded.score(X, SOME) == search.score(X, SOME)


def test_routed_metadata():
    given = SOME[LABELLED].astype(str)
    weight = np.linspace(1.0, 2.0, len(given))
    rows = StandardScaler().fit_transform(X[LABELLED])
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            LogisticRegression().set_fit_request(sample_weight=True),
            rows,
            given,
            cv=LabelledKFold(2),
            scoring=labelled_scorer(),
            params={"sample_weight": weight},
        )
    assert np.isfinite(scores).all()
