"""SETRED on a network, from the labels alone and from a decoupled posterior."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from sklearn.utils import gen_batches

from decoupling._typing import FloatArray
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.experiments.data import CleanData, load_data
from decoupling.experiments.labelling_tasks import NEGATIVE, TASKS, UNLABELLED
from decoupling.experiments.networks import NETWORKS, network
from decoupling.experiments.scores import macro_f1
from decoupling.experiments.store import Cell, Config, NetworkTraining
from decoupling.setred.classifier import SetredClassifier

# Share of the smallest class that has labels, by task: the paper has 3,000 of 6,000 here.
_LABELS: Final = {"pu": 1 / 2}
# The same share for all other tasks: the paper has 1,000 of 6,000.
_USUAL_LABELS: Final = 1 / 6
# Neighbours of a row. One all of whose neighbours agree must pass the test, though its class may
# have nine rows in ten: 15 labelled neighbours do for that, and half of them may have no label.
NEIGHBOURS: Final = 30
# Options of each source of the first labels. Folds and rounds are few, since each fit of the
# network takes its time.
STARTS: Final[dict[str, dict[str, int]]] = {"labels": {}, "decoupling": {"cv": 3, "rounds": 2}}
# Principal components of the representation that the graph is made of: few, so that distances are
# quick.
_COMPONENTS: Final = 50
# Rows that they are found with, and rows that are represented at a time: memory grows with them.
_ROWS: Final = 5000


def self_training_cells(
    data: CleanData, *, tasks: Sequence[str], labels: int | None, runs: int, name: str, rounds: int
) -> list[Cell]:
    """Everything to be done: each task from both starts; semi-supervised needs the labels only."""
    known = [task for task in TASKS if TASKS[task].noise == 0.0]
    unknown = [task for task in tasks if task not in known]
    if unknown or name not in NETWORKS:
        raise ValueError(
            f"tasks must be among {known} and network among {list(NETWORKS)}; got "
            f"{unknown or name}."
        )
    suited = [task for task in tasks if TASKS[task].suits(len(data.names))]
    if not suited:
        raise ValueError(f"{data.name} has {len(data.names)} classes, too few for {tasks}.")
    if labels is not None and not 0 < labels < data.smallest:
        raise ValueError(
            f"labels per class must be from 1 to {data.smallest - 1}, so that some of the smallest "
            f"class of {data.name} stay unlabelled; got {labels}."
        )
    options = tuple(NETWORKS[name].items())
    cells = []
    for run in range(runs):
        for task in suited:
            count = labels or int(_LABELS.get(task, _USUAL_LABELS) * data.smallest)
            training = NetworkTraining(data.name, task, count, name, options)
            for start in STARTS if TASKS[task].positives is not None else ["labels"]:
                setting = {
                    "start": start, "n_neighbors": NEIGHBOURS, "max_iter": rounds,
                    "per_class": _proposals(data, task, rounds), **STARTS[start],
                }  # fmt: skip
                cells.append((Config(training, task, tuple(setting.items())), run))
    return cells


def _proposals(data: CleanData, task: str, rounds: int) -> int:
    """Rows that are proposed in a round, per class: half of the rounds are enough for all rows."""
    n_classes = len(np.unique(TASKS[task].targets(np.arange(len(data.names)))))
    return -(-2 * len(data.classes) // (rounds * n_classes))


def self_train(source: str, config: Config, run: int, *, download: bool = False) -> dict[str, Any]:
    """Run SETRED; return the scores of its rounds and of its answer."""
    data, task = load_data(source, download=download), TASKS[config.task]
    given = task.draw(data.classes, len(data.names), config.training.labels, run)
    targets = task.targets(data.classes)
    options = dict(config.inference)
    common: dict[str, Any] = {
        "task": task.task,
        "negative": NEGATIVE,
        "unlabelled": UNLABELLED,
        "random_state": run,
    }
    start: Any = options.pop("start")
    if start == "decoupling":
        folds = {name: options.pop(name) for name in STARTS[start]}
        start = DecouplingClassifier(network(config.training.network, run), **folds, **common)
    setred = SetredClassifier(
        network(config.training.network, run),
        start=start,
        representation=inner_space,
        **options,
        **common,
    )
    with warnings.catch_warnings():
        # Warnings are about few labels and unsure classes, which the scores show anyway.
        warnings.simplefilter("ignore", UserWarning)
        setred.fit(data.X, given, true_classes=targets)
    missing = given == UNLABELLED
    scored = task.scored(len(data.names))
    rounds = setred.history_
    return {
        "relabelled": [round_.relabelled for round_ in rounds],
        "F1": [round(float(round_.f1 or 0.0), 5) for round_ in rounds],
        "rejected": [round_.rejected for round_ in rounds],
        "unlabelled": int(missing.sum()),
        "ended": setred.termination_condition_,
        "all unlabelled F1": _rounded(targets[missing], setred.transduction_[missing], scored),
        "test F1": _rounded(task.targets(data.classes_test), setred.predict(data.X_test), scored),
    }


def _rounded(truth: Any, guess: Any, scored: Any) -> float:
    return round(macro_f1(truth, guess, scored), 5)


def inner_space(model: Any, X: Any) -> FloatArray:
    """Inner representation of each row by the network, as principal components, (N, K)."""
    from sklearn.decomposition import PCA

    n_rows = X.shape[0]
    some = np.linspace(0, n_rows - 1, min(_ROWS, n_rows)).astype(int)
    sample = model.represent(X[some])
    size = min(_COMPONENTS, *sample.shape)
    pca = PCA(size, svd_solver="randomized", random_state=0).fit(sample)
    # Piece by piece: the representation of a picture is larger than the picture.
    return np.vstack(
        [pca.transform(model.represent(X[part])) for part in gen_batches(n_rows, _ROWS)]
    )
