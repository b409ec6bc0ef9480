"""p(s|x): what is held out from what, which form is kept, and classifiers from elsewhere."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from problems import assert_probabilities, draw_labelled, folds_of
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from decoupling.fits.ensembles import Training, out_of_fold
from decoupling.fits.estimators import as_rows
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.nested import nest
from decoupling.label_model.bags import fit_bags
from decoupling.label_model.forms import BagsForm, JointForm, LabelSet, SplitForm
from decoupling.label_model.model import fit_label_model, prefit_label_model, warn_if_by_heart

BAYES = GaussianNB()  # it takes weights, and has a closed form
LOGISTIC = LogisticRegression()


def fit(X, codes, weight=None, folds=None, estimator=BAYES, n_labels=4, **options):
    folds = folds_of(codes) if folds is None else folds
    labels = label_set(n_labels, options)
    return fit_label_model(
        Training(estimator, {}), GivenRows(X, codes, weight), folds, labels, **options
    )


def label_set(n_labels, options):
    """The labels that some of the options describe; the others are left."""
    return LabelSet(
        n_labels, options.pop("has_unlabelled", True), options.pop("constant_rate", False)
    )


def prefit(model, X, codes, weight, columns, *, n_labels, **options):
    labels = label_set(n_labels, options)
    return prefit_label_model(model, GivenRows(X, codes, weight), columns, labels, **options)


def test_calibration_makes_the_labels_more_likely():
    X, codes = draw_labelled(labelled=0.3)
    raw, mapped = (fit(X, codes, calibrate=calibrate) for calibrate in (False, True))
    assert raw.calibration is None
    np.testing.assert_allclose(raw.proba, raw.raw, atol=1e-8)
    assert mapped.log_likelihood > raw.log_likelihood


# The whole


def by_hand(X, codes, folds, new):
    """Both forms, a fold at a time: mean ln p(s|x) held out, p(s|x) held out, p(s|x) of new."""
    rows = {"joint": np.zeros((len(X), 4)), "split": np.zeros((len(X), 4))}
    unseen = {"joint": 0.0, "split": 0.0}
    share_unseen = label_unseen = every_label = 0.0
    unlabelled = codes == 0  # the label models have seen none of these rows: all of them predict
    for fold in folds:
        train, test = fold.fit, fold.predict
        labelled = train[codes[train] > 0]
        joint = GaussianNB().fit(X[train], codes[train])
        share = GaussianNB().fit(X[train], codes[train] > 0)
        label = GaussianNB().fit(X[labelled], codes[labelled])
        rows["joint"][test] = joint.predict_proba(X[test])
        every_label += label.predict_proba(X[unlabelled]) / len(folds)
        p = share.predict_proba(X[test])
        rows["split"][test] = np.hstack([p[:, :1], p[:, 1:] * label.predict_proba(X[test])])
        unseen["joint"] += joint.predict_proba(new) / len(folds)
        share_unseen += share.predict_proba(new) / len(folds)
        label_unseen += label.predict_proba(new) / len(folds)
    labelled_share = 1 - rows["split"][unlabelled, :1]
    rows["split"][unlabelled, 1:] = labelled_share * every_label
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
    ("drawn", "name", "form"),
    [(drawn_apart, "joint", JointForm), (draw_labelled, "split", SplitForm)],
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


@pytest.mark.parametrize(
    ("drawn", "constant_rate", "form"),
    [
        (drawn_apart, False, JointForm),
        (draw_labelled, False, SplitForm),
        (draw_labelled, True, SplitForm),
    ],
)
def test_what_a_fold_sees_within_its_rows_by_hand(drawn, constant_rate, form):
    """By classifiers that have seen neither the row's fold nor that fold; calibrated as all are."""
    X, codes = drawn()
    folds = folds_of(codes)
    model = fit(X, codes, folds=folds, constant_rate=constant_rate)
    assert isinstance(model.form, form)
    views = model.within(Training(BAYES, {}), GivenRows(X, codes), nest(folds, codes))
    for view, outer in zip(views, folds, strict=True):
        assert_probabilities(view, (len(X), 4))
        np.testing.assert_array_equal(view[outer.predict], 0.25)
        for other in folds:
            rows = other.predict
            if other is outer:
                continue
            seen = np.setdiff1d(np.arange(len(X)), np.concatenate([rows, outer.predict]))
            labelled = seen[codes[seen] > 0]
            if form is JointForm:
                raw = GaussianNB().fit(X[seen], codes[seen]).predict_proba(X[rows])
            else:
                label = GaussianNB().fit(X[labelled], codes[labelled]).predict_proba(X[rows])
                share = np.mean(codes > 0)
                if not constant_rate:
                    split = GaussianNB().fit(X[seen], codes[seen] > 0)
                    share = split.predict_proba(X[rows])[:, 1:]
                raw = np.hstack([np.full((len(rows), 1), 1 - share), share * label])
            np.testing.assert_allclose(view[rows], model.calibration.apply(raw), atol=1e-6)


