"""Any classifier: rows that it can be given."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from decoupling.fits.estimators import as_rows

LOGISTIC = LogisticRegression()


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
