"""Classifiers, labels and options that make a library answer wrongly, or in the words of others."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from decoupling import (
    LabelledKFold,
    ReliabilityDisplay,
    SetredClassifier,
    TransitionDisplay,
    infer,
)
from decoupling.datasets import load_fashion_mnist
from decoupling.fits.ensembles import Ensemble

pytestmark = [  # the rows are few, and some labels are shuffled or belong to one row
    pytest.mark.filterwarnings("ignore:p.label . class. is estimated from fewer than 30 rows"),
    pytest.mark.filterwarnings("ignore:Some classes get nearly the same labels"),
    pytest.mark.filterwarnings("ignore:No row has .* as its most probable class"),
]


class Shifting(ClassifierMixin, BaseEstimator):
    """A classifier that moves the rows that it predicts, without a word."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        if hasattr(X, "iloc"):
            X.iloc[:, 0] += 1.0
            return self.inner_.predict_proba(X.to_numpy())
        X += 1.0
        return self.inner_.predict_proba(X)


def scaled(copy, scaler=StandardScaler):
    return make_pipeline(scaler(copy=copy), LogisticRegression())


def mapped(X, path, mode):
    np.save(path / "X.npy", X)
    return np.load(path / "X.npy", mmap_mode=mode)


def as_numbers(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def labels_of(y, task):
    """Right labels of ants and bees, some missing; for positive-unlabelled a few ants alone."""
    if task == "positive-unlabelled":
        ants = np.flatnonzero(y == "ant")
        return np.where(np.isin(np.arange(len(y)), ants[:9]), "ant", None)
    return np.where(y == None, "bee", y) if task == "noisy" else y  # noqa: E711


# --------------------------------------------------------------------------- rows


@pytest.mark.parametrize("kind", ["array", "fortran", "float32", "frame", "csr", "map r", "map r+"])
def test_d05_steps_that_work_in_place(pets, make, kind, tmp_path):
    """The answer is that of the same steps on copies, to the last bit, and the rows stay."""
    pd = pytest.importorskip("pandas")
    kinds = {
        "array": lambda X: X.copy(),
        "fortran": lambda X: np.asfortranarray(X),
        "float32": lambda X: X.astype(np.float32),
        "frame": lambda X: pd.DataFrame(X.copy(), columns=["size", "weight"]),
        "csr": lambda X: sparse.csr_array(X),
        "map r": lambda X: mapped(X, tmp_path, "r"),
        "map r+": lambda X: mapped(X, tmp_path, "r+"),
    }
    X = kinds[kind](pets[0] + 3.0)
    before = as_numbers(X).copy()
    scaler = MaxAbsScaler if kind == "csr" else StandardScaler
    on_copies, in_place = (
        make(scaled(copy, scaler), task="noisy").fit(X, pets[1]) for copy in (True, False)
    )
    expected = on_copies.predict_proba(X)
    for _ in range(2):
        np.testing.assert_array_equal(in_place.predict_proba(X), expected)
    np.testing.assert_array_equal(in_place.class_proba_, on_copies.class_proba_)
    np.testing.assert_array_equal(as_numbers(X), before)


@pytest.mark.parametrize("task", ["noisy", "semi-supervised", "positive-unlabelled"])
@pytest.mark.parametrize("frame", [False, True], ids=["array", "frame"])
def test_d05_rounds_bags_and_self_training_see_the_rows_as_they_came(pets, make, task, frame):
    pd = pytest.importorskip("pandas")
    X, y = pets[0] + 3.0, labels_of(pets[1], task)
    X = pd.DataFrame(X) if frame else X
    before = as_numbers(X).copy()
    on_copies, in_place = (
        make(scaled(copy), task=task, rounds=2).fit(X, y) for copy in (True, False)
    )
    np.testing.assert_array_equal(in_place.predict_proba(X), on_copies.predict_proba(X))
    np.testing.assert_array_equal(in_place.class_proba_, on_copies.class_proba_)
    np.testing.assert_array_equal(as_numbers(X), before)


@pytest.mark.parametrize("frame", [False, True], ids=["array", "frame"])
def test_d05_a_classifier_that_changes_what_it_predicts(pets, make, frame):
    """Each model of the folds sees the rows as they came, and so does the next call."""
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(pets[0]) if frame else pets[0].copy()
    clf = make(Shifting(), task="noisy").fit(X, pets[1])
    once = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.predict_proba(X), once)
    np.testing.assert_array_equal(as_numbers(X), pets[0])


