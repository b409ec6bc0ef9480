"""Rows that look wrong: probabilities by hand, the order, and tables of every library."""

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.preprocessing import scale

from decoupling import TransitionPrior, infer
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.classifier.issues import (
    label_errors,
    label_issues,
    rank_issues,
)
from decoupling.labels.libraries import Library
from decoupling.transitions.tasks import noisy

COLUMNS = ["row", "given", "suggested", "p_wrong", "margin", "rank"]
WORDS = ["cat", "dog", None, "dog", "cat"]
LABEL_PROBA = [
    [0.2, 0.75, 0.05],
    [0.2, 0.7, 0.1],
    [0.2, 0.3, 0.5],
    [0.2, 0.09, 0.71],
    [0.2, 0.09, 0.71],
]


def solved(classes=("cat", "dog")):
    """Posterior of five rows of two classes, with a T that is known; the last two look alike."""
    labels = (None, *classes)
    mean = [[0.2, 0.72, 0.08], [0.2, 0.08, 0.72]]
    prior = TransitionPrior(mean, [np.inf, np.inf], classes=classes, labels=labels)
    return infer(LABEL_PROBA, prior)


@pytest.fixture(scope="module")
def posterior():
    return solved()


def rank(W):
    """Issues of rows that were all given the label of the first class."""
    classes = np.arange(W.shape[1])
    codes = np.zeros(len(W), dtype=int)
    return rank_issues(
            noisy(range(W.shape[1])), W, codes, classes, Library(),
            threshold=0.5, all_rows=False, with_unlabelled=False,
        )  # fmt: skip


# Probabilities


