"""Bags: what is drawn, and that their mean is p(label | x) of all rows again."""

import numpy as np
import pytest
from problems import folds_of
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from decoupling.fits.ensembles import Ensemble, Training, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows
from decoupling.label_model.bags import BalancedBags, fit_bags


class Counter(ClassifierMixin, BaseEstimator):
    """Predicts the shares of its classes, and remembers its rows."""

    def fit(self, X, y, sample_weight=None):
        self.rows_ = X[:, 0].astype(int)
        self.classes_ = np.unique(y)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        shares = np.bincount(y, weight)
        self.shares_ = shares / shares.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


def numbered(n_labelled, n_rows):
    """Rows that are their own number, the first of them labelled."""
    return np.arange(n_rows, dtype=float)[:, None], (np.arange(n_rows) < n_labelled).astype(int)


def everything(n_rows):
    return Fold(np.arange(n_rows), np.arange(n_rows))


def bags_of_all(X, codes, weight=None):
    """The bags of a single fold of all rows."""
    fold = everything(len(X))
    (bags,) = fit_bags(Training(Counter(), {}), GivenRows(X, codes, weight), [fold], 0).models
    return bags


def test_a_bag_has_all_carriers_and_as_many_others():
    X, codes = numbered(7, 100)
    (bags,) = fit_bags(
        Training(Counter(), {}), GivenRows(X, codes, None), [everything(100)], 0
    ).models
    assert len(bags.ensemble.models) == 10
    for model in bags.ensemble.models:
        assert set(range(7)) <= set(model.rows_)
        assert len(set(model.rows_)) == len(model.rows_) == 14
    drawn = {tuple(model.rows_) for model in bags.ensemble.models}
    assert len(drawn) == 10
    assert bags.thinning == pytest.approx(93 / 7)


def test_what_was_left_out_is_put_back():
    """A classifier that knows nothing but shares finds those of all rows, exactly."""
    X, codes = numbered(7, 100)
    ensemble = fit_bags(Training(Counter(), {}), GivenRows(X, codes, None), [everything(100)], 0)
    np.testing.assert_allclose(ensemble.predict_proba(X), [[0.93, 0.07]] * 100, rtol=1e-12)


@pytest.mark.parametrize("q", [0.0, 0.2, 1.0])
def test_the_correction_in_closed_form(q):
    """As Bayes' rule has it: each unlabelled row in a bag stands for five."""

    class Says:
        classes_ = np.arange(2)

        def predict_proba(self, X):
            return np.array([[1 - q, q]])

    found = BalancedBags(Ensemble((Says(),), 2), 5.0).predict_proba([[0]])
    np.testing.assert_allclose(found, [[5 * (1 - q), q]] / np.array(5 * (1 - q) + q), rtol=1e-15)


def test_weights_are_counts():
    """Carriers that stand for three rows each are balanced by three times as many others."""
    X, codes = numbered(5, 200)
    weight = np.where(codes == 1, 3.0, 1.0)
    (bags,) = fit_bags(
        Training(Counter(), {}), GivenRows(X, codes, weight), [everything(200)], 0
    ).models
    assert all(len(model.rows_) == 5 + 15 for model in bags.ensemble.models)
    np.testing.assert_allclose(bags.predict_proba(X[:1]), [[195 / 210, 15 / 210]], rtol=1e-12)


def test_unequal_weights_of_unlabelled_rows():
    """One row stands for a thousand, and is in few bags or in none."""
    X, codes = numbered(10, 111)
    weight = np.append(np.ones(110), 1000.0)
    (bags,) = fit_bags(
        Training(Counter(), {}), GivenRows(X, codes, weight), [everything(111)], 0
    ).models
    drawn = np.mean([weight[model.rows_].sum() - 10 for model in bags.ensemble.models])
    assert bags.thinning == pytest.approx(1100 / drawn)


def test_rows_without_weight_are_not_drawn():
    X, codes = numbered(5, 200)
    weight = (np.arange(200) < 100).astype(float)
    (bags,) = fit_bags(
        Training(Counter(), {}), GivenRows(X, codes, weight), [everything(200)], 0
    ).models
    assert all((model.rows_ < 100).all() for model in bags.ensemble.models)
    np.testing.assert_allclose(bags.predict_proba(X[:1]), [[0.95, 0.05]], rtol=1e-12)


@pytest.mark.parametrize("n_labelled", [0, 60, 100])
def test_a_fold_that_cannot_be_balanced_is_a_bag_of_its_own(n_labelled):
    X, codes = numbered(n_labelled, 100)
    (bags,) = fit_bags(
        Training(Counter(), {}), GivenRows(X, codes, None), [everything(100)], 0
    ).models
    assert len(bags.ensemble.models) == 1
    share = n_labelled / 100
    np.testing.assert_allclose(bags.predict_proba(X[:1]), [[1 - share, share]], rtol=1e-12)


def test_bags_depend_on_the_seed_alone():
    X, codes = numbered(7, 100)
    folds = folds_of(codes)

    def drawn(seed, folds):
        models = fit_bags(Training(Counter(), {}), GivenRows(X, codes, None), folds, seed).models
        return [[tuple(bag.rows_) for bag in model.ensemble.models] for model in models]

    assert drawn(0, folds) == drawn(0, folds)
    assert drawn(0, folds) != drawn(1, folds)
    assert drawn(0, folds[2:]) == drawn(0, folds)[2:]


def test_nothing_is_predicted_by_bags_that_saw_it():
    X, codes = numbered(20, 200)
    folds = folds_of(codes)
    models = fit_bags(Training(Counter(), {}), GivenRows(X, codes, None), folds, 0).models
    for model, fold in zip(models, folds, strict=True):
        for bag in model.ensemble.models:
            assert not set(bag.rows_) & set(fold.predict)


def test_a_rare_label_is_told_better_by_bags():
    """Deep trees of all rows call next to nothing labelled; the mean of bags ranks rows well."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    positive = rng.random(2000) < 0.3
    X = rng.normal(size=(2000, 3)) + 1.2 * positive[:, None]
    codes = (positive & (rng.random(2000) < 0.15)).astype(int)
    folds = folds_of(codes)
    training = Training(DecisionTreeClassifier(random_state=0), {})
    plain = out_of_fold(training.ensemble(X, codes, None, folds, 2), X, folds, 2000)
    bags = out_of_fold(fit_bags(training, GivenRows(X, codes, None), folds, 0), X, folds, 2000)
    assert roc_auc_score(positive, bags[:, 1]) > roc_auc_score(positive, plain[:, 1]) + 0.2


def test_the_mean_is_near_p_of_the_label():
    """Of a classifier whose answer depends on the shares of classes as Bayes' rule has it."""
    rng = np.random.default_rng(0)
    codes = (rng.random(20_000) < 0.05).astype(int)
    X = rng.normal(size=(20_000, 1)) + codes[:, None]
    folds, training = folds_of(codes), Training(GaussianNB(), {})
    plain = training.ensemble(X, codes, None, folds, 2).predict_proba(X)
    bags = fit_bags(training, GivenRows(X, codes, None), folds, 0).predict_proba(X)
    assert np.abs(bags - plain).mean() < 0.005
    usual = plain[:, 1] < 0.3  # all but the few that are most like the carriers
    np.testing.assert_allclose(bags[usual], plain[usual], atol=0.03)


@pytest.mark.parametrize("thinning", [0.0, -1.0, np.inf, np.nan])
def test_thinning_is_finite_and_above_0(thinning):
    with pytest.raises(ValueError, match="thinning must be finite and above 0"):
        BalancedBags(Ensemble((), 2), thinning)
