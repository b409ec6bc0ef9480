"""Performance against the number of labels: train a network, decouple it, score it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.experiments.data import CleanData, load_data
from decoupling.experiments.labelling_tasks import NEGATIVE, TASKS, UNLABELLED, LabellingTask
from decoupling.experiments.networks import NETWORKS, network
from decoupling.experiments.scores import (
    calibration_error,
    log_loss,
    macro_f1,
    transition_error,
)
from decoupling.experiments.store import Cell, Config, NetworkTraining, cached_proba
from decoupling.fits.given import GivenProba

# Labels per class in the paper, of 6,000 samples.
PAPER: Final = (100, 200, 400, 800, 1000, 1600, 2400, 3200, 5950)
# Labels per class of other data, as shares of the smallest class.
_SHARES: Final = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
# Probability that an interval of T is to hold.
_LEVEL: Final = 0.9


def label_counts(data: CleanData, wanted: Sequence[int] | None = None) -> list[int]:
    """Numbers of labels per class that the data allow: some of every class stay unlabelled."""
    if wanted is None:
        usual = PAPER if data.name == "fashion" else [int(s * data.smallest) for s in _SHARES]
        wanted = [count for count in usual if 0 < count < data.smallest]
        if not wanted:
            raise ValueError(
                f"The smallest class of {data.name} has {data.smallest} rows: too few to label "
                "some of them and leave others. At least 20 are needed."
            )
    too_many = [count for count in wanted if not 0 < count < data.smallest]
    if too_many:
        raise ValueError(
            f"labels per class must be from 1 to {data.smallest - 1}, so that some of the smallest "
            f"class of {data.name} stay unlabelled; got {too_many}."
        )
    return sorted(set(wanted))


def grid(
    data: CleanData,
    *,
    tasks: Sequence[str],
    labels: Sequence[int] | None,
    runs: int,
    network: str,
    inference: tuple[tuple[str, Any], ...] = (),
) -> list[Cell]:
    """Everything to be done, run by run; in each the ceiling of every task comes first."""
    unknown = [name for name in tasks if name not in TASKS]
    if unknown or network not in NETWORKS:
        raise ValueError(
            f"tasks must be among {list(TASKS)} and network among {list(NETWORKS)}; got "
            f"{unknown or network}."
        )
    suited = [name for name in TASKS if name in tasks and TASKS[name].suits(len(data.names))]
    if not suited:
        raise ValueError(
            f"{data.name} has {len(data.names)} classes, too few for {', '.join(tasks)}: one class "
            "has to be left for the negatives."
        )
    options = tuple(NETWORKS[network].items())
    ceiling = NetworkTraining(data.name, "classes", 0, network, options)
    cells: list[Cell] = []
    for run in range(runs):
        cells += [(Config(ceiling, name), run) for name in suited]
        cells += [
            (
                Config(NetworkTraining(data.name, name, count, network, options), name, inference),
                run,
            )
            for name in suited
            for count in label_counts(data, labels)
        ]
    return cells


def evaluate(
    source: str, cache: Path, config: Config, run: int, *, download: bool = False
) -> dict[str, float]:
    """Scores of one cell, rounded to five digits."""
    data, task = load_data(source, download=download), TASKS[config.task]
    if config.training.task == "classes":
        found = _ceiling(data, task, _network(data, data.classes, config.training, run, cache))
    else:
        count = config.training.labels
        given = task.draw(data.classes, len(data.names), count, run)
        names, codes = np.unique(given, return_inverse=True)
        proba = _network(data, codes, config.training, run, cache)
        found = _decoupled(data, task, given, names, proba, count, dict(config.inference))
    return {name: round(value, 5) for name, value in found.items()}


def _network(
    data: CleanData, codes: IntArray, training: NetworkTraining, run: int, cache: Path
) -> tuple[FloatArray, FloatArray]:
    def fit() -> tuple[FloatArray, FloatArray]:
        model = network(training.network, run).fit(data.X, codes)
        return model.predict_proba(data.X), model.predict_proba(data.X_test)

    return cached_proba(cache, training, run, fit)


def _ceiling(
    data: CleanData, task: LabellingTask, proba: tuple[FloatArray, FloatArray]
) -> dict[str, float]:
    """Scores of a network that was trained on the true classes."""
    everything = np.arange(len(data.names))
    classes = np.unique(task.targets(everything))
    merged = task.targets(everything)[:, None] == classes  # (C, K)
    return _of_proba("supervised test", data, task, classes, proba[1] @ merged, data.classes_test)


def _decoupled(
    data: CleanData,
    task: LabellingTask,
    given: IntArray,
    names: AnyArray,
    proba: tuple[FloatArray, FloatArray],
    count: int,
    inference: dict[str, Any],
) -> dict[str, float]:
    train, test = (np.asarray(part, dtype=np.float64) for part in proba)
    clf = DecouplingClassifier(
        GivenProba(names), task=task.task, negative=NEGATIVE, unlabelled=UNLABELLED, cv="prefit",
        **inference,
    )  # fmt: skip
    with warnings.catch_warnings():
        # Warnings are about few labels and unsure classes, which the scores show anyway.
        warnings.simplefilter("ignore", UserWarning)
        clf.fit(train, given)
    out = {}
    for part, rows, classes in (("train", train, data.classes), ("test", test, data.classes_test)):
        guess = _as_it_is(task, names, rows)
        out[f"label model {part} F1"] = _f1(data, task, classes, guess)
    out |= _of_proba("train", data, task, clf.classes_, clf.class_proba_, data.classes)
    out |= _of_proba("test", data, task, clf.classes_, clf.predict_proba(test), data.classes_test)
    conditional = clf.label_conditional_proba_
    out |= _of_proba("label-conditional", data, task, clf.classes_, conditional, data.classes)
    if task.positives is not None:
        elkan_noto = _elkan_noto(train, test, given, names)
        every = np.array([NEGATIVE, *names[1:]])
        out |= _of_proba("Elkan-Noto test", data, task, every, elkan_noto, data.classes_test)
    truth = task.transitions(data.classes, len(data.names), count)
    if clf.transitions_.shape == truth.shape:
        out["T"] = transition_error(clf.transitions_, truth)
        lower, upper = clf.transition_interval(_LEVEL)
        inside = (lower <= truth) & (truth <= upper)
        # Entries that are known have no interval to check, and no interval of T holds 0.
        out["T in interval"] = float(inside[(truth > 0) & (upper > lower)].mean())
    return out


def _of_proba(
    name: str,
    data: CleanData,
    task: LabellingTask,
    columns: AnyArray,
    proba: FloatArray,
    classes: IntArray,
) -> dict[str, float]:
    every = np.unique(task.targets(np.arange(len(data.names))))
    # A class that no row has the label of is not known to exist.
    full = np.zeros((len(proba), len(every)))
    full[:, np.searchsorted(every, columns)] = proba
    truth = np.searchsorted(every, task.targets(classes))
    return {
        f"{name} F1": _f1(data, task, classes, every[full.argmax(axis=1)]),
        f"{name} log-loss": log_loss(full, truth),
        f"{name} calibration": calibration_error(full, truth),
    }


def _f1(data: CleanData, task: LabellingTask, classes: IntArray, guess: AnyArray) -> float:
    return macro_f1(task.targets(classes), guess, task.scored(len(data.names)))


def _as_it_is(task: LabellingTask, names: AnyArray, label_proba: FloatArray) -> AnyArray:
    """Most probable label, taken for the class; "unlabelled" is the negative class, if any."""
    if task.positives is None:
        return np.asarray(names[1:][label_proba[:, 1:].argmax(axis=1)])
    return np.asarray(np.array([NEGATIVE, *names[1:]])[label_proba.argmax(axis=1)])


def _elkan_noto(
    train: FloatArray, test: FloatArray, given: IntArray, names: AnyArray
) -> FloatArray:
    """p(label | x) over its mean among the carriers of that label, (N, K); negative first."""
    positive = np.column_stack(
        [
            test[:, k] / train[given == name, k].mean()
            for k, name in enumerate(names)
            if name != UNLABELLED
        ]
    )
    positive /= np.maximum(positive.sum(axis=1, keepdims=True), 1.0)
    return np.column_stack([1.0 - positive.sum(axis=1), positive])