def test_probabilities_by_hand():
    # Columns: unlabelled, "a", "b", and one that is nobody's own; the third class has no label.
    own = np.array([1, 2, -1])
    W = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.4, 0.3, 0.3], [0.2, 0.5, 0.3], [0, 0, 1.0]])
    p_wrong, margin = label_errors(W, np.array([1, 2, 1, 0, 3]), own)
    np.testing.assert_allclose(p_wrong, [0.3, 0.7, 0.6, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(margin, [0.0, 0.3, 0.0, 0.5, 1.0], atol=1e-15)


def test_two_classes_of_one_label():
    W = np.array([[0.4, 0.35, 0.25]])
    p_wrong, margin = label_errors(W, np.array([0]), np.array([0, 0, 1]))
    np.testing.assert_allclose([p_wrong[0], margin[0]], [0.25, -0.35])


def test_small_probabilities_keep_their_digits():
    W = np.array([[1.0, 1e-30], [1.0, 2e-30]])
    np.testing.assert_array_equal(
        label_errors(W, np.array([0, 0]), np.array([0, 1]))[0], [1e-30, 2e-30]
    )


def test_rows_of_a_posterior(posterior):
    issues = label_issues(posterior, WORDS)
    W = posterior.label_conditional([1, 2, 0, 2, 1])
    assert issues.row.tolist() == [4, 1]
    assert issues.given.tolist() == ["cat", "dog"]
    assert issues.suggested.tolist() == ["dog", "cat"]
    assert issues.rank.tolist() == [1, 2]
    assert issues.classes.tolist() == ["cat", "dog"]
    np.testing.assert_allclose(issues.p_wrong, [1 - W[4, 0], 1 - W[1, 1]])
    np.testing.assert_allclose(issues.margin, [W[4, 1] - W[4, 0], W[1, 0] - W[1, 1]])
    np.testing.assert_array_equal(issues.class_proba, W[[4, 1]])


# What is listed, and in which order


def test_all_rows_are_the_labelled_ones(posterior):
    issues = label_issues(posterior, WORDS, all_rows=True)
    assert issues.row.tolist()[:2] == [4, 1]
    assert sorted(issues.row) == [0, 1, 3, 4]
    assert (np.diff(issues.p_wrong) <= 0).all()
    assert len(issues) == 4


def test_the_threshold(posterior):
    every = label_issues(posterior, WORDS, all_rows=True)
    for threshold in (0, every.p_wrong[2], every.p_wrong[0], 1.0):
        listed = label_issues(posterior, WORDS, threshold=threshold)
        assert listed.row.tolist() == every.row[every.p_wrong >= threshold].tolist()


def test_ties_go_by_margin_then_by_row():
    issues = rank(
        np.array([[0.25, 0.5, 0.25], [0.25, 0.75, 0.0], [0.0, 0.5, 0.5], [0.25, 0.0, 0.75]])
    )
    assert issues.row.tolist() == [2, 1, 3, 0]
    assert issues.p_wrong.tolist() == [1.0, 0.75, 0.75, 0.75]
    assert issues.margin.tolist() == [0.5, 0.5, 0.5, 0.25]


def test_the_given_class_may_be_the_most_probable():
    issues = rank(np.array([[0.4, 0.3, 0.3]]))
    assert issues.suggested.tolist() == issues.given.tolist() == [0]
    assert issues.margin.tolist() == [0.0]


def test_unlabelled_rows_on_request(posterior):
    issues = label_issues(posterior, [None, "dog", None, None, "cat"], with_unlabelled=True)
    assert issues.row[:2].tolist() == [4, 1]
    assert issues.given.tolist() == ["cat", "dog", None, None, None]
    assert sorted(issues.row[2:]) == [0, 2, 3]
    np.testing.assert_array_equal(issues.p_wrong[2:], 0.0)
    np.testing.assert_array_equal(issues.margin[2:], issues.class_proba[2:].max(axis=1))
    assert (np.diff(issues.margin[2:]) <= 0).all()
    only = label_issues(posterior, [None] * 5, with_unlabelled=True)
    assert len(only) == 5
    assert len(label_issues(posterior, [None] * 5, all_rows=True)) == 0


def test_positives_are_never_wrong():
    prior = TransitionPrior.positive_unlabelled(labelled=0.4, positive="yes", negative="no")
    posterior = infer([[0.61, 0.39], [0.99, 0.01], [0.65, 0.35]], prior)
    labels = ["yes", None, None]
    assert len(label_issues(posterior, labels)) == 0
    assert label_issues(posterior, labels, all_rows=True).p_wrong.tolist() == [0.0]
    issues = label_issues(posterior, labels, all_rows=True, with_unlabelled=True)
    assert issues.row[0] == 0  # though the suggestion for row 1 has the larger margin
    assert dict(zip(issues.row, issues.suggested, strict=True)) == {0: "yes", 1: "no", 2: "yes"}


def test_labels_that_say_what_a_row_is_not_are_never_wrong():
    prior = TransitionPrior.complementary(["a", "b", "c"])
    posterior = infer([[0.1, 0.5, 0.4], [0.5, 0.1, 0.4]], prior)
    assert len(label_issues(posterior, ["a", "b"], threshold=0)) == 0
    issues = label_issues(posterior, ["a", "b"], all_rows=True)
    np.testing.assert_array_equal(issues.p_wrong, 0.0)
    np.testing.assert_array_equal(issues.margin, issues.class_proba.max(axis=1))


def test_names_of_rows(posterior):
    issues = label_issues(posterior, WORDS, rows=[10, 20, 30, 40, 50])
    assert issues.row.tolist() == [50, 20]
    assert not issues.row.flags.writeable


# Refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["cat"]}, r"labels must have one entry per row, shape \(5,\); got \(1,\)"),
        ({"labels": [*WORDS[:4], "cow"]}, r"unknown labels in 1 row: 'cow'"),
        ({"threshold": 1.5}, r"threshold must be a probability in \[0, 1\]; got 1.5"),
        ({"threshold": -0.1}, r"threshold must be"),
        ({"threshold": float("nan")}, r"threshold must be"),
        ({"threshold": "0.5"}, r"threshold must be"),
        ({"rows": [1, 2]}, r"rows must be one integer per label, shape \(5,\); got shape \(2,\)"),
        ({"rows": [0.5] * 5}, r"rows must be one integer per label.* of float64"),
    ],
)
def test_refused(posterior, options, message):
    with pytest.raises(ValueError, match=message):
        label_issues(posterior, **{"labels": WORDS, **options})


