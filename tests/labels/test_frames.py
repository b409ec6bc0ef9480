"""Columns of labels, and p(label | x), from data frames and arrays of any library."""

import numpy as np
import pytest
from flowers import irises
from sklearn.naive_bayes import GaussianNB

from decoupling import DecouplingClassifier, SetredClassifier, TransitionPrior, infer
from decoupling.labels.frames import as_column, objects_of

FRAMES = ["pandas", "polars", "pyarrow"]
PROBA = np.array([[0.5, 0.4, 0.1], [0.6, 0.1, 0.3], [0.4, 0.3, 0.3]])
PRIOR = TransitionPrior.noisy(["ant", "bee"], noise=0.1, labelled=0.5)


def framed(library, values, names):
    """A table of a library with columns of these names."""
    columns = dict(zip(names, np.transpose(values), strict=True))
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize(
    "estimator",
    [
        DecouplingClassifier(GaussianNB(), noise=0.2, cv=2, rounds=1, random_state=0),
        SetredClassifier(GaussianNB(), max_iter=1, random_state=0),
    ],
    ids=["decoupling", "setred"],
)
def test_features_go_by_name(library, estimator):
    """Those of new rows are refused in another order, as scikit-learn does it."""
    X, given, _ = irises()
    given[::3] = None
    names = ["length", "width", "petal length", "petal width"]
    estimator.fit(framed(library, X, names), given)
    assert estimator.feature_names_in_.tolist() == names
    found = estimator.predict_proba(framed(library, X, names))
    assert found.shape == (150, 3)
    for order in ([1, 0, 2, 3], [0, 1, 2]):
        table = framed(library, X[:, order], [names[k] for k in order])
        with pytest.raises(ValueError, match="feature names should match"):
            estimator.predict_proba(table)


@pytest.mark.parametrize("library", FRAMES)
def test_probabilities_of_labels_go_by_name(library):
    expected = infer(PROBA, PRIOR)
    order, names = [2, 0, 1], ["unlabelled", "ant", "bee"]
    table = framed(library, PROBA[:, order], [names[k] for k in order])
    found = infer(table, PRIOR)
    np.testing.assert_array_equal(np.asarray(found.class_proba), expected.class_proba)
    again = np.asarray(found.predict(table).class_proba)
    np.testing.assert_array_equal(again, expected.predict(PROBA).class_proba)
    with pytest.raises(ValueError, match="missing: 'bee'; extra: 'cow'"):
        infer(framed(library, PROBA, ["unlabelled", "ant", "cow"]), PRIOR)


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "path"])
def test_parquet_must_be_in_the_order_of_the_labels(tmp_path, as_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    names = ["unlabelled", "ant", "bee"]
    parquet.write_table(framed("pyarrow", PROBA, names), path)
    posterior = infer(as_path(path), PRIOR)
    np.testing.assert_array_equal(
        np.asarray(posterior.class_proba), infer(PROBA, PRIOR).class_proba
    )
    parquet.write_table(framed("pyarrow", PROBA, ["ant", "unlabelled", "bee"]), path)
    for read in (posterior.predict, lambda rows: infer(rows, PRIOR)):
        with pytest.raises(ValueError, match="are ant, unlabelled, bee, and the labels of the pr"):
            read(as_path(path))
    parquet.write_table(framed("pyarrow", PROBA, ["unlabelled", "ant", "cow"]), path)
    with pytest.raises(ValueError, match="missing: 'bee'; extra: 'cow'"):
        infer(as_path(path), PRIOR)


def test_objects_stay_whole():
    column = objects_of([(1, 2), (3, 4)])
    assert column.shape == (2,)
    assert column[0] == (1, 2)


def test_a_list_keeps_the_types_of_its_entries():
    assert as_column(["a", None, 1]).tolist() == ["a", None, 1]


def test_masked_entries_are_gaps():
    assert as_column(np.ma.array([1, 2], mask=[False, True])).tolist() == [1, None]


def test_gaps_of_pandas_are_told_by_row_and_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PROBA, columns=PRIOR.labels).astype("Float64")
    frame.iloc[1, 2] = pandas.NA
    with pytest.raises(ValueError, match="nan at row 1, column 2 is not finite"):
        infer(frame, PRIOR)
