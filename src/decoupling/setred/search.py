"""SETRED: self-training whose new labels must agree with those of their neighbours.

After Li and Zhou (2005). In each round the classifier labels the rows of which it is most sure. The
labels that pass the cut-edge test are kept, and the classifier is fitted again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.fits.ensembles import Ensemble, Training
from decoupling.fits.folds import Fold
from decoupling.fits.shielding import own_rows
from decoupling.labels.observed import UNLABELLED
from decoupling.likelihood.mixtures import with_shares
from decoupling.setred.cut_edges import cut_edges

# Rows added to those that a class still lacks, so that a complete class is proposed now and then.
# The expected numbers may be a little too small.
_SOME: Final = 0.5
# Share of the rounds in which all rows would be labelled if every proposal passed. At twice this
# rounds would propose half as many rows.
_ROUNDS_NEEDED: Final = 0.25


@dataclass(frozen=True)
class Round:
    """What a round did.

    Attributes
    ----------
    relabelled : int
        Rows without a label that have been given one, so far.
    per_class : tuple of int (C,)
        The same by class.
    accepted, rejected : int
        Proposals of this round that passed the cut-edge test, and that did not.
    f1 : float or None
        Macro-F1 of the rows relabelled so far, if true classes were supplied.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from decoupling import SetredClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> given = np.where(np.arange(150) % 10 == 0, y, np.nan)
    >>> history = SetredClassifier(random_state=0).fit(X, given).history_
    >>> history[0].relabelled < history[-1].relabelled
    True
    """

    relabelled: int
    per_class: tuple[int, ...]
    accepted: int
    rejected: int
    f1: float | None


def most_probable(proba: FloatArray, numbers: FloatArray) -> tuple[IntArray, IntArray]:
    """The most probable rows of each class, and their classes.

    A row counts for its most probable class alone; ``numbers`` (C,) says how many rows to take.

    Examples
    --------
    >>> most_probable(np.array([[0.6, 0.4], [0.9, 0.1], [0.2, 0.8]]), np.array([1, 5]))
    (array([1, 2]), array([0, 1]))
    """
    best = proba.argmax(axis=1)
    rows = []
    for c, number in enumerate(numbers):
        members = np.flatnonzero(best == c)
        order = np.argsort(-proba[members, c], kind="stable")
        rows.append(members[order[: int(number)]])
    chosen = np.concatenate(rows)
    return chosen, best[chosen]


@dataclass(frozen=True, eq=False)
class Found:
    """What the rounds found.

    Attributes
    ----------
    labels : array (N,)
        Class of each row, -1 where none was found.
    model : Ensemble
        Classifier of the last labelled set.
    history : tuple of Round
        The start, and each round.
    ended : {"all_labelled", "no_change", "max_iter"}
        Why there was no further round.
    """

    labels: IntArray
    model: Ensemble
    history: tuple[Round, ...]
    ended: str


@dataclass(frozen=True, eq=False)
class Search:
    """Rounds of SETRED over some rows. Options are named as in `SetredClassifier`.

    Attributes
    ----------
    training : Training
        The classifier.
    X : array-like, dataframe or sparse matrix (N, D)
        All rows.
    n_classes : int
        How many classes there are.
    graph_of : callable
        Takes the fitted classifier and returns the graph of neighbours, sparse (N, N).
    unlabelled : array of int
        Rows that were given no label.
    truth : array (N,) or None
        True classes, for the history.
    """

    training: Training
    X: Any
    n_classes: int
    theta: float
    max_iter: int
    pool_size: int | None
    per_class: float | None
    graph_of: Callable[[Any], Any]
    refresh: bool
    unlabelled: IntArray
    truth: IntArray | None

    def run(
        self, labels: IntArray, expected: FloatArray | None, rng: np.random.RandomState
    ) -> Found:
        """Fit, propose, test and keep, until nothing is left to do."""
        history = [self._record(labels, 0, 0)]
        model, graph, ended = self._fitted(labels), None, "max_iter"
        for _ in range(self.max_iter):
            left = np.flatnonzero(labels == UNLABELLED)
            if len(left) == 0:
                break
            if graph is None or self.refresh:
                graph = self.graph_of(model)
            rows, classes = self._proposals(model, labels, left, expected, rng)
            trial = labels.copy()
            trial[rows] = classes
            passed = self._believable(graph, trial, rows)
            labels = labels.copy()
            labels[rows[passed]] = classes[passed]
            history.append(self._record(labels, int(passed.sum()), int((~passed).sum())))
            if not passed.any():
                ended = "no_change"
                break
            model = self._fitted(labels)
        if not (labels == UNLABELLED).any():
            ended = "all_labelled"
        return Found(labels, model, tuple(history), ended)

    def _fitted(self, labels: IntArray) -> Ensemble:
        """Classifier of the labelled rows.

        While a single class has none, it takes the unlabelled rows for members of that class.
        """
        count = np.bincount(labels[labels != UNLABELLED], minlength=self.n_classes)
        missing = np.flatnonzero(count == 0)
        codes = np.where(labels == UNLABELLED, missing[0], labels) if len(missing) == 1 else labels
        rows = np.flatnonzero(codes != UNLABELLED)
        fold = Fold(rows, np.empty(0, dtype=np.int64))
        return self.training.ensemble(self.X, codes, None, [fold], self.n_classes)

    def _proposals(
        self,
        model: Ensemble,
        labels: IntArray,
        left: IntArray,
        expected: FloatArray | None,
        rng: np.random.RandomState,
    ) -> tuple[IntArray, IntArray]:
        """Rows to be labelled, and their classes: each class in proportion to its share.

        That is its share among the labelled rows. If it is known how many rows of each class are
        ``expected``, it is the share among the rows that are still missing. Probabilities are then
        scaled to these shares, since a classifier that trains itself finds its largest class more
        and more often.
        """
        if self.pool_size is not None and self.pool_size < len(left):
            left = np.sort(rng.choice(left, self.pool_size, replace=False))
        proba = model.predict_proba(own_rows(self.X, left))
        shares = self._shares(labels)
        if expected is not None:
            found = labels[self.unlabelled]
            count = np.bincount(found[found != UNLABELLED], minlength=self.n_classes)
            missing = np.maximum(expected - count, 0.0)
            shares = (missing + _SOME) / (missing + _SOME).sum()
            proba = with_shares(proba, np.ones(len(left)), shares)
        elif (shares == 0).any():
            # Some class has no member yet: take the shares that the classifier predicts.
            shares = proba.mean(axis=0)
        if self.per_class is not None:
            total = self.per_class * self.n_classes
        else:
            total = len(self.unlabelled) / max(1.0, _ROUNDS_NEEDED * self.max_iter)
        rows, classes = most_probable(proba, np.maximum(np.rint(total * shares), 1.0))
        return left[rows], classes

    def _believable(self, graph: Any, trial: IntArray, rows: IntArray) -> BoolArray:
        return cut_edges(graph, trial, rows, self._shares(trial)).believable(self.theta)

    def _shares(self, labels: IntArray) -> FloatArray:
        """Share of each class among the labelled rows, (C,)."""
        count = np.bincount(labels[labels != UNLABELLED], minlength=self.n_classes)
        return np.asarray(count / max(1, count.sum()))

    def _record(self, labels: IntArray, accepted: int, rejected: int) -> Round:
        found = labels[self.unlabelled]
        rows = self.unlabelled[found != UNLABELLED]
        per_class = np.bincount(labels[rows], minlength=self.n_classes)
        f1 = None
        if self.truth is not None:
            f1 = 0.0
            if len(rows):
                from sklearn.metrics import f1_score

                f1 = float(f1_score(self.truth[rows], labels[rows], average="macro"))
        return Round(len(rows), tuple(per_class.tolist()), accepted, rejected, f1)
