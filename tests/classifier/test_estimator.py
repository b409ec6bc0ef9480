"""DecouplingClassifier: the contract of scikit-learn, tasks, types of labels, what is refused."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.exceptions import (
    DataConversionWarning,
    NotFittedError,
    UnsetMetadataPassedError,
)
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

from decoupling import (
    ClassPrior,
    DecouplingClassifier,
    LabelledKFold,
    TransitionPrior,
    labelled_scorer,
)
from decoupling.datasets import give_labels
from decoupling.label_model.forms import BagsForm
from decoupling.retraining.answer import as_named, undone
from decoupling.transitions.choice import TASKS

BAYES = GaussianNB()  # it takes weights, and is fast
NAMES = ["ant", "bee", "cow"]


def draw(n_rows=84, n_classes=3, seed=0):
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


def assert_same(one, other, rows=X):
    """Two classifiers give the same bits."""
    for name in ("label_proba_", "class_proba_", "label_conditional_proba_", "transitions_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.predict_proba(rows), other.predict_proba(rows))


# The contract of scikit-learn


# The checks bring few rows, drawn at random.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
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
    ("method", "arguments"),
    [("predict", [X]), ("predict_proba", [X]), ("transition_interval", []), ("label_issues", [])],
)
def test_not_fitted(method, arguments):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(make(), method)(*arguments)


@pytest.mark.parametrize("rounds", [0, 1])
def test_pickle(rounds):
    clf = make(rounds=rounds).fit(X, SOME)
    loaded = pickle.loads(pickle.dumps(clf))
    assert_same(clf, loaded)
    np.testing.assert_array_equal(loaded.label_issues().row, clf.label_issues().row)
    assert_same(clf, copy.deepcopy(clf))


def test_clone():
    prior = TransitionPrior.semi_supervised(NAMES, labelled=0.5)
    clf = make(task=prior, class_prior={"ant": 0.4, "bee": 0.3, "cow": 0.3}).fit(X, SOME)
    cloned = clone(clf)
    assert not hasattr(cloned, "classes_")
    np.testing.assert_array_equal(cloned.task.mean, prior.mean)
    assert_same(clf, cloned.fit(X, SOME))


def test_same_seed_same_bits():
    assert_same(make().fit(X, SOME), make().fit(X, SOME))
    other = DecouplingClassifier(BAYES, random_state=1).fit(X, SOME)
    assert (other.label_proba_ != make().fit(X, SOME).label_proba_).any()


def test_number_of_jobs_changes_no_bit():
    one, two = (make(LogisticRegression(), cv=2, n_jobs=n).fit(X, SOME) for n in (None, 2))
    assert_same(one, two)


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
    assert capsys.readouterr().out.count("[DecouplingClassifier]") == 4


# Among the tools of scikit-learn


def test_last_step_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), make()).fit(X, SOME)
    scaled = StandardScaler().fit_transform(X)
    assert_same(pipeline[-1], make().fit(scaled, SOME), scaled)
    assert pipeline.score(X, WORDS) > 0.9


def test_a_pipeline_as_classifier():
    clf = make(make_pipeline(StandardScaler(), GaussianNB())).fit(X, SOME)
    check_probabilities(clf)
    assert clf.score(X, WORDS) > 0.9
    other = clone(clf).set_params(estimator__gaussiannb__var_smoothing=1.0).fit(X, SOME)
    assert (other.class_proba_ != clf.class_proba_).any()


def test_grid_search_with_unlabelled_rows():
    search = GridSearchCV(
        make(GaussianNB(), task="semi-supervised"),
        {"estimator__var_smoothing": [1e-9, 10.0], "rounds": [0, 1]},
        scoring=labelled_scorer("neg_log_loss"),
        cv=LabelledKFold(2),
    ).fit(X, SOME)
    assert search.best_params_["estimator__var_smoothing"] == 1e-9
    assert search.score(X, SOME) > -0.5
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
    # Neighbours take no weights; a tree is certain of every row, also against its label.
    [KNeighborsClassifier(), DecisionTreeClassifier(random_state=0)],
    ids=["neighbours", "tree"],
)
@pytest.mark.parametrize("task", ["semi-supervised", "noisy"])
def test_other_classifiers(estimator, task):
    clf = make(estimator, task=task).fit(X, SOME)
    check_probabilities(clf)
    assert clf.score(X, WORDS) > 0.85


# Weights


@pytest.mark.filterwarnings("ignore:p.label . class. is estimated from fewer than 30 rows")
def test_weights_count_rows():
    weight = 1.0 + (CLASSES == 1)
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    parts = [np.flatnonzero(np.arange(len(X)) // 3 % 3 == k) for k in range(3)]
    folds = [(np.setdiff1d(np.arange(len(X)), part), part) for part in parts]
    weighted = make(cv=folds)
    weighted.fit(X, SOME, sample_weight=weight)
    copies = [np.flatnonzero(np.isin(rows, part)) for part in parts]
    folds = [(np.setdiff1d(np.arange(len(rows)), part), part) for part in copies]
    repeated = make(cv=folds)
    repeated.fit(X[rows], SOME[rows])
    np.testing.assert_allclose(weighted.transitions_, repeated.transitions_, rtol=1e-6)
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore:p.label . class. is estimated from fewer than 30 rows")
def test_no_rounds_where_a_classifier_cannot_be_fitted_within_folds():
    """Nine neighbours are there among the rows of a fold, and not in a part of them."""
    rows, needy = np.arange(14), KNeighborsClassifier(9)
    with pytest.warns(UserWarning, match=r"no rounds of retraining: .* It said: .*n_neighbors"):
        clf = make(needy, task="noisy", cv=4).fit(X[rows], WORDS[rows])
    assert clf.retrained_ is None
    check_probabilities(clf)


def test_rows_without_weight_are_still_predicted():
    weight = np.where(np.arange(len(X)) < 56, 1.0, 0.0)
    clf = make(cv=KFold(3)).fit(X, SOME, sample_weight=weight)  # the last fold has none
    check_probabilities(clf)
    assert np.mean(clf.transduction_[56:] == WORDS[56:]) > 0.8


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(84), "Negative values in data passed to `sample_weight`"),
        (np.full(84, np.nan), "Input sample_weight contains NaN"),
        (np.full(84, np.inf), "Input sample_weight contains infinity"),
        (np.ones(83), r"sample_weight.shape == \(83,\), expected \(84,\)"),
        (np.ones((84, 1)), "Sample weights must be 1D"),
        (np.zeros(84), "at least one non-zero"),
        (["much"] * 84, "could not convert string to float: 'much'"),
        (HIDDEN.astype(float), "sample_weight is 0 for every labelled row"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, SOME, sample_weight=weight)


def test_a_fold_without_weights_to_train_on():
    weight = np.where(np.arange(len(X)) < 28, 1.0, 0.0)
    with pytest.raises(ValueError, match="0 for all 56 rows that fold 0 is trained on"):
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
        assert_same(plain, make(asking).fit(X, SOME, sample_weight=weight))
        assert_same(default, make(None).fit(X, SOME, sample_weight=weight))
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
        assert_same(plain, pipeline[-1], scaled)
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
        sparse.predict_proba(form(counts)), dense.predict_proba(counts), atol=1e-6
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames(library):
    frame = library.DataFrame({"u": X[:, 0], "v": X[:, 1]})
    clf = make().fit(frame, SOME)
    assert clf.feature_names_in_.tolist() == ["u", "v"]
    assert clf.n_features_in_ == 2
    check_probabilities(clf, frame)
    np.testing.assert_allclose(clf.class_proba_, make().fit(X, SOME).class_proba_, atol=1e-9)
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
    boosting = HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=3)
    check_probabilities(make(boosting, cv=2, rounds=1).fit(rows, SOME), rows)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        make(LogisticRegression()).fit(rows, SOME)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        make(LogisticRegression()).fit(X, SOME).predict(rows)


@pytest.mark.parametrize(
    "change",
    [np.float32, np.asfortranarray, np.ndarray.tolist, pd.DataFrame],
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
        (X[:-1], r"inconsistent numbers of samples: \[83, 84\]"),
        (X[:, :, None], "dim 3"),
        (np.full((84, 2), "text"), "strings"),
    ],
)
def test_bad_rows(rows, message):
    with pytest.raises(ValueError, match=message):
        make().fit(rows, SOME)


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
    assert_same(clf, make(rounds=0, task=name).fit(X, given))


def test_supervised_is_the_classifier():
    clf = make(task="supervised", calibrate=False).fit(X, WORDS)
    np.testing.assert_array_equal(clf.transitions_, np.eye(3))
    assert clf.retrained_ is None
    # The labels are the classes: all that is left of the inference is its prior, 1 in 101.
    np.testing.assert_allclose(clf.class_proba_, clf.label_proba_, atol=0.01)
    np.testing.assert_array_equal(clf.transduction_, WORDS)


@pytest.mark.parametrize(
    ("labelled", "rounds"), [(None, True), (0.5, True), ([0.5, 0.4, 0.5], False)]
)
def test_unlabelled_rows_are_joined_only_if_they_are_like_the_labelled_ones(labelled, rounds):
    """Where some classes have more labels than others, labelled rows have another class balance."""
    clf = make(task="semi-supervised", labelled=labelled).fit(X, SOME)
    assert (clf.retrained_ is not None) == rounds
    assert make(task="semi-supervised", rounds=0).fit(X, SOME).retrained_ is None


@pytest.mark.parametrize("task", ["semi-supervised", "noisy"])
def test_a_fold_without_a_label_to_learn_from_leaves_retraining_out(task):
    given = np.where(np.isin(np.arange(len(X)), [0, 1, 2]), WORDS, None)
    folds = [(np.arange(3), np.arange(3, 84)), (np.arange(3, 84), np.arange(3))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = make(task=task, cv=folds).fit(X, given)
    assert clf.retrained_ is None
    check_probabilities(clf)


def test_labels_of_positives_may_be_wrong_at_an_unknown_rate():
    options = {"task": "multi-positive-unlabelled", "negative": "cow"}
    clean, noisy = make(**options).fit(X, TWO), make(**options, noise="auto").fit(X, TWO)
    assert clean.task_.clean
    assert not noisy.task_.clean
    wrong = noisy.transitions_[:2, 1:][~np.eye(2, dtype=bool)]
    assert ((wrong > 0) & (wrong < 0.2)).all()
    assert (noisy.transitions_[2, 1:] == 0).all()


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
    rows, classes = draw(300)
    prior = TransitionPrior.complementary(range(3), labelled=0.4)
    clf = make(task="complementary").fit(rows, give_labels(classes, prior, 0))
    check_probabilities(clf, rows)
    np.testing.assert_allclose(clf.transitions_[:, 0], 0.6, atol=0.05)
    assert np.mean(clf.transduction_ == classes) > 0.85


# Labels of any type, and the classes that come of them


OBJECTS = np.array(NAMES, dtype=object)
BOOLEANS = np.array([False, True])
DAYS = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="M8[D]")
IS_ANT = (CLASSES == 0).astype(object)


@pytest.mark.filterwarnings("ignore:p.label . class. is estimated from fewer than 30 rows for True")
@pytest.mark.parametrize(
    ("given", "classes"),
    [
        pytest.param(SOME, OBJECTS, id="objects"),
        pytest.param(SOME.tolist(), OBJECTS, id="list with gaps"),
        pytest.param(WORDS.astype(str), np.array(NAMES), id="text of numpy"),
        pytest.param(WORDS.tolist(), np.array(NAMES), id="list"),
        pytest.param(CLASSES, np.arange(3), id="int"),
        pytest.param(CLASSES.astype("i1"), np.arange(3, dtype="i1"), id="int8"),
        pytest.param(np.where(HIDDEN, None, CLASSES), np.arange(3), id="int with None"),
        pytest.param(np.where(HIDDEN, np.nan, CLASSES), np.arange(3.0), id="float"),
        pytest.param(np.ma.masked_array(CLASSES, HIDDEN), np.arange(3), id="masked"),
        pytest.param(CLASSES == 0, BOOLEANS, id="bool"),
        pytest.param(np.where(HIDDEN, None, IS_ANT), BOOLEANS, id="bool with None"),
        pytest.param(pd.Series(CLASSES, dtype="Int64").mask(HIDDEN), np.arange(3), id="Int64"),
        pytest.param(pd.Series(IS_ANT, dtype="boolean").mask(HIDDEN), BOOLEANS, id="boolean"),
        pytest.param(pd.Series(SOME, dtype="category"), OBJECTS, id="category"),
        pytest.param(pd.Categorical(SOME, [*NAMES[::-1], "yak"]), OBJECTS, id="categorical"),
        pytest.param(pd.Series(SOME, dtype="string"), OBJECTS, id="string"),
        pytest.param(pl.Series(SOME.tolist()), OBJECTS, id="polars"),
        pytest.param(DAYS[CLASSES], DAYS, id="days"),
    ],
)
def test_classes_have_the_type_of_the_labels(given, classes):
    clf = make(rounds=0, cv=2).fit(X, given)
    assert clf.classes_.dtype == classes.dtype
    assert clf.classes_.tolist() == classes.tolist()
    check_probabilities(clf)
    truth = CLASSES if len(classes) == 3 else (CLASSES == 0).astype(int)
    assert np.mean(clf.predict(X) == classes[truth]) > 0.85


def test_classes_are_sorted_whatever_comes_first():
    folds = list(KFold(3).split(X))
    one = make(rounds=0, cv=folds).fit(X, SOME)
    renamed = {None: None, "ant": "z", "bee": "y", "cow": "x"}
    other = make(rounds=0, cv=folds).fit(X, [renamed[label] for label in SOME])
    assert one.classes_.tolist() == NAMES
    assert other.labels_ == (None, "x", "y", "z")
    np.testing.assert_allclose(
        other.transitions_, one.transitions_[::-1][:, [0, 3, 2, 1]], atol=1e-6
    )
    np.testing.assert_allclose(other.class_proba_, one.class_proba_[:, ::-1], atol=1e-6)


POSITIVE = (CLASSES == 0) & ~HIDDEN


@pytest.mark.parametrize(
    ("given", "options", "classes"),
    [
        (np.where(POSITIVE, True, None), {}, [False, True]),
        (np.where(POSITIVE, False, None), {}, [False, True]),
        (POSITIVE, {"unlabelled": False}, [False, True]),
        (np.where(POSITIVE, 1.0, np.nan), {}, [0.0, 1.0]),
        (np.where(POSITIVE, 1, -1), {"unlabelled": -1}, [0, 1]),
        (np.where(POSITIVE, 1, 0), {"unlabelled": 0}, [0, 1]),
        (np.where(POSITIVE, 0.0, np.nan), {}, [-1.0, 0.0]),
        (np.where(POSITIVE, 1, None), {"negative": 7}, [1, 7]),
        (np.where(POSITIVE, "spam", None), {}, ["negative", "spam"]),
        (np.where(POSITIVE, "spam", None), {"negative": "ham"}, ["ham", "spam"]),
        (np.where(POSITIVE, "spam", "?"), {"unlabelled": "?"}, ["negative", "spam"]),
        (np.where(POSITIVE, "spam", None), {"negative": 0}, [0, "spam"]),
    ],
)
def test_the_class_that_is_never_labelled(given, options, classes):
    clf = make(rounds=1, **options).fit(X, given)
    check_probabilities(clf)
    assert clf.classes_.tolist() == classes
    assert clf.labels_[0] is None
    negative = next(name for name in classes if name != clf.labels_[1])
    np.testing.assert_array_equal(clf.transitions_[classes.index(negative)], [1.0, 0.0])
    assert np.mean((clf.predict(X) == negative) == (CLASSES != 0)) > 0.85


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([None] * 84, "y has no labelled rows: all 84 of them are unlabelled"),
        (["ant"] * 84, "y has only 1 class, 'ant', and task 'noisy' needs at least two"),
        (None, "requires y to be passed"),
        ([], "y is empty"),
        ("ant", "y should be a 1d array"),
        (np.eye(3)[CLASSES], r"y should be a 1d array, got an array of shape \(84, 3\)"),
        (SOME[:-1], r"inconsistent numbers of samples: \[84, 83\]"),
        ([1, "1"] * 42, "y mixes labels of several types: int, such as 1 .* str, such as '1'"),
        (X[:, 0], "Unknown label type: continuous"),
        (np.where(HIDDEN, np.inf, 1.0), "contains infinity .* In y it is first at row"),
        (np.array([b"a", b"b", b"c"])[CLASSES], "labels of type bytes_"),
    ],
)
def test_bad_labels(given, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, given)


def test_labels_in_a_data_frame():
    with pytest.warns(DataConversionWarning, match="column-vector y") as warned:
        clf = make(rounds=0).fit(X, pd.DataFrame({"label": SOME}))
    assert len(warned) == 1
    assert_same(clf, make(rounds=0).fit(X, SOME))
    with pytest.raises(ValueError, match="y should be a 1d array"):
        make().fit(X, pd.DataFrame({"label": SOME, "other": SOME}))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["ant", "Ant ", "cow"], r"kept apart: 'Ant ' \(15 rows, first 1\), 'ant' \(14"),
        (["ant", "", "cow"], "blank string"),
        (["ant", "nan", "cow"], "'nan' as a string in .* a gap that was made text"),
    ],
)
def test_doubtful_labels(names, message):
    given = np.where(HIDDEN, None, np.array(names, dtype=object)[CLASSES])
    with pytest.warns(UserWarning, match=message) as caught:
        clf = make(rounds=0).fit(X, given)
    assert caught[0].filename == __file__
    assert set(clf.classes_) == set(names)


def test_classes_with_awkward_names():
    names = np.array(["None", "label", "negative"], dtype=object)
    clf = make(rounds=0).fit(X, np.where(HIDDEN, None, names[CLASSES]))
    assert clf.classes_.tolist() == names.tolist()
    assert np.mean(clf.predict(X) == names[CLASSES]) > 0.85


# Rates that are known


@pytest.mark.parametrize(
    "noise",
    [0.1, [0.1] * 3, {"cow": 0.1, "ant": 0.1, "bee": 0.1}, pd.Series(0.1, index=NAMES[::-1])],
    ids=["number", "list", "mapping", "series"],
)
@pytest.mark.parametrize("labelled", [0.4, [0.4] * 3, dict.fromkeys(NAMES, 0.4)], ids=str)
def test_rates_in_every_form(noise, labelled):
    clf = make(rounds=0, cv=2, noise=noise, labelled=labelled, learn_transitions=False)
    clf.fit(X, SOME)
    expected = TransitionPrior.noisy(NAMES, noise=0.1, labelled=0.4).mean
    np.testing.assert_allclose(clf.prior_.mean, expected, rtol=1e-12)
    np.testing.assert_allclose(clf.transitions_, expected, rtol=1e-12)


def test_rates_of_each_class_go_by_name():
    rates = {"cow": 0.3, "ant": 0.6, "bee": 0.5}
    clf = make(rounds=0, cv=2, task="semi-supervised", labelled=rates).fit(X, SOME)
    np.testing.assert_allclose(clf.prior_.mean[:, 0], [0.4, 0.5, 0.7], rtol=1e-12)
    clf = make(rounds=0, cv=2, task="multi-positive-unlabelled", labelled={"bee": 0.3, "ant": 0.6})
    np.testing.assert_allclose(clf.fit(X, TWO).prior_.mean[:, 0], [0.4, 0.7, 1.0], rtol=1e-12)
    clf = make(rounds=0, cv=2, labelled=0.3).fit(X, ONE)
    np.testing.assert_allclose(clf.prior_.mean, [[0.7, 0.3], [1.0, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("task", ["supervised", "semi-supervised", "multi-positive-unlabelled"])
def test_noise_makes_labels_doubtful(task):
    clf = make(task=task, rounds=0, cv=2, noise=0.0)
    assert clf.fit(X, GIVEN[task]).task_.clean
    assert not clf.set_params(noise=0.1).fit(X, GIVEN[task]).task_.clean


def test_noise_of_each_pair():
    noise = [[0.8, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 0.9]]
    clf = make(task="class-conditional-noise", noise=noise, rounds=0, cv=2).fit(X, WORDS)
    np.testing.assert_allclose(clf.prior_.mean, noise, rtol=1e-12)
    assert (clf.transitions_[np.array(noise) == 0] == 0).all()
    with pytest.raises(ValueError, match=r"noise is a data frame.* noise.to_numpy\(\)"):
        clf.set_params(noise=pd.DataFrame(noise, NAMES, NAMES)).fit(X, WORDS)


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"noise": 1.2}, SOME, r"noise: 1.2 for class 'ant' is not a probability"),
        ({"noise": np.nan}, SOME, "noise: nan for class 'ant' is not a probability"),
        ({"noise": "much"}, SOME, 'noise must be "auto", a number.* could not convert string'),
        ({"noise": [0.1, 0.2]}, SOME, "noise must be a number, one per class .* got 2 values"),
        ({"noise": {"ant": 0.1}}, SOME, "noise must have the names .* missing: 'bee', 'cow'"),
        ({"noise": np.eye(2)}, SOME, r"noise must have shape \(3, 3\); got \(2, 2\)"),
        ({"noise": 0.1}, ONE, "Wrong labels need at least 2 classes; there is only 'ant'"),
        ({"noise": 0.1, "task": "complementary"}, COMPLEMENTARY, "'complementary' excludes"),
        ({"labelled": 0.0}, SOME, "labelled: 0 for class 'ant', 'bee', 'cow'"),
        ({"labelled": 1.5}, SOME, "labelled: 1.5 for class 'ant' is not a probability"),
        ({"labelled": 0.5}, WORDS, "labelled is below 1, but no row is unlabelled"),
        ({"labelled": 1.0}, SOME, "No class can get the label unlabelled, which .* rows"),
        ({"labelled": {"ant": 0.5, "negative": 0.1}}, ONE, "unknown: 'negative'"),
        ({"class_prior": [1, 1, 1]}, SOME, "class_prior must sum to 1 .* its sum is 3"),
        ({"class_prior": [0.5, 0.5]}, SOME, "class_prior must be .* one per class"),
        ({"class_prior": {"ant": 1.0}}, SOME, "class_prior must have the names"),
        ({"evidence": 0}, SOME, "evidence: 0 .* is not positive"),
        ({"evidence": "much"}, SOME, 'evidence must be "auto", a number'),
        ({"expected_log": "guess"}, SOME, "expected_log must be one of"),
        ({"order": 0}, SOME, "order must be an integer, at least 1"),
        ({"rounds": -1}, SOME, "rounds must be an integer, at least 0; got -1"),
        ({"rounds": 1.5}, SOME, "rounds must be an integer, at least 0; got 1.5"),
        ({"unlabelled": []}, SOME, "unlabelled must be one value"),
        ({"random_state": "x"}, SOME, "cannot be used to seed"),
    ],
)
def test_bad_options(options, given, message):
    with pytest.raises(ValueError, match=message):
        make(cv=2).set_params(**options).fit(X, given)


class Unfit(ClassifierMixin, BaseEstimator):
    """Must never be fitted."""

    def fit(self, X, y):
        raise AssertionError


@pytest.mark.parametrize(
    "options", [{"rounds": -1}, {"noise": 2}, {"labelled": 2}, {"class_prior": [1, 2, 3]}]
)
def test_options_are_refused_before_anything_is_fitted(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        make(Unfit(), **options).fit(X, SOME)


@pytest.mark.parametrize(
    ("task", "given", "message"),
    [
        ("guess", SOME, "task must be one of auto, .* or a TransitionPrior; got 'guess'"),
        (None, SOME, "task must be one of .* got None"),
        (np.eye(3), SOME, "task must be one of"),
        ("supervised", SOME, 'unlabelled rows, .* Use task="semi-supervised"'),
        ("semi-supervised", ONE, 'y has only 1 class, .* Use task="positive-unlabelled"'),
        ("positive-unlabelled", WORDS, "needs unlabelled rows, and every row of y has a label"),
        ("positive-unlabelled", TWO, r"has a single label, and y has 2: 'ant' \(\d+\), 'bee'"),
    ],
)
def test_labels_that_contradict_the_task(task, given, message):
    with pytest.raises(ValueError, match=message):
        make(task=task).fit(X, given)


@pytest.mark.parametrize("negative", [None, np.nan, [], "ant"])
def test_bad_names_of_the_negative_class(negative):
    with pytest.raises(ValueError, match="negative"):
        make(negative=negative).fit(X, ONE)


# A TransitionPrior as task


@pytest.mark.parametrize("rate", ["noise", "labelled"])
def test_a_prior_already_says_the_rates(rate):
    prior = TransitionPrior.noisy(NAMES, noise=0.1, labelled=0.5)
    with pytest.raises(ValueError, match=f"{rate}= was passed along with a TransitionPrior"):
        make(task=prior, **{rate: 0.2}).fit(X, SOME)


def test_a_prior_is_used_as_it_is():
    prior = TransitionPrior.semi_supervised(NAMES, labelled=0.4, strength=np.inf)
    clf = make(task=prior).fit(X, SOME)
    check_probabilities(clf)
    assert clf.prior_ is prior
    np.testing.assert_array_equal(clf.transitions_, prior.mean)


@pytest.mark.parametrize("cv", [3, "prefit"])
def test_names_of_a_prior_are_matched_whatever_their_order(cv):
    estimator = GaussianNB().fit(X[~HIDDEN], WORDS[~HIDDEN]) if cv == "prefit" else BAYES
    one, other = (
        make(estimator, task=TransitionPrior.semi_supervised(names, 0.5), cv=cv).fit(X, SOME)
        for names in (NAMES, NAMES[::-1])
    )
    assert other.classes_.tolist() == NAMES[::-1]
    assert np.mean(other.predict(X) == one.predict(X)) > 0.95
    assert np.mean(other.predict(X) == WORDS) > 0.9


def test_a_class_without_labels_and_a_label_without_rows():
    # No yak is ever labelled, and nobody has said "unsure".
    prior = TransitionPrior(
        [[0.5, 0.4, 0.0, 0.1], [0.5, 0.0, 0.4, 0.1], [1.0, 0.0, 0.0, 0.0]],
        [50, 50, np.inf],
        classes=["ant", "bee", "yak"],
        labels=[None, "ant", "bee", "unsure"],
    )
    clf = make(task=prior).fit(X, TWO)
    check_probabilities(clf)
    truth = np.where(CLASSES == 2, "yak", WORDS)
    assert np.mean(clf.predict(X) == truth) > 0.85
    assert clf.label_proba_[:, 3].max() < 1e-8
    assert (clf.transitions_[:2, 3] > 0).all()


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_more_classes_than_labels():
    prior = TransitionPrior(
        [[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]], 50, classes=["a", "b", "c"], labels=["a", "c"]
    )
    with pytest.warns(UserWarning, match="No row has 'b' as its most probable class"):
        clf = make(task=prior, rounds=0).fit(X, np.where(CLASSES == 2, "c", "a"))
    check_probabilities(clf)
    assert clf.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("prior", "given", "message"),
    [
        (
            TransitionPrior.semi_supervised(NAMES[:2]),
            SOME,
            r"y has unknown labels in \d+ rows: 'cow' \(\d+\). Known are 'ant', 'bee'",
        ),
        (TransitionPrior.positive_unlabelled(), ONE, "unknown labels .* Known are 1"),
        (
            TransitionPrior.noisy(NAMES),
            SOME,
            r"unlabelled rows \(first: row \d+\), and the transition prior has no column",
        ),
        (
            TransitionPrior([[0.5, 0.5, 0], [1, 0, 0]], 9, labels=[None, "ant", "bee"]),
            TWO,
            r"No class can get the label 'bee', which \d+ rows of y have",
        ),
        (TransitionPrior.semi_supervised(NAMES), [None] * 84, "no labelled rows"),
    ],
)
def test_labels_that_contradict_the_prior(prior, given, message):
    with pytest.raises(ValueError, match=message):
        make(task=prior).fit(X, given)


# Options


def test_no_rounds_is_the_inference_alone():
    clf = make(rounds=0).fit(X, SOME)
    assert clf.retrained_ is None
    np.testing.assert_array_equal(clf.class_proba_, clf.posterior_.class_proba)
    np.testing.assert_array_equal(clf.transitions_, clf.posterior_.transitions)
    assert clf.n_iter_ == clf.posterior_.trace.n_iter


def test_transitions_that_are_not_learned():
    clf = make(rounds=0, learn_transitions=False).fit(X, SOME)
    np.testing.assert_allclose(clf.transitions_, clf.prior_.mean, rtol=1e-12)


def test_no_calibration():
    clf = make(calibrate=False).fit(X, SOME)
    assert clf.label_model_.calibration is None
    check_probabilities(clf)


@pytest.mark.parametrize("method", ["beta", "taylor", "exact"])
def test_other_expected_logarithms(method):
    clf = make(expected_log=method, rounds=0, task="semi-supervised", cv=2).fit(X, SOME)
    check_probabilities(clf)
    assert np.mean(clf.predict(X) == WORDS) > 0.9


def test_folds_in_every_form():
    splitter = KFold(3, shuffle=True, random_state=0)
    pairs = list(splitter.split(X))
    expected = make(cv=splitter, rounds=1).fit(X, SOME)
    for cv in (pairs, iter(pairs), [(fit.tolist(), test.tolist()) for fit, test in pairs]):
        assert_same(expected, make(cv=cv, rounds=1).fit(X, SOME))
    check_probabilities(make(cv=LeaveOneOut(), rounds=0).fit(X[:30], SOME[:30]), X[:30])


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv must be at least 2 folds; got 1"),
        ("five", "cv must be a number, a splitter, pairs of rows, None or .* got 'five'"),
        (ShuffleSplit(2, random_state=0), "cv must hold out every row exactly once"),
        ([(np.arange(42), np.arange(42, 84))], "42 rows are never held out"),
        (2.5, "cv.* got 2.5"),
    ],
)
def test_bad_folds(cv, message):
    with pytest.raises(ValueError, match=message):
        make(cv=cv).fit(X, SOME)


def test_knowing_the_labels_by_heart():
    tree = DecisionTreeClassifier(random_state=0)
    with pytest.warns(UserWarning, match=r"agrees with 100\.0% of the labels .* cv=5"):
        clf = make(tree, cv=None, task="semi-supervised").fit(X, SOME)
    check_probabilities(clf)
    given = np.where(HIDDEN, None, np.where(np.arange(84) % 5, WORDS, "ant"))
    check_probabilities(make(LogisticRegression(), cv=None).fit(X, given))  # it cannot


@pytest.mark.parametrize("with_unlabelled", [False, True])
def test_a_fitted_classifier(with_unlabelled):
    given = np.where(HIDDEN, "?", WORDS)
    rows = np.full(len(X), True) if with_unlabelled else ~HIDDEN
    fitted = GaussianNB().fit(X[rows], given[rows])
    with pytest.warns(UserWarning, match=r"agrees with 100\.0% of the labels here"):
        clf = make(fitted, cv="prefit", unlabelled="?").fit(X, given)
    check_probabilities(clf)
    assert clf.retrained_ is None
    assert np.mean(clf.predict(X) == WORDS) > 0.9


@pytest.mark.parametrize(
    ("fitted", "error", "message"),
    [
        (GaussianNB(), NotFittedError, "not fitted yet"),
        (GaussianNB().fit(X, CLASSES), ValueError, "the classifier knows 0, 1, 2, .* 'ant', 'bee'"),
        (GaussianNB().fit(X, np.where(CLASSES == 2, "yak", WORDS)), ValueError, "'yak'"),
        (
            GaussianNB().fit(X[CLASSES < 2], WORDS[CLASSES < 2]),
            ValueError,
            r"the classifier was not fitted on the labels \['cow'\] of y",
        ),
        (SVC().fit(X, WORDS), TypeError, "SVC has no predict_proba"),
    ],
)
def test_a_fitted_classifier_of_something_else(fitted, error, message):
    with pytest.raises(error, match=message):
        make(fitted, cv="prefit").fit(X, SOME)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LinearSVC(), "LinearSVC has no predict_proba.* CalibratedClassifierCV"),
        (make_pipeline(StandardScaler(), SVC()), "Pipeline has no predict_proba"),
        (LinearRegression(), "LinearRegression has no predict_proba"),
        (StandardScaler(), "StandardScaler has no predict_proba"),
        (GaussianNB, "instance of scikit-learn estimator instead of a class"),
        ("logistic", "must be a classifier with fit and predict_proba; got 'logistic'"),
    ],
    ids=str,
)
def test_what_is_no_classifier(estimator, message):
    with pytest.raises(TypeError, match=message):
        make(estimator).fit(X, SOME)


class Blank(ClassifierMixin, BaseEstimator):
    """Knows nothing, and says so."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


