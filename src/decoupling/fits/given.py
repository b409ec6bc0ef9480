"""p(label | x) that is known already, as a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from decoupling._typing import AnyArray


class GivenProba(ClassifierMixin, BaseEstimator):
    """p(label | x) that is known already: the features of a row are its probabilities.

    Parameters
    ----------
    labels : sequence
        Labels that the columns stand for.

    Examples
    --------
    >>> GivenProba(["cat", "dog"]).predict_proba(np.array([[0.2, 0.8]]))
    array([[0.2, 0.8]])
    """

    def __init__(self, labels: Any = ()) -> None:
        self.labels = labels

    @property
    def classes_(self) -> AnyArray:
        """Labels, the columns."""
        names = np.asarray(self.labels, dtype=object)
        plain = np.asarray(self.labels)
        return plain if plain.dtype.kind in "biuf" else names

    def fit(self, X: Any, y: Any = None) -> GivenProba:
        """Nothing is left to learn."""
        return self

    def predict_proba(self, X: Any) -> Any:
        """The features themselves."""
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return True
