"""What each method says of labels that people gave."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.real.problems import Problem
from decoupling import DecouplingClassifier


@dataclass(frozen=True)
class Answer:
    """What a method says; what it does not say is None.

    Attributes
    ----------
    doubt : array (N,)
        The larger, the more doubtful is the label.
    found : array (N,)
        Most probable class of each row, its label known.
    p_wrong : array (N,)
        Probability that the label is wrong.
    n_wrong, low, high : float
        Number of wrong labels, and its range.
    transitions, lower, upper : arrays (C, C)
        T, and its 90% interval.
    light : str
        Of the report.
    test : array (n, C)
        p(class | x) of test rows.
    """

    doubt: np.ndarray | None = None
    found: np.ndarray | None = None
    p_wrong: np.ndarray | None = None
    n_wrong: float | None = None
    low: float | None = None
    high: float | None = None
    transitions: np.ndarray | None = None
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    light: str = ""
    test: np.ndarray | None = None


Method = Callable[[Problem, object], Answer]


class Given(ClassifierMixin, BaseEstimator):
    """p(label | x) of a file, by the number of the row."""

    def __init__(self, proba=None):
        self.proba = proba
        self.classes_ = np.arange(0 if proba is None else proba.shape[1])

    def fit(self, X, y):
        """Do nothing: it was fitted elsewhere."""
        return self

    def predict_proba(self, X):
        """p(label | x) of the rows whose numbers are given."""
        return self.proba[np.asarray(X)[:, 0].astype(int)]

    def __sklearn_is_fitted__(self):
        return True


def proba_of(problem: Problem, model: object) -> np.ndarray:
    """p(label | x) out of fold: that of the file, or of the classifier."""
    if problem.proba is not None:
        return problem.proba
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_val_predict(
            clone(model), problem.X, problem.codes, cv=folds, method="predict_proba"
        )


def ours(task: str, **options: object) -> Method:
    """This library, at its defaults."""

    def method(problem: Problem, model: object) -> Answer:
        if problem.proba is not None:
            X = np.arange(len(problem.codes), dtype=float)[:, None]
            clf = DecouplingClassifier(Given(problem.proba), task=task, cv="prefit", **options)
        else:
            X = problem.X
            clf = DecouplingClassifier(clone(model), task=task, random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf.fit(X, problem.codes)
            issues = clf.label_issues(all_rows=True)
            finding = clf.report().content["verdict"]["finding"]["wrong_labels"]
        doubt, p_wrong = np.empty((2, len(problem.codes)))
        doubt[issues.row], p_wrong[issues.row] = -issues.rank, issues.p_wrong
        ends = finding.get("range") or {"low": finding["lower"], "high": finding["upper"]}
        n_rows = len(problem.codes)
        lower, upper = clf.transition_interval(0.9)
        test = None if problem.X_test is None else clf.predict_proba(problem.X_test)
        return Answer(
            doubt, clf.transduction_, p_wrong, float(p_wrong.sum()),
            n_rows * ends["low"], n_rows * ends["high"], clf.transitions_, lower, upper,
            clf.diagnostics.light, test,
        )  # fmt: skip

    return method


def arg_max(problem: Problem, model: object) -> Answer:
    """The first choice of the classifier of labels, and T counted on it."""
    proba = proba_of(problem, model)
    first, rows = proba.argmax(axis=1), np.arange(len(proba))
    counts = np.zeros((proba.shape[1],) * 2)
    np.add.at(counts, (first, problem.codes), 1.0)
    T = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    differs = first != problem.codes
    doubt = 1.0 - proba[rows, problem.codes]
    test = None
    if problem.X is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test = clone(model).fit(problem.X, problem.codes).predict_proba(problem.X_test)
    return Answer(doubt, first, doubt, float(differs.sum()), transitions=T, test=test)


def labels(problem: Problem, model: object) -> Answer:
    """The labels as they are."""
    n_classes = len(np.unique(problem.codes))
    return Answer(found=problem.codes, n_wrong=0.0, transitions=np.eye(n_classes))


def cleanlab(score: str) -> Method:
    """cleanlab's ranking by one of its scores, its confident joint, and its CleanLearning."""

    def method(problem: Problem, model: object) -> Answer:
        from cleanlab.classification import CleanLearning
        from cleanlab.count import compute_confident_joint, estimate_latent, num_label_issues
        from cleanlab.rank import get_label_quality_scores

        proba = proba_of(problem, model)
        quality = get_label_quality_scores(
            problem.codes, proba, method=score, adjust_pred_probs=False
        )
        joint = compute_confident_joint(problem.codes, proba)
        noise = estimate_latent(joint, problem.codes)[1].T  # p(label | class), classes in rows
        found = np.where(
            quality <= np.sort(quality)[: max(num_label_issues(problem.codes, proba), 1)][-1],
            proba.argmax(axis=1),
            problem.codes,
        )
        test = None
        if problem.X is not None and score == "self_confidence":
            learner = CleanLearning(clone(model), seed=0, find_label_issues_kwargs={"n_jobs": 1})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                test = learner.fit(problem.X, problem.codes).predict_proba(problem.X_test)
        return Answer(
            -quality, found, None, float(num_label_issues(problem.codes, proba)),
            transitions=noise, test=test,
        )  # fmt: skip

    return method


METHODS: dict[str, Method] = {
    "ours": ours("noisy"),
    "ours, class-conditional": ours("class-conditional-noise"),
    "arg max": arg_max,
    "cleanlab": cleanlab("self_confidence"),
    "cleanlab, margin": cleanlab("normalized_margin"),
    "cleanlab, entropy": cleanlab("confidence_weighted_entropy"),
    "labels": labels,
}
