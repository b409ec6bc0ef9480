"""SETRED: self-training whose new labels must agree with those of their neighbours.

After Li and Zhou (2005). The classifier labels the rows that it is most sure of; of these labels
only the ones that pass the cut-edge test are kept, and so on. Where a class has no labels of its
own, as in positive-unlabelled learning, the classifier cannot begin well, and a decoupled posterior
gives it a first labelled set with all classes in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import all_or_nothing, check_count
from decoupling.classifier import DecouplingClassifier
from decoupling.cross_fitting import (
    Ensemble,
    Fold,
    Training,
    as_rows,
    classifier_or_default,
    needing_proba,
    tagged_like,
)
from decoupling.labels import encode_labels, read_labels
from decoupling.pseudo_labels import with_shares
from decoupling.self_training.cut_edges import (
    UNLABELLED,
    check_graph,
    cut_edges,
    neighbour_graph,
)
from decoupling.transitions.choice import choose_task, class_array, encode, given_labels

# Of the rows that a decoupled posterior expects in a class, this share begins with its label.
_FIRST_SHARE: Final = 0.5
# Rows of a class that may be there beyond those expected.
_SOME: Final = 0.5
# If all pass, this share of the rounds is enough for all rows.
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
    """

    relabelled: int
    per_class: tuple[int, ...]
    accepted: int
    rejected: int
    f1: float | None


class SetredClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Self-training with a check by neighbours, from labels or from a decoupled posterior.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier of scikit-learn's kind with ``predict_proba``; logistic regression by
        default.
    start : {"labels", "decoupling"} or DecouplingClassifier
        Where the first labelled set comes from: from the given labels alone; or also from
        p(class | label, x) of a `DecouplingClassifier` with this ``estimator`` and ``task``, of
        each class the more probable half of the rows expected in it; or from one of your own,
        which is cloned. With "labels" the first classifier takes unlabelled rows for the class
        that has no labels, if there is one.
    task, negative, unlabelled
        As in `DecouplingClassifier`.
    n_neighbors : int
        Neighbours of a row in the graph.
    theta : float
        Level of the cut-edge test. A label passes if by chance its neighbours would agree so well
        in at most this share of cases. A class with a large share needs many neighbours: that all
        agree is no surprise.
    max_iter : int
        Rounds at most.
    pool_size : int, optional
        Unlabelled rows that are drawn as candidates in each round; all by default.
    per_class : float, optional
        Proposals of a round, per class on average; classes have their share of them. By default
        enough to label all rows in a quarter of the rounds.
    representation : callable or transformer, optional
        Gives the space of the graph: a function of the fitted classifier and X, such as the
        activations of a network, or a transformer, which is fitted to X. X itself by default.
    refresh : bool
        Whether the graph is built anew in each round.
    approximate : bool
        Whether neighbours are searched with pynndescent.
    correct_given : bool
        Whether a start from a decoupled posterior may alter the labels that were given.
    random_state : int, RandomState or None
        Draws the pool, and the folds of the decoupled start.
    n_jobs : int, optional
        Threads of the neighbour search, and fits of the decoupled start at a time.

    Attributes
    ----------
    classes_ : array (C,)
        Names of the classes.
    transduction_ : array (N,)
        Class of each training row: its label, given or found, or else what is predicted.
    relabelled_ : bool array (N,)
        Rows without a label that were given one.
    history_ : tuple of Round
        The start, and each round.
    termination_condition_ : {"all_labelled", "no_change", "max_iter"}
        Why it ended: no row was left, no proposal passed, or no round.
    n_iter_ : int
        Entries of ``history_``.
    estimator_ : Ensemble
        The classifier, fitted on the last labelled set.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> given = y.astype(float)
    >>> given[np.arange(150) % 10 > 0] = np.nan
    >>> setred = SetredClassifier(random_state=0).fit(X, given)
    >>> bool(np.mean(setred.transduction_ == y) > 0.9)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        start: Any = "labels",
        task: str = "auto",
        negative: Hashable = "negative",
        n_neighbors: int = 10,
        theta: float = 0.1,
        max_iter: int = 40,
        pool_size: int | None = None,
        per_class: float | None = None,
        representation: Any = None,
        refresh: bool = False,
        approximate: bool = False,
        correct_given: bool = False,
        unlabelled: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.start = start
        self.task = task
        self.negative = negative
        self.n_neighbors = n_neighbors
        self.theta = theta
        self.max_iter = max_iter
        self.pool_size = pool_size
        self.per_class = per_class
        self.representation = representation
        self.refresh = refresh
        self.approximate = approximate
        self.correct_given = correct_given
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, graph: Any = None, true_classes: Any = None) -> Self:
        """Label the unlabelled rows, round by round.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix (N, D)
            Whatever the classifier takes.
        y : array-like (N,)
            Labels of any one type; NaN, None and NA mean unlabelled.
        graph : sparse matrix (N, N), optional
            Weights of the edges between rows, instead of a graph of nearest neighbours.
        true_classes : array-like (N,), optional
            For study only: lets ``history_`` say how good the new labels are.
        """
        self._check_options(graph)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True)
        observed = read_labels(y, unlabelled=self.unlabelled)
        task = choose_task(
            self.task, observed, negative=self.negative, noise=False, unlabelled=self.unlabelled
        )
        self.classes_ = class_array(task, observed.values)
        columns = encode(task, given_labels(observed))
        check_consistent_length(X, columns)
        class_of = np.full(len(task.labels), UNLABELLED)
        own = np.asarray(task.own)
        class_of[own[own >= 0]] = np.flatnonzero(own >= 0)
        given = class_of[columns]
        truth = None if true_classes is None else encode_labels(true_classes, task.classes)
        check_consistent_length(X, truth)
        search = _Search(
            training=Training(classifier_or_default(self.estimator), {}),
            X=X,
            n_classes=len(self.classes_),
            theta=self.theta,
            max_iter=self.max_iter,
            pool_size=self.pool_size,
            per_class=self.per_class,
            graph_of=self._graph_of(X, graph),
            refresh=self.refresh,
            unlabelled=np.flatnonzero(given == UNLABELLED),
            truth=truth,
        )
        rng = check_random_state(self.random_state)
        with needing_proba(search.training.estimator):
            labels, expected = self._first_labels(X, y, given, rng)
            found = search.run(labels, expected, rng)
        self.estimator_, self.history_ = found.model, found.history
        self.termination_condition_, self.n_iter_ = found.ended, len(found.history)
        self.relabelled_ = (given == UNLABELLED) & (found.labels != UNLABELLED)
        left = np.flatnonzero(found.labels == UNLABELLED)
        codes = found.labels.copy()
        if len(left):
            codes[left] = self.estimator_.predict_proba(_safe_indexing(X, left)).argmax(axis=1)
        self.transduction_ = self.classes_[codes]
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """p(class | x) of new rows, (N, C)."""
        check_is_fitted(self)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return self.estimator_.predict_proba(X)

    def predict(self, X: Any) -> AnyArray:
        """Most probable class of new rows, (N,)."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = tagged_like(super().__sklearn_tags__(), classifier_or_default(self.estimator))
        tags.input_tags.allow_nan = False  # no distance to what is missing
        return tags

    def _check_options(self, graph: Any) -> None:
        check_count("n_neighbors", self.n_neighbors)
        check_count("max_iter", self.max_iter, least=0)
        if self.pool_size is not None:
            check_count("pool_size", self.pool_size)
        if not 0.0 < self.theta < 1.0:
            raise ValueError(f"theta must be between 0 and 1; got {self.theta!r}.")
        if self.per_class is not None and not self.per_class > 0:
            raise ValueError(f"per_class must be greater than 0; got {self.per_class!r}.")
        known = isinstance(self.start, DecouplingClassifier)
        if not known and self.start not in ("labels", "decoupling"):
            raise ValueError(
                'start must be "labels", "decoupling" or a DecouplingClassifier; got '
                f"{self.start!r}."
            )
        if self.correct_given and self.start == "labels":
            raise ValueError(
                'correct_given=True needs start="decoupling": labels alone cannot correct each '
                "other."
            )
        if graph is not None and (self.representation is not None or self.refresh):
            raise ValueError("With a graph, leave representation and refresh out.")

    def _first_labels(
        self, X: Any, y: Any, given: IntArray, rng: np.random.RandomState
    ) -> tuple[IntArray, FloatArray | None]:
        """Class of each row that begins with a label, (N,), -1: none.

        And the number of unlabelled rows that belong to each class, (C,), if that is known.
        """
        if self.start == "labels" or not (given == UNLABELLED).any():
            return given, None
        if isinstance(self.start, DecouplingClassifier):
            decoupling = clone(self.start)
        else:
            decoupling = DecouplingClassifier(
                self.estimator,
                task=self.task,
                negative=self.negative,
                unlabelled=self.unlabelled,
                random_state=rng.randint(2**31),
                n_jobs=self.n_jobs,
            )
        decoupling.fit(X, y)
        if decoupling.classes_.tolist() != self.classes_.tolist():
            raise ValueError(
                f"start has the classes {decoupling.classes_.tolist()}, and the task "
                f"{self.classes_.tolist()}: name the same task in both."
            )
        proba = decoupling.label_conditional_proba_
        labels = proba.argmax(axis=1) if self.correct_given else given.copy()
        rows = np.flatnonzero(given == UNLABELLED)
        labels[rows] = UNLABELLED
        expected = proba[rows].sum(axis=0)
        chosen, classes = most_probable(proba[rows], np.ceil(_FIRST_SHARE * expected))
        labels[rows[chosen]] = classes
        return labels, expected

    def _graph_of(self, X: Any, graph: Any) -> Callable[[Any], Any]:
        """Function of the fitted classifier that gives the graph."""
        if graph is not None:
            known = check_graph(graph, len(X) if not hasattr(X, "shape") else X.shape[0])
            return lambda model: known

        def build(model: Any) -> Any:
            space = X
            if hasattr(self.representation, "fit_transform"):
                space = clone(self.representation).fit_transform(X)
            elif self.representation is not None:
                space = self.representation(model, X)
            return neighbour_graph(
                space, self.n_neighbors, approximate=self.approximate, n_jobs=self.n_jobs
            )

        return build


def most_probable(proba: FloatArray, numbers: FloatArray) -> tuple[IntArray, IntArray]:
    """Rows that are most probable in their most probable class, so many of each; and that class.

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
class _Found:
    """Where the rounds ended."""

    labels: IntArray
    model: Ensemble
    history: tuple[Round, ...]
    ended: str


@dataclass(frozen=True, eq=False)
class _Search:
    """What the rounds work with; names as in `SetredClassifier`."""

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
    ) -> _Found:
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
        return _Found(labels, model, tuple(history), ended)

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
        ``expected``, it is that of those not found yet, and probabilities are scaled to it, since
        a classifier that trains itself finds more and more of what it finds most.
        """
        if self.pool_size is not None and self.pool_size < len(left):
            left = np.sort(rng.choice(left, self.pool_size, replace=False))
        proba = model.predict_proba(_safe_indexing(self.X, left))
        shares = self._shares(labels)
        if expected is not None:
            found = labels[self.unlabelled]
            count = np.bincount(found[found != UNLABELLED], minlength=self.n_classes)
            missing = np.maximum(expected - count, 0.0)
            shares = (missing + _SOME) / (missing + _SOME).sum()
            proba = with_shares(proba, np.ones(len(left)), shares)
        elif (shares == 0).any():
            # Some class has no member yet, so that what the classifier makes of it has to do.
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
