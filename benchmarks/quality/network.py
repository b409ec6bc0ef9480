"""What can be made of a network's p(label | x) alone, on the 60,000 pictures of Fashion MNIST.

The networks are those of ``decoupling reproduce fashion``, which keeps what they predict in its
cache. Nothing is trained here: each method is given p(label | x) of the rows that the network was
trained on and of test rows, and the labels.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.quality.methods import Answer, UnsuitedError, by_rates, inverted
from benchmarks.quality.scores import scores
from benchmarks.quality.standing import SIGN, Results, by_setting, level
from benchmarks.quality.store import Cell
from benchmarks.timing import progress
from decoupling import DecouplingClassifier
from decoupling.experiments.data import load_data
from decoupling.experiments.labelling_tasks import NEGATIVE, TASKS, UNLABELLED, LabellingTask
from decoupling.experiments.networks import NETWORKS
from decoupling.experiments.store import NetworkTraining, digest
from decoupling.fits.given import GivenProba

CACHE = Path(__file__).parents[2] / "results" / "cache"
NETWORK = "cnn"
# Labels per class, of 6,000 rows.
LABELS = (200, 1000, 3200)


@dataclass(frozen=True, eq=False)
class Problem:
    """p(label | x) of training and test rows, labels, and what they were drawn from.

    Attributes
    ----------
    task : LabellingTask
        How labels came about.
    proba, proba_test : arrays (N, S)
        What the network predicts; column 0 is unlabelled.
    given : array (N,)
        Column of each row's label.
    labels : array (S,)
        What the columns stand for.
    classes, classes_test : arrays (N,)
        True classes, as the task tells them apart.
    transitions : array (C, S)
        T that the labels were drawn with.
    ceiling : Answer
        Of a network that was trained on the true classes.
    """

    task: LabellingTask
    proba: np.ndarray
    proba_test: np.ndarray
    given: np.ndarray
    labels: np.ndarray
    classes: np.ndarray
    classes_test: np.ndarray
    transitions: np.ndarray
    ceiling: Answer

    @property
    def one_sided(self) -> bool:
        """Whether a class is never labelled; it is the first, as unlabelled is."""
        return self.task.positives is not None

    @property
    def names(self) -> np.ndarray:
        """All classes in order, (C,)."""
        return np.unique(self.classes)


def cells(cache: Path, n_runs: int) -> list[Cell]:
    """What can be done with the networks of a cache, run by run; says what they lack."""
    wanted = [
        (Cell(f"{labels} labels", task, NETWORK, run, method), labels)
        for run in range(n_runs)
        for labels in LABELS
        for task in TASKS
        for method in METHODS
        if labels == min(LABELS) or method not in CAUSES
    ]
    there = [
        cell
        for cell, labels in wanted
        if _file(cache, cell.task, labels, cell.seed).exists()
        and _file(cache, "classes", 0, cell.seed).exists()
    ]
    if len(there) < len(wanted):
        progress(
            f"{len(wanted) - len(there)} of {len(wanted)} cells are skipped, since {cache} does "
            f'not have their networks: make reproduce ARGS="fashion --runs {n_runs}" trains them, '
            "in hours."
        )
    return there


def _file(cache: Path, task: str, labels: int, run: int) -> Path:
    training = NetworkTraining("fashion", task, labels, NETWORK, tuple(NETWORKS[NETWORK].items()))
    return cache / f"{digest(training)}-{run}.npz"


def predicted(cache: Path, task: str, labels: int, run: int) -> list[np.ndarray]:
    """p(label | x) of training and test rows from the reproduction's cache."""
    with np.load(_file(cache, task, labels, run)) as parts:
        return [parts[part].astype(float) for part in ("train", "test")]


def draw(cache: Path, cell: Cell) -> Problem:
    """Labels of the run, and what the network made of them."""
    task, labels = TASKS[cell.task], int(cell.data.split()[0])
    proba, proba_test = predicted(cache, cell.task, labels, cell.seed)
    best, best_test = predicted(cache, "classes", 0, cell.seed)
    data = load_data("fashion")
    n_classes = len(data.names)
    given = task.draw(data.classes, n_classes, labels, cell.seed)
    names, columns = np.unique(given, return_inverse=True)
    targets = task.targets(np.arange(n_classes))
    merged = targets[:, None] == np.unique(targets)
    return Problem(
        task=task,
        proba=proba,
        proba_test=proba_test,
        given=columns,
        labels=names,
        classes=task.targets(data.classes),
        classes_test=task.targets(data.classes_test),
        transitions=task.transitions(data.classes, n_classes, labels),
        ceiling=Answer(best_test @ merged, best @ merged),
    )