def rare_label(n_labelled, n_rows=300):
    codes = (np.arange(n_rows) < n_labelled).astype(int)
    return np.random.default_rng(0).normal(size=(n_rows, 2)) + codes[:, None], codes


@pytest.mark.parametrize(
    ("n_labelled", "seed", "form"),
    [(30, 0, BagsForm), (59, 0, BagsForm), (60, 0, JointForm), (30, None, JointForm)],
)
def test_a_label_that_few_rows_carry_is_learnt_from_bags(n_labelled, seed, form):
    X, codes = rare_label(n_labelled)
    model = fit(X, codes, n_labels=2, rng=None if seed is None else np.random.RandomState(seed))
    assert type(model.form) is form
    assert_probabilities(model.proba, (300, 2))
    assert_probabilities(model.predict(X[:5]), (5, 2))


def test_several_labels_are_not_learnt_from_bags():
    X, codes, *_ = draw_labelled()
    codes = np.where(np.arange(len(codes)) % 9, 0, codes)
    assert not isinstance(fit(X, codes, rng=np.random.RandomState(0)).form, BagsForm)


def test_bags_within_folds_by_hand():
    X, codes = rare_label(40)
    folds, training = folds_of(codes), Training(BAYES, {})
    model = fit(X, codes, n_labels=2, rng=np.random.RandomState(7), calibrate=False)
    seed = model.form.seed
    expected = out_of_fold(
        fit_bags(training, GivenRows(X, codes), folds, seed), X, folds, len(codes)
    )
    np.testing.assert_allclose(model.raw, expected, rtol=1e-12)
    views = model.within(training, GivenRows(X, codes), nest(folds, codes))
    for view, nested in zip(views, nest(folds, codes), strict=True):
        inner = fit_bags(training, GivenRows(X, codes), nested.inner, seed)
        for one, fold in zip(inner.models, nested.inner, strict=True):
            expected = one.predict_proba(X[fold.predict])
            np.testing.assert_allclose(view[fold.predict], expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("estimator", "n_labelled"),
    [
        (KNeighborsClassifier(20), 8),  # too few rows, noticed when it predicts
        (make_pipeline(PCA(2), KNeighborsClassifier(100)), 30),
        (make_pipeline(OneHotEncoder(), LogisticRegression()), 8),  # a category that a bag lacks
        (make_pipeline(PCA(2), LogisticRegression()), 1),
    ],
    ids=["rows", "pipeline", "categories", "one label"],
)
def test_where_bags_are_too_small_there_are_none(estimator, n_labelled):
    X, codes = rare_label(n_labelled)
    if "OneHotEncoder" in str(estimator):
        X = np.arange(300.0)[:, None] % 12
    model = fit(X, codes, n_labels=2, rng=np.random.RandomState(0), estimator=estimator)
    assert_probabilities(model.proba, (300, 2))
    if n_labelled > 1:
        plain = fit(X, codes, n_labels=2, estimator=estimator)
        assert type(model.form) is JointForm
        np.testing.assert_array_equal(model.proba, plain.proba)


