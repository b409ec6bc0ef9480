"""SetredClassifier: a thin shell over the rounds of `decoupling.setred.search`.

Where a class has no labels of its own, as in positive-unlabelled learning, self-training cannot
begin well, and a decoupled posterior gives it a first labelled set with all classes in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from numbers import Real
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling._validation import all_or_nothing, check_count, check_flag, warn_user
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.diagnostics.warnings import names_alike
from decoupling.fits.ensembles import Training
from decoupling.fits.estimators import as_rows, classifier_or_default, needing_proba, tagged_like
from decoupling.fits.shielding import own_rows, shielded
from decoupling.labels.doubts import warn_of_index
from decoupling.labels.observed import UNLABELLED, encode_labels, read_labels
from decoupling.neighbours import neighbour_graph
from decoupling.setred.cut_edges import check_graph
from decoupling.setred.search import Search, most_probable
from decoupling.transitions.choice import choose_task, class_array, label_codes

# Share of the rows expected in a class that begin with its label, the most probable ones. At 1 rows
# of which the posterior is unsure would begin with a label, and never lose it.
_FIRST_SHARE: Final = 0.5


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

    # Over the limit: public options, which users name and scikit-learn wants in one signature.
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
        warn_user(names_alike(task, observed))
        self.classes_ = class_array(task, observed.values)
        columns = label_codes(task, observed)
        check_consistent_length(X, columns)
        warn_of_index(X, y=y, true_classes=true_classes)
        class_of = np.full(len(task.labels), UNLABELLED)
        own = np.asarray(task.own)
        class_of[own[own >= 0]] = np.flatnonzero(own >= 0)
        given = class_of[columns]
        truth = None if true_classes is None else encode_labels(true_classes, task.classes)
        check_consistent_length(X, truth)
        search = Search(
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
            codes[left] = self.estimator_.predict_proba(own_rows(X, left)).argmax(axis=1)
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
        for name in ("refresh", "approximate", "correct_given"):
            check_flag(name, getattr(self, name))
        if self.pool_size is not None:
            check_count("pool_size", self.pool_size)
        if not (isinstance(self.theta, Real) and 0.0 < self.theta < 1.0):
            raise ValueError(f"theta must be between 0 and 1; got {self.theta!r}.")
        if not (
            self.per_class is None or (isinstance(self.per_class, Real) and self.per_class > 0)
        ):
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
            known = check_graph(graph, _num_samples(X))
            return lambda model: known

        def build(model: Any) -> Any:
            space, given = X, self.representation
            if hasattr(given, "fit_transform"):
                space = shielded(lambda rows: clone(given).fit_transform(rows), X)
            elif given is not None:
                space = shielded(lambda rows: given(model.only, rows), X)
            return neighbour_graph(
                space, self.n_neighbors, approximate=self.approximate, n_jobs=self.n_jobs
            )

        return build
