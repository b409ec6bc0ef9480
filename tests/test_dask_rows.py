"""Rows of Dask through a classifier that was fitted elsewhere."""

import numpy as np
import pytest
from problems import draw_labelled
from sklearn.linear_model import LogisticRegression

from decoupling import DecouplingClassifier

da = pytest.importorskip("dask.array")

X, CODES = draw_labelled(n_rows=400)
FITTED = LogisticRegression().fit(X, CODES)
OPTIONS = {"cv": "prefit", "task": "semi-supervised", "unlabelled": 0}


def test_rows_are_predicted_where_they_are():
    expected = DecouplingClassifier(FITTED, **OPTIONS).fit(X, CODES)
    rows, labels = da.from_array(X, chunks=(90, 1)), da.from_array(CODES, chunks=90)
    found = DecouplingClassifier(FITTED, **OPTIONS).fit(rows, labels)
    np.testing.assert_allclose(found.class_proba_, expected.class_proba_, rtol=1e-12)
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(found.predict(rows), expected.predict(X))


def test_unknown_sizes():
    some = np.arange(400) % 3 > 0
    rows = da.from_array(X, chunks=(90, -1))[da.from_array(some, chunks=90)]
    found = DecouplingClassifier(FITTED, **OPTIONS).fit(rows, CODES[some])
    expected = DecouplingClassifier(FITTED, **OPTIONS).fit(X[some], CODES[some])
    np.testing.assert_allclose(found.class_proba_, expected.class_proba_, rtol=1e-12)


def test_dataframes():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b"])
    fitted = LogisticRegression().fit(frame, CODES)
    expected = DecouplingClassifier(fitted, **OPTIONS).fit(frame, CODES)
    found = DecouplingClassifier(fitted, **OPTIONS).fit(dd.from_pandas(frame, npartitions=3), CODES)
    np.testing.assert_allclose(found.class_proba_, expected.class_proba_, rtol=1e-12)


def test_fitting_on_chunks_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match='pass it with cv="prefit"'):
        DecouplingClassifier(unlabelled=0).fit(da.from_array(X, chunks=(90, -1)), CODES)