def test_where_bags_are_too_small_within_folds_only():
    """Bags of 40 rows, and of 20 to 27 within folds."""
    X, codes = rare_label(30)
    folds, training = folds_of(codes), Training(KNeighborsClassifier(35), {})
    rng = np.random.RandomState(0)
    model = fit(X, codes, n_labels=2, rng=rng, estimator=training.estimator, calibrate=False)
    assert isinstance(model.form, BagsForm)
    views = model.within(training, GivenRows(X, codes), nest(folds, codes))
    for view, nested in zip(views, nest(folds, codes), strict=True):
        for fold in nested.inner:
            plain = training.ensemble(X, codes, None, [fold], 2).predict_proba(X[fold.predict])
            np.testing.assert_allclose(view[fold.predict], plain, atol=1e-8)


def test_an_error_that_is_not_about_bags_is_told():
    X, codes = rare_label(30)
    X[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit(X, codes, n_labels=2, rng=np.random.RandomState(0), estimator=LOGISTIC)


def test_new_rows_are_calibrated_like_the_training_rows():
    X, codes = draw_labelled()
    model = fit(X, codes)
    raw = model.form.predict(X[:5])
    np.testing.assert_allclose(model.predict(X[:5]), model.calibration.apply(raw), atol=1e-8)
    np.testing.assert_allclose(model.proba, model.calibration.apply(model.raw), atol=1e-8)
    assert_probabilities(model.proba, (len(X), 4))


def test_a_rate_that_cannot_depend_on_x_is_not_learnt():
    X, codes = draw_labelled(1, labelled=0.3)
    weight = np.linspace(0.5, 2, len(X))
    model = fit(X, codes, weight, constant_rate=True)
    assert isinstance(model.form, SplitForm)
    rate = weight[codes > 0].sum() / weight.sum()
    np.testing.assert_allclose(1 - model.proba[:, 0], rate)
    np.testing.assert_allclose(1 - model.predict(X)[:, 0], rate)


@pytest.mark.parametrize("constant_rate", [False, True])
@pytest.mark.parametrize(("n_labels", "has_unlabelled"), [(3, False), (2, True)])
def test_where_there_is_nothing_to_split(n_labels, has_unlabelled, constant_rate):
    X, codes = draw_labelled()
    codes = np.minimum(codes, n_labels - 1)
    options = {"has_unlabelled": has_unlabelled, "constant_rate": constant_rate}
    model = fit(X, codes, n_labels=n_labels, **options)
    assert isinstance(model.form, JointForm)
    assert_probabilities(model.proba, (len(X), n_labels))


@pytest.mark.parametrize("constant_rate", [False, True])
@pytest.mark.parametrize("by_weight", [False, True])
def test_only_the_joint_form_if_a_fold_has_no_labelled_row_to_fit(by_weight, constant_rate):
    X, codes = draw_labelled()
    labelled, others = np.flatnonzero(codes > 0), np.flatnonzero(codes == 0)
    folds, weight = [Fold(others, labelled), Fold(labelled, others)], None
    if by_weight:
        folds = folds_of(codes)
        weight = np.where((codes == 0) | np.isin(np.arange(len(X)), folds[0].predict), 1.0, 0.0)
    model = fit(X, codes, weight, folds, constant_rate=constant_rate)
    assert isinstance(model.form, JointForm)
    assert np.isfinite(model.log_likelihood)


def test_order_of_rows():
    X, codes = draw_labelled(1)
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
    X, codes = draw_labelled(seed)
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
    X, codes = draw_labelled()
    weight = np.where(codes == 2, 0.0, 1.0)
    model = fit(X, codes, weight)
    assert_probabilities(model.proba, (len(X), 4))
    np.testing.assert_allclose(model.predict(X)[:, 2], 0, atol=1e-5)


@pytest.mark.parametrize("has_unlabelled", [False, True])
def test_a_label_that_is_never_seen_keeps_its_column(has_unlabelled):
    X, codes = draw_labelled()
    model = fit(X, codes, n_labels=6, has_unlabelled=has_unlabelled)
    assert_probabilities(model.proba, (len(X), 6))
    assert model.proba[:, 4:].max() < 1e-2
    assert np.isfinite(model.log_likelihood)


@pytest.mark.parametrize("calibrate", [False, True])
def test_a_label_with_fewer_members_than_folds(calibrate):
    """Its only row is held out from every classifier that might know it."""
    X, codes = draw_labelled()
    codes[codes == 3] = 0
    codes[0] = 3
    model = fit(X, codes, calibrate=calibrate)
    assert model.raw[0, 3] == 0
    assert_probabilities(model.proba, (len(X), 4))
    assert np.isfinite(model.log_likelihood)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.coo_array])