def test_probabilities_that_are_none():
    with pytest.raises(ValueError, match="nan"):
        make(Blank()).fit(X, SOME)


def test_fit_parameters_reach_the_classifier():
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        make().fit(X, SOME, colour="red")


# Warnings


def test_expected_shares_of_the_classes():
    shares = {"bee": 0.3, "ant": 0.3, "cow": 0.4}
    assert_same(make(class_prior=shares).fit(X, SOME), make().fit(X, SOME))
    with pytest.warns(UserWarning, match="Class 'ant' is expected in 80.0% of the rows, and found"):
        make(class_prior=[0.8, 0.1, 0.1]).fit(X, SOME)


def test_an_estimated_t_is_no_surer_than_its_rows():
    estimated = make(task="positive-unlabelled").fit(X, ONE)
    carriers = sum(label is not None for label in ONE)
    ant = estimated.classes_.tolist().index("ant")
    assert estimated.posterior_._learned_transitions.prior_total[ant] == pytest.approx(carriers)
    told = make(task="positive-unlabelled", labelled=0.4).fit(X, ONE)
    assert told.posterior_._learned_transitions.prior_total[ant] == pytest.approx(len(X) / 2)
    wide, narrow = (np.subtract(*c.transition_interval()[::-1])[ant, 1] for c in (estimated, told))
    assert wide > narrow