def evaluate(cell: Cell, cache: Path) -> dict[str, float] | None:
    """Scores of one cell; None where the method does not take it."""
    problem = draw(cache, cell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return scores(problem, METHODS[cell.method](problem))
        except UnsuitedError:
            return None


def naive(problem: Problem) -> Answer:
    """Labels as classes."""
    return Answer(*(_as_classes(problem, p) for p in (problem.proba_test, problem.proba)))


def _as_classes(problem: Problem, proba: np.ndarray) -> np.ndarray:
    """p(label | x) with unlabelled as the negative class, or left out if there is none."""
    if problem.one_sided:
        return proba
    labelled = np.maximum(proba[:, 1:], 1e-12)
    return labelled / labelled.sum(axis=1, keepdims=True)


def elkan_noto(problem: Problem) -> Answer:
    """p(label | x) over its mean among the carriers of that label."""
    if not problem.one_sided:
        raise UnsuitedError
    return by_rates(problem.proba_test, problem.proba, problem.given)


def cleanlab(problem: Problem) -> Answer:
    """p(label | x) times p(class | label) from confident counts."""
    from cleanlab.count import estimate_py_and_noise_matrices_from_probabilities

    test, train, _ = naive(problem)
    columns = problem.given if problem.one_sided else problem.given - 1
    rows = columns >= 0
    found = estimate_py_and_noise_matrices_from_probabilities(columns[rows], train[rows])
    class_given_label = found[2]  # (C, S)
    return Answer(test @ class_given_label.T, train @ class_given_label.T)


def ours(**options: object) -> Callable[[Problem], Answer]:
    """DecouplingClassifier with only the task named, or with ``options``."""

    def method(problem: Problem) -> Answer:
        clf = DecouplingClassifier(
            GivenProba(problem.labels), task=problem.task.task, negative=NEGATIVE,
            unlabelled=UNLABELLED, cv="prefit", **options,
        ).fit(problem.proba, problem.labels[problem.given])  # fmt: skip
        test = clf.predict_proba(problem.proba_test)
        return Answer(test, clf.label_conditional_proba_, clf.transitions_)

    return method


def with_rates(problem: Problem) -> Answer:
    """Ours with the rates that the labels were drawn with: it has seen the truth."""
    labelled = 1.0 - problem.transitions[-1, 0]
    noise = problem.task.noise or None
    if problem.task.downwards:
        noise = problem.task.confusion(len(problem.names))
    return ours(labelled=labelled, noise=noise, learn_transitions=False)(problem)


# Methods that take the p(label | x) of a network, by the names in the tables.
METHODS = {
    "naive": naive,
    "Elkan-Noto": elkan_noto,
    "cleanlab": cleanlab,
    "decoupling": ours(),
    "paper": ours(evidence=1.0, expected_log="taylor", calibrate=False),
    "not calibrated": ours(calibrate=False),
    "rates given": with_rates,
    "true T inverted": lambda p: inverted(p.proba_test, p.proba, p.transitions),
    "true labels": lambda p: p.ceiling,
}
# Ours with one thing changed, to see why it is behind where labels are fewest; no rivals.
CAUSES = ("not calibrated", "rates given")
# Kinds of tasks: whether a class is never labelled.
KINDS = {"with a label for every class": False, "one-sided": True}


def in_short(results: Results) -> str:
    """Means by number of labels and kind of task, of the methods that take all of its tasks."""
    lines = [
        "| score | labels per class | tasks | " + " | ".join(METHODS) + " |",
        "|---" * (3 + len(METHODS)) + "|",
    ]
    for score in SIGN:
        settings = by_setting(results, score)
        for kind, one_sided in KINDS.items():
            for labels in LABELS:
                rows = [
                    methods for (data, task, _), methods in settings.items()
                    if data == f"{labels} labels"
                    and (TASKS[task].positives is not None) == one_sided
                ]  # fmt: skip
                cells = [
                    f"{np.mean([row[m].mean() for row in rows]):.3f}"
                    if rows and all(m in row for row in rows) else ""
                    for m in METHODS
                ]  # fmt: skip
                lines.append(f"| {score} | {labels:,} | {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def tables(results: Results) -> str:
    """Every setting with its standard deviation, and means by kind of task."""
    out = []
    for score, sign in SIGN.items():
        settings = by_setting(results, score)
        good = sum(
            level({m: v for m, v in methods.items() if m not in CAUSES}, sign)
            for methods in settings.values()
        )
        lines = [
            "| labels per class | task | " + " | ".join(METHODS) + " |",
            "|---|---|" + "---|" * len(METHODS),
        ]
        for (labels, task, _), methods in sorted(settings.items(), key=_order):
            cells = [
                f"{methods[m].mean():.3f} ({methods[m].std():.3f})" if m in methods else ""
                for m in METHODS
            ]
            lines.append(f"| {labels.split()[0]} | {task} | " + " | ".join(cells) + " |")
        for kind, one_sided in KINDS.items():
            rows = [
                methods for (_, task, _), methods in settings.items()
                if (TASKS[task].positives is not None) == one_sided
            ]  # fmt: skip
            means = [[row[m].mean() for row in rows if m in row] for m in METHODS]
            cells = [f"{np.mean(mean):.3f}" if len(mean) == len(rows) else "" for mean in means]
            lines.append(f"| all | {kind} | " + " | ".join(cells) + " |")
        out += [
            f"A network's p(label | x), {score} on test rows; ours is the best or level in {good} "
            f"of {len(settings)}.",
            "\n".join(lines),
        ]
    return "\n\n".join(out)


def _order(item: tuple[tuple[str, str, str], object]) -> tuple[int, int]:
    labels, task, _ = item[0]
    return int(labels.split()[0]), list(TASKS).index(task)
