"""Rounds of training on p(y|s,x): classes instead of labels.

After the inference every row has a class distribution given its label and its features. Rows that
can be trusted train the base classifier once more, now on classes. Its out-of-fold predictions take
the place of p(y|x), and so on for a few rounds. Each fold does so for itself.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from decoupling._text import Message
from decoupling._typing import FloatArray, IntArray
from decoupling._validation import warn_user
from decoupling.fits.ensembles import Ensemble, Training, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.nested import NestedFold
from decoupling.likelihood.average import average_answers
from decoupling.likelihood.temperature import log_proba
from decoupling.retraining.answer import Retrained
from decoupling.retraining.lessons import Lesson, fit_each, lesson_of
from decoupling.retraining.sizes import calibrate_classes, in_right_sizes, sizes_of
from decoupling.transitions.tasks import Task

# Share of the labelled rows. When fewer are kept, more than two labels in five look wrong, and a
# warning says so.
_KEPT: Final = 0.6

_LOG = logging.getLogger(__name__)


class Rounds(NamedTuple):
    """Classifiers and predictions of the rounds.

    Attributes
    ----------
    ensemble : Ensemble
        Their classifiers.
    held_out : array (N, C)
        p(y|x) of each row by the classifiers of its own fold, mean over the rounds.
    everyone : array (N, C)
        p(y|x) of each row by all classifiers that were not fitted on it.
    transitions : array (C, S)
        T that goes with them.
    """

    ensemble: Ensemble
    held_out: FloatArray
    everyone: FloatArray
    transitions: FloatArray

    def answer(self, given: GivenRows, beside: Mapping[str, FloatArray]) -> Retrained:
        """Average the rounds with other p(y|x), each (N, C), as far as held-out labels have it."""
        emits = self.transitions[:, given.codes].T  # (N, C)
        parts = list(beside.values())
        answer = average_answers([self.held_out, *parts], emits, given.counts)
        class_proba = answer.apply([self.everyone, *parts])
        return Retrained(self.ensemble, answer, class_proba, tuple(beside))


def retrain(
    training: Training,
    given: GivenRows,
    nested: Sequence[NestedFold],
    task: Task,
    class_proba: Sequence[FloatArray],
    transitions: FloatArray,
    rounds: int,
    *,
    learn_transitions: bool = True,
) -> Rounds:
    """Train on p(y|s,x), predict p(y|x) out of fold, and repeat; the answer is the mean.

    Each fold works for itself. It chooses rows by predictions that are out of fold within its own
    rows. So the labels of the rows that it predicts have no part in the choice, the folds make
    different errors, and their mean is better than any of them.

    A round has four steps. (1) Each fold chooses which rows teach which class. (2) Classifiers of
    the folds are fitted on these rows, and predict the rows that they have not seen. (3) The labels
    of those rows say how large the classes are and, where labels may be wrong, what T is: a T with
    confusions of the first classifier in it would leave out too many rows. (4) Classifiers are
    fitted within each fold, and predict p(y|x) for the next choice, in which each class has its
    size by the labels of the fold: a class that has lost rows would otherwise lose more.

    The rounds end early when one of them has made the held-out labels less likely, by more than a
    standard error. Where labels may be wrong and some rows have none, the first half of the rounds
    is on labelled rows alone, since the first p(y|x) has learnt the wrong labels and would spread
    them; the answer is then the mean over the other half. The answer is a mean, since a flexible
    classifier that learns from its own answers gets surer from round to round, but no better.

    Parameters
    ----------
    training : Training
        The classifier and what its fits are given.
    given : GivenRows
        Rows, labels, weights, and known classes: rows of a known class train as its members.
    nested : sequence of NestedFold
        Folds, and folds within them.
    task : Task
        Says which labels are whose.
    class_proba : sequence of arrays (N, C)
        p(y|x) to begin with, for each fold, of the rows that it may see.
    transitions : array (C, S)
        T to begin with.
    rounds : int
        Rounds at most; at least 1.
    learn_transitions : bool
        Whether T follows the held-out labels, where labels may be wrong; not if T is known.
    """
    outer, views = [view.outer for view in nested], class_proba
    labelled_alone = rounds // 2 if task.has_unlabelled and not task.clean else 0
    sums = _Sums(class_proba[0].shape)
    earlier = likely = np.zeros(len(given))
    for number in range(rounds):
        _LOG.info("round %d of %d at most", number + 1, rounds)
        counts = number >= labelled_alone  # whether this round is part of the answer
        lessons = [
            lesson_of(task, view, transitions, given, fold.fit, with_unlabelled=counts)
            for view, fold in zip(views, outer, strict=True)
        ]
        members = [lesson.for_classifier(training) for lesson in lessons]
        ensemble = _one_per_fold(training, given.X, members, outer)
        held_out = out_of_fold(ensemble, given.X, outer, len(given))
        sizes = sizes_of(task, held_out, transitions, given, learn_transitions)
        transitions = sizes.transitions
        earlier, likely = likely, _log_likelihood(sizes.apply(held_out), transitions, given.codes)
        if counts:
            sums.add(ensemble, held_out)
        worse = number > labelled_alone and _less_likely(earlier, likely, given.counts)
        if worse or number + 1 == rounds:
            break
        within = _within_folds(training, given.X, members, nested)
        views = [
            in_right_sizes(task, proba, transitions, given, fold.fit)
            for proba, fold in zip(within, outer, strict=True)
        ]
        if counts:
            sums.add_within(within)
    _warn_if_few_kept(task, lessons, outer, given)
    if learn_transitions and not task.clean:
        sizes = calibrate_classes(task, sums.held_out, transitions, given.codes, given.counts)
        transitions = sizes.transitions
    return Rounds(sums.ensemble, sums.held_out, sums.everyone, transitions)


class _Sums:
    """Classifiers of the rounds, and sums of what they predict of rows that they have not seen."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._models: list[Any] = []
        self._n_classes = shape[1]
        self._held_out = np.zeros(shape)  # by the classifiers of a row's own fold
        self._everyone = np.zeros(shape)  # by these, and by those within other folds

    def add(self, ensemble: Ensemble, held_out: FloatArray) -> None:
        """Add the classifiers of the folds."""
        self._models.extend(ensemble.models)
        self._held_out += held_out
        self._everyone += held_out

    def add_within(self, within: Sequence[FloatArray]) -> None:
        """Add predictions of classifiers within folds."""
        self._everyone += sum(within)

    @property
    def ensemble(self) -> Ensemble:
        """Classifiers of all folds and rounds."""
        return Ensemble(tuple(self._models), self._n_classes)

    @property
    def held_out(self) -> FloatArray:
        """Mean p(y|x) by the classifiers of a row's own fold, (N, C)."""
        return np.asarray(self._held_out / self._held_out.sum(axis=1, keepdims=True))

    @property
    def everyone(self) -> FloatArray:
        """Mean p(y|x) by all classifiers that were not fitted on a row, (N, C)."""
        return np.asarray(self._everyone / self._everyone.sum(axis=1, keepdims=True))