def test_a_rare_label_is_learnt_from_bags_and_what_is_inferred_counts_beside_the_rounds():
    rare = np.where(np.random.default_rng(2).random(len(X)) < 0.4, None, ONE)
    clf = make(task="positive-unlabelled").fit(X, rare)
    assert isinstance(clf.label_model_.form, BagsForm)
    check_probabilities(clf)
    assert clf.retrained_.beside == ("inferred",)
    inferred = clf.posterior_.predict(clf.label_model_.predict(X)).class_proba
    np.testing.assert_array_equal(clf.predict_proba(X), clf.retrained_.predict(X, [inferred]))
    assert not np.allclose(clf.predict_proba(X), inferred)
    assert_same(clf, make(task="positive-unlabelled").fit(X, rare))
    alone = make(task="positive-unlabelled", rounds=0).fit(X, rare)
    np.testing.assert_array_equal(alone.predict_proba(X), inferred)


@pytest.mark.parametrize(
    ("given", "options"),
    [
        (ONE, {"task": "positive-unlabelled", "cv": None}),
        (TWO, {"task": "multi-positive-unlabelled"}),
    ],
)
@pytest.mark.filterwarnings("ignore")  # of what is in-sample
def test_no_bags_in_sample_nor_of_several_labels(given, options):
    rare = np.where(np.random.default_rng(2).random(len(X)) < 0.6, None, given)
    clf = make(rounds=1, **options).fit(X, rare)
    assert not isinstance(clf.label_model_.form, BagsForm)
    assert clf.retrained_ is None or not clf.retrained_.beside