@pytest.mark.parametrize("cv", ["prefit", None])
def test_d05_rows_of_the_user_stay_as_they_are(pets, make, cv):
    y = labels_of(pets[1], "noisy")
    X, shifting = pets[0].copy(), Shifting()
    if cv == "prefit":
        shifting.fit(pets[0], y)
    make(shifting, task="noisy", cv=cv).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(X, pets[0])


def test_d05_chunks_of_dask(pets, make):
    dask_array = pytest.importorskip("dask.array")
    X, y = pets[0].copy(), labels_of(pets[1], "noisy")
    fitted = make(Shifting().fit(pets[0], y), task="noisy", cv="prefit")
    chunks = dask_array.from_array(X, chunks=(30, 2), asarray=False)
    found = fitted.fit(chunks, y).predict_proba(chunks)
    np.testing.assert_array_equal(found, fitted.fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(X, pets[0])


def test_d05_texts_in_a_list():
    class Reversing(GaussianNB):
        def predict_proba(self, X):
            X.reverse()
            return super().predict_proba(np.array([[len(text)] for text in X], dtype=float))

    model = Reversing().fit([[1.0], [5.0]], [0, 1])
    texts = ["a", "bbbbb"]
    found = Ensemble((model, model), 2).predict_proba(texts)
    assert found[1, 0] > 0.99  # both have reversed a list of their own
    assert texts == ["a", "bbbbb"]


@pytest.mark.parametrize("kind", ["transformer", "function"])
def test_d05_representations_of_setred(pets, kind):
    def in_place(model, X):
        X *= 100.0
        return X

    X = pets[0] + 3.0
    y = np.where(pets[1] == "ant", "ant", np.where(np.arange(len(X)) % 2, "bee", None))
    representation = StandardScaler(copy=False) if kind == "transformer" else in_place
    found = SetredClassifier(representation=representation, random_state=0).fit(X, y)
    np.testing.assert_array_equal(X, pets[0] + 3.0)
    if kind == "transformer":
        same = SetredClassifier(representation=StandardScaler(), random_state=0).fit(X, y)
        np.testing.assert_array_equal(found.transduction_, same.transduction_)


@pytest.mark.parametrize("what", ["y", "sample_weight", "known_classes"])
def test_d22_an_index_in_another_order(pets, make, what):
    pd = pytest.importorskip("pandas")
    X, columns = pd.DataFrame(pets[0]), {"y": pd.Series(pets[1])}
    if what != "y":
        columns[what] = pd.Series(
            {"sample_weight": np.ones(len(X)), "known_classes": pets[1]}[what]
        )
    columns[what] = columns[what].sample(frac=1.0, random_state=0)
    match = f"X and {what} have the same names of rows .* pass {what}.loc"
    with pytest.warns(UserWarning, match=match) as caught:
        make(task="noisy").fit(X, **columns)
    assert [w.filename for w in caught if "names of rows" in str(w.message)] == [__file__]


def test_d22_scores_folds_and_setred(pets, make):
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame(pets[0]), pd.Series(pets[1])
    moved = y.sample(frac=1.0, random_state=0)
    clf = make(task="noisy").fit(X, y)
    with pytest.warns(UserWarning, match=r"pass y\.loc\[X\.index\]"):
        clf.score(X, moved)
    with pytest.warns(UserWarning, match=r"pass y\.loc\[X\.index\]"):
        list(LabelledKFold(2).split(X, moved))
    with pytest.warns(UserWarning, match=r"pass y\.loc\[X\.index\]"):
        SetredClassifier(max_iter=1, random_state=0).fit(X, moved)


def test_d22_indices_that_say_nothing(pets, make):
    """No warning (which would be an error here) for equal indices, others, or none."""
    pd = pytest.importorskip("pandas")
    X, y = pd.DataFrame(pets[0]), pd.Series(pets[1])
    rows = np.random.default_rng(0).permutation(len(X))
    for rows_of_x, labels in (
        (X.iloc[rows], y.iloc[rows]),
        (X, y.set_axis(range(1000, 1000 + len(y)))),
        (X, y.iloc[rows].to_numpy()),
        (X.to_numpy(), y.iloc[rows]),
        (X.set_axis(["a"] * len(X)), y.set_axis(["a"] * len(y))),
    ):
        make(task="noisy").fit(rows_of_x, labels)


# --------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (
            "café",
            "cafe\u0301",
            r"'caf\\xe9' \(\d+ rows, first \d+\), 'cafe\\u0301' \(1 row, first 0",
        ),
        ("ant", "an\u200bt", r"'ant' \(\d+ rows, first \d+\), 'an\\u200bt' \(1 row, first 0\)"),
        ("ant", "ant\u00a0", r"'ant' .*, 'ant\\xa0' \(1 row, first 0\)"),
        ("1", "1.0", r"'1' \(\d+ rows, first \d+\), '1\.0' \(1 row, first 0\)"),
        ("ant", "ANT", r"'ant' \(\d+ rows, first \d+\), 'ANT' \(1 row, first 0\)"),
    ],
    ids=["composed", "zero width", "blank", "number", "case"],
)
@pytest.mark.parametrize("library", ["list", "pandas", "pyarrow"])
def test_d10_labels_that_look_alike(pets, make, one, other, shown, library):
    y = [one if name == "ant" else name for name in pets[1].tolist()]
    y[0] = other
    y = {
        "list": lambda: y,
        "pandas": lambda: pytest.importorskip("pandas").Series(y),
        "pyarrow": lambda: pytest.importorskip("pyarrow").array(y),
    }[library]()
    with pytest.warns(UserWarning, match=f"look alike and are kept apart: {shown}") as caught:
        clf = make(task="noisy").fit(pets[0], y)
    assert caught[0].filename == __file__
    assert {one, other} <= set(clf.classes_)


