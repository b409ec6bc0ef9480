"""DecouplingClassifier: scikit-learn's contract, every task, labels of any type, what is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metadata_routing import UnsetMetadataPassedError

from decoupling import DecouplingClassifier, LabelledKFold, TransitionPrior, labelled_scorer
from decoupling.datasets import give_labels
from decoupling.transitions.choice import TASKS

BAYES = GaussianNB()  # it takes weights, and is fast
NAMES = ["ant", "bee", "cow"]


def draw(n_rows=90, n_classes=3, seed=0):
    """Rows of classes that stand in turn on a circle, and their classes 0, 1, ..."""
    classes = np.arange(n_rows) % n_classes
    angle = 2 * np.pi * classes / n_classes
    noise = np.random.default_rng(seed).standard_normal((n_rows, 2))
    return 3.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + noise, classes


X, CLASSES = draw()
HIDDEN = np.random.default_rng(1).random(len(X)) < 0.5
WORDS = np.array(NAMES, dtype=object)[CLASSES]
SOME = np.where(HIDDEN, None, WORDS)  # half of the labels
ONE = np.where(HIDDEN | (CLASSES != 0), None, WORDS)  # some ants
TWO = np.where(HIDDEN | (CLASSES == 2), None, WORDS)  # some ants and bees
COMPLEMENTARY = give_labels(WORDS, TransitionPrior.complementary(NAMES), 0)


def make(estimator=BAYES, **options):
    return DecouplingClassifier(estimator, random_state=0, **options)


def check_probabilities(clf, rows=X):
    """Every array of probabilities is one, and T obeys the task."""
    n_classes = len(clf.classes_)
    arrays = {
        "predict_proba": (clf.predict_proba(rows), n_classes),
        "class_proba_": (clf.class_proba_, n_classes),
        "label_conditional_proba_": (clf.label_conditional_proba_, n_classes),
        "label_proba_": (clf.label_proba_, len(clf.labels_)),
        "transitions_": (clf.transitions_, len(clf.labels_)),
    }
    for name, (array, width) in arrays.items():
        assert array.shape[1] == width, name
        assert np.isfinite(array).all(), name
        assert ((array >= 0) & (array <= 1)).all(), name
        np.testing.assert_allclose(array.sum(axis=1), 1.0, rtol=1e-12, err_msg=name)
    assert (clf.transitions_[~clf.task_.mask] == 0).all()
    predicted = clf.predict(rows)
    assert predicted.dtype == clf.transduction_.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(
        predicted, clf.classes_[arrays["predict_proba"][0].argmax(axis=1)]
    )


def same(one, other, rows=X):
    """Two classifiers give the same bits."""
    for name in ("label_proba_", "class_proba_", "label_conditional_proba_", "transitions_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(rows))


# The contract of scikit-learn


# The rows of the checks are few, and drawn at random.
@pytest.mark.filterwarnings(
    "ignore::UserWarning", f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"
)
@parametrize_with_checks([DecouplingClassifier(), DecouplingClassifier(rounds=0, cv=3)])
def test_contract(estimator, check):
    check(estimator)


def test_nothing_is_done_before_fit():
    options = {"task": [], "noise": "much", "cv": -3, "rounds": None, "class_prior": {}}
    clf = DecouplingClassifier("no classifier", **options)
    assert options.items() <= clf.get_params(deep=False).items()
    assert "no classifier" in repr(clf)
    assert clf._repr_html_()


@pytest.mark.parametrize(
    "call",
    [
        lambda clf: clf.predict(X),
        lambda clf: clf.predict_proba(X),
        lambda clf: clf.transition_interval(),
        lambda clf: clf.label_issues(),
    ],
)
def test_not_fitted(call):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(make())


@pytest.mark.parametrize("rounds", [0, 1])
def test_pickle(rounds):
    clf = make(rounds=rounds).fit(X, SOME)
    loaded = pickle.loads(pickle.dumps(clf))
    same(clf, loaded)
    np.testing.assert_array_equal(loaded.label_issues().row, clf.label_issues().row)
    same(clf, copy.deepcopy(clf))


def test_clone():
    prior = TransitionPrior.semi_supervised(NAMES, labelled=0.5)
    clf = make(task=prior, noise={"ant": 0.1}).fit(X, SOME)
    cloned = clone(clf)
    assert not hasattr(cloned, "classes_")
    np.testing.assert_array_equal(cloned.task.mean, prior.mean)
    same(clf, cloned.fit(X, SOME))


def test_same_seed_same_bits():
    same(make().fit(X, SOME), make().fit(X, SOME))
    other = DecouplingClassifier(BAYES, random_state=1).fit(X, SOME)
    assert (other.label_proba_ != make().fit(X, SOME).label_proba_).any()


def test_number_of_jobs_changes_no_bit():
    one, two = (make(LogisticRegression(), cv=2, n_jobs=n).fit(X, SOME) for n in (None, 2))
    same(one, two)


def test_fit_leaves_its_input_alone():
    rows, given, weight = X.copy(), SOME.copy(), np.linspace(1.0, 2.0, len(X))
    for array in (rows, given, weight):
        array.flags.writeable = False
    make().fit(rows, given, sample_weight=weight)
    frame, series = pd.DataFrame(X, columns=["u", "v"]), pd.Series(SOME, dtype="category")
    before = frame.copy(), series.copy()
    make().fit(frame, series)
    pd.testing.assert_frame_equal(frame, before[0])
    pd.testing.assert_series_equal(series, before[1])


@pytest.mark.parametrize("rounds", [0, 2])
def test_new_rows_do_not_depend_on_each_other(rounds):
    clf = make(rounds=rounds, task="noisy").fit(X, SOME)
    alone = np.vstack([clf.predict_proba(row[None]) for row in X[:10]])
    np.testing.assert_allclose(alone, clf.predict_proba(X)[:10], atol=1e-7)


def test_verbose_says_each_step(capsys):
    make(rounds=1).fit(X, SOME)
    assert capsys.readouterr().out == ""
    make(rounds=1, verbose=1).fit(X, SOME)
    assert capsys.readouterr().out.count("[DecouplingClassifier]") == 3


# Among the tools of scikit-learn


def test_last_step_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), make()).fit(X, SOME)
    scaled = StandardScaler().fit_transform(X)
    same(pipeline[-1], make().fit(scaled, SOME), scaled)
    assert pipeline.score(X, WORDS) > 0.9


def test_a_pipeline_as_classifier():
    clf = make(make_pipeline(StandardScaler(), BAYES)).fit(X, SOME)
    check_probabilities(clf)
    assert clf.score(X, WORDS) > 0.9
    assert clf.set_params(estimator__gaussiannb__var_smoothing=0.1).fit(X, SOME)


def test_grid_search_with_unlabelled_rows():
    grid = {"estimator__C": [1e-6, 1.0], "rounds": [0, 1]}
    search = GridSearchCV(
        make(LogisticRegression(), cv=2),
        grid,
        scoring=labelled_scorer("neg_log_loss"),
        cv=LabelledKFold(2),
    ).fit(X, SOME)
    assert search.best_params_["estimator__C"] == 1.0
    assert search.predict(X).tolist() == search.best_estimator_.predict(X).tolist()
    assert (pickle.loads(pickle.dumps(search)).predict(X) == search.predict(X)).all()


def test_cross_val_score():
    assert cross_val_score(make(), X, WORDS, cv=3).min() > 0.85
    scores = cross_val_score(make(), X, SOME, cv=LabelledKFold(3), scoring=labelled_scorer())
    assert scores.min() > 0.85


def test_calibrated_afterwards():
    calibrated = CalibratedClassifierCV(make(rounds=1, cv=3), cv=2).fit(X, WORDS)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)
    assert calibrated.score(X, WORDS) > 0.9


def test_a_classifier_that_shows_its_probabilities_only_when_fitted():
    stack = StackingClassifier([("bayes", BAYES)], cv=2)
    assert not hasattr(stack, "predict_proba")
    check_probabilities(make(stack, cv=2, rounds=0).fit(X, SOME))


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsClassifier(), DecisionTreeClassifier(random_state=0), MultinomialNB()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_other_classifiers(estimator):
    # A tree is certain of every row, often against its label; neighbours take no weights.
    clf = make(estimator, task="semi-supervised").fit(X + 10.0, SOME)
    check_probabilities(clf, X + 10.0)


# Weights


def test_weights_count_rows():
    weight = 1.0 + (CLASSES == 1)
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    parts = [np.flatnonzero(np.arange(len(X)) % 3 == k) for k in range(3)]
    weighted = make(cv=[(np.setdiff1d(np.arange(len(X)), part), part) for part in parts])
    weighted.fit(X, SOME, sample_weight=weight)
    copies = [np.flatnonzero(np.isin(rows, part)) for part in parts]
    repeated = make(cv=[(np.setdiff1d(np.arange(len(rows)), part), part) for part in copies])
    repeated.fit(X[rows], SOME[rows])
    np.testing.assert_allclose(weighted.transitions_, repeated.transitions_, rtol=1e-6)
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5, atol=1e-9
    )


def test_rows_without_weight_are_still_predicted():
    weight = np.where(np.arange(len(X)) < 60, 1.0, 0.0)
    clf = make(cv=KFold(3)).fit(X, SOME, sample_weight=weight)  # the last fold has none
    check_probabilities(clf)
    assert np.mean(clf.transduction_[60:] == WORDS[60:]) > 0.8


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(90), "Negative values in data passed to `sample_weight`"),
        (np.full(90, np.nan), "Input sample_weight contains NaN"),
        (np.full(90, np.inf), "Input sample_weight contains infinity"),
        (np.ones(89), r"sample_weight.shape == \(89,\), expected \(90,\)"),
        (np.ones((90, 1)), "Sample weights must be 1D"),
        (np.zeros(90), "at least one non-zero"),
        (["much"] * 90, "could not convert string to float: 'much'"),
        (HIDDEN.astype(float), "sample_weight is 0 for every labelled row"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, SOME, sample_weight=weight)


def test_a_fold_without_weights_to_train_on():
    weight = np.where(np.arange(len(X)) < 30, 1.0, 0.0)
    with pytest.raises(ValueError, match="0 for all 60 rows that fold 0 is trained on"):
        make(cv=KFold(3)).fit(X, SOME, sample_weight=weight)


def test_weights_for_a_classifier_that_takes_none():
    with pytest.raises(ValueError, match="sample_weight was passed, but KNeighborsClassifier"):
        make(KNeighborsClassifier()).fit(X, SOME, sample_weight=np.ones(len(X)))


def test_routed_weights():
    weight = np.linspace(0.5, 1.5, len(X))
    plain = make(LogisticRegression()).fit(X, SOME, sample_weight=weight)
    default = make(None).fit(X, SOME, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = LogisticRegression().set_fit_request(sample_weight=True)
        same(plain, make(asking).fit(X, SOME, sample_weight=weight))
        same(default, make(None).fit(X, SOME, sample_weight=weight))
        inner = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
        check_probabilities(make(inner).fit(X, SOME, sample_weight=weight))


def test_routed_weights_from_outside():
    weight = np.linspace(0.5, 1.5, len(X))
    scaled = StandardScaler().fit_transform(X)
    plain = make(LogisticRegression(), cv=2).fit(scaled, WORDS, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = LogisticRegression().set_fit_request(sample_weight=True)
        clf = make(asking, cv=2).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, clf).fit(X, WORDS, sample_weight=weight)
        same(plain, pipeline[-1], scaled)
        assert pipeline.score(X, WORDS) > 0.9
        clf.set_score_request(sample_weight=True)
        search = GridSearchCV(clf, {"rounds": [0, 1]}, cv=2).fit(X, WORDS, sample_weight=weight)
        assert search.best_score_ > 0.9


@pytest.mark.parametrize(
    ("request_", "error"), [(None, UnsetMetadataPassedError), (False, ValueError)]
)
def test_routed_weights_that_nobody_asked_for(request_, error):
    with sklearn.config_context(enable_metadata_routing=True):
        clf = make(LogisticRegression().set_fit_request(sample_weight=request_))
        with pytest.raises(error, match="set_fit_request"):
            clf.fit(X, SOME, sample_weight=np.ones(len(X)))


# Rows of any kind


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_rows(form):
    counts = np.random.default_rng(0).poisson(1.0 + 4.0 * np.eye(3)[CLASSES])
    dense, sparse = (make(MultinomialNB()).fit(rows, SOME) for rows in (counts, form(counts)))
    check_probabilities(sparse, form(counts))
    np.testing.assert_allclose(
        sparse.predict_proba(form(counts)), dense.predict_proba(counts), rtol=1e-8
    )


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_data_frames(library):
    frame = library({"u": X[:, 0], "v": X[:, 1]})
    clf = make().fit(frame, SOME)
    assert clf.feature_names_in_.tolist() == ["u", "v"]
    assert clf.n_features_in_ == 2
    same(make().fit(X, SOME), make().fit(frame.to_numpy(), SOME))
    check_probabilities(clf, frame)
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["v", "u"]])


def test_columns_of_text():
    colour = np.array(["red", "blue"], dtype=object)[np.arange(len(X)) % 2]
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "colour": colour}, index=[7] * len(X))
    columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    clf = make(make_pipeline(columns, BAYES), task="semi-supervised").fit(frame, SOME)
    check_probabilities(clf, frame)
    assert clf.score(frame, WORDS) > 0.9
    with pytest.raises(ValueError, match="could not convert string to float"):
        make().fit(frame, SOME)


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series])
def test_texts(container):
    texts = [f"the {name} number {i % 7}" for i, name in enumerate(WORDS)]
    clf = make(make_pipeline(TfidfVectorizer(), MultinomialNB()), task="semi-supervised")
    clf.fit(container(texts), SOME)
    assert clf.predict(["one ant", "a cow"]).tolist() == ["ant", "cow"]


def test_gaps_in_rows():
    rows = X.copy()
    rows[3, 1] = np.nan
    boosting = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3)
    check_probabilities(make(boosting, cv=2, rounds=1).fit(rows, SOME), rows)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        make(LogisticRegression()).fit(rows, SOME)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        make(LogisticRegression()).fit(X, SOME).predict(rows)


@pytest.mark.parametrize(
    "change",
    [np.float32, np.asfortranarray, lambda rows: rows.tolist(), lambda rows: rows.astype(object)],
)
def test_rows_of_other_types(change):
    clf = make().fit(change(X), SOME)
    np.testing.assert_allclose(
        clf.predict_proba(change(X)), make().fit(X, SOME).predict_proba(X), atol=1e-4
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[:, 0], "Expected 2D array, got 1D array"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        (X[:-1], r"inconsistent numbers of samples: \[89, 90\]"),
        (X.reshape(90, 2, 1), "dim 3"),
        (X.astype(str), "could not convert|dtype"),
    ],
)
def test_bad_rows(rows, message):
    with pytest.raises(ValueError, match=message):
        make(LogisticRegression() if rows.ndim == 3 else BAYES).fit(
            np.char.add("x", rows) if rows.dtype.kind == "U" else rows, SOME
        )


def test_bad_new_rows():
    clf = make().fit(X, SOME)
    with pytest.raises(
        ValueError, match="X has 1 features, but DecouplingClassifier is expecting 2"
    ):
        clf.predict(X[:, :1])
    with pytest.raises(ValueError, match="0 sample"):
        clf.predict(X[:0])


# Tasks

GIVEN = {
    "auto": SOME,
    "supervised": WORDS,
    "semi-supervised": SOME,
    "positive-unlabelled": ONE,
    "multi-positive-unlabelled": TWO,
    "noisy": SOME,
    "class-conditional-noise": SOME,
    "complementary": COMPLEMENTARY,
}


@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize("task", TASKS)
def test_every_task(task, rounds):
    clf = make(task=task, rounds=rounds).fit(X, GIVEN[task])
    check_probabilities(clf)
    one_sided = task.endswith("positive-unlabelled")
    n_labels = {"positive-unlabelled": 1, "multi-positive-unlabelled": 2}.get(task, 3)
    classes = [*NAMES[:n_labels], "negative"] if one_sided else NAMES
    assert clf.classes_.tolist() == classes
    truth = np.where(CLASSES < n_labels, WORDS, "negative")
    assert np.mean(clf.predict(X) == truth) > 0.8
    assert np.mean(clf.transduction_ == truth) > 0.8
    lower, upper = clf.transition_interval(0.9)
    assert ((lower <= clf.transitions_) & (clf.transitions_ <= upper)).all()


@pytest.mark.parametrize(
    ("given", "name", "unlabelled"),
    [(SOME, "noisy", True), (WORDS, "noisy", False), (ONE, "positive-unlabelled", True)],
)
def test_auto_goes_by_what_is_seen(given, name, unlabelled):
    clf = make(rounds=0).fit(X, given)
    assert clf.task_.name == name
    assert (clf.labels_[0] is None) == unlabelled
    same(clf, make(rounds=0, task=name).fit(X, given))


def test_supervised_is_the_classifier():
    clf = make(task="supervised", calibrate=False).fit(X, WORDS)
    np.testing.assert_array_equal(clf.transitions_, np.eye(3))
    assert clf.retrained_ is None
    # The labels are the classes: all that is left of the inference is its prior, 1 in 101.
    np.testing.assert_allclose(clf.class_proba_, clf.label_proba_, atol=0.01)
    np.testing.assert_array_equal(clf.transduction_, WORDS)


def test_semi_supervised_never_doubts_a_label():
    clf = make(task="semi-supervised").fit(X, SOME)
    np.testing.assert_array_equal(clf.transduction_[~HIDDEN], WORDS[~HIDDEN])
    assert len(clf.label_issues()) == 0


def test_noise_is_found():
    rows, classes = draw(300)
    words = np.array(NAMES, dtype=object)[classes]
    given = give_labels(words, TransitionPrior.noisy(NAMES, noise=0.3), 0)
    clf = make(task="noisy").fit(rows, given)
    wrong = given != words
    np.testing.assert_allclose(np.diag(clf.transitions_), 0.7, atol=0.06)
    assert np.mean(clf.transduction_ == words) > 0.95
    listed = clf.label_issues().row
    assert np.mean(wrong[listed]) > 0.9
    assert len(listed) > 0.9 * wrong.sum()


def test_complementary_labels_with_gaps():
    rows, classes = draw(600, 5)
    prior = TransitionPrior.complementary(range(5), labelled=0.5)
    clf = make(task="complementary").fit(rows, give_labels(classes, prior, 0))
    check_probabilities(clf, rows)
    np.testing.assert_allclose(clf.transitions_[:, 0], 0.5, atol=0.05)
    assert np.mean(clf.transduction_ == classes) > 0.5


# Labels of any type, and the classes that come of them


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (SOME, np.array(NAMES, dtype=object)),
        (SOME.tolist(), np.array(NAMES, dtype=object)),
        (WORDS.astype(str), np.array(NAMES)),
        (WORDS.tolist(), np.array(NAMES)),
        (CLASSES, np.arange(3)),
        (CLASSES.astype(np.int8), np.arange(3, dtype=np.int8)),
        (np.where(HIDDEN, None, CLASSES.astype(object)), np.arange(3)),
        (np.where(HIDDEN, np.nan, CLASSES), np.arange(3.0)),
        (np.where(HIDDEN, np.nan, CLASSES).astype(np.float32), np.arange(3.0)),
        (np.ma.masked_array(CLASSES, HIDDEN), np.arange(3)),
        (CLASSES == 0, np.array([False, True])),
        (np.where(HIDDEN, None, (CLASSES == 0).astype(object)), np.array([False, True])),
        (pd.Series(CLASSES, dtype="Int64").mask(HIDDEN), np.arange(3)),
        (pd.Series(CLASSES == 0, dtype="boolean").mask(HIDDEN), np.array([False, True])),
        (pd.Series(SOME, dtype="category"), np.array(NAMES, dtype=object)),
        (pd.Categorical(SOME, [*NAMES[::-1], "yak"]), np.array(NAMES, dtype=object)),
        (pd.Series(SOME, dtype="string"), np.array(NAMES, dtype=object)),
        (pl.Series(SOME.tolist()), np.array(NAMES, dtype=object)),
        (
            np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="M8[D]")[CLASSES],
            np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="M8[D]"),
        ),
    ],
    ids=str,
)
def test_classes_have_the_type_of_the_labels(given, classes):
    clf = make(rounds=0, cv=2).fit(X, given)
    assert clf.classes_.dtype == classes.dtype
    assert clf.classes_.tolist() == classes.tolist()
    check_probabilities(clf)
    assert np.mean(clf.predict(X) == classes[(CLASSES == 0).astype(int)][:]) > 0.8 or (
        np.mean(clf.predict(X) == classes[np.minimum(CLASSES, len(classes) - 1)]) > 0.8
    )
