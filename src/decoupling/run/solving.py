"""A problem in, a fitted classifier out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from decoupling._text import Message, message_of
from decoupling._typing import AnyArray
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.fits.given import GivenProba
from decoupling.fits.plan import FitPlan
from decoupling.run.decisions import Decisions, read_decisions
from decoupling.run.settings import OPTIONS, Settings
from decoupling.tables.estimators import make_estimator
from decoupling.tables.label_column import as_label
from decoupling.tables.problem import Problem, Roles, pose
from decoupling.tables.reading import Table, read_table
from decoupling.transitions.tasks import Task

# Letters of a warning at most. It may name something as long as a book, and would fill the screen.
_LONGEST: Final = 1000


def read_problem(
    path: Path, settings: Settings, folder: Path
) -> tuple[Table, Problem, Decisions | None]:
    """Read a file and find labels and features in it; and what people have decided, if any.

    Paths of images begin at ``folder``.
    """
    table = read_table(
        path,
        delimiter=settings.delimiter,
        encoding=settings.encoding,
        decimal=settings.decimal,
    )
    roles = Roles(
        label=settings.label,
        id_column=settings.id,
        exclude=settings.exclude,
        categorical=settings.categorical,
        numeric=settings.numeric,
        unlabelled=settings.unlabelled,
        label_proba=settings.label_proba,
        image=settings.image,
        folder=folder,
        images_anywhere=settings.images_anywhere,
    )
    problem = pose(table, roles)
    decisions = settings.decisions
    return table, problem, None if decisions is None else read_decisions(Path(decisions), problem)


@dataclass(frozen=True, eq=False)
class Solved:
    """Answer of a run.

    Attributes
    ----------
    clf : DecouplingClassifier
        Fitted.
    problem : Problem
        What it was fitted on.
    decisions : Decisions or None
        What people have decided: known classes, of which ``clf`` is certain.
    warnings : list of Message
        What was warned of on the way.
    """

    clf: DecouplingClassifier
    problem: Problem
    decisions: Decisions | None
    warnings: list[Message]

    @property
    def decided(self) -> list[int]:
        """Rows that people have decided on."""
        return [] if self.decisions is None else np.flatnonzero(self.decisions.rows).tolist()

    @property
    def converged(self) -> bool:
        """Whether the inference has."""
        return bool(self.clf.posterior_.trace.converged)


@contextmanager
def collected_warnings() -> Iterator[list[Message]]:
    """Messages of the warnings given inside, each once."""
    messages: list[Message] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Networks are stopped early on purpose.
        warnings.filterwarnings("ignore", "Stochastic Optimizer: Maximum iterations")
        yield messages
    messages += dict.fromkeys(_cut(message_of(warning.message)) for warning in caught)


def _cut(message: Message) -> Message:
    text = message.told(OPTIONS)
    short = len(text) <= _LONGEST
    return message if short else Message.plain(text[: _LONGEST - 1] + "…", message.code)


def solve_problem(
    problem: Problem,
    settings: Settings,
    decisions: Decisions | None = None,
) -> Solved:
    """Fit a `DecouplingClassifier`, to which what people have decided are known classes."""
    clf = _classifier(problem, settings)
    with collected_warnings() as warned:
        clf.fit(problem.X, problem.labels, known_classes=_known(decisions))
    return Solved(clf, problem, decisions, warned)


class Rehearsal(NamedTuple):
    """Plan of a run: its task and its fits.

    Attributes
    ----------
    task : Task
        What would be solved: which labels each class may get.
    fits : FitPlan
        Which classifiers would be fitted, and how many at most.
    """

    task: Task
    fits: FitPlan


def rehearse(problem: Problem, settings: Settings, decisions: Decisions | None = None) -> Rehearsal:
    """Say what `solve_problem` would do, and refuse what it would refuse, without a fit."""
    clf, known = _classifier(problem, settings), _known(decisions)
    return Rehearsal(
        clf.check(problem.X, problem.labels, known_classes=known),
        clf.planned_fits(problem.X, problem.labels, known_classes=known),
    )


def _classifier(problem: Problem, settings: Settings) -> DecouplingClassifier:
    known = {label for label in problem.labels.tolist() if label is not None}
    return DecouplingClassifier(
        _estimator(problem, settings),
        task=settings.task,
        negative=as_label(settings.negative, known),
        noise=settings.noise,
        labelled=settings.labelled,
        cv="prefit" if problem.label_names else settings.folds,
        rounds=settings.rounds,
        random_state=settings.seed,
    )


def _known(decisions: Decisions | None) -> AnyArray | None:
    return None if decisions is None else decisions.classes


def _estimator(problem: Problem, settings: Settings) -> Any:
    if problem.label_names:
        return GivenProba(problem.label_names)
    return make_estimator(settings.estimator, problem.features, settings.seed)