def test_the_labels_as_they_are_and_with_t_undone_count_beside_the_rounds():
    clf = make(task="noisy").fit(X, SOME)
    assert clf.retrained_.beside == ("T undone", "as named")
    proba = clf.label_model_.predict(X)
    beside = [undone(proba, clf.transitions_), as_named(clf.task_, proba)]
    np.testing.assert_array_equal(clf.predict_proba(X), clf.retrained_.predict(X, beside))


@pytest.mark.filterwarnings("ignore")  # of what is in-sample
def test_nothing_that_is_not_held_out_counts_beside_the_rounds():
    clf = make(task="noisy", cv=None).fit(X, SOME)
    assert not clf.retrained_.beside
    check_probabilities(clf)


@pytest.mark.parametrize("task", ["noisy", "class-conditional-noise"])
def test_t_after_the_rounds_has_nothing_that_is_impossible(task):
    """A label that no row of a class seems to have keeps a share of one sample, as at first."""
    clf = make(task=task).fit(X, SOME)
    first = make(task=task, rounds=0).fit(X, SOME)
    assert not np.allclose(clf.prior_.mean, first.prior_.mean)
    one = 1 / (1 + len(X))
    assert clf.prior_.mean.min() > one / len(clf.labels_)
    assert (clf.prior_.mean[:, 1:].argmax(axis=1) == np.arange(3)).all()
    told = make(task=task, noise=0.1).fit(X, SOME)
    untouched = make(task=task, noise=0.1, rounds=0).fit(X, SOME)
    np.testing.assert_array_equal(told.prior_.mean, untouched.prior_.mean)