def test_sparse_rows(kind):
    X, codes = draw_labelled()
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
    X, codes = draw_labelled()
    frame = pd.DataFrame(X, columns=["u", "v"], index=np.arange(len(X))[::-1])
    by_name = make_pipeline(make_column_transformer(("passthrough", ["u", "v"])), BAYES)
    model = fit(as_rows(frame), codes, estimator=by_name)
    np.testing.assert_allclose(model.proba, fit(X, codes).proba, atol=1e-5)


# Classifiers that were fitted elsewhere


def test_prefit_classes_in_another_order():
    """The classifier knows "a" to "d", of which the labels are "d", "b" and "a", in this order."""
    X, codes = draw_labelled(labelled=1.0)
    names = np.array(["?", "d", "b", "a"])
    model = LogisticRegression().fit(X, names[codes])
    assert model.classes_.tolist() == ["a", "b", "d"]
    options = {
        "n_labels": 3,
        "has_unlabelled": False,
        "constant_rate": False,
        "calibrate": False,
    }
    found = prefit(model, X, codes - 1, None, np.array([2, 1, 0]), **options)
    np.testing.assert_allclose(found.proba, model.predict_proba(X)[:, ::-1], atol=1e-8)
    np.testing.assert_allclose(found.predict(X[:3]), found.proba[:3])
    assert len(found.folds) == 0


def test_prefit_without_unlabelled_rows_takes_their_share():
    X, codes = draw_labelled(labelled=0.4)
    weight = np.linspace(1, 2, len(X))
    labelled = codes > 0
    model = LogisticRegression().fit(X[labelled], codes[labelled])
    options = {
        "n_labels": 4,
        "has_unlabelled": True,
        "constant_rate": False,
        "calibrate": False,
    }
    found = prefit(model, X, codes, weight, np.array([1, 2, 3]), **options)
    rate = weight[labelled].sum() / weight.sum()
    np.testing.assert_allclose(found.proba[:, 0], 1 - rate, atol=1e-8)
    np.testing.assert_allclose(found.proba[:, 1:], rate * model.predict_proba(X), atol=1e-8)


def test_prefit_p_of_labelled_is_constant_where_it_cannot_depend_on_x():
    X, codes = draw_labelled(labelled=0.4)
    model = LogisticRegression().fit(X, codes)
    assert np.ptp(model.predict_proba(X)[:, 0]) > 0.01
    options = {"n_labels": 4, "has_unlabelled": True, "constant_rate": True, "calibrate": False}
    found = prefit(model, X, codes, None, np.arange(4), **options)
    np.testing.assert_allclose(found.proba[:, 0], np.mean(codes == 0), atol=1e-8)
    label = model.predict_proba(X)[:, 1:]
    expected = np.mean(codes > 0) * label / label.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.proba[:, 1:], expected, atol=1e-8)
    np.testing.assert_allclose(found.predict(X[:3]), found.proba[:3])


def test_prefit_sure_that_a_row_is_unlabelled():
    class Sure:
        classes_ = np.arange(3)

        def predict_proba(self, X):
            return np.tile([1.0, 0.0, 0.0], (len(X), 1))

    codes = np.array([0, 1, 2, 0])
    options = {"n_labels": 3, "has_unlabelled": True, "constant_rate": True}
    found = prefit(Sure(), np.zeros((4, 1)), codes, None, np.arange(3), **options)
    np.testing.assert_allclose(found.proba, [[0.5, 0.25, 0.25]] * 4)


def test_prefit_with_unlabelled_as_a_class_that_lacks_a_label():
    X, codes = draw_labelled()
    known = np.where(codes == 3, 0, codes)
    model = LogisticRegression().fit(X, known)
    options = {"n_labels": 4, "has_unlabelled": True, "constant_rate": False}
    found = prefit(model, X, codes, None, np.array([0, 1, 2]), **options)
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_by_heart(proba, codes, codes > 0)
    assert caught == []