def test_arguments_that_are_swapped(posterior):
    names = ["cat", "dog"] * 3
    proba = np.full((6, 2), 0.5)
    for arguments, kind, message in [
        (
            (names, posterior),
            TypeError,
            r"arguments are swapped. Call label_issues\(posterior, lab",
        ),
        ((posterior, posterior), TypeError, "labels is a Posterior"),
        ((names, proba), TypeError, "must be what infer returned, a Posterior; got list"),
        ((proba, names), TypeError, r"got ndarray. From p\(label | x\), call"),
        ((DecouplingClassifier(), names), TypeError, "has a method label_issues of its own"),
        ((posterior, proba), ValueError, r"got shape \(6, 2\). Were probabilities passed\?"),
    ]:
        with pytest.raises(kind, match=message):
            label_issues(*arguments)


def test_unlabelled_rows_need_a_column():
    posterior = infer([[0.7, 0.3], [0.2, 0.8]], TransitionPrior.noisy(["a", "b"], noise=0.1))
    with pytest.raises(ValueError, match=r"1 unlabelled rows \(first: row 1\)"):
        label_issues(posterior, ["a", None])


def test_like_needs_as_many_rows(posterior):
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"like must have one row per label, 5; got 2"):
        label_issues(posterior, WORDS, like=pd.DataFrame({"x": [1, 2]}))


# The record


