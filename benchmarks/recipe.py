"""The tasks of the reference recipe, against the same classifier trained naively.

`python -m benchmarks.recipe` runs every task on bundled data, and with ``--write`` puts the table
into the README here. Nothing is chosen by true classes: they only score.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.table import measured, write_between
from decoupling import TransitionPrior
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.datasets import give_labels

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- recipe: begin -->", "<!-- recipe: end -->"
# Name of the class that is never labelled.
NEGATIVE = -1


@dataclass(frozen=True)
class Data:
    """A data set, and how it is split and labelled.

    Attributes
    ----------
    name : str
        What it is called in the table.
    load : callable
        Returns X and the classes.
    n_train : int
        Rows to learn from; the others test.
    n_labelled : int
        Labelled rows of each class.
    positives : dict
        Positive classes of the one-sided tasks, by task.
    """

    name: str
    load: Callable[..., tuple[np.ndarray, np.ndarray]]
    n_train: int
    n_labelled: int
    positives: dict[str, tuple[int, ...]]


# With all true labels these score what the reference reports for its own, which it does not name.
DIGITS = {"PU": (3,), "3 positives": (2, 3, 6), "7 positives": (1, 2, 3, 4, 5, 6, 7)}
# Data sets, and which of their classes are positive.
DATA = {
    data.name: data
    for data in (
        Data("digits", load_digits, 1200, 40, DIGITS),
        Data("wine", load_wine, 120, 20, {"PU": (1,), "2 positives": (0, 1)}),
        Data("breast cancer", load_breast_cancer, 380, 40, {"PU": (0,)}),
    )
}
# Macro-F1 on digits of the recipe that the defaults started from, mean of 5 seeds.
REFERENCE = {
    "semi": 0.946,
    "noise 20%": 0.923,
    "noise 50%": 0.846,
    "class-conditional": 0.907,
    "PU": 0.856,
    "3 positives": 0.924,
    "7 positives": 0.922,
}
TASK = {
    "semi": "semi-supervised",
    "noise 20%": "noisy",
    "noise 50%": "noisy",
    "class-conditional": "class-conditional-noise",
    "PU": "positive-unlabelled",
}


@dataclass(frozen=True)
class Problem:
    """Rows with labels to learn from, their true classes, and rows to test on."""

    task: str
    X: np.ndarray
    given: np.ndarray
    classes: np.ndarray
    X_test: np.ndarray
    classes_test: np.ndarray

    @property
    def one_sided(self) -> bool:
        """Whether a class is never labelled."""
        return NEGATIVE in self.classes

    @property
    def scored(self) -> np.ndarray:
        """Classes whose F1 is averaged: the positive ones, or all."""
        classes = np.unique(self.classes)
        return classes[classes != NEGATIVE] if self.one_sided else classes


def noise_of(task: str, n_classes: int) -> np.ndarray:
    """p(label | class, labelled), (C, C)."""
    keep = {"noise 20%": 0.8, "noise 50%": 0.5}.get(task, 1.0)
    noise = np.full((n_classes, n_classes), (1 - keep) / (n_classes - 1))
    if task == "class-conditional":  # a quarter of every class but the first goes to lower ones
        noise = np.tril(np.full((n_classes, n_classes), 0.25), -1)
        noise /= np.maximum(np.arange(n_classes), 1)[:, None]
        keep = 0.75
    np.fill_diagonal(noise, keep)
    noise[0, 0] += 1 - noise[0].sum()
    return noise


def draw(data: Data, task: str, seed: int) -> Problem:
    """Split, and label some rows of each class."""
    X, y = data.load(return_X_y=True)
    rng = np.random.default_rng(seed)
    if task in data.positives:
        y = np.where(np.isin(y, data.positives[task]), y, NEGATIVE)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=data.n_train, random_state=seed, stratify=y
    )
    given = np.full(len(y), None, dtype=object)
    labelled = [c for c in np.unique(y) if c != NEGATIVE]
    rows = np.concatenate(
        [rng.permutation(np.flatnonzero(y == c))[: data.n_labelled] for c in labelled]
    )
    if task in data.positives:
        given[rows] = y[rows]
    else:
        noise = noise_of(task, len(labelled))
        prior = TransitionPrior.class_conditional_noise(labelled, noise)
        given[rows] = give_labels(y[rows], prior, rng)
    return Problem(task, X, given, y, X_test, y_test)


def base() -> object:
    """Return the classifier that all methods use."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def naive(problem: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Train on the labels as they are: labelled rows, or unlabelled ones as negative.

    Once on all of them, and once as the mean of the models of five folds.
    """
    target = np.array([NEGATIVE if label is None else label for label in problem.given])
    rows = np.full(len(target), True) if problem.one_sided else target != NEGATIVE
    X, target = problem.X[rows], target[rows]
    single = clone(base()).fit(X, target).predict_proba(problem.X_test)
    return single, _fold_mean(X, target, problem.X_test, seed)


def _fold_mean(X: np.ndarray, target: np.ndarray, X_test: np.ndarray, seed: int) -> np.ndarray:
    """Mean of the models of five folds: what the fold mean alone is worth is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(X, target)
        models = [clone(base()).fit(X[fit], target[fit]) for fit, _ in folds]
    return np.mean([model.predict_proba(X_test) for model in models], axis=0)


