"""Self-training: which unlabelled rows take part, as what, and what comes of it.

Two kinds of classifiers are mixed: those that teach themselves, and those that neighbours teach.
"""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from decoupling.fits.ensembles import Training
from decoupling.fits.folds import make_folds
from decoupling.fits.given_rows import GivenRows
from decoupling.likelihood.average import average_answers
from decoupling.likelihood.mixtures import mixture_shares, with_shares
from decoupling.retraining.right_labels import learn_from_right_labels
from decoupling.retraining.spreading import row_graph, spread
from decoupling.retraining.trusted_rows import surest_members
from decoupling.transitions import tasks

CLEAN = tasks.semi_supervised(("a", "b"))
BAYES = GaussianNB()  # it takes weights, and has a closed form


def clouds(seed, n_rows):
    """Two clouds that overlap a little, and which row is of which."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, n_rows)
    return 2.0 * (2 * classes - 1)[:, None] + 1.5 * rng.standard_normal((n_rows, 2)), classes


def half_labelled(seed=0, n_rows=240):
    """Two clouds, one row in twelve labelled."""
    X, classes = clouds(seed, n_rows)
    return X, classes, np.where(np.arange(n_rows) % 12 == 0, classes + 1, 0)


def self_trained(X, codes, rounds, *, estimator=BAYES, weight=None, task=CLEAN):
    folds = make_folds(None, codes, 3, np.random.RandomState(0))
    given = GivenRows(X, codes, weight)
    return learn_from_right_labels(Training(estimator, {}), given, folds, task, rounds), folds


@pytest.mark.parametrize("weight", [np.ones(20), np.append(np.zeros(240), np.ones(20))])
def test_self_training_without_a_row_to_join(weight):
    """None is unlabelled, or none that counts."""
    X, classes = clouds(0, len(weight))
    codes = np.where(weight > 0, classes + 1, 0)
    found, _ = self_trained(X, codes, 3, weight=weight)
    assert all(len(model.models) == 1 for model in found.ensemble.models)
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)


def test_surest_members_by_hand():
    """Of 3.75 expected rows of the first class 3 take part; of 3.25 of the other one 2.6."""
    first = np.array([0.95, 0.9, 0.85, 0.65, 0.2, 0.1, 0.1])
    members = surest_members(np.column_stack([first, 1 - first]), np.ones(7), 0.6)
    expected = [[1, 0], [1, 0], [1, 0], [0, 0], [0, 0.6], [0, 1], [0, 1]]
    np.testing.assert_allclose(members, expected, atol=1e-12)
    unsure = surest_members(np.array([[0.59, 0.41], [0.6, 0.4], [0.3, 0.7]]), np.full(3, 2.0), 0.6)
    np.testing.assert_allclose(unsure, [[0, 0], [2, 0], [0, 2]])


def teach_itself(X, codes, fold, rounds):
    """Models of the rounds of a fold: its labels, then these and rows that it is sure of."""
    unlabelled = np.flatnonzero(codes == 0)
    labelled = fold.fit[codes[fold.fit] > 0]
    rows, target, weight = labelled, codes[labelled] - 1, np.ones(len(labelled))
    shares, models = None, []
    for _ in range(rounds + 1):
        models.append(GaussianNB().fit(X[rows], target, weight))
        proba = models[-1].predict_proba(X[unlabelled])
        shares = proba.mean(axis=0) if shares is None else shares  # the first model's
        proba = with_shares(proba, np.ones(len(proba)), shares)
        members = surest_members(proba, np.ones(len(proba)), 0.6)
        sure = members.sum(axis=1) > 0.01
        rows = np.concatenate([labelled, unlabelled[sure]])
        target = np.concatenate([codes[labelled] - 1, proba[sure].argmax(axis=1)])
        weight = np.concatenate([np.ones(len(labelled)), members[sure].sum(axis=1)])
    return models


def teach_by_neighbours(X, codes, fold):
    """Model of a fold that is fitted on its labels, spread to all unlabelled rows."""
    labelled, unlabelled = fold.fit[codes[fold.fit] > 0], np.flatnonzero(codes == 0)
    labels = np.zeros((len(X), 2))
    labels[labelled, codes[labelled] - 1] = 1.0
    graph = row_graph(BAYES, X, np.full(len(X), True))
    found = np.where(codes[:, None] == 0, spread(graph, labels), labels)
    rows = np.concatenate([labelled, unlabelled])
    both, target = np.tile(rows, 2), np.repeat([0, 1], len(rows))
    weight = found[both, target]
    some = weight > 0.01 * found[both].sum(axis=1)
    return GaussianNB().fit(X[both[some]], target[some], weight[some])


@pytest.mark.parametrize("rounds", [1, 3])
def test_self_training_by_hand(rounds):
    """Each fold for itself; how much each kind of models counts is said by held-out labels."""
    X, _, codes = half_labelled()
    found, folds = self_trained(X, codes, rounds)
    held_out, mean = np.zeros((2, len(X), 2)), np.zeros((2, len(X), 2))
    for fold in folds:
        kinds = teach_itself(X, codes, fold, rounds), [teach_by_neighbours(X, codes, fold)]
        for k, models in enumerate(kinds):
            for model in models:
                proba = model.predict_proba(X) / len(models)
                held_out[k, fold.predict] += proba[fold.predict]
                mean[k] += proba / len(folds)
    rows = np.flatnonzero(codes > 0)
    shares = mixture_shares(held_out[:, rows, codes[rows] - 1], np.ones(len(rows)))
    np.testing.assert_allclose(found.ensemble.weights, shares, atol=1e-9)
    mixed = np.tensordot(shares, np.where(codes[:, None] == 0, mean, held_out), axes=1)
    right = np.eye(2)[codes[rows] - 1]
    answer = average_answers([mixed[rows]], right, np.ones(len(rows)), resize=False)
    assert answer.weights @ answer.temperatures > 1.05
    assert (found.answer.offsets == 0).all()
    np.testing.assert_allclose(found.class_proba, answer.apply([mixed]), atol=1e-7)
    new = answer.apply([np.tensordot(shares, mean, axes=1)])
    np.testing.assert_allclose(found.predict(X), new, atol=1e-7)


def test_a_held_out_label_has_no_say_in_its_own_prediction():
    """But for the shares and the temperature, which all rows have in common."""
    X, _, codes = half_labelled()
    before, folds = self_trained(X, codes, 3)
    row = np.flatnonzero(codes > 0)[4]
    (place,) = [k for k, fold in enumerate(folds) if row in fold.predict]
    upset = codes.copy()
    upset[row] = 3 - upset[row]
    training = Training(BAYES, {})
    after = learn_from_right_labels(training, GivenRows(X, upset), folds, CLEAN, 3)
    for kind in (0, 1):
        models = [run.ensemble.models[kind].models for run in (before, after)]
        held_out = [some[place].predict_proba(X[[row]]) for some in models]
        np.testing.assert_allclose(*held_out)
        others = [some[place - 1].predict_proba(X[[row]]) for some in models]
        assert np.abs(others[0] - others[1]).max() > 1e-6
    assert np.abs(before.class_proba - after.class_proba).max() > 0.01


def test_rows_without_a_distance_teach_themselves_alone():
    X, _, codes = half_labelled()
    flat = make_pipeline(SelectKBest(k=2), BAYES)  # it chooses features by labels
    found, folds = self_trained(X, codes, 2, estimator=flat)
    assert found.ensemble.weights is None
    assert len(found.ensemble.models) == len(folds)
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)


def test_neighbours_help_where_a_classifier_learns_nothing_from_few_labels():
    """Trees that want twenty rows in a leaf have none to split; neighbours find them."""
    X, classes, codes = half_labelled(n_rows=360)
    trees = HistGradientBoostingClassifier(max_iter=5)
    found, _ = self_trained(X, codes, 2, estimator=trees)
    assert found.ensemble.weights[1] > 0.8
    assert np.mean(found.class_proba.argmax(axis=1) == classes) > 0.85
    alone = found.ensemble.models[0].predict_proba(X)
    assert np.mean(alone.argmax(axis=1) == classes) < 0.6


def test_unlabelled_rows_help():
    """Few labels place the clouds badly; the rows themselves show where they are."""
    before, after = [], []
    for seed in range(20):
        X, classes, codes = half_labelled(seed, 120)
        for rounds, hits in ((0, before), (3, after)):
            found, _ = self_trained(X, codes, rounds)
            hits.append(np.mean(found.class_proba.argmax(axis=1) == classes))
    assert np.mean(after) > np.mean(before) + 0.01


@pytest.mark.parametrize("estimator", [BAYES, KNeighborsClassifier(3)])
def test_self_training_goes_by_weight_where_it_can(estimator):
    X, _, codes = half_labelled()
    found, _ = self_trained(X, codes, 2, estimator=estimator)
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)
    if estimator is BAYES:
        far = np.where(np.arange(len(X)) % 12 == 5, 50.0, 0.0)[:, None]
        without = self_trained(X, codes, 2, weight=(far[:, 0] == 0).astype(float))[0]
        moved = self_trained(X + far, codes, 2, weight=(far[:, 0] == 0).astype(float))[0]
        rows = far[:, 0] == 0
        np.testing.assert_allclose(moved.class_proba[rows], without.class_proba[rows], atol=1e-9)
        assert np.abs(without.class_proba - found.class_proba).max() > 1e-4