def test_t_after_the_rounds_is_nearer_where_classes_overlap():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1500)
    rows = 1.6 * np.eye(3)[y] + rng.normal(size=(1500, 3))
    noise = TransitionPrior.noisy(range(3), noise=0.2)
    given = give_labels(y, noise, 0)
    errors = [
        np.abs(make(task="noisy", rounds=n).fit(rows, given).transitions_ - noise.mean).max()
        for n in (0, 5)
    ]
    assert errors[1] < 0.7 * errors[0]


def test_class_prior_can_be_learned():
    clf = make(class_prior=ClassPrior.learned()).fit(X, SOME)
    gamma = clf.posterior_.class_prior
    assert len(set(gamma)) == 3
    low, high = clf.class_balance_interval(0.9)
    assert ((low < clf.posterior_.class_balance) & (clf.posterior_.class_balance < high)).all()
    assert clone(clf).fit(X, SOME).posterior_.class_prior.tolist() == gamma.tolist()


def test_few_rows_behind_a_rate():
    rows, classes = draw(120)
    given = np.where((classes == 0) & (np.arange(120) > 6), np.nan, classes)
    with pytest.warns(UserWarning, match=r"fewer than 30 rows for 0.0 \(3\).* pass labelled="):
        make(task="multi-positive-unlabelled", rounds=0).fit(rows, given)
    make(task="multi-positive-unlabelled", rounds=0, labelled=[0.1, 0.9, 0.9]).fit(rows, given)
    make(task="supervised", rounds=0).fit(rows[classes < 2], classes[classes < 2])  # T is known


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_classes_that_nobody_has():
    with pytest.warns(UserWarning, match=r"No row has (\d+, ){4}\d+ and 13 more as its most"):
        make(DummyClassifier(), cv=2, rounds=0).fit(np.zeros((60, 1)), np.arange(60) % 20)