def elkan_noto(problem: Problem, seed: int) -> np.ndarray:
    """p(label | x) over its mean among the carriers of that label, out of fold."""
    target = np.array([NEGATIVE if label is None else label for label in problem.given])
    held_out = cross_val_predict(base(), problem.X, target, cv=5, method="predict_proba")
    proba = _fold_mean(problem.X, target, problem.X_test, seed)
    labels = np.unique(target)
    rate = [held_out[target == c, k].mean() for k, c in enumerate(labels)]
    positive = np.minimum(proba[:, 1:] / rate[1:], 1.0)
    total = positive.sum(axis=1, keepdims=True)
    positive /= np.maximum(total, 1.0)
    return np.hstack([1.0 - positive.sum(axis=1, keepdims=True), positive])


def f1(problem: Problem, classes: np.ndarray, proba: np.ndarray) -> float:
    """Macro-F1 of the most probable class."""
    found = np.unique(problem.classes)[proba.argmax(axis=1)]
    return float(f1_score(classes, found, average="macro", labels=problem.scored))


def evaluate(name: str, task: str, seed: int) -> dict[str, float]:
    """Every score of one draw."""
    problem = draw(DATA[name], task, seed)
    chosen = TASK.get(task, "multi-positive-unlabelled")
    scores = {}
    truth, known = problem.classes_test, np.unique(problem.classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for column, options in (("paper", {"rounds": 0}), ("decoupling", {})):
            clf = DecouplingClassifier(
                base(), task=chosen, negative=NEGATIVE, random_state=seed, **options
            ).fit(problem.X, problem.given)
            proba = clf.predict_proba(problem.X_test)
            scores[column] = f1(problem, truth, proba)
            scores[f"log-loss {column}"] = log_loss(truth, np.clip(proba, 1e-9, 1), labels=known)
        scores["train, given x"] = f1(problem, problem.classes, clf.predict_proba(problem.X))
        scores["train, given x and label"] = f1(
            problem, problem.classes, clf.label_conditional_proba_
        )
    single, folds = naive(problem, seed)
    scores["naive"], scores["naive, 5 folds"] = (
        f1(problem, truth, single),
        f1(problem, truth, folds),
    )
    if problem.one_sided:
        scores["Elkan-Noto"] = f1(problem, truth, elkan_noto(problem, seed))
    scores["true labels"] = f1(
        problem, truth, _fold_mean(problem.X, problem.classes, problem.X_test, seed)
    )
    return scores


COLUMNS = (
    "naive",
    "naive, 5 folds",
    "Elkan-Noto",
    "paper",
    "decoupling",
    "true labels",
    "train, given x",
    "train, given x and label",
    "log-loss paper",
    "log-loss decoupling",
)


def tasks_of(data: Data) -> list[str]:
    """Tasks that make sense for a data set."""
    return ["semi", "noise 20%", "noise 50%", "class-conditional", *data.positives]


def table(names: list[str], n_seeds: int) -> str:
    """Return all data sets and tasks, mean and standard deviation over the seeds, as Markdown."""
    lines = [
        "| data | task | " + " | ".join(COLUMNS) + " | reference |",
        "|---|---|" + "---|" * (len(COLUMNS) + 1),
    ]
    jobs = [(name, task) for name in names for task in tasks_of(DATA[name])]
    runs = Parallel(n_jobs=-1)(
        delayed(evaluate)(name, task, seed) for name, task in jobs for seed in range(n_seeds)
    )
    for k, (name, task) in enumerate(jobs):
        scores = runs[k * n_seeds : (k + 1) * n_seeds]
        cells = [_cell([s[column] for s in scores if column in s]) for column in COLUMNS]
        reference = f"{REFERENCE[task]:.3f}" if name == "digits" else ""
        lines.append(f"| {name} | {task} | " + " | ".join(cells) + f" | {reference} |")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({np.std(values):.3f})" if values else ""


def main() -> None:
    """Parse the command line, run, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipe", description=__doc__)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into the README here")
    arguments = parser.parse_args()
    text = table(arguments.data, arguments.seeds)
    print(text)
    if arguments.write:
        content = f"`python -m benchmarks.recipe --write` {measured()}:\n\n{text}"
        write_between(README, BEGIN, END, content)


if __name__ == "__main__":
    main()
