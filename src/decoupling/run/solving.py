"""A problem in, a fitted classifier out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling.classifier import DecouplingClassifier
from decoupling.given_proba import GivenProba
from decoupling.run.decisions import Decisions
from decoupling.run.settings import Settings
from decoupling.run.wording import in_options
from decoupling.tables.estimators import make_estimator
from decoupling.tables.problem import Problem, as_label, pose
from decoupling.tables.reading import Table, TableError, read_table


def read_problem(path: Path, settings: Settings) -> tuple[Table, Problem]:
    """Read a file and find labels and features in it."""
    table = read_table(
        path,
        delimiter=settings.delimiter,
        encoding=settings.encoding,
        decimal=settings.decimal,
    )
    problem = pose(
        table,
        label=settings.label,
        id_column=settings.id,
        exclude=settings.exclude,
        unlabelled=settings.unlabelled,
        label_proba=settings.label_proba,
        image=settings.image,
        folder=path.parent,
    )
    return table, problem


@dataclass(frozen=True, eq=False)
class Solved:
    """What a run found.

    Attributes
    ----------
    clf : DecouplingClassifier
        Fitted.
    problem : Problem
        What it was fitted on.
    decisions : Decisions or None
        What people have decided, which is certain in ``clf``.
    warnings : list of str
        What was warned of on the way.
    """

    clf: DecouplingClassifier
    problem: Problem
    decisions: Decisions | None
    warnings: list[str]

    @property
    def converged(self) -> bool:
        """Whether the inference has."""
        return bool(self.clf.posterior_.trace.converged)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Texts of the warnings given inside, each once, in the words of the command line."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Networks are stopped early on purpose.
        warnings.filterwarnings("ignore", "Stochastic Optimizer: Maximum iterations")
        yield texts
    texts += dict.fromkeys(in_options(str(warning.message)) for warning in caught)


def solve(
    problem: Problem,
    settings: Settings,
    decisions: Decisions | None = None,
) -> Solved:
    """Fit a `DecouplingClassifier`. What people have decided takes the place of the labels."""
    labels = problem.labels
    known = {label for label in labels.tolist() if label is not None}
    if decisions is not None:
        # The class that is never labelled is no label.
        classes = [name if name in known else None for name in decisions.classes.tolist()]
        labels = np.where(decisions.rows, np.array(classes, dtype=object), labels)
    clf = DecouplingClassifier(
        _estimator(problem, settings),
        task=settings.task,
        negative=as_label(settings.negative, known),
        noise=settings.noise,
        labelled=settings.labelled,
        cv="prefit" if problem.label_names else settings.folds,
        rounds=settings.rounds,
        random_state=settings.seed,
    )
    with collected_warnings() as texts:
        clf.fit(problem.X, labels)
    if decisions is not None:
        _settle(clf, decisions)
    return Solved(clf, problem, decisions, texts)


def _settle(clf: DecouplingClassifier, decisions: Decisions) -> None:
    """Make what people have decided certain, wherever the classifier tells of its rows."""
    proba = clf.label_conditional_proba_.copy()
    proba[decisions.rows] = _certain(clf.classes_, decisions.classes[decisions.rows])
    clf.label_conditional_proba_ = proba
    clf.transduction_ = clf.classes_[proba.argmax(axis=1)]


def _estimator(problem: Problem, settings: Settings) -> Any:
    if problem.label_names:
        return GivenProba(problem.label_names)
    return make_estimator(settings.estimator, problem.features, settings.seed)


def _certain(classes: AnyArray, names: AnyArray) -> FloatArray:
    """1 for the class of each name, (n, C)."""
    place = {str(name): c for c, name in enumerate(classes.tolist())}
    unknown = sorted({str(name) for name in names.tolist()} - set(place))
    if unknown:
        raise TableError(
            f"Decisions name classes that no label has: {', '.join(unknown)}. Classes are: "
            f"{', '.join(place)}."
        )
    return np.asarray(np.eye(len(classes))[[place[str(name)] for name in names.tolist()]])