# Few rows, and odd ones


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore:No row has")
@pytest.mark.parametrize(
    ("given", "task"),
    [
        (["a", "b"], "noisy"),
        (["a", None], "positive-unlabelled"),
        (["a", None, None], "positive-unlabelled"),
        (["a", "b", None], "semi-supervised"),
        (["a", "b", "c"], "class-conditional-noise"),
        (["a", "b", "b", None], "multi-positive-unlabelled"),
    ],
)
def test_two_rows_and_a_few_more(given, task):
    rows = X[: len(given)]
    for rounds in (0, 2):
        clf = make(LogisticRegression(), task=task, rounds=rounds).fit(rows, given)
        check_probabilities(clf, rows)


def test_one_row():
    with pytest.raises(ValueError, match="y has only 1 class"):
        make().fit(X[:1], ["a"])


def test_a_label_with_a_single_member():
    given = np.where(np.arange(84) == 1, "yak", SOME)
    with pytest.warns(UserWarning, match="No row has 'yak' as its most probable class"):
        clf = make(LogisticRegression(), task="semi-supervised", rounds=0).fit(X, given)
    check_probabilities(clf)
    assert clf.transduction_[1] == "yak"


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore:Only .* of the labelled rows", "ignore:No row has")
@pytest.mark.parametrize("task", ["semi-supervised", "noisy", "multi-positive-unlabelled"])
def test_features_that_say_nothing(task):
    rows = np.ones((84, 1))
    check_probabilities(make(LogisticRegression(), task=task).fit(rows, SOME), rows)


def test_rows_that_repeat():
    rows, truth = np.repeat(X[:6], 14, axis=0), np.repeat(WORDS[:6], 14)
    given = np.where(np.arange(84) % 2, truth, None)
    clf = make(LogisticRegression(), task="semi-supervised").fit(rows, given)
    check_probabilities(clf, rows)
    assert (clf.transduction_ == truth).all()


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore:The number of unique classes", "ignore:No row has")
@pytest.mark.filterwarnings("ignore:Only .* of the labelled rows")
def test_as_many_classes_as_rows():
    check_probabilities(make(DecisionTreeClassifier(random_state=0)).fit(X, np.arange(84)))


