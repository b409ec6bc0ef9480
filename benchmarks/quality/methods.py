"""Every method: from a problem and a classifier to class probabilities.

Each returns p(class | x) of the test rows and of the training rows, columns in the order of
``problem.names``, and T where it has one.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from benchmarks.quality.problems import FAMILY, LABELLED, NEGATIVE, WRONG, Problem
from decoupling import ClassPrior, DecouplingClassifier, SetredClassifier
from decoupling.fits.folds import make_folds

TASK = {
    "semi 1%": "semi-supervised", "semi 10%": "semi-supervised", "noise 20%": "noisy",
    "noise 40%": "noisy", "class-conditional": "class-conditional-noise",
    "PU": "positive-unlabelled", "multi-PU": "multi-positive-unlabelled",
    "multi-PU noise": "multi-positive-unlabelled",
}  # fmt: skip


class Answer(NamedTuple):
    """p(class | x) of test and training rows, and T."""

    test: np.ndarray
    train: np.ndarray
    transitions: np.ndarray | None = None


Method = Callable[[Problem, object, int], Answer]
Rows = np.ndarray | sp.csr_array


class UnsuitedError(Exception):
    """The method does not take such a problem."""


def codes_of(problem: Problem) -> np.ndarray:
    """Labels as columns of ``problem.names``; unlabelled is the negative class, or -1."""
    lookup = {name: k for k, name in enumerate(problem.names.tolist())}
    missing = lookup[NEGATIVE] if problem.one_sided else -1
    return np.array([missing if label is None else lookup[label] for label in problem.given])


def spread(problem: Problem, columns: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """Probabilities of some classes, (N, K), as those of all, (N, C)."""
    out = np.zeros((len(proba), len(problem.names)))
    out[:, columns] = proba
    return out


def _fitted(problem: Problem, model: object, rows: np.ndarray, target: np.ndarray) -> Answer:
    model = clone(model).fit(problem.X[rows], target[rows])
    return Answer(
        spread(problem, model.classes_, model.predict_proba(problem.X_test)),
        spread(problem, model.classes_, model.predict_proba(problem.X)),
    )


def naive(problem: Problem, model: object, seed: int) -> Answer:
    """The labels as they are: labelled rows, or unlabelled ones as negative."""
    codes = codes_of(problem)
    return _fitted(problem, model, np.flatnonzero(codes >= 0), codes)


def in_folds(method: Method) -> Method:
    """Mean of a method's models of five folds: ours is such a mean, which is worth something."""

    def mean(problem: Problem, model: object, seed: int) -> Answer:
        answers = []
        for fit in _folds(codes_of(problem), seed):
            part = replace(
                problem, X=problem.X[fit], given=problem.given[fit], classes=problem.classes[fit]
            )
            # What the training rows are said to be is asked as if they were new.
            both = replace(part, X_test=_stack(problem.X_test, problem.X))
            answers.append(method(both, model, seed).test)
        proba = np.mean(answers, axis=0)
        n_test = problem.X_test.shape[0]
        return Answer(proba[:n_test], proba[n_test:])

    return mean


def _stack(first: Rows, second: Rows) -> Rows:
    return (
        np.vstack([first, second])
        if isinstance(first, np.ndarray)
        else sp.vstack([first, second], format="csr")
    )


def _folds(codes: np.ndarray, seed: int) -> list[np.ndarray]:
    """Rows to fit in each of five folds; dealt as ours are where a label has fewer rows."""
    if np.unique(codes, return_counts=True)[1].min() < 5:
        return [fold.fit for fold in make_folds(None, codes, 5, np.random.RandomState(seed))]
    folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(codes, codes)
    return [fit for fit, _ in folds]


