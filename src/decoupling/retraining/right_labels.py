"""Self-training where labels are right: unlabelled rows teach the classifier, too."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from decoupling._typing import FloatArray, IntArray
from decoupling.fits.ensembles import Ensemble, Training, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.shielding import own_rows
from decoupling.likelihood.average import average_answers
from decoupling.likelihood.mixtures import mixture_shares, with_shares
from decoupling.retraining.answer import Retrained
from decoupling.retraining.lessons import fit_classes
from decoupling.retraining.spreading import row_graph, spread
from decoupling.retraining.trusted_rows import surest_members
from decoupling.transitions.tasks import Task

# Probability that an unlabelled row needs in its most probable class to take part. It may be lower
# than where labels are wrong, since nothing false has been learnt from the labels.
_SURE: Final = 0.6

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Lesson:
    """Rows with right labels, and rows without any.

    Attributes
    ----------
    X : array-like, dataframe or sparse matrix (N, D)
        All rows.
    members : array (N, C)
        Weight of each labelled row in the column of its class, 0 elsewhere.
    weight : array (N,)
        Weights of all rows.
    unlabelled : array of int
        Rows without a label.
    """

    X: Any
    members: FloatArray
    weight: FloatArray
    unlabelled: IntArray


def learn_from_right_labels(
    training: Training, given: GivenRows, folds: Sequence[Fold], task: Task, rounds: int
) -> Retrained:
    """Train on labels that are right, then on these and the unlabelled rows, and again.

    The classifier of a fold adds the unlabelled rows of which it is sure itself. The classifiers of
    other folds have no say in it: they have seen the labels that this fold holds out. The answer is
    the mean over all rounds, the first included: later rounds are better more often than not, and
    too sure when they are not. The share of each class among the unlabelled rows stays what the
    first round finds. Every fold needs a label to learn from.

    A classifier that learnt little from few labels has little to teach itself. So each fold has a
    second classifier, which learns from labels that spread between neighbouring rows, if there is a
    distance between rows. Held-out labels say how much it counts.

    Parameters
    ----------
    training : Training
        The classifier and what its fits are given.
    given : GivenRows
        Rows and labels. A known class counts as the label of its row.
    folds : sequence of Fold
        Rows to fit and rows to predict.
    task : Task
        Says which labels are whose.
    rounds : int
        Rounds of self-training after the first fit; none if no row is unlabelled.
    """
    known = given.known_class
    codes = np.where(known >= 0, task.own[known], given.codes)
    weight, n_classes = given.counts, len(task.own)
    members = np.where(codes[:, None] == task.own, weight[:, None], 0.0)  # (N, C)
    lesson = _Lesson(given.X, members, weight, np.flatnonzero((codes == 0) & (weight > 0)))
    rounds = rounds if len(lesson.unlabelled) else 0
    alone = Training(training.estimator, training.fit_params)  # each in a process of its own
    joined = [Fold(np.union1d(fold.fit, lesson.unlabelled), fold.predict) for fold in folds]
    parallel = Parallel(n_jobs=training.n_jobs)
    _LOG.info("%d rounds of self-training", rounds)
    by_itself = parallel(delayed(_self_trained)(alone, lesson, fold, rounds) for fold in joined)
    teachers = [Ensemble(tuple(by_itself), n_classes)]
    graph = row_graph(training.estimator, given.X, weight > 0) if rounds else None
    if graph is not None:
        _LOG.info("labels spread between neighbours")
        taught = parallel(
            delayed(_taught_by_neighbours)(alone, lesson, fold, graph) for fold in joined
        )
        teachers.append(Ensemble(tuple(taught), n_classes))
    found = np.array(
        [out_of_fold(each, given.X, folds, len(codes), unseen=codes == 0) for each in teachers]
    )
    labelled = np.flatnonzero((codes > 0) & (weight > 0))
    own = (codes[labelled, None] == task.own).astype(float)  # (n, C)
    shares = mixture_shares((found[:, labelled] * own).sum(axis=2), weight[labelled])
    class_proba = np.tensordot(shares, found, axes=1)  # (N, C)
    answer = average_answers([class_proba[labelled]], own, weight[labelled], resize=False)
    ensemble = teachers[0]
    if len(teachers) > 1:
        ensemble = Ensemble(tuple(teachers), n_classes, tuple(shares.tolist()))
    return Retrained(ensemble, answer, answer.apply([class_proba]))


def _self_trained(training: Training, lesson: _Lesson, fold: Fold, rounds: int) -> Ensemble:
    """Classifiers of all rounds of a fold, which may see every unlabelled row."""
    rows, weight = lesson.unlabelled, lesson.weight[lesson.unlabelled]
    candidates = own_rows(lesson.X, rows)
    ensemble = fit_classes(training, lesson.X, lesson.members, [fold])
    models, shares = list(ensemble.models), None
    for _ in range(rounds):
        proba = ensemble.predict_proba(candidates)
        if shares is None:
            shares = np.average(proba, axis=0, weights=weight)  # (C,)
        proba = with_shares(proba, weight, shares)
        members = lesson.members.copy()
        members[rows] = surest_members(proba, weight, _SURE)
        ensemble = fit_classes(training, lesson.X, members, [fold])
        models.extend(ensemble.models)
    return Ensemble(tuple(models), lesson.members.shape[1])


def _taught_by_neighbours(training: Training, lesson: _Lesson, fold: Fold, graph: Any) -> Any:
    """Classifier of a fold, fitted on its labels and on what they make of unlabelled rows."""
    rows = lesson.unlabelled
    members = np.zeros_like(lesson.members)
    members[fold.fit] = lesson.members[fold.fit]
    members[rows] = lesson.weight[rows, None] * spread(graph, members)[rows]
    return fit_classes(training, lesson.X, members, [fold]).models[0]