@pytest.mark.filterwarnings("ignore:No row has", "ignore:p.label . class. is estimated")
@pytest.mark.parametrize("n_labelled", [1, 83])
def test_extreme_shares_of_labelled_rows(n_labelled):
    given = np.where(np.arange(84) < n_labelled, "ant", None)
    check_probabilities(make(LogisticRegression()).fit(X, given))


# How well it works: digits, against the same classifier trained naively

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
NEGATIVE = -1
POSITIVES = {"positive-unlabelled": [3], "multi-positive-unlabelled": [2, 3, 6]}


def digits(task):
    """600 training rows, their labels and classes, and rows to test on with their classes."""
    rows, classes = load_digits(return_X_y=True)
    if task in POSITIVES:
        classes = np.where(np.isin(classes, POSITIVES[task]), classes, NEGATIVE)
    rows, rows_test, classes, classes_test = train_test_split(
        rows, classes, train_size=600, random_state=0, stratify=classes
    )
    rng = np.random.default_rng(0)
    given = np.full(600, None, dtype=object)
    for c in np.setdiff1d(classes, [NEGATIVE]):
        chosen = rng.permutation(np.flatnonzero(classes == c))[:25]
        given[chosen] = c
        wrong = chosen[rng.random(25) < 0.3]
        if task == "noisy":
            given[wrong] = rng.integers(0, 10, len(wrong))
        if task == "class-conditional-noise":
            given[wrong] = max(c - 1, 0)
    return rows, given, classes, rows_test, classes_test


def elkan_noto(naive, rows, target, rows_test):
    """p(label | x) over its mean among the rows with that label, out of fold."""
    held_out = cross_val_predict(LOGISTIC, rows, target, cv=5, method="predict_proba")
    labels = np.unique(target)
    rate = np.array([held_out[target == c, k].mean() for k, c in enumerate(labels)])
    positive = np.minimum(naive.predict_proba(rows_test)[:, 1:] / rate[1:], 1.0)
    negative = np.maximum(1.0 - positive.sum(axis=1, keepdims=True), 0.0)
    return labels[np.hstack([negative, positive]).argmax(axis=1)]


@pytest.mark.parametrize(
    ("task", "gain"),
    [
        # Labels are right and digits well apart: little is to be gained, and nothing lost.
        ("semi-supervised", -0.005),
        ("noisy", 0.1),
        ("class-conditional-noise", 0.1),
        ("positive-unlabelled", 0.1),
        ("multi-positive-unlabelled", 0.1),
    ],
)
def test_better_than_naive(task, gain):
    rows, given, classes, rows_test, classes_test = digits(task)
    clf = make(LOGISTIC, task=task, negative=NEGATIVE).fit(rows, given)
    target = np.array([NEGATIVE if label is None else label for label in given])
    used = np.full(600, True) if task in POSITIVES else target != NEGATIVE
    naive = clone(LOGISTIC).fit(rows[used], target[used])

    def score(predicted):
        scored = np.setdiff1d(classes, [NEGATIVE])
        return f1_score(classes_test, predicted, average="macro", labels=scored)

    ours = score(clf.predict(rows_test))
    assert ours >= score(naive.predict(rows_test)) + gain
    if task in POSITIVES:
        assert ours > score(elkan_noto(naive, rows, target, rows_test)) + 0.05
    # What a row's own label says makes its class surer.
    without, with_label = (
        log_loss(classes, proba, labels=clf.classes_)
        for proba in (clf.class_proba_, clf.label_conditional_proba_)
    )
    assert with_label <= without


# Imputation


def test_classes_are_drawn_from_their_probabilities():
    clf = make(task="noisy", cv=2, rounds=0).fit(X, SOME)
    draws = clf.draw_classes(4000, random_state=0)
    assert draws.shape == (4000, len(X))
    shares = np.stack([(draws == name).mean(axis=0) for name in clf.classes_], axis=1)
    error = np.sqrt(0.25 / 4000)
    assert np.abs(shares - clf.label_conditional_proba_).max() < 5 * error
    np.testing.assert_array_equal(clf.draw_classes(2, 0), clf.draw_classes(2, 0))
    assert clf.draw_classes(2, np.random.default_rng(0)).shape == (2, len(X))
    with pytest.raises(ValueError, match="n must be an integer, at least 1"):
        clf.draw_classes(0)


def test_a_certain_class_is_always_drawn():
    clf = make(task="supervised", cv=2).fit(X, WORDS)
    certain = clf.label_conditional_proba_.max(axis=1) == 1.0
    assert certain.all()
    np.testing.assert_array_equal(clf.draw_classes(3, 0), np.tile(WORDS, (3, 1)))


# A fit that fails