def elkan_noto(problem: Problem, model: object, seed: int) -> Answer:
    """p(label | x) over its mean among the carriers of that label, out of fold; fold mean."""
    if not problem.one_sided:
        raise UnsuitedError
    codes = codes_of(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cv = StratifiedKFold(5, shuffle=True, random_state=seed)
        held_out = cross_val_predict(model, problem.X, codes, cv=cv, method="predict_proba")
    return by_rates(in_folds(naive)(problem, model, seed).test, held_out, codes)


def by_rates(test: np.ndarray, train: np.ndarray, codes: np.ndarray) -> Answer:
    """p(label | x) over its mean among the carriers of that label; column 0 is unlabelled."""
    rate = np.array([train[codes == k, k].mean() for k in range(1, train.shape[1])])
    positive = np.column_stack([1.0 - rate, np.diag(rate)])
    transitions = np.vstack([np.eye(1, train.shape[1]), positive])
    return Answer(*(_over(p, rate) for p in (test, train)), transitions)


def _over(proba: np.ndarray, rate: np.ndarray) -> np.ndarray:
    positive = np.minimum(proba[:, 1:] / rate, 1.0)
    positive /= np.maximum(positive.sum(axis=1, keepdims=True), 1.0)
    return np.hstack([1.0 - positive.sum(axis=1, keepdims=True), positive])


def pulearn_with(name: str, **given: object) -> Method:
    """One of pulearn's classifiers, for one positive class; its "probabilities" cut at 1."""

    def method(problem: Problem, model: object, seed: int) -> Answer:
        if problem.task != "PU":
            raise UnsuitedError
        import pulearn

        positive = codes_of(problem) == 1
        options = dict(given)
        if name == "BaggingPuClassifier":
            # Bags as balanced as those of Mordelet and Vert: by default each has all the rows.
            options["max_samples"] = int(positive.sum())
        if name == "WeightedElkanotoPuClassifier":
            options |= {"labeled": int(positive.sum()), "unlabeled": int((~positive).sum())}
        pu = getattr(pulearn, name)(clone(model), random_state=seed, **options)
        X, X_test = (
            part if isinstance(part, np.ndarray) else part.toarray()  # it takes no sparse rows
            for part in (problem.X, problem.X_test)
        )
        pu.fit(X, positive.astype(int))
        return Answer(*(_cut(pu.predict_proba(part)) for part in (X_test, X)))

    return method


def _cut(proba: np.ndarray) -> np.ndarray:
    positive = np.clip(np.asarray(proba)[:, 1], 0.0, 1.0)
    return np.column_stack([1.0 - positive, positive])


def clean_learning(problem: Problem, model: object, seed: int) -> Answer:
    """cleanlab: prune rows that look wrong, then train; unlabelled is negative, or left out."""
    from cleanlab.classification import CleanLearning

    codes = codes_of(problem)
    rows = np.flatnonzero(codes >= 0)
    kinds, target = np.unique(codes[rows], return_inverse=True)
    # Its own processes cannot be started from within ours.
    learner = CleanLearning(
        clone(model),
        seed=seed,
        cv_n_folds=min(5, np.bincount(target).min()),
        find_label_issues_kwargs={"n_jobs": 1},
    )
    learner.fit(problem.X[rows], target)
    return Answer(
        *(spread(problem, kinds, learner.predict_proba(X)) for X in (problem.X_test, problem.X))
    )


def self_training(problem: Problem, model: object, seed: int) -> Answer:
    """scikit-learn's self-training, for rows without a label."""
    if problem.one_sided or problem.labelled.all():
        raise UnsuitedError
    learner = SelfTrainingClassifier(clone(model)).fit(problem.X, codes_of(problem))
    kinds = learner.classes_
    return Answer(
        *(spread(problem, kinds, learner.predict_proba(X)) for X in (problem.X_test, problem.X))
    )


def _scaler(X: Rows) -> object:
    """What puts features on one scale, so that all of them tell neighbours."""
    return StandardScaler() if isinstance(X, np.ndarray) else MaxAbsScaler()


def label_spreading(problem: Problem, model: object, seed: int) -> Answer:
    """scikit-learn's label spreading over nearest neighbours; it has its own model."""
    if problem.one_sided or problem.labelled.all():
        raise UnsuitedError
    learner = make_pipeline(_scaler(problem.X), LabelSpreading(kernel="knn", max_iter=200))
    learner.fit(problem.X, codes_of(problem))
    kinds = learner.classes_
    parts = [learner.predict_proba(X) for X in (problem.X_test, problem.X)]
    # Rows that no label reaches have none: they are anything.
    parts = [np.where(np.isfinite(p).all(axis=1, keepdims=True), p, 1 / p.shape[1]) for p in parts]
    return Answer(*(spread(problem, kinds, p) for p in parts))


def ours(**options: object) -> Method:
    """DecouplingClassifier with only the task named, or with ``options``."""

    def method(problem: Problem, model: object, seed: int) -> Answer:
        # The one task whose name alone would say that labels are never wrong.
        noise = "auto" if problem.task == "multi-PU noise" else None
        clf = DecouplingClassifier(
            clone(model), task=TASK[problem.task], negative=NEGATIVE, random_state=seed,
            **({"noise": noise} | options),
        ).fit(problem.X, problem.given)  # fmt: skip
        test = clf.predict_proba(problem.X_test)
        return Answer(test, clf.label_conditional_proba_, clf.transitions_)

    return method


def with_rates(problem: Problem, model: object, seed: int) -> Answer:
    """Ours with the rates that the labels were drawn with: it has seen the truth."""
    if problem.task not in WRONG and not problem.one_sided:  # its T is right anyway
        raise UnsuitedError
    options = {"noise": WRONG.get(problem.task), "labelled": LABELLED.get(problem.task)}
    return ours(learn_transitions=False, **options)(problem, model, seed)


def with_small_leaves(problem: Problem, model: object, seed: int) -> Answer:
    """Ours with trees that may split off a single row."""
    model = clone(model)
    trees = model[-1] if isinstance(model, Pipeline) else model
    trees.set_params(min_samples_leaf=1)
    return ours()(problem, model, seed)


def setred(problem: Problem, model: object, seed: int) -> Answer:
    """Our SETRED: from the labels where every class has some, else from a decoupled posterior."""
    if problem.labelled.all() or problem.task in WRONG:  # it takes the given labels to be right
        raise UnsuitedError
    learner = SetredClassifier(
        clone(model),
        start="decoupling" if problem.one_sided else "labels",
        task=TASK[problem.task],
        negative=NEGATIVE,
        representation=_scaler(problem.X),
        random_state=seed,
    ).fit(problem.X, problem.given)
    return Answer(*(learner.predict_proba(X) for X in (problem.X_test, problem.X)))


def inverse(problem: Problem, model: object, seed: int) -> Answer:
    """p(label | x) times the pseudo-inverse of the true T: it has seen the truth."""
    T = problem.transitions
    unlabelled = T.shape[1] > len(problem.names) - problem.one_sided
    given = [None] * unlabelled + [c for c in problem.names.tolist() if c != NEGATIVE]
    codes = np.array([given.index(label) for label in problem.given])
    answers = []
    for fit in _folds(codes, seed):
        fitted = clone(model).fit(problem.X[fit], codes[fit])
        for X in (problem.X_test, problem.X):
            proba = np.zeros((X.shape[0], len(given)))
            proba[:, fitted.classes_] = fitted.predict_proba(X)
            answers.append(proba)
    return inverted(*(np.mean(answers[k::2], axis=0) for k in (0, 1)), T)


def inverted(test: np.ndarray, train: np.ndarray, transitions: np.ndarray) -> Answer:
    """p(label | x) times the pseudo-inverse of T, made positive."""
    back = np.linalg.pinv(transitions)
    parts = [np.clip(p @ back, 1e-6, None) for p in (test, train)]
    return Answer(*(p / p.sum(axis=1, keepdims=True) for p in parts), transitions)


def true_labels(problem: Problem, model: object, seed: int) -> Answer:
    """The ceiling: every true class is known."""
    codes = np.searchsorted(problem.names, problem.classes)
    return _fitted(problem, model, np.arange(len(codes)), codes)


# Methods that compete, by the names in the tables.
METHODS = {
    "decoupling": ours(),
    "SETRED": setred,
    "naive": naive,
    "naive, 5 folds": in_folds(naive),
    "Elkan-Noto": elkan_noto,
    # More than their tenth is held out, for which a dozen positives are too few.
    "pulearn Elkan-Noto": pulearn_with("ElkanotoPuClassifier", hold_out_ratio=0.2),
    "pulearn weighted": pulearn_with("WeightedElkanotoPuClassifier", hold_out_ratio=0.2),
    "pulearn bagging": pulearn_with("BaggingPuClassifier", n_estimators=50),
    "cleanlab": clean_learning,
    "cleanlab, 5 folds": in_folds(clean_learning),
    "self-training": self_training,
    "self-training, 5 folds": in_folds(self_training),
    "label spreading": label_spreading,
    "paper": ours(evidence=1.0, expected_log="taylor", rounds=0, cv=None, calibrate=False),
    "true T inverted": inverse,
    "true labels": true_labels,
}
# Ours with one setting changed: what the defaults were compared with.
SETTINGS = {
    "default": ours(),
    **{f"evidence {value:g}": ours(evidence=value) for value in (1.0, 10.0, 30.0, 300.0)},
    **{f"rounds {number}": ours(rounds=number) for number in (0, 1, 2, 3, 8)},
    "T held at its first estimate": ours(learn_transitions=False),
    "gamma learned": ours(class_prior=ClassPrior.learned()),
    "expected log: beta": ours(expected_log="beta"),
    "expected log: taylor": ours(expected_log="taylor"),
    "not calibrated": ours(calibrate=False),
    "3 folds": ours(cv=3),
    "10 folds": ours(cv=10),
}
# Ours with one thing changed: what it is that makes it fall behind with boosting.
CAUSES = {
    "no retraining": ours(rounds=0),
    "rates given": with_rates,
    "leaves of one row": with_small_leaves,
}
# These have seen what nobody has: they do not compete.
INFORMED = ("true T inverted", "true labels")
# Ours, too, and mostly begun by the default: it stands in its place, not against it.
VARIANTS = ("SETRED",)
FAMILIES = sorted(set(FAMILY.values()))