def test_d10_a_label_that_shows_nothing(pets, make):
    y = ["\u200b" if name == "cow" else name for name in pets[1].tolist()]
    with pytest.warns(UserWarning, match="blank string as its label in"):
        make(task="noisy").fit(pets[0], y)


def test_d10_a_value_that_only_looks_like_unlabelled(pets, make):
    y = ["n/a" if name is None else name for name in pets[1].tolist()]
    with pytest.warns(UserWarning, match=r"unlabelled is 'N/A', and y has 'n/a', which looks like"):
        make(task="noisy", unlabelled="N/A").fit(pets[0], y)
    y[0] = "n/a "
    with pytest.warns(
        UserWarning, match=r"unlabelled is 'n/a', and y has 'n/a ', which looks like"
    ):
        make(task="noisy", unlabelled="n/a").fit(pets[0], y)


def test_d10_a_negative_class_that_looks_like_a_label(pets, make):
    y = np.where(pets[1] == "cow", None, pets[1])
    with pytest.warns(UserWarning, match=r"look alike, and are told apart: 'Ant' and 'ant'\."):
        make(task="multi-positive-unlabelled", negative="Ant").fit(pets[0], y)


def test_d10_unknown_labels_that_look_like_known_ones(pets, make):
    clf = make(task="noisy").fit(*pets)
    strange = np.where(pets[1] == "ant", "Ant\u200b", pets[1])
    with pytest.raises(ValueError, match=r"unknown labels in .* 'Ant\\u200b' looks like 'ant'\. C"):
        clf.score(pets[0], strange)


# --------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "value", ["no", "false", "", None, 2, 0.5, np.array([True, False])], ids=str
)
@pytest.mark.parametrize("name", ["calibrate", "learn_transitions"])
def test_d14_options_that_are_neither_true_nor_false(pets, make, name, value):
    with pytest.raises(ValueError, match=f"{name} must be True or False; got"):
        make(**{name: value}).fit(*pets)
    with pytest.raises(ValueError, match=f"{name} must be True or False; got"):
        make(**{name: value}).check(*pets)


@pytest.mark.parametrize("value", [0, 1, np.True_, np.int64(0)])
def test_d14_what_is_plainly_true_or_false_is_taken(pets, make, value):
    found = make(calibrate=value, learn_transitions=value, task="noisy").fit(*pets)
    same = make(calibrate=bool(value), learn_transitions=bool(value), task="noisy").fit(*pets)
    np.testing.assert_array_equal(found.class_proba_, same.class_proba_)


@pytest.mark.parametrize("name", ["refresh", "approximate", "correct_given"])
def test_d14_options_of_setred(pets, name):
    with pytest.raises(ValueError, match=f"{name} must be True or False; got 'no'"):
        SetredClassifier(start="decoupling", **{name: "no"}).fit(*pets)


