"""Rounds of retraining: what the classifier is given, and how sure the result may be."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from decoupling.fits.ensembles import Training
from decoupling.fits.folds import Fold, make_folds
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.nested import nest
from decoupling.likelihood.average import average_answers
from decoupling.likelihood.offsets import best_calibration
from decoupling.likelihood.temperature import tempered
from decoupling.retraining.answer import as_named, undone
from decoupling.retraining.lessons import fit_classes
from decoupling.retraining.rounds import retrain
from decoupling.retraining.sizes import calibrate_classes
from decoupling.retraining.trusted_rows import training_weights
from decoupling.transitions import tasks
from decoupling.transitions.conditional import label_conditional

AB = ("a", "b")
SEMI = tasks.noisy(AB, unlabelled=True)
PU = tasks.positive_unlabelled("yes", "no")
CLEAN = tasks.semi_supervised(AB)  # where T is held


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted with."""

    def fit(self, X, y, sample_weight=None, site=None):
        self.classes_ = np.unique(y)
        self.X_, self.y_, self.weight_, self.site_ = X, y, sample_weight, site
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class WeightlessRecorder(Recorder):
    def fit(self, X, y):
        return super().fit(X, y)


# What the classifier is given


FOLDS = [Fold(np.array([2, 3]), np.array([0, 1])), Fold(np.array([0, 1]), np.array([2, 3]))]
TRUST = np.array([[1.0, 0.0], [0.95, 0.05], [0.0, 0.0], [0.005, 0.995]])


def test_a_row_is_a_member_of_each_class_that_it_may_have():
    X, site = np.arange(4.0)[:, None], ["w", "x", "y", "z"]
    more = TRUST.copy()
    more[2] = [0.5, 0.25]
    training = Training(make_pipeline(Recorder()), {"recorder__site": site})
    first, second = (m[-1] for m in fit_classes(training, X, more, FOLDS).models)
    np.testing.assert_array_equal(first.X_[:, 0], [2, 2, 3])  # of 0.005 there is no copy
    np.testing.assert_array_equal(first.y_, [0, 1, 1])
    np.testing.assert_array_equal(first.weight_, [0.5, 0.25, 0.995])
    assert first.site_ == ["y", "y", "z"]
    np.testing.assert_array_equal(second.X_[:, 0], [0, 1, 1])
    np.testing.assert_array_equal(second.y_, [0, 0, 1])
    np.testing.assert_array_equal(second.weight_, [1.0, 0.95, 0.05])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_weights_does_not_matter(unit):
    X = np.arange(4.0)[:, None]
    training = Training(Recorder(), {})
    for one, other in zip(
        fit_classes(training, X, TRUST + 0.1, FOLDS).models,
        fit_classes(training, X, unit * (TRUST + 0.1), FOLDS).models,
        strict=True,
    ):
        np.testing.assert_array_equal(one.X_, other.X_)
        np.testing.assert_array_equal(one.y_, other.y_)
        np.testing.assert_allclose(unit * one.weight_, other.weight_)


def test_without_weights_a_row_is_of_its_most_probable_class_or_left_out():
    X = np.arange(6.0)[:, None]
    trust = np.array([[1, 0], [0.1, 0.9], [0.3, 0.1], [0.4, 0.6], [0, 0], [0.9, 0.1]])
    everything = [Fold(np.arange(6), np.arange(6))]
    (model,) = fit_classes(Training(WeightlessRecorder(), {}), X, trust, everything).models
    np.testing.assert_array_equal(model.X_[:, 0], [0, 1, 3, 5])
    np.testing.assert_array_equal(model.y_, [0, 1, 1, 0])
    assert model.weight_ is None


# The rounds