def test_a_fit_that_fails_leaves_what_was_there():
    clf = make(rounds=0, cv=2).fit(X, SOME)
    before = clf.predict(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.fit(X, [f"x{c}" for c in CLASSES[:-1]])
    np.testing.assert_array_equal(clf.predict(X), before)
    assert len(clf.label_issues(all_rows=True)) == np.count_nonzero(~HIDDEN)


def test_a_first_fit_that_fails_leaves_nothing():
    clf = make(rounds=-1)
    with pytest.raises(ValueError, match="rounds"):
        clf.fit(X, SOME)
    with pytest.raises(NotFittedError):
        clf.predict(X)


class Counting(GaussianNB):
    """Counts how often it is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("bad", [{"evidence": -1}, {"expected_log": "guess"}, {"order": 0}])
def test_bad_options_are_refused_before_anything_is_fitted(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        make(Counting(), **bad).fit(X, SOME)
    assert Counting.fits == 0


# Classifiers that are particular


class FromZero(GaussianNB):
    """Insists on classes 0, 1, ... without a gap, as some boosting libraries do."""

    def fit(self, X, y, sample_weight=None):
        assert np.unique(y).tolist() == list(range(len(np.unique(y))))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("given", [SOME, TWO, WORDS], ids=["some", "two", "all"])
def test_classifiers_that_count_classes_from_zero(given):
    clf = make(FromZero()).fit(X, given)
    assert_same(clf, make(GaussianNB()).fit(X, given))


def test_class_weights_by_name_are_refused():
    weighted = make_pipeline(StandardScaler(), LogisticRegression(class_weight={"ant": 9.0}))
    with pytest.raises(ValueError, match=r"logisticregression__class_weight .* is given codes"):
        make(weighted).fit(X, SOME)


def test_weights_under_another_name_are_refused():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    weight = {"logisticregression__sample_weight": np.ones(len(X))}
    with pytest.raises(ValueError, match="pass it as sample_weight="):
        make(pipeline).fit(X, SOME, **weight)


def test_weights_that_would_be_dropped_on_the_way():
    """It takes weights, the pipeline in it does not: retraining must not count on them."""
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    wrapped = CalibratedClassifierCV(inner, cv=2, method="sigmoid")
    clf = make(wrapped, task="positive-unlabelled").fit(X, ONE)
    assert np.mean((clf.predict(X) == "ant") == (CLASSES == 0)) > 0.9
    with pytest.raises(ValueError, match="does not hand them on"):
        make(wrapped).fit(X, SOME, sample_weight=np.ones(len(X)))


@pytest.mark.filterwarnings("ignore:No row has 'ant' as its most probable class")
def test_a_certain_rate_is_a_probability():
    """Whatever the seed: the estimate that it replaces must not be off by a rounding error."""
    for seed in range(5):
        some = DecouplingClassifier(BAYES, labelled=1.0, rounds=0, random_state=seed).fit(X, ONE)
        assert some.prior_.mean[0].tolist() == [0.0, 1.0]
        rates = {"ant": 1.0, "bee": 0.5, "cow": 0.3}
        clf = make(rounds=0, labelled=rates, task="noisy").fit(X, SOME)
        assert clf.prior_.mean[0, 0] == 0.0


@pytest.mark.filterwarnings("ignore:p.label . class. is estimated from fewer than 30 rows")
@pytest.mark.filterwarnings("ignore:No row has -2 as its most probable class")
def test_the_negative_class_is_not_called_unlabelled():
    given = np.where(HIDDEN, -1, CLASSES % 2)
    clf = make(task="multi-positive-unlabelled", unlabelled=-1, rounds=0).fit(X, given)
    assert clf.classes_.tolist() == [-2, 0, 1]


@pytest.mark.filterwarnings("ignore:No row has 'dog' as its most probable class")
def test_a_class_of_the_prior_without_a_label_in_y():
    prior = TransitionPrior.noisy([*NAMES, "dog"], noise=0.1, labelled=0.5)
    with pytest.warns(UserWarning, match="No row has the label of 'dog': .* prior's word alone"):
        make(task=prior, rounds=0).fit(X, SOME)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int8])
def test_integers_come_back_in_their_type(dtype):
    clf = make(rounds=0, cv=2).fit(X, CLASSES.astype(dtype))
    assert clf.predict(X).dtype == dtype


# Classes that are known of some rows, and what can be refused in advance


@pytest.mark.filterwarnings("ignore:Only")
def test_known_classes_teach_and_leave_the_labelling_alone():
    X, classes = load_wine(return_X_y=True)
    rng = np.random.default_rng(2)
    wrong = rng.random(len(classes)) < 0.4
    given = np.where(wrong, (classes + rng.integers(1, 3, len(classes))) % 3, classes)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    clf = DecouplingClassifier(model, task="noisy", random_state=0)
    before = clone(clf).fit(X, given)
    worst = before.label_issues(all_rows=True).row[:40]
    known = np.full(len(classes), np.nan)
    known[worst] = classes[worst]
    after = clone(clf).fit(X, given, known_classes=known)
    # Forty of the labels are known to be wrong, and are no fair sample: T does not hear of them
    # but by what the rounds have learnt.
    np.testing.assert_allclose(after.transitions_, before.transitions_, atol=1e-3)
    alone = clone(clf).set_params(rounds=0)
    np.testing.assert_array_equal(
        clone(alone).fit(X, given, known_classes=known).transitions_,
        clone(alone).fit(X, given).transitions_,
    )
    np.testing.assert_array_equal(after.transduction_[worst], classes[worst])
    assert (after.label_conditional_proba_[worst].max(axis=1) == 1.0).all()
    rest = np.setdiff1d(np.arange(len(classes)), worst)
    right = [(fitted.transduction_ == classes)[rest].mean() for fitted in (before, after)]
    assert right[1] > right[0]
    issues = after.label_issues(all_rows=True)
    p_wrong = dict(zip(issues.row.tolist(), issues.p_wrong.tolist(), strict=True))
    assert [p_wrong[row] for row in worst] == (given[worst] != classes[worst]).tolist()


@pytest.mark.parametrize("task", ["supervised", "semi-supervised", "positive-unlabelled"])
def test_known_classes_where_labels_are_right(task):
    """A label that contradicts its class gives way to it; T is known, and does not mind."""
    X = np.repeat([0.0, 1.0], 40)[:, None] + np.random.default_rng(0).normal(0, 0.3, (80, 1))
    given = np.repeat(["a", "b"], 40).astype(object)
    if task != "supervised":
        given[::3] = None
    if task == "positive-unlabelled":
        given[:40] = None
    given[1], known = "b", np.full(80, None)
    known[[1, 0, 79]] = ["a", "a", "b"]
    clf = DecouplingClassifier(task=task, negative="a", random_state=0)
    clf.fit(X, given, known_classes=known)
    assert clf.transduction_[[1, 0, 79]].tolist() == ["a", "a", "b"]
    assert (clf.label_conditional_proba_[[1, 0, 79]].max(axis=1) == 1.0).all()
    assert clf.label_issues().row.tolist() == [1]


def test_known_classes_where_labels_say_what_a_row_is_not():
    X, classes = draw(120)
    given = (classes + 1 + np.random.default_rng(0).integers(0, 2, 120)) % 3
    given[:2] = classes[:2]  # which cannot be
    known = np.full(120, np.nan)
    known[:4] = classes[:4]
    clf = DecouplingClassifier(BAYES, task="complementary", random_state=0)
    clf.fit(X, given, known_classes=known)
    np.testing.assert_array_equal(clf.transduction_[:4], classes[:4])


def test_known_classes_that_there_are_not():
    X, given = np.arange(20.0)[:, None], ["a", "b"] * 10
    with pytest.raises(ValueError, match=r"known_classes has unknown labels in 1 row: 'c' \(1\)"):
        DecouplingClassifier().fit(X, given, known_classes=["c"] + [None] * 19)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DecouplingClassifier().fit(X, given, known_classes=["a"])


def test_check_refuses_in_advance_and_changes_nothing():
    X, given = np.arange(20.0)[:, None], ["a", "b"] * 10
    clf = DecouplingClassifier()
    before = dict(vars(clf))
    assert clf.check(X, given).name == "noisy"
    assert clf.check(X, ["a", None] * 10).classes == ("a", "negative")
    assert vars(clf) == before
    for options in ({"task": "guess"}, {"cv": 1}, {"rounds": -1}, {"noise": 2.0}):
        with pytest.raises(ValueError, match=r"must|probability"):
            DecouplingClassifier(**options).check(X, given)
    with pytest.raises(ValueError, match="known_classes"):
        clf.check(X, given, known_classes=["c"] * 20)


def test_diagnostics_are_the_light_of_the_report():
    clf = make(cv=None, rounds=0)
    with pytest.raises(NotFittedError):
        _ = clf.diagnostics
    with pytest.warns(UserWarning, match="by heart"):
        clf.fit(X, WORDS)
    found = clf.diagnostics
    assert found.light == "red"  # nothing was held out, which p(label | x) alone need not show
    shown = clf.report().content["verdict"]["trust"]
    assert shown["light"] == found.light
    assert [reason["text"] for reason in shown["reasons"]] == [each.text for each in found.reasons]
