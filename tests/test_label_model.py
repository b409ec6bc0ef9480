"""p(s|x): what is held out from what, the two forms, and calibration on the labels."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling.label_model import (
    Calibration,
    Fold,
    JointForm,
    SplitForm,
    Training,
    aligned_proba,
    as_rows,
    best_temperature,
    check_weights,
    fit_calibration,
    fit_label_model,
    make_folds,
    out_of_fold,
    prefit_label_model,
    tempered,
    warn_if_by_heart,
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


def draw(seed=0, n_rows=90, labelled=0.5, spread=1.5):
    """Rows of three classes on a triangle, and the codes of their labels: 0 is unlabelled."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n_rows)
    X = np.array([[0.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])[classes]
    X = spread * X + rng.standard_normal((n_rows, 2))
    return X, np.where(rng.random(n_rows) < labelled, classes + 1, 0)


def folds_of(codes, n_folds=3, seed=0):
    return make_folds(None, codes, n_folds, np.random.RandomState(seed))


def fit(X, codes, weight=None, folds=None, estimator=BAYES, n_labels=4, **options):
    folds = folds_of(codes) if folds is None else folds
    options = {"has_unlabelled": True, "constant_rate": False} | options
    return fit_label_model(
        Training(estimator, {}), X, codes, weight, folds, n_labels=n_labels, **options
    )


def assert_probabilities(proba, shape):
    assert proba.shape == shape
    assert (proba > 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)


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
    X, codes = draw()
    weight = np.linspace(1, 2, len(codes))
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(Recorder().set_fit_request(sample_weight=asked))
        assert weight_parameter(pipeline) == ("sample_weight" if asked else None)
        if asked:
            ensemble = Training(pipeline, {}).ensemble(X, codes, weight, folds_of(codes), 4)
            assert all(model[-1].weight_ is not None for model in ensemble.models)


def test_each_classifier_gets_the_rows_weights_and_parameters_of_its_fold():
    X, codes = draw()
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
    X, codes = draw()
    ensemble = Training(Recorder(), {}).ensemble(X, codes, None, folds_of(codes), 4)
    assert all(model.weight_ is None for model in ensemble.models)


def test_weights_that_the_classifier_cannot_take_are_refused():
    X, codes = draw()
    with pytest.raises(ValueError, match="passed, but KNeighborsClassifier takes none"):
        fit(X, codes, np.ones(len(codes)), estimator=KNeighborsClassifier())


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
    codes = draw()[1]
    first, again, other = (folds_of(codes, seed=seed)[0].predict for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("kind", ["splitter", "pairs", "generator"])
def test_folds_of_the_user(kind):
    X, codes = draw()
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
    np.testing.assert_array_equal(ensemble.predict(X), np.tile([0.5, 0, 0.5], (4, 1)))


def test_a_row_does_not_see_its_own_label():
    X, codes = draw()
    folds = folds_of(codes)
    other = codes.copy()
    other[7] = (codes[7] + 1) % 4
    raws = [
        out_of_fold(Training(BAYES, {}).ensemble(X, c, None, folds, 4), X, folds, len(X))
        for c in (codes, other)
    ]
    np.testing.assert_array_equal(raws[0][7], raws[1][7])
    assert np.abs(raws[0] - raws[1]).max() > 1e-3


# Calibration


def test_tempered():
    proba = np.array([[0.8, 0.2], [0.5, 0.5]])
    np.testing.assert_allclose(tempered(proba, 1.0), proba)
    np.testing.assert_allclose(tempered(proba, 0.5), [[16 / 17, 1 / 17], [0.5, 0.5]])
    np.testing.assert_allclose(tempered(proba, 2.0), [[2 / 3, 1 / 3], [0.5, 0.5]])
    np.testing.assert_allclose(tempered(3 * proba, 2.0), tempered(proba, 2.0))
    assert np.isfinite(tempered(np.array([[1.0, 0.0]]), 0.05)).all()


@pytest.mark.parametrize("right", [0.6, 0.75, 0.99])
def test_best_temperature_in_closed_form(right):
    """Scores of 9 to 1, of which a share is right: 9 ** (1 / temperature) = right / wrong."""
    logs = np.log([[0.9, 0.1], [0.9, 0.1]])
    found = best_temperature(logs, np.array([0, 1]), np.array([right, 1 - right]))
    assert found == pytest.approx(np.log(9) / np.log(right / (1 - right)), rel=1e-5)


@pytest.mark.parametrize(("code", "limit"), [(0, 1 / 20), (1, 20)])
def test_the_temperature_is_limited(code, limit):
    logs = np.log([[0.55, 0.45]])
    assert best_temperature(logs, np.array([code]), np.ones(1)) == pytest.approx(limit, rel=1e-5)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_the_temperature_of_simulated_labels_is_recovered(temperature):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(4), 4000)
    codes = (rng.random((4000, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    given = tempered(proba, 1 / temperature)
    calibration = fit_calibration(given, codes, np.ones(4000), has_unlabelled=False)
    assert calibration.labelled is None
    assert calibration.temperature == pytest.approx(temperature, rel=0.05)
    np.testing.assert_allclose(calibration.apply(given), proba, atol=0.03)


def with_unlabelled(share, n_labels=3):
    """p(s|x) with these p(labelled | x), and labels in the ratio 2 to 1."""
    share = np.asarray(share, dtype=float)
    given = np.array([1.0]) if n_labels == 2 else np.array([2.0, 1.0]) / 3
    return np.column_stack([1 - share, share[:, None] * given])


def test_the_share_of_labelled_rows_by_hand():
    """Rows two and three are in the wrong order, so they take their mean; ends stay off 0 and 1."""
    proba = with_unlabelled([0.1, 0.2, 0.3, 0.9], 2)
    calibration = fit_calibration(proba, np.array([0, 1, 0, 1]), np.ones(4), has_unlabelled=True)
    expected = with_unlabelled([1e-4, 0.5, 0.5, 1 - 1e-4], 2)
    np.testing.assert_allclose(calibration.apply(proba), expected, atol=1e-12)
    assert calibration.temperature == 1.0


def test_the_share_of_labelled_rows_with_weights_by_hand():
    proba = with_unlabelled([0.2, 0.3], 2)
    weight = np.array([3.0, 1.0])
    calibration = fit_calibration(proba, np.array([1, 0]), weight, has_unlabelled=True)
    np.testing.assert_allclose(1 - calibration.apply(proba)[:, 0], 0.75)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_share_grows_with_that_of_the_classifier(n_labels):
    rng = np.random.default_rng(1)
    share = np.sort(rng.random(200))
    codes = np.where(rng.random(200) < share**3, rng.integers(1, n_labels, 200), 0)
    proba = with_unlabelled(share, n_labels)
    calibration = fit_calibration(proba, codes, np.ones(200), has_unlabelled=True)
    grid = with_unlabelled(np.linspace(0, 1, 300), n_labels)
    mapped = calibration.apply(grid)
    assert_probabilities(mapped, grid.shape)
    assert (np.diff(mapped[:, 0]) <= 0).all()
    assert mapped[-1, 0] < mapped[0, 0]
    # On average as many labels as there are, each of them.
    found = calibration.apply(proba).mean(axis=0)
    np.testing.assert_allclose(found[0], np.mean(codes == 0), atol=1e-3)


def test_a_constant_share_is_left_alone():
    proba = with_unlabelled([0.3, 0.3, 0.3])
    calibration = fit_calibration(proba, np.array([0, 1, 2]), np.ones(3), has_unlabelled=True)
    assert calibration.labelled is None
    np.testing.assert_allclose(calibration.apply(proba)[:, 0], 0.7)


def test_the_temperature_is_of_the_labels_among_themselves():
    proba = np.array([[0.5, 0.4, 0.1], [0.2, 0.4, 0.4]])
    expected = [[0.5, 1 / 3, 1 / 6], [0.2, 0.4, 0.4]]
    np.testing.assert_allclose(Calibration(None, 2.0, True).apply(proba), expected)


def test_unlabelled_rows_do_not_move_the_temperature():
    rng = np.random.default_rng(2)
    proba = rng.dirichlet([4, 1, 1], 50)
    codes = rng.integers(0, 3, 50)
    odd = proba.copy()
    odd[codes == 0, 1:] = odd[codes == 0, :0:-1]
    found = [
        fit_calibration(p, codes, np.ones(50), has_unlabelled=True).temperature
        for p in (proba, odd)
    ]
    assert found[0] == found[1]


def test_calibration_makes_the_labels_more_likely():
    X, codes = draw(labelled=0.3)
    raw, mapped = (fit(X, codes, calibrate=calibrate) for calibrate in (False, True))
    assert raw.calibration is None
    np.testing.assert_allclose(raw.proba, raw.raw, atol=1e-8)
    assert mapped.log_likelihood > raw.log_likelihood


# The whole


def by_hand(X, codes, folds, new):
    """Both forms, a fold at a time: mean ln p(s|x) held out, p(s|x) held out, p(s|x) of new."""
    rows = {"joint": np.zeros((len(X), 4)), "split": np.zeros((len(X), 4))}
    unseen = {"joint": 0.0, "split": 0.0}
    share_unseen = label_unseen = 0.0
    for fold in folds:
        train, test = fold.fit, fold.predict
        labelled = train[codes[train] > 0]
        joint = GaussianNB().fit(X[train], codes[train])
        share = GaussianNB().fit(X[train], codes[train] > 0)
        label = GaussianNB().fit(X[labelled], codes[labelled])
        rows["joint"][test] = joint.predict_proba(X[test])
        p = share.predict_proba(X[test])
        rows["split"][test] = np.hstack([p[:, :1], p[:, 1:] * label.predict_proba(X[test])])
        unseen["joint"] += joint.predict_proba(new) / len(folds)
        share_unseen += share.predict_proba(new) / len(folds)
        label_unseen += label.predict_proba(new) / len(folds)
    unseen["split"] = np.hstack([share_unseen[:, :1], share_unseen[:, 1:] * label_unseen])
    likelihood = {
        form: np.mean(np.log(proba[np.arange(len(X)), codes])) for form, proba in rows.items()
    }
    return likelihood, rows, unseen


def drawn_apart(seed=0):
    """Unlabelled rows amid the labelled ones, whom one Gaussian for them all does not describe."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, 90)
    X = np.array([[4.0, 0.0], [0.0, 0.0], [8.0, 0.0], [12.0, 0.0]])[codes]
    return X + rng.standard_normal((90, 2)), codes


@pytest.mark.parametrize(
    ("drawn", "name", "form"), [(drawn_apart, "joint", JointForm), (draw, "split", SplitForm)]
)
def test_the_form_with_the_more_likely_labels_held_out_is_kept(drawn, name, form):
    X, codes = drawn()
    new = drawn(1)[0]
    folds = folds_of(codes)
    likelihood, rows, unseen = by_hand(X, codes, folds, new)
    model = fit(X, codes, folds=folds, calibrate=False)
    assert max(likelihood, key=likelihood.get) == name
    assert isinstance(model.form, form)
    assert model.log_likelihood == pytest.approx(likelihood[name], rel=1e-6)
    np.testing.assert_allclose(model.raw, rows[name], atol=1e-6)
    np.testing.assert_allclose(model.predict(new), unseen[name], atol=1e-6)
    assert_probabilities(model.predict(new), (len(new), 4))


def test_new_rows_are_calibrated_like_the_training_rows():
    X, codes = draw()
    model = fit(X, codes)
    raw = model.form.predict(X[:5])
    np.testing.assert_allclose(model.predict(X[:5]), model.calibration.apply(raw), atol=1e-8)
    np.testing.assert_allclose(model.proba, model.calibration.apply(model.raw), atol=1e-8)
    assert_probabilities(model.proba, (len(X), 4))


def test_a_rate_that_cannot_depend_on_x_is_not_learnt():
    X, codes = draw(1, labelled=0.3)
    weight = np.linspace(0.5, 2, len(X))
    model = fit(X, codes, weight, constant_rate=True)
    assert isinstance(model.form, SplitForm)
    rate = weight[codes > 0].sum() / weight.sum()
    np.testing.assert_allclose(1 - model.proba[:, 0], rate)
    np.testing.assert_allclose(1 - model.predict(X)[:, 0], rate)


@pytest.mark.parametrize("constant_rate", [False, True])
@pytest.mark.parametrize(("n_labels", "has_unlabelled"), [(3, False), (2, True)])
def test_where_there_is_nothing_to_split(n_labels, has_unlabelled, constant_rate):
    X, codes = draw()
    codes = np.minimum(codes, n_labels - 1)
    options = {"has_unlabelled": has_unlabelled, "constant_rate": constant_rate}
    model = fit(X, codes, n_labels=n_labels, **options)
    assert isinstance(model.form, JointForm)
    assert_probabilities(model.proba, (len(X), n_labels))


@pytest.mark.parametrize("constant_rate", [False, True])
@pytest.mark.parametrize("by_weight", [False, True])
def test_only_the_joint_form_if_a_fold_has_no_labelled_row_to_fit(by_weight, constant_rate):
    X, codes = draw()
    labelled, others = np.flatnonzero(codes > 0), np.flatnonzero(codes == 0)
    folds, weight = [Fold(others, labelled), Fold(labelled, others)], None
    if by_weight:
        folds = folds_of(codes)
        weight = np.where((codes == 0) | np.isin(np.arange(len(X)), folds[0].predict), 1.0, 0.0)
    model = fit(X, codes, weight, folds, constant_rate=constant_rate)
    assert isinstance(model.form, JointForm)
    assert np.isfinite(model.log_likelihood)


def test_order_of_rows():
    X, codes = draw(1)
    order = np.random.default_rng(0).permutation(len(X))
    place = np.argsort(order)
    folds = folds_of(codes)
    moved = [Fold(place[fold.fit], place[fold.predict]) for fold in folds]
    model, permuted = fit(X, codes, folds=folds), fit(X[order], codes[order], folds=moved)
    np.testing.assert_allclose(permuted.proba, model.proba[order], atol=1e-6)
    np.testing.assert_allclose(permuted.predict(X), model.predict(X), atol=1e-6)


@pytest.mark.parametrize("constant_rate", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_weight_is_so_many_equal_rows_and_none_is_no_row(seed, constant_rate):
    X, codes = draw(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(X))
    folds = folds_of(codes)
    copies = np.repeat(np.arange(len(X)), weight)
    spread = [
        Fold(*(np.flatnonzero(np.isin(copies, part)) for part in (fold.fit, fold.predict)))
        for fold in folds
    ]
    options = {"constant_rate": constant_rate}
    weighted = fit(X, codes, weight.astype(float), folds, **options)
    repeated = fit(X[copies], codes[copies], None, spread, **options)
    assert type(weighted.form) is type(repeated.form)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-5)
    np.testing.assert_allclose(weighted.proba[copies], repeated.proba, atol=1e-5)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


def test_a_label_without_weight_is_as_good_as_absent():
    """This classifier would divide by the weight of each label."""
    X, codes = draw()
    weight = np.where(codes == 2, 0.0, 1.0)
    model = fit(X, codes, weight)
    assert_probabilities(model.proba, (len(X), 4))
    np.testing.assert_allclose(model.predict(X)[:, 2], 0, atol=1e-5)


@pytest.mark.parametrize("has_unlabelled", [False, True])
def test_a_label_that_is_never_seen_keeps_its_column(has_unlabelled):
    X, codes = draw()
    model = fit(X, codes, n_labels=6, has_unlabelled=has_unlabelled)
    assert_probabilities(model.proba, (len(X), 6))
    assert model.proba[:, 4:].max() < 1e-2
    assert np.isfinite(model.log_likelihood)


@pytest.mark.parametrize("calibrate", [False, True])
def test_a_label_with_fewer_members_than_folds(calibrate):
    """Its only row is held out from every classifier that might know it."""
    X, codes = draw()
    codes[codes == 3] = 0
    codes[0] = 3
    model = fit(X, codes, calibrate=calibrate)
    assert model.raw[0, 3] == 0
    assert_probabilities(model.proba, (len(X), 4))
    assert np.isfinite(model.log_likelihood)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_array])
def test_sparse_rows(kind):
    X, codes = draw()
    X = np.maximum(np.hstack([X, -X]), 0)
    dense = fit(X, codes, estimator=MultinomialNB())
    sparse = fit(as_rows(kind(X)), codes, estimator=MultinomialNB())
    np.testing.assert_allclose(sparse.proba, dense.proba, atol=1e-6)
    np.testing.assert_allclose(sparse.predict(kind(X)), dense.predict(X), atol=1e-6)


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series])
def test_texts(container):
    words = {1: "goal match team", 2: "bank loan rate", 3: "rain wind cloud"}
    rng = np.random.default_rng(0)
    classes = rng.integers(1, 4, 60)
    texts = [" ".join(rng.permutation(words[c].split())[:2]) + " the day" for c in classes]
    codes = np.where(rng.random(60) < 0.5, classes, 0)
    X = container(texts)
    model = fit(as_rows(X), codes, estimator=make_pipeline(TfidfVectorizer(), MultinomialNB()))
    found = model.predict(container(["team goal", "a loan", "rain"]))[:, 1:].argmax(axis=1) + 1
    np.testing.assert_array_equal(found, [1, 2, 3])
    np.testing.assert_array_equal(model.proba[:, 1:].argmax(axis=1) + 1, classes)


def test_dataframes_reach_the_classifier_with_their_columns():
    X, codes = draw()
    frame = pd.DataFrame(X, columns=["u", "v"], index=np.arange(len(X))[::-1])
    by_name = make_pipeline(make_column_transformer(("passthrough", ["u", "v"])), BAYES)
    model = fit(as_rows(frame), codes, estimator=by_name)
    np.testing.assert_allclose(model.proba, fit(X, codes).proba, atol=1e-5)


# Classifiers that were fitted elsewhere


def test_prefit_classes_in_another_order():
    """The classifier knows "a" to "d", of which the labels are "d", "b" and "a", in this order."""
    X, codes = draw(labelled=1.0)
    names = np.array(["?", "d", "b", "a"])
    model = LogisticRegression().fit(X, names[codes])
    assert model.classes_.tolist() == ["a", "b", "d"]
    options = {"n_labels": 3, "has_unlabelled": False, "calibrate": False}
    found = prefit_label_model(model, X, codes - 1, None, np.array([2, 1, 0]), **options)
    np.testing.assert_allclose(found.proba, model.predict_proba(X)[:, ::-1], atol=1e-8)
    np.testing.assert_allclose(found.predict(X[:3]), found.proba[:3])
    assert len(found.folds) == 0


def test_prefit_without_unlabelled_rows_takes_their_share():
    X, codes = draw(labelled=0.4)
    weight = np.linspace(1, 2, len(X))
    labelled = codes > 0
    model = LogisticRegression().fit(X[labelled], codes[labelled])
    options = {"n_labels": 4, "has_unlabelled": True, "calibrate": False}
    found = prefit_label_model(model, X, codes, weight, np.array([1, 2, 3]), **options)
    rate = weight[labelled].sum() / weight.sum()
    np.testing.assert_allclose(found.proba[:, 0], 1 - rate, atol=1e-8)
    np.testing.assert_allclose(found.proba[:, 1:], rate * model.predict_proba(X), atol=1e-8)


def test_prefit_with_unlabelled_as_a_class_that_lacks_a_label():
    X, codes = draw()
    known = np.where(codes == 3, 0, codes)
    model = LogisticRegression().fit(X, known)
    options = {"n_labels": 4, "has_unlabelled": True}
    found = prefit_label_model(model, X, codes, None, np.array([0, 1, 2]), **options)
    assert isinstance(found.form, JointForm)
    assert_probabilities(found.proba, (len(X), 4))
    np.testing.assert_array_equal(found.raw[:, 3], 0)
    assert np.isfinite(found.log_likelihood)


def test_a_classifier_that_knows_the_labels_by_heart():
    codes = np.array([0, 1, 2, 1])
    proba = np.eye(3)[codes]
    with pytest.warns(UserWarning, match=r"agrees with 100.0% of the labels .* cv=5"):
        warn_if_by_heart(proba, codes, codes > 0)
    warn_if_by_heart(proba[[0, 1, 2, 2]], codes, codes > 0)


def test_unlabelled_rows_are_not_what_is_known_by_heart():
    codes = np.array([0] * 999 + [1])
    proba = DummyClassifier().fit(np.zeros((1000, 1)), codes).predict_proba(np.zeros((1000, 1)))
    warn_if_by_heart(proba, codes, codes > 0)
