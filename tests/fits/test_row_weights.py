"""Weights of rows: what they may be, and whether a classifier takes them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling.fits.ensembles import Training
from decoupling.fits.row_weights import check_weights, weight_parameter

LOGISTIC = LogisticRegression()


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