def _one_per_fold(
    training: Training, X: Any, members: Sequence[FloatArray], folds: Sequence[Fold]
) -> Ensemble:
    """Fit the classifier of each fold on the members that the fold has chosen."""
    fitted = fit_each(training, X, members, [(fold,) for fold in folds])
    return Ensemble(tuple(one.models[0] for one in fitted), members[0].shape[1])


def _within_folds(
    training: Training, X: Any, members: Sequence[FloatArray], nested: Sequence[NestedFold]
) -> list[FloatArray]:
    """p(y|x) out of fold within the rows of each fold, 0 for the rows that it may not see, (N, C).

    Every fold trains on its own choice of rows.
    """
    fitted = fit_each(training, X, members, [view.inner for view in nested])
    out = []
    for ensemble, view in zip(fitted, nested, strict=True):
        rows = view.outer.fit
        found = out_of_fold(ensemble, X, view.inner, len(members[0]))
        proba = np.zeros_like(found)
        proba[rows] = found[rows]
        out.append(proba)
    return out


def _log_likelihood(
    class_proba: FloatArray, transitions: FloatArray, codes: IntArray
) -> FloatArray:
    """Logarithm of p(s|x) of each row's label, (N,)."""
    return log_proba((class_proba * transitions[:, codes].T).sum(axis=1))


def _less_likely(before: FloatArray, after: FloatArray, weight: FloatArray) -> bool:
    """Whether the mean has fallen by more than its standard error."""
    change = after - before
    mean = np.average(change, weights=weight)
    variance = np.average((change - mean) ** 2, weights=weight)
    return bool(mean < -np.sqrt(variance / weight.sum()))


def _warn_if_few_kept(
    task: Task, lessons: Sequence[Lesson], folds: Sequence[Fold], given: GivenRows
) -> None:
    if not (task.own >= 0).any():
        return  # complementary labels name no class: there is nothing to keep
    labelled = given.codes >= int(task.has_unlabelled)
    kept = sum(float(lesson.members[labelled].sum()) for lesson in lessons)
    seen = sum(float(given.counts[fold.fit] @ labelled[fold.fit]) for fold in folds)
    share = kept / seen
    if share < _KEPT:
        warn_user(
            Message(
                "few-kept",
                "Only {share:.0%} of the labelled rows were kept for retraining: so many labels "
                "look wrong that little is left to learn from. Compare with {@rounds:=0}.",
                share=share,
            )
        )
