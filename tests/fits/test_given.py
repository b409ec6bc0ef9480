"""p(label | x) that is known already."""

import numpy as np

from decoupling import DecouplingClassifier
from decoupling.fits.given import GivenProba


def test_a_fitted_classifier():
    known = GivenProba([3, 4])
    proba = np.array([[0.2, 0.8]])
    assert known.fit(proba).predict_proba(proba) is proba
    np.testing.assert_array_equal(known.classes_, [3, 4])
    assert known.predict_proba(proba).argmax() == 1


def test_unlabelled_among_the_columns():
    rng = np.random.default_rng(0)
    positive = np.repeat([0.0, 0.6], 100)
    labels = np.where(rng.random(200) < positive, "yes", None)
    proba = np.column_stack([1 - positive, positive])
    known = GivenProba((None, "yes"))
    clf = DecouplingClassifier(known, cv="prefit", task="positive-unlabelled").fit(proba, labels)
    assert (clf.transduction_[100:] == "yes").mean() > 0.9
