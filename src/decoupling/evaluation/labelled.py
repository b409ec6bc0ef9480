"""Split and score when some rows are unlabelled.

Only labelled rows can be compared with a prediction, so only they belong in test folds. The
unlabelled rows are in every training set.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import indexable

from decoupling._typing import AnyArray, BoolArray, IntArray
from decoupling._validation import check_flag
from decoupling.fits.shielding import own_rows
from decoupling.labels.doubts import warn_of_index
from decoupling.labels.observed import read_labels

Scorer = Callable[..., float]


class LabelledKFold:
    """Stratified folds of the labelled rows; unlabelled rows are always trained on.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    unlabelled : object, optional
        Value that means unlabelled, beside NaN, None and NA.
    shuffle : bool
        Whether rows are shuffled first.
    random_state : int, RandomState or None
        For the shuffling.

    Examples
    --------
    >>> folds = LabelledKFold(2).split(np.zeros((6, 1)), ["a", None, "b", "a", "b", None])
    >>> for train, test in folds:
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 1 2 5] [3 4]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        unlabelled: Hashable = None,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.unlabelled = unlabelled
        self.shuffle = shuffle
        self.random_state = random_state

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Rows to train on and rows to test on, for each fold."""
        check_flag("shuffle", self.shuffle)
        observed = read_labels(y, unlabelled=self.unlabelled)
        indexable(X, observed.codes)  # as many rows as labels
        warn_of_index(X, y=y)
        rows = np.flatnonzero(observed.labelled)
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(self.n_splits, shuffle=self.shuffle, random_state=self.random_state)
        for _, test in folds.split(rows, observed.codes[rows]):
            held_out = np.full(len(observed.codes), False)
            held_out[rows[test]] = True
            yield np.flatnonzero(~held_out), np.flatnonzero(held_out)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"LabelledKFold({options})"


def labelled_scorer(scoring: str | Scorer = "accuracy", *, unlabelled: Hashable = None) -> Scorer:
    """Scorer that leaves out the unlabelled rows.

    It compares with the labels as given: where they may be wrong it says how well the given labels
    are predicted, not the classes.

    Parameters
    ----------
    scoring : str or callable
        A scorer of scikit-learn, by name or itself.
    unlabelled : object, optional
        Value that means unlabelled, beside NaN, None and NA.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> constant = DummyClassifier().fit([[0], [0]], ["a", "a"])
    >>> labelled_scorer("accuracy")(constant, [[0], [0], [0], [0]], ["a", None, "b", None])
    0.5
    """
    from sklearn.metrics import get_scorer

    score = get_scorer(scoring)
    if not callable(score):
        raise ValueError(f"scoring must be the name of a scorer, or a scorer; got {scoring!r}.")
    return _LabelledScorer(score, unlabelled)


@dataclass(frozen=True)
class _LabelledScorer:
    """Scorer of the labelled rows. It is an object, since a closure could not be pickled."""

    score: Scorer
    unlabelled: Hashable

    def __call__(self, estimator: Any, X: Any, y: Any, **params: Any) -> float:
        observed = read_labels(y, unlabelled=self.unlabelled)
        X, _ = indexable(X, observed.codes)
        warn_of_index(X, y=y)
        rows = np.flatnonzero(observed.labelled)
        given = observed.values[observed.codes[rows]]
        params = {name: _of_rows(value, rows, observed.labelled) for name, value in params.items()}
        return float(self.score(estimator, own_rows(X, rows), given, **params))


def _of_rows(value: Any, rows: IntArray, labelled: BoolArray) -> AnyArray | Any:
    """Metadata with an entry for each row, for the rows that are scored."""
    has_rows = np.ndim(value) == 1 and len(value) == len(labelled)
    return own_rows(value, rows) if has_rows else value
