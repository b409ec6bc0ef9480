"""Self-training, where labels are right: the unlabelled rows teach the classifier, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from decoupling._typing import FloatArray, IntArray
from decoupling.fits.ensembles import Ensemble, Training, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.likelihood.average import average_answers
from decoupling.likelihood.mixtures import mixture_shares, with_shares
from decoupling.retraining.rounds import Retrained, fit_classes
from decoupling.retraining.spreading import row_graph, spread
from decoupling.retraining.trusted_rows import MEMBERS, keep_most_probable
from decoupling.transitions.tasks import Task

# Unlabelled rows take part if the probability of a class is at least this.
_SURE: Final = 0.6


def self_train(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray,
    folds: Sequence[Fold],
    task: Task,
    rounds: int,
) -> Retrained:
    """Train on labels that are right, then on these and the unlabelled rows, and again.

    The classifier of a fold joins the unlabelled rows of which it is itself sure: as a jury its
    like would hear of the labels that are held out from it, and all would go wrong together. What
    is predicted is the mean over all rounds, the first included: later ones are better more often
    than not, and too sure when they are not. The share of each class among the unlabelled rows is
    held at what the first round makes of it. Every fold needs a label to learn from.

    A classifier that learnt little from few labels has little to teach itself. So one more of each
    fold learns from labels that were spread to the neighbours of labelled rows, if there is a
    distance between rows; how much it counts is what makes the held-out labels most likely.
    """
    known = np.where(codes[:, None] == task.own, weight[:, None], 0.0)  # (N, C)
    unlabelled = np.flatnonzero((codes == 0) & (weight > 0))
    rounds = rounds if len(unlabelled) else 0
    given = Training(training.estimator, training.fit_params), X, known, weight, unlabelled
    joined = [Fold(np.union1d(fold.fit, unlabelled), fold.predict) for fold in folds]
    parallel = Parallel(n_jobs=training.n_jobs)
    chains = parallel(delayed(_self_trained)(*given, fold, rounds) for fold in joined)
    schools = [Ensemble(tuple(chains), known.shape[1])]
    graph = row_graph(training.estimator, X, weight > 0) if rounds else None
    if graph is not None:
        taught = parallel(delayed(_taught_by_neighbours)(*given, fold, graph) for fold in joined)
        schools.append(Ensemble(tuple(taught), known.shape[1]))
    found = np.array([out_of_fold(s, X, folds, len(codes), codes == 0) for s in schools])
    labelled = np.flatnonzero((codes > 0) & (weight > 0))
    own = (codes[labelled, None] == task.own).astype(float)  # (n, C)
    shares = mixture_shares((found[:, labelled] * own).sum(axis=2), weight[labelled])
    class_proba = np.tensordot(shares, found, axes=1)  # (N, C)
    answer = average_answers([class_proba[labelled]], own, weight[labelled], resize=False)
    ensemble = schools[0]
    if len(schools) > 1:
        ensemble = Ensemble(tuple(schools), known.shape[1], tuple(shares.tolist()))
    return Retrained(ensemble, answer, answer.apply([class_proba]))


def _self_trained(
    training: Training,
    X: Any,
    known: FloatArray,
    weight: FloatArray,
    unlabelled: IntArray,
    fold: Fold,
    rounds: int,
) -> Ensemble:
    """Classifiers of the rounds of a fold, which has all unlabelled rows, over classes."""
    candidates = _safe_indexing(X, unlabelled)
    ensemble = fit_classes(training, X, known, [fold])
    models, shares = list(ensemble.models), None
    for _ in range(rounds):
        proba = ensemble.predict_proba(candidates)
        if shares is None:
            shares = np.average(proba, axis=0, weights=weight[unlabelled])  # (C,)
        proba = with_shares(proba, weight[unlabelled], shares)
        trust = known.copy()
        trust[unlabelled] = surest_members(proba, weight[unlabelled])
        ensemble = fit_classes(training, X, trust, [fold])
        models.extend(ensemble.models)
    return Ensemble(tuple(models), known.shape[1])


def _taught_by_neighbours(
    training: Training,
    X: Any,
    known: FloatArray,
    weight: FloatArray,
    unlabelled: IntArray,
    fold: Fold,
    graph: Any,
) -> Any:
    """Classifier of a fold, fitted on its labels and on what they make of unlabelled rows."""
    trust = np.zeros_like(known)
    trust[fold.fit] = known[fold.fit]
    trust[unlabelled] = weight[unlabelled, None] * spread(graph, trust)[unlabelled]
    return fit_classes(training, X, trust, [fold]).models[0]


def surest_members(proba: FloatArray, weight: FloatArray) -> FloatArray:
    """How much each row counts as a member of its most probable class, (N, C).

    Of the rows of a class, as many as eight tenths of its expected number: the most probable ones,
    and none of which it is too unsure.
    """
    members = np.zeros_like(proba)
    best = proba.argmax(axis=1)
    for c in range(proba.shape[1]):
        rows = np.flatnonzero((best == c) & (proba[:, c] >= _SURE))
        amount = MEMBERS * float(proba[:, c] @ weight)
        members[rows, c] = keep_most_probable(proba[rows, c], weight[rows], amount)
    return members
