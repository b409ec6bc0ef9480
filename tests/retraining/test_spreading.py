"""Labels along a graph: against the series solved as equations, and which rows have a graph."""

from functools import partial
from operator import itemgetter

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from decoupling.neighbours import neighbour_graph
from decoupling.retraining import spreading as label_spreading
from decoupling.retraining.spreading import row_graph, spread

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
ALL = np.full(60, True)


def test_spread_solves_its_equations():
    """F = Y + alpha S F, row by row scaled to 1."""
    graph = neighbour_graph(X, 4)
    labels = np.zeros((60, 2))
    labels[[0, 1, 2], [0, 1, 1]] = 1.0, 2.0, 0.5
    weights = graph.toarray()
    root = 1 / np.sqrt(weights.sum(axis=1))
    system = np.eye(60) - label_spreading._ALPHA * root[:, None] * weights * root
    expected = np.linalg.solve(system, labels)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(spread(graph, labels), expected, rtol=1e-4)


def test_rows_that_no_label_reaches_have_none():
    far = np.concatenate([X, X + 1000.0])
    labels = np.zeros((120, 2))
    labels[0, 1] = 1.0
    found = spread(neighbour_graph(far, 4), labels)
    assert not found[60:].any()
    np.testing.assert_allclose(found[:60][found[:60].any(axis=1)].sum(axis=1), 1)
    alone = sparse.csr_array((3, 3))
    np.testing.assert_array_equal(spread(alone, np.eye(3)), np.eye(3))


def test_labels_go_to_their_own_cluster():
    classes = np.repeat([0, 1, 2], 20)
    rows = np.array([[0, 0], [9, 0], [0, 9]])[classes] + RNG.normal(size=(60, 2))
    labels = np.zeros((60, 3))
    labels[[0, 20, 40], [0, 1, 2]] = 1.0
    graph = row_graph(LogisticRegression(), rows, ALL)
    np.testing.assert_array_equal(spread(graph, labels).argmax(axis=1), classes)


def test_graph_of_rows_as_the_classifier_sees_them():
    own = row_graph(LogisticRegression(), X, ALL).toarray()
    np.testing.assert_allclose(own, row_graph(LogisticRegression(), X * [1, 9, 99], ALL).toarray())
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    np.testing.assert_allclose(row_graph(scaled, X, ALL).toarray(), own, atol=1e-9)
    kinds = pd.DataFrame({"kind": np.where(X[:, 0] > 0, "round", "square")})
    coded = row_graph(make_pipeline(OneHotEncoder(), LogisticRegression()), kinds, ALL)
    same = kinds["kind"].to_numpy()[:, None] == kinds["kind"].to_numpy()
    assert same[coded.nonzero()].all()
    words = ["red green", "red blue", "tea cup", "cup of tea"] * 15
    of_words = make_pipeline(CountVectorizer(), LogisticRegression())
    assert row_graph(of_words, words, ALL).shape == (60, 60)
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    assert row_graph(LogisticRegression(), gaps, ALL).nnz > 0
    assert row_graph(LogisticRegression(), sparse.csr_array(X), ALL).nnz > 0


def test_rows_that_take_no_part_have_no_edges():
    some = np.arange(60) % 3 > 0
    graph = row_graph(LogisticRegression(), X, some)
    moved = np.where(some[:, None], X, 1e6)
    np.testing.assert_allclose(graph.toarray(), row_graph(None, moved, some).toarray())
    assert graph[~some].nnz == 0
    assert graph[some][:, some].nnz == graph.nnz > 0


@pytest.mark.parametrize(
    ("estimator", "rows"),
    [
        (LogisticRegression(), ["some", "words"] * 30),
        (LogisticRegression(), np.zeros((60, 2, 2))),
        (make_pipeline(SelectKBest(k=2), LogisticRegression()), X),  # it would need the labels
        (
            make_pipeline(
                FunctionTransformer(partial(np.repeat, repeats=2, axis=0)), LogisticRegression()
            ),
            X,
        ),
        (make_pipeline(FunctionTransformer(itemgetter(slice(9))), LogisticRegression()), X),
    ],
    ids=["words", "pictures", "supervised step", "more rows", "fewer rows"],
)
def test_rows_without_a_graph(estimator, rows, caplog):
    with caplog.at_level("INFO", logger="decoupling"):
        assert row_graph(estimator, rows, ALL) is None
    assert "neighbours have no part: " in caplog.text


def test_cells_without_a_distance_are_gaps():
    """One of them should not take the neighbours from all rows."""
    odd, gaps = X.copy(), X.copy()
    odd[[3, 7], 1], gaps[[3, 7], 1] = (np.inf, 1e200), np.nan
    found, expected = (row_graph(LogisticRegression(), rows, ALL) for rows in (odd, gaps))
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_columns_of_a_dataframe_that_are_no_numbers():
    kinds = np.where(X[:, 0] > 0, "round", "square")
    frame = pd.DataFrame({"size": X[:, 1], "kind": kinds, "is": X[:, 2] > 0})
    found = row_graph(HistGradientBoostingClassifier(), frame, ALL)
    as_numbers = frame.assign(kind=kinds == "round")
    ends = found.nonzero()
    assert (kinds[ends[0]] == kinds[ends[1]]).mean() > 0.9
    same = row_graph(HistGradientBoostingClassifier(), as_numbers, ALL)
    np.testing.assert_allclose(found.toarray(), same.toarray())
    with config_context(transform_output="pandas"):
        again = row_graph(HistGradientBoostingClassifier(), frame, ALL)
        assert row_graph(LogisticRegression(), sparse.csr_array(X), ALL) is not None
    np.testing.assert_array_equal(again.toarray(), found.toarray())


def test_pipeline_within_a_search():
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {})
    calibrated = CalibratedClassifierCV(search)
    own = row_graph(search.estimator, X, ALL).toarray()
    np.testing.assert_array_equal(row_graph(calibrated, X, ALL).toarray(), own)


def test_too_many_rows_have_no_graph(monkeypatch):
    monkeypatch.setattr(label_spreading, "MOST_ROWS", 59)
    assert row_graph(LogisticRegression(), X, ALL) is None
    assert row_graph(LogisticRegression(), X, np.arange(60) > 0) is not None