def noisy_rows(seed=0, n_rows=300):
    """Two clouds, a third of the labels wrong and a third of the rows unlabelled."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, n_rows)
    X = 2.0 * (2 * classes - 1)[:, None] + 1.5 * rng.standard_normal((n_rows, 2))
    given = np.where(rng.random(n_rows) < 0.3, 1 - classes, classes)
    return X, classes, np.where(rng.random(n_rows) < 0.3, 0, given + 1)


T_SEMI = np.array([[0.3, 0.49, 0.21], [0.3, 0.21, 0.49]])


BAYES = GaussianNB()  # it takes weights, and has a closed form


def run(
    X, codes, proba, rounds, *,
    estimator=BAYES, task=SEMI, transitions=T_SEMI, n_folds=3, beside=(),
):  # fmt: skip
    folds = make_folds(None, codes, n_folds, np.random.RandomState(0))
    given, training = GivenRows(X, codes), Training(estimator, {})
    views = [proba] * len(folds)
    found = retrain(training, given, nest(folds, codes), task, views, transitions, rounds)
    return found.answer(given, dict(enumerate(beside))), folds


def bayes(X, trust, rows):
    """Fitted on some rows, as members of both classes."""
    twice, members = np.concatenate([rows, rows]), np.repeat([0, 1], len(rows))
    weight = trust[twice, members]
    used = weight > 0.01
    return GaussianNB().fit(X[twice][used], members[used], weight[used])


def a_round(X, codes, folds, task, views, transitions, with_unlabelled):
    """One round in plain loops: p(y|x) held out, within the rows of each fold, and of five rows."""
    held, some, within = np.zeros_like(views[0]), 0.0, []
    for fold, view in zip(folds, views, strict=True):
        rows = fold.fit
        joint = view[rows] * transitions[:, codes[rows]].T
        conditional = joint / joint.sum(axis=1, keepdims=True)
        trust, ones = np.zeros_like(view), np.ones(len(rows))
        trust[rows] = training_weights(
            task, conditional, codes[rows], ones, with_unlabelled=with_unlabelled
        )
        kept = trust.sum(axis=0)
        trust *= np.maximum(conditional.sum(axis=0), np.minimum(kept, 10)) / kept
        trust *= kept.sum() / trust.sum()
        model = bayes(X, trust, rows)
        held[fold.predict] = model.predict_proba(X[fold.predict])
        some = some + model.predict_proba(X[:5]) / len(folds)
        others = [other for other in folds if other is not fold]
        models = [bayes(X, trust, np.intersect1d(rows, other.fit)) for other in others]
        found = np.zeros_like(view)
        for model, other in zip(models, others, strict=True):
            found[other.predict] = model.predict_proba(X[other.predict])
        within.append(found)
    return held, within, some


@pytest.mark.parametrize(
    ("task", "rounds", "alone"),
    [
        (PU, 1, 0),
        (PU, 3, 0),
        (SEMI, 1, 0),
        (SEMI, 2, 1),  # the second half adds the unlabelled rows
        (SEMI, 5, 2),
        (tasks.noisy(AB), 2, 0),
        (tasks.noisy(AB), 5, 0),
    ],
)
def test_rounds_by_hand(task, rounds, alone):
    """The mean over the rounds, or over those with unlabelled rows if some are without."""
    X, classes, codes = noisy_rows()
    transitions = np.array([[0.3, 0.6, 0.1], [0.3, 0.1, 0.6]])
    if task is PU:
        codes, transitions = np.minimum(codes, 1), np.array([[0.9, 0.1], [0.4, 0.6]])
    if not task.has_unlabelled:
        X, classes, codes = X[codes > 0], classes[codes > 0], codes[codes > 0] - 1
        transitions = np.array([[0.9, 0.1], [0.1, 0.9]])
    start = tempered(np.eye(2)[classes] + 0.2, 1.0)
    found, folds = run(X, codes, start, rounds, task=task, transitions=transitions, n_folds=4)
    views, train, test, votes, likely = [start] * 4, [], [], np.zeros_like(start), []
    ones = np.ones(len(codes))
    for number in range(rounds):
        held, within, some = a_round(X, codes, folds, task, views, transitions, number >= alone)
        resized = calibrate_classes(task, held, transitions, codes, ones, soften=False)
        transitions = resized.transitions
        likely.append(np.log((resized.apply(held) @ transitions)[np.arange(len(codes)), codes]))
        if number >= alone:
            train.append(held)
            test.append(some)
            votes += held
        change = likely[-1] - likely[-2] if number > alone else np.zeros(len(codes))
        if change.mean() < -np.std(change) / np.sqrt(len(codes)):
            break
        if number >= alone and number + 1 < rounds:
            votes += sum(within)
        views = []
        for proba, fold in zip(within, folds, strict=True):  # by the labels of its own rows
            logs = np.log(np.maximum(proba, 1e-9))  # nothing is impossible
            emits = transitions[:, codes].T[fold.fit]
            _, offsets = best_calibration(
                logs[fold.fit], emits, np.ones(len(fold.fit)), soften=False
            )
            views.append(tempered(proba, 1.0, offsets))
    train, test = np.mean(train, axis=0), np.mean(test, axis=0)
    last = calibrate_classes(task, train, transitions, codes, ones)
    answer = average_answers([train], last.transitions[:, codes].T, ones)
    np.testing.assert_allclose(found.answer.temperatures, answer.temperatures, rtol=1e-6)
    np.testing.assert_allclose(found.answer.offsets, answer.offsets, atol=1e-9)
    votes /= votes.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.class_proba, answer.apply([votes]), atol=1e-6)
    np.testing.assert_allclose(found.predict(X[:5]), answer.apply([test]), atol=1e-6)


def test_what_stands_beside_the_rounds_counts_as_far_as_held_out_labels_have_it():
    X, classes, codes = noisy_rows()
    start = tempered(np.eye(2)[classes] + 0.2, 1.0)
    right = tempered(np.eye(2)[classes], 0.5)
    given = {"transitions": T_SEMI, "n_folds": 4}
    alone, _ = run(X, codes, start, 2, **given)
    helped, _ = run(X, codes, start, 2, beside=[right], **given)
    misled, _ = run(X, codes, start, 2, beside=[right[:, ::-1]], **given)
    shares = [found.answer.weights @ found.answer.shares[:, 1] for found in (helped, misled)]
    assert shares[0] > 0.3
    assert shares[1] < 0.05
    assert [len(found.beside) for found in (alone, helped, misled)] == [0, 1, 1]
    # The rounds themselves have no part in it, and new rows need what the answer is made of.
    for found in (helped, misled):
        np.testing.assert_array_equal(
            found.ensemble.predict_proba(X), alone.ensemble.predict_proba(X)
        )
    expected = helped.answer.apply([helped.ensemble.predict_proba(X), right])
    np.testing.assert_array_equal(helped.predict(X, [right]), expected)
    with pytest.raises(ValueError, match="1 parts were given, and 2 are needed"):
        helped.predict(X)


@pytest.mark.parametrize("task", [SEMI, tasks.noisy(AB), tasks.class_conditional_noise(AB)])
def test_labels_as_they_are_and_with_t_undone(task):
    """p(s|x) that T makes of some p(y|x) is undone to it, but for what is all but certain."""
    first = int(task.has_unlabelled)
    transitions = np.array([[0.3, 0.6, 0.1], [0.5, 0.1, 0.4]])[:, 1 - first :]
    transitions /= transitions.sum(axis=1, keepdims=True)
    proba = np.array([[0.5, 0.5], [0.1, 0.9], [0.98, 0.02], [1.0, 0.0]])
    found = undone(proba @ transitions, transitions)
    named = as_named(task, proba @ transitions)
    np.testing.assert_allclose(found[:3], proba[:3], atol=1e-12)
    np.testing.assert_allclose(found[3], np.array([1.0, 0.01]) / 1.01, atol=1e-12)
    label = (proba @ transitions)[:, first:]
    np.testing.assert_allclose(named, label / label.sum(axis=1, keepdims=True), rtol=1e-12)


def test_what_t_hardly_tells_apart_is_not_undone():
    transitions = np.array([[0.5 + 1e-6, 0.5 - 1e-6], [0.5 - 1e-6, 0.5 + 1e-6]])
    found = undone(np.array([[0.6, 0.4]]), transitions)
    np.testing.assert_allclose(found, 0.5, atol=1e-3)


@pytest.mark.parametrize("task", [SEMI, PU])
def test_the_labels_of_a_fold_have_no_part_in_its_choice_of_rows(task):
    """T is held: it is what all rows share."""
    X, classes, codes = noisy_rows()
    transitions, start = T_SEMI, tempered(np.eye(2)[classes] + 0.2, 1.0)
    if task is PU:
        codes, transitions = np.minimum(codes, 1), np.array([[0.9, 0.1], [0.4, 0.6]])
    folds = make_folds(None, codes, 4, np.random.RandomState(0))
    upset = codes.copy()
    held = folds[1].predict
    flipped = 1 - codes[held] if task is PU else np.array([0, 2, 1])[codes[held]]
    upset[held] = flipped
    models = [
        retrain(
            Training(BAYES, {}), GivenRows(X, labels), nest(folds, codes), task,
            [start] * 4, transitions, 3, learn_transitions=False,
        ).ensemble.models
        for labels in (codes, upset)
    ]  # fmt: skip
    for mine, other in zip(*(found[1::4] for found in models), strict=False):
        np.testing.assert_array_equal(mine.theta_, other.theta_)
    assert any((a.theta_ != b.theta_).any() for a, b in zip(*models, strict=False))


class Tiring(GaussianNB):
    """Knows nothing any more from some fit on."""

    fits: list[int]

    def fit(self, X, y, sample_weight=None):
        self.tired_ = not self.fits
        self.fits[:] = self.fits[1:]
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        return np.full_like(proba, 0.5) if self.tired_ else proba


@pytest.mark.parametrize(("good", "rounds"), [(9, 2), (18, 3), (99, 4)])
def test_rounds_end_when_held_out_labels_become_less_likely(good, rounds):
    """Three folds have three fits of their own in a round, and six within them."""
    X, classes, codes = noisy_rows()
    start = tempered(np.eye(2)[classes] + 0.2, 1.0)
    codes = np.minimum(codes, classes)
    Tiring.fits = list(range(good))
    transitions = np.array([[1.0, 0.0], [0.3, 0.7]])
    found, _ = run(X, codes, start, 4, estimator=Tiring(), task=PU, transitions=transitions)
    assert len(found.ensemble.models) == 3 * rounds


def test_rates_of_labelling_and_sizes_of_classes_are_not_lost_from_round_to_round():
    """A fifth of two of three classes is labelled, some of it wrongly.

    The classes overlap, and what the first answer makes of them is too few of the labelled ones.
    """
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 1500)
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[classes] + rng.standard_normal((1500, 2))
    task = tasks.multi_positive_unlabelled(AB, noise=True)
    transitions = np.array([[1.0, 0, 0], [0.8, 0.17, 0.03], [0.8, 0.03, 0.17]])
    codes = (rng.random((1500, 1)) > transitions[classes].cumsum(axis=1)).sum(axis=1)
    density = np.exp(-0.5 * ((X[:, None] - [[0, 0], [2, 0], [0, 2]]) ** 2).sum(axis=2))
    start = density * [4.0, 1.0, 1.0]
    start /= start.sum(axis=1, keepdims=True)
    assert start[:, 0].mean() > 0.5
    found, _ = run(X, codes, start, 5, task=task, transitions=transitions)
    sizes = np.bincount(codes)[1:] / 0.2 / len(codes)
    np.testing.assert_allclose(found.class_proba.mean(axis=0)[1:], sizes, atol=0.07)
    best = np.mean(density.argmax(axis=1) == classes)
    assert np.mean(found.class_proba.argmax(axis=1) == classes) > best - 0.02


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(5), DecisionTreeClassifier(min_samples_leaf=10)]
)
def test_answers_of_a_few_sizes_are_not_moved_as_a_whole(estimator):
    """Their certainties are often wrong, and hot; what is most probable stays nearly as it was."""
    rng = np.random.default_rng(0)
    classes = (rng.random(1200) < 0.35).astype(int)
    X = rng.standard_normal((1200, 3)) + (classes[:, None] - 0.5) * np.array([1.8, 1.1, 0.0])
    codes = ((classes == 1) & (rng.random(1200) < 0.3)).astype(int)
    odds = np.exp(X @ np.array([1.8, 1.1, 0.0])) * 0.35 / 0.65
    start = np.column_stack([np.ones(1200), odds]) / (1 + odds[:, None])
    transitions = np.array([[1.0, 0.0], [0.7, 0.3]])
    found, _ = run(X, codes, start, 2, estimator=estimator, task=PU, transitions=transitions)
    assert found.answer.weights @ found.answer.temperatures > 2
    right = np.mean(found.class_proba.argmax(axis=1) == classes)
    assert right > np.mean(start.argmax(axis=1) == classes) - 0.03


def test_classes_are_in_proportion_only_where_the_classifier_takes_weights():
    """Rows without weights are kept or not, and never thinned out by a scale."""
    X, classes, codes = noisy_rows()
    start = tempered(np.eye(2)[classes] + 0.2, 1.0)
    found, folds = run(X, codes, start, 1, estimator=WeightlessRecorder(), n_folds=2)
    for model, fold in zip(found.ensemble.models, folds, strict=True):
        kept = training_weights(
            SEMI,
            label_conditional(start[fold.fit], T_SEMI, codes[fold.fit]),
            codes[fold.fit],
            np.ones(len(fold.fit)),
        )
        np.testing.assert_array_equal(model.X_, X[fold.fit][kept.any(axis=1)])


def test_a_known_class_counts_among_those_that_are_expected():
    """All rows of "b" are known: of all weight they have the share that they have of all rows."""
    X, classes, codes = noisy_rows()
    start = np.full((len(X), 2), 0.5)
    nested = nest([Fold(np.arange(len(X)), np.arange(len(X)))], codes)
    known = np.where(classes == 1, 1, -1)
    found = retrain(
        Training(Recorder(), {}), GivenRows(X, codes, None, known), nested, SEMI,
        [start], T_SEMI, 1,
    )  # fmt: skip
    (model,) = found.ensemble.models
    conditional = label_conditional(start, T_SEMI, codes)[classes == 0]
    share = (np.sum(classes == 1) + conditional[:, 1].sum()) / len(X)
    assert model.weight_[model.y_ == 1].sum() / model.weight_.sum() == pytest.approx(share)


# Where labels may be wrong


@pytest.mark.parametrize("estimator", [GaussianNB(), KNeighborsClassifier(15)])
def test_retraining_finds_the_classes_behind_wrong_labels(estimator):
    """It begins from the labels alone: 70 % of them are right."""
    X, classes, codes = noisy_rows()
    start = np.array([[0.5, 0.5], [0.7, 0.3], [0.3, 0.7]])[codes]
    found, _ = run(X, codes, start, 2, estimator=estimator)
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)
    assert (found.class_proba > 0).all()
    assert np.mean(found.class_proba.argmax(axis=1) == classes) > 0.93
    new, truth, _ = noisy_rows(1)
    assert np.mean(found.predict(new).argmax(axis=1) == truth) > 0.93


def test_a_class_without_labels_is_learnt_from_unlabelled_rows():
    X, classes, _ = noisy_rows()
    codes = np.where((classes == 1) & (np.arange(len(X)) % 3 == 0), 1, 0)
    transitions = np.array([[1.0, 0.0], [2 / 3, 1 / 3]])
    proba = tempered(np.eye(2)[classes] + 0.1, 1.0)
    found, _ = run(X, codes, proba, 2, task=PU, transitions=transitions)
    assert np.mean(found.class_proba.argmax(axis=1) == classes) > 0.93


def test_rows_without_weight_change_nothing():
    X, classes, codes = noisy_rows()
    proba = tempered(np.eye(2)[classes] + 0.2, 1.0)
    weight = (np.arange(len(X)) % 4 > 0).astype(float)
    upset = codes.copy()
    upset[weight == 0] = np.where(codes[weight == 0] == 0, 0, 3 - codes[weight == 0])
    nested = nest(make_folds(None, codes, 3, np.random.RandomState(0)), codes)
    givens = [GivenRows(X, some, weight) for some in (codes, upset)]
    one, other = (
        retrain(Training(BAYES, {}), given, nested, SEMI, [proba] * 3, T_SEMI, 2)
        for given in givens
    )
    np.testing.assert_allclose(one.held_out, other.held_out, atol=1e-9)
    np.testing.assert_allclose(one.transitions, other.transitions, atol=1e-9)
    answers = [found.answer(given, {}) for found, given in zip((one, other), givens, strict=True)]
    np.testing.assert_allclose(*(answer.class_proba for answer in answers), atol=1e-9)


def test_texts():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 80)
    words = [["goal", "match", "team"], ["bank", "loan", "rate"]]
    texts = [" ".join(rng.choice(words[c], 2)) + " the day" for c in classes]
    codes = np.where(rng.random(80) < 0.5, classes + 1, 0)
    proba = tempered(np.eye(2)[classes] + 0.1, 1.0)
    estimator = make_pipeline(TfidfVectorizer(), MultinomialNB())
    found, _ = run(texts, codes, proba, 2, estimator=estimator)
    np.testing.assert_array_equal(found.class_proba.argmax(axis=1), classes)
    np.testing.assert_array_equal(found.predict(["match", "a loan"]).argmax(axis=1), [0, 1])


def test_a_warning_when_few_labelled_rows_are_kept():
    """Labels say nothing, and T knows it; the classes are known, and half of the labels fit."""
    X, classes, _ = noisy_rows()
    codes = np.random.default_rng(1).integers(0, 2, len(X))
    transitions = np.array([[0.51, 0.49], [0.49, 0.51]])
    proba = tempered(np.eye(2)[classes] + 0.05, 1.0)
    with pytest.warns(UserWarning, match=r"Only \d+% of the labelled rows were kept"):
        run(X, codes, proba, 1, task=tasks.noisy(AB), transitions=transitions)