def test_the_record_is_immutable(posterior):
    issues = label_issues(posterior, WORDS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        issues.row = None
    for name in ("row", "given", "suggested", "p_wrong", "margin", "class_proba", "classes"):
        assert not getattr(issues, name).flags.writeable
    again = pickle.loads(pickle.dumps(issues))
    assert again.row.tolist() == issues.row.tolist()


def test_it_prints_a_table():
    W = np.linspace([0.0, 1.0], [0.5, 0.5], 12)
    assert repr(rank(W[:2])).splitlines() == [
        "LabelIssues: 2 rows, 2.0 expected to be wrong",
        "rank  row  given  suggested  p_wrong  margin",
        "   1    0  0      1            1.000   1.000",
        "   2    1  0      1            0.955   0.909",
    ]
    lines = repr(rank(W)).splitlines()
    assert len(lines) == 13
    assert lines[-1] == "... and 2 more"
    assert repr(rank(W[:1])).startswith("LabelIssues: 1 row, 1.0")
    assert repr(rank(W[:0])) == "LabelIssues: 0 rows"


def test_names_cannot_steer_the_terminal():
    text = repr(label_issues(solved(("\x1b[31mred\n", "x" * 99)), [None] * 5, with_unlabelled=True))
    assert len(text.splitlines()) == 7
    assert "\x1b" not in text
    assert r"\x1b[31mred\n" in text
    assert "x" * 11 + "..." + "x" * 10 in text


# Tables


def test_table_of_numpy(posterior):
    issues = label_issues(posterior, WORDS)
    table = issues.table()
    assert isinstance(table, np.recarray)
    assert table.dtype.names == (*COLUMNS, "p_cat", "p_dog")
    assert table.row.tolist() == [4, 1]
    assert table.given.tolist() == ["cat", "dog"]
    np.testing.assert_array_equal(table["p_dog"], issues.class_proba[:, 1])


@pytest.mark.parametrize(
    ("classes", "kind"), [((3, 7), "i"), ((False, True), "b"), (("x", "y"), "U"), ((1.0, 2.0), "f")]
)
def test_types_of_numpy(classes, kind):
    posterior = solved(classes)
    a, b = classes
    for labels, n in (([a, b, None, b, a], 2), ([a, None, None, b, b], 0)):
        table = label_issues(posterior, labels).table()
        assert len(table) == n
        assert table.given.dtype.kind == table.suggested.dtype.kind == kind
    table = label_issues(posterior, [a, b, None, b, a], with_unlabelled=True).table()
    assert table.given.tolist() == [a, b, None]
    assert [type(name) for name in table.given[:2]] == [type(a)] * 2


def test_names_that_are_objects():
    classes = ((1, "a"), (2, "b"))
    labels = np.fromiter([*classes, None, classes[1], classes[0]], dtype=object, count=5)
    table = label_issues(solved(classes), labels).table()
    assert table.given.tolist() == list(classes)
    assert table.dtype.names[-2:] == ("p_(1, 'a')", "p_(2, 'b')")


def test_a_class_may_be_called_like_a_column():
    table = label_issues(solved(("wrong", "wrong_")), ["wrong"] * 5).table()
    assert table.dtype.names == (*COLUMNS, "p_wrong_", "p_wrong__")


def test_pandas_keeps_the_index(posterior):
    pd = pytest.importorskip("pandas")
    for index in (list("vwxyz"), [7, 7, 8, 7, 8], pd.MultiIndex.from_product([["k"], range(5)])):
        labels = pd.Series(WORDS, index=pd.Index(index))
        table = label_issues(posterior, labels).table()
        assert isinstance(table, pd.DataFrame)
        assert table.columns.tolist() == [*COLUMNS, "p_cat", "p_dog"]
        assert table.index.equals(labels.index.take([4, 1]))
        assert table["row"].tolist() == [4, 1]
    with pytest.warns(DataConversionWarning):
        table = label_issues(posterior, labels.to_frame("label")).table()
    assert table.index.equals(labels.index.take([4, 1]))
    # Names in an index are attributes of the series.
    labels = pd.Series(WORDS, index=["index", "dtype", "type", "columns", "shape"])
    assert label_issues(posterior, labels).table().index.tolist() == ["shape", "dtype"]


def pandas_types(pd):
    yield (3, 7), "Int64"
    yield (3, 7), "float64"
    yield (False, True), "boolean"
    yield ("x", "y"), "string"
    yield ("x", "y"), "object"
    yield ("x", "y"), pd.CategoricalDtype(["y", "x", "z"])
    yield ("x", "y"), "string[pyarrow]"
    yield (3, 7), "int8[pyarrow]"


def test_types_of_pandas():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for (a, b), dtype in pandas_types(pd):
        labels = pd.Series([a, b, None, b, a], dtype=dtype, index=list("vwxyz"))
        for options in ({}, {"with_unlabelled": True}, {"threshold": 1.0}):
            issues = label_issues(solved((a, b)), labels, **options)
            table = issues.table()
            pd.testing.assert_series_equal(
                table["given"], labels.iloc[issues.row], check_names=False
            )
            assert table["suggested"].dtype == labels.dtype
            assert table["suggested"].tolist() == issues.suggested.tolist()
            assert issues.summary()["given"].dtype == labels.dtype


def test_columns_of_pandas_without_an_index(posterior):
    pd = pytest.importorskip("pandas")
    for labels in (pd.Categorical(WORDS), pd.array(WORDS, dtype="string")):
        table = label_issues(posterior, labels).table()
        assert table.index.tolist() == [4, 1]
        assert table["given"].dtype == labels.dtype


def test_types_that_cannot_hold_a_class():
    pd = pytest.importorskip("pandas")
    for labels, classes in [
        (pd.Series(["yes", None], dtype="category"), ("no", "yes")),
        (pd.Series([0, None], dtype="UInt8"), (-1, 0)),
        (pd.Series([True, None], dtype="boolean"), ("no", True)),
        (pd.Series(["1", None], dtype="string"), (0, "1")),
    ]:
        no, yes = classes
        prior = TransitionPrior.positive_unlabelled(labelled=0.4, positive=yes, negative=no)
        posterior = infer([[0.61, 0.39], [0.99, 0.01]], prior)
        table = label_issues(posterior, labels, all_rows=True, with_unlabelled=True).table()
        assert table["given"].dtype == labels.dtype
        assert table["suggested"].tolist() == [yes, no]


def test_like(posterior):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    frame = pd.DataFrame({"x": range(5), "label": WORDS}, index=list("vwxyz"))
    for labels in (WORDS, np.array(WORDS, dtype=object), pl.Series(WORDS)):
        table = label_issues(posterior, labels, like=frame).table()
        assert table.index.tolist() == ["z", "w"]
        assert table["given"].tolist() == ["cat", "dog"]
    table = label_issues(posterior, frame["label"], like=pl.DataFrame({"x": range(5)})).table()
    assert isinstance(table, pl.DataFrame)
    assert table["given"].to_list() == ["cat", "dog"]


def polars_types(pl):
    yield (3, 7), pl.Int8
    yield (3.0, 7.0), pl.Float32
    yield (False, True), pl.Boolean
    yield ("x", "y"), pl.String
    yield ("x", "y"), pl.Categorical
    yield ("x", "y"), pl.Enum(["y", "x", "z"])


def test_polars():
    pl = pytest.importorskip("polars")
    for (a, b), dtype in polars_types(pl):
        labels = pl.Series([a, b, None, b, a], dtype=dtype)
        for options in ({}, {"with_unlabelled": True}, {"threshold": 1.0}):
            issues = label_issues(solved((a, b)), labels, **options)
            table = issues.table()
            assert isinstance(table, pl.DataFrame)
            assert table.columns == [*COLUMNS, f"p_{a}", f"p_{b}"]
            assert table["given"].dtype == table["suggested"].dtype == labels.dtype
            assert table["given"].to_list() == labels.gather(issues.row).to_list()
            assert issues.summary()["suggested"].dtype == labels.dtype
    labels = pl.Series(["yes", None], dtype=pl.Enum(["yes"]))
    prior = TransitionPrior.positive_unlabelled(labelled=0.4, positive="yes", negative="no")
    issues = label_issues(infer([[0.61, 0.39], [0.99, 0.01]], prior), labels, with_unlabelled=True)
    assert issues.table()["suggested"].to_list() == ["no"]


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    for (a, b), dtype in [
        ((3, 7), pa.int8()),
        ((False, True), pa.bool_()),
        (("x", "y"), pa.large_string()),
        (("x", "y"), pa.dictionary(pa.int8(), pa.string())),
    ]:
        labels = pa.array([a, b, None, b, a], type=dtype)
        for column in (labels, pa.chunked_array([labels])):
            for options in ({}, {"with_unlabelled": True}, {"threshold": 1.0}):
                issues = label_issues(solved((a, b)), column, **options)
                table = issues.table()
                assert isinstance(table, pa.Table)
                assert table.column_names == [*COLUMNS, f"p_{a}", f"p_{b}"]
                assert table["given"].type == table["suggested"].type == dtype
                assert table["given"].to_pylist() == labels.take(issues.row).to_pylist()
                assert isinstance(issues.summary(), pa.Table)


def test_nothing_listed(posterior):
    pd = pytest.importorskip("pandas")
    labels = ["cat", "cat", None, "dog", "dog"]
    issues = label_issues(posterior, pd.Series(labels, index=list("vwxyz")))
    assert len(issues) == 0
    assert issues.class_proba.shape == (0, 2)
    assert issues.table().shape == (0, 8)
    assert issues.table().columns.tolist() == [*COLUMNS, "p_cat", "p_dog"]
    assert issues.table()["p_wrong"].dtype == "float64"
    assert issues.summary().columns.tolist() == ["given", "suggested", "rows", "expected_wrong"]
    assert len(label_issues(posterior, labels).summary()) == 0


def test_summary(posterior):
    pd = pytest.importorskip("pandas")
    labels = ["cat", "dog", None, "cat", "cat"]
    issues = label_issues(posterior, labels, all_rows=True, with_unlabelled=True)
    summary = issues.summary()
    pairs = list(zip(summary.given, summary.suggested, summary.rows, strict=True))
    assert pairs == [("cat", "dog", 2), ("dog", "cat", 1), ("cat", "cat", 1), (None, "dog", 1)]
    by_row = dict(zip(issues.row, issues.p_wrong, strict=True))
    expected = [by_row[3] + by_row[4], by_row[1], by_row[0], 0.0]
    np.testing.assert_allclose(summary.expected_wrong, expected)
    frame = label_issues(posterior, pd.Series(labels, index=list("vwxyz"))).summary()
    assert frame.index.tolist() == [0, 1]
    assert frame["rows"].tolist() == [2, 1]


def test_no_library_is_needed():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow']))\n"
        "from decoupling import TransitionPrior, infer\n"
        "from decoupling.classifier.issues import label_issues\n"
        "posterior = infer([[0.9, 0.1]], TransitionPrior.noisy(['a', 'b'], noise=0.1))\n"
        "print(label_issues(posterior, ['b']).table().suggested[0])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "a\n"


# The classifier


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y  # unscaled, logistic regression warns that it has not converged


@pytest.fixture(scope="module")
def noisy_iris():
    """Rows, their classes, and labels of which 20% are wrong."""
    X, y = iris()
    rng = np.random.default_rng(0)
    wrong = rng.random(150) < 0.2
    given = np.where(wrong, (y + rng.integers(1, 3, 150)) % 3, y)
    return X, y, given


def test_flipped_labels_of_iris_are_found(noisy_iris):
    X, y, given = noisy_iris
    clf = DecouplingClassifier(random_state=0).fit(X, given)
    flipped = given != y
    k = int(flipped.sum())
    ranked = clf.label_issues(all_rows=True)
    assert len(ranked) == 150
    top = ranked.row[:k]
    assert flipped[top].mean() > 0.8  # by chance it would be 0.2
    issues = clf.label_issues()
    assert len(issues) > 0.5 * k
    assert flipped[issues.row].mean() > 0.9
    assert (issues.suggested == y[issues.row]).mean() > 0.8
    assert (issues.p_wrong >= 0.5).all()
    np.testing.assert_array_equal(issues.suggested, clf.transduction_[issues.row])
    np.testing.assert_array_equal(issues.class_proba, clf.label_conditional_proba_[issues.row])
    np.testing.assert_array_equal(issues.given, given[issues.row])
    assert issues.given.dtype == issues.suggested.dtype == clf.classes_.dtype


def test_classifier_gives_back_the_library(noisy_iris):
    pd = pytest.importorskip("pandas")
    X, _, given = noisy_iris
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[given]
    names[::10] = None
    labels = pd.Series(names, index=[f"plant {i}" for i in range(150)])
    clf = DecouplingClassifier(random_state=0, rounds=0).fit(X, labels)
    for fitted in (clf, pickle.loads(pickle.dumps(clf))):
        issues = fitted.label_issues(0.6, with_unlabelled=True)
        table = issues.table()
        assert table.index.tolist() == labels.index[issues.row].tolist()
        pd.testing.assert_series_equal(table["given"], labels.iloc[issues.row], check_names=False)
        assert table["given"].isna().sum() == 15
        assert (table["suggested"].iloc[-15:] == fitted.transduction_[issues.row[-15:]]).all()
    with pytest.raises(NotFittedError):
        clone(clf).label_issues()
    with pytest.raises(ValueError, match="threshold"):
        clf.label_issues(2)


def test_classifier_with_a_value_that_means_unlabelled(noisy_iris):
    pd = pytest.importorskip("pandas")
    X, _, given = noisy_iris
    for labels, value in [
        (pd.Series(np.where(np.arange(150) % 10 == 0, -1, given)), -1),
        (pd.Series(given == 0), False),
    ]:
        clf = DecouplingClassifier(random_state=0, rounds=0, unlabelled=value).fit(X, labels)
        table = clf.label_issues(all_rows=True, with_unlabelled=True).table()
        expected = [None if v == value else v for v in labels.iloc[table["row"]]]
        assert table["given"].tolist() == expected


def test_classifier_whose_prior_has_another_order(noisy_iris):
    X, _, given = noisy_iris
    prior = TransitionPrior.noisy([2, 0, 1, 3], noise=0.2)
    with pytest.warns(UserWarning, match="No row has (the label of )?3"):
        clf = DecouplingClassifier(random_state=0, rounds=0, task=prior).fit(X, given)
    issues = clf.label_issues(all_rows=True)
    np.testing.assert_array_equal(issues.given, given[issues.row])
    right = clf.label_conditional_proba_[issues.row] * (clf.classes_ == issues.given[:, None])
    np.testing.assert_allclose(issues.p_wrong, 1 - right.sum(axis=1), atol=1e-12)


def test_classifier_on_positives():
    X, y = iris()
    given = np.where((y == 0) & (np.arange(150) % 2 == 0), 1.0, np.nan)
    clf = DecouplingClassifier(random_state=0).fit(X, given)
    assert len(clf.label_issues()) == 0
    issues = clf.label_issues(with_unlabelled=True)
    assert len(issues) == 125
    assert ((issues.suggested == 1) == (y[issues.row] == 0)).mean() > 0.95
