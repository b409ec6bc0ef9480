"""Self-training, where labels are right: the unlabelled rows teach the classifier, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from decoupling._typing import FloatArray, IntArray
from decoupling.averaged_answer import average_answers
from decoupling.cross_fitting import Ensemble, Training, out_of_fold
from decoupling.folds import Fold
from decoupling.label_spreading import row_graph, spread
from decoupling.retraining import Retrained, fit_classes
from decoupling.transitions.tasks import Task
from decoupling.trusted_rows import MEMBERS, keep_most_probable

# Unlabelled rows take part if the probability of a class is at least this.
_SURE: Final = 0.6
# The shares of the classes are then met to a hundredth.
_SCALINGS: Final = 10
# Shares of a mixture that matter are then found. Where the parts are alike it would take more, and
# shares that have moved less from equal ones do no harm.
_MIXINGS: Final = 50


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


def mixture_shares(likelihood: FloatArray, weight: FloatArray) -> FloatArray:
    r"""Shares of a mixture with which rows are likely, one row besides for each part, (K,).

    Fifty steps of expectation maximisation, from equal shares towards

    .. math:: \max_w \sum_i n_i \ln \sum_k w_k\, p_k(i) + \sum_k \ln w_k

    which they reach where the parts differ. Where these are nearly alike the shares stay nearer to
    equal ones, and it matters little. Of few rows it makes no certainty that a part is of no use.

    Parameters
    ----------
    likelihood : array (K, N)
        Of each row by each part.
    weight : array (N,)
        How often each row counts.

    Examples
    --------
    >>> mixture_shares(np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.1]]), np.ones(3)).round(2)
    array([0.77, 0.23])
    """
    likelihood = np.maximum(likelihood, np.finfo(float).tiny)
    shares = np.full(len(likelihood), 1.0 / len(likelihood))
    for _ in range(_MIXINGS):
        joint = shares[:, None] * likelihood
        amount = (joint / joint.sum(axis=0)) @ weight + 1.0
        shares = amount / amount.sum()
    return shares


def with_shares(proba: FloatArray, weight: FloatArray, shares: FloatArray) -> FloatArray:
    """p(y|x) scaled class by class until its mean over the rows is ``shares``, nearly, (N, C).

    Left alone, a classifier that trains itself finds more and more of the class that it finds most.
    """
    scale = np.ones_like(shares)
    for _ in range(_SCALINGS):
        mean = scale * ((weight / (proba @ scale)) @ proba) / weight.sum()
        # A class that nothing is left of, or should be, is not scaled: a row may have no other.
        scale *= np.divide(shares, mean, out=np.ones_like(shares), where=(mean > 0) & (shares > 0))
    return np.asarray(proba * scale / (proba @ scale)[:, None])


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