@pytest.mark.parametrize("name", ["theta", "per_class"])
def test_d14_numbers_of_setred_that_are_texts(pets, name):
    with pytest.raises(ValueError, match=f"{name} must be .*; got '0.1'"):
        SetredClassifier(**{name: "0.1"}).fit(*pets)


@pytest.mark.parametrize("name", ["all_rows", "with_unlabelled"])
def test_d14_options_of_the_list_of_issues(pets, make, name):
    clf = make(task="noisy").fit(*pets)
    with pytest.raises(ValueError, match=f"{name} must be True or False; got 'no'"):
        clf.label_issues(**{name: "no"})


def test_d14_other_flags_and_verbose(pets, make):
    with pytest.raises(ValueError, match="shuffle must be True or False; got 'no'"):
        list(LabelledKFold(2, shuffle="no").split(*pets))
    with pytest.raises(ValueError, match="download must be True or False; got 'no'"):
        load_fashion_mnist("test", "no such folder", download="no")
    with pytest.raises(ValueError, match="verbose must be an integer, at least 0; got 'no'"):
        make(verbose="no").fit(*pets)


def test_d14_options_of_figures(problem):
    found = infer(problem.label_proba, problem.concentration)
    with pytest.raises(ValueError, match="colorbar must be True or False; got 'no'"):
        TransitionDisplay.from_posterior(found, colorbar="no")
    reliability = ReliabilityDisplay.from_predictions([0, 1], [[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match="counts must be True or False; got 'no'"):
        reliability.plot(counts="no")


# --------------------------------------------------------------------------- words of others


class Nameless:
    """A classifier without classes_."""

    def get_params(self, deep=True):
        return {}

    def set_params(self, **options):
        return self

    def fit(self, X, y):
        self.inner = GaussianNB().fit(X, y)
        return self

    def predict_proba(self, X):
        return self.inner.predict_proba(X)


def test_d20_a_classifier_without_classes(pets, make):
    X, y = pets[0], labels_of(pets[1], "noisy")
    match = r"Nameless has no classes_ after its fit.* Set self\.classes_ = np\.unique\(y\)"
    with pytest.raises(TypeError, match=match):
        make(Nameless()).fit(X, y)
    with pytest.raises(TypeError, match=match):
        make(Nameless().fit(X, y), cv="prefit").fit(X, y)
    with pytest.raises(TypeError, match=match):
        SetredClassifier(Nameless()).fit(X, np.where(np.arange(len(y)) < 50, y, None))


@pytest.mark.parametrize("value", [{}, [], object, 3, "logistic"])
def test_d20_what_is_no_classifier(pets, make, value):
    with pytest.raises(TypeError, match="estimator must be a classifier with fit and predict_pro"):
        make(value).fit(*pets)


@pytest.mark.parametrize("classes", [list, tuple, np.array], ids=["list", "tuple", "array"])
def test_d20_classes_in_a_list_will_do(pets, make, classes):
    X, y = pets[0], labels_of(pets[1], "noisy")
    fitted = Nameless().fit(X, y)
    fitted.classes_ = classes(np.unique(y).tolist())
    same = make(GaussianNB().fit(X, y), cv="prefit", task="noisy").fit(X, y)
    found = make(fitted, cv="prefit", task="noisy").fit(X, y)
    np.testing.assert_array_equal(found.class_proba_, same.class_proba_)


def test_d20_two_columns_of_one_name(pets, make):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(np.column_stack([pets[0], pets[0]]), columns=["size", "weight", "size", "x"])
    match = "X has several columns of one name: 'size'. Rename or drop them"
    with pytest.raises(ValueError, match=match):
        make().fit(X, pets[1])
    with pytest.raises(ValueError, match=match):
        SetredClassifier().fit(X, pets[1])
    clf = make(task="noisy").fit(X.set_axis(list("abcd"), axis=1), pets[1])
    with pytest.raises(ValueError, match=match):
        clf.predict_proba(X)


@pytest.mark.parametrize("task", ["noisy", "supervised"])
def test_d20_folds_that_are_too_small_for_the_classifier(pets, make, task):
    X, y = pets[0][:4], ["ant", "bee", "ant", "bee"]
    match = r"KNeighborsClassifier fails on the 2 rows of a fold: .*n_neighbors = 3.* Use more rows"
    with pytest.raises(ValueError, match=match):
        make(KNeighborsClassifier(3), task=task, cv=2).fit(X, y)
