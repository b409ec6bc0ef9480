"""The plan of the fits, and that as many are made, or fewer."""

import numpy as np
import pytest
from problems import draw_labelled, folds_of
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from decoupling import DecouplingClassifier
from decoupling.fits.ensembles import FITTING, fit_clone
from decoupling.fits.nested import nest
from decoupling.fits.plan import IN_ROUNDS, NOT_AGAIN, ON_RIGHT_LABELS, plan_fits

# Few rows are quick to fit, and warned of.
pytestmark = pytest.mark.filterwarnings("ignore:p\\(label . class\\) is estimated from fewer")
NAMES = np.array([None, "ant", "bee", "cat"], dtype=object)
X, CODES = draw_labelled(3, 120, labelled=0.7)
EVERY = np.where(CODES == 0, 1, CODES)
RIGHT = {
    "noisy": EVERY,
    "half": CODES,
    "few": np.where(np.arange(120) % 3, 0, CODES),
    "one": np.where(CODES == 1, 1, 0),
    "rare": np.where((CODES == 1) & (np.arange(120) % 2 == 0), 1, 0),
    "two": np.where(CODES == 3, 0, CODES),
}


def counted(clf, labels, **fit):
    """Fit, and count the classifiers that are fitted."""
    fits = []

    def fit_one(*given):
        fits.append(1)
        return fit_clone(*given)

    token = FITTING.set(fit_one)
    try:
        clf.fit(X, NAMES[labels], **fit)
    finally:
        FITTING.reset(token)
    return len(fits)


@pytest.mark.parametrize("n_folds", [2, 3])
@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ("noisy", {}),
        ("noisy", {"rounds": 1}),
        ("noisy", {"rounds": 0}),
        ("half", {"task": "noisy"}),
        ("few", {"task": "semi-supervised"}),
        ("noisy", {"task": "supervised"}),
        ("one", {"task": "positive-unlabelled"}),
        ("rare", {"task": "positive-unlabelled"}),
        ("two", {"task": "multi-positive-unlabelled"}),
        ("half", {"task": "complementary"}),
        ("few", {"task": "semi-supervised", "labelled": {"ant": 0.3, "bee": 0.2, "cat": 0.1}}),
    ],
    ids=str,
)
def test_as_many_classifiers_are_fitted_as_planned_at_most(labels, options, n_folds):
    """Nearly as many, too: rounds may end early, or a form that takes more fits is not kept."""
    options = {"rounds": 3, "cv": n_folds, "random_state": 0} | options
    clf = DecouplingClassifier(GaussianNB(), **options)
    plan = clf.planned_fits(X, NAMES[RIGHT[labels]])
    made = counted(clf, RIGHT[labels])
    assert made <= plan.total
    assert made >= plan.total - 2 * n_folds * n_folds if plan.retraining == IN_ROUNDS else True
    assert plan.retraining == NOT_AGAIN or made > plan.stages[0].fits
    assert (plan.retraining == NOT_AGAIN) == (clf.retrained_ is None)


def test_the_default_with_every_row_labelled():
    """5 for p(label | x), 10 within folds, 25 in five rounds and 80 between them."""
    clf = DecouplingClassifier(random_state=0)
    plan = clf.planned_fits(X, NAMES[EVERY])
    assert [stage.fits for stage in plan.stages] == [5, 10, 105]
    assert plan.as_dict()["total"] == plan.total == 120
    assert str(plan).startswith("120 at most: 5 for p(label | x)")


def test_rounds_that_do_not_end_early_make_every_fit_of_the_plan():
    folds = folds_of(EVERY, 4)
    splits = [(fold.fit, fold.predict) for fold in folds]
    clf = DecouplingClassifier(LogisticRegression(), cv=splits, rounds=2, random_state=0)
    plan = clf.planned_fits(X, NAMES[EVERY])
    assert plan.total == 4 + 6 + 8 + 12
    assert counted(clf, EVERY) == plan.total


def test_prefit_and_in_sample():
    fitted = LogisticRegression().fit(X, NAMES[EVERY].astype(str))
    prefit = DecouplingClassifier(fitted, cv="prefit").planned_fits(X, NAMES[EVERY])
    assert (prefit.total, prefit.retraining, str(prefit)) == (0, NOT_AGAIN, "none")
    in_sample = DecouplingClassifier(cv=None, rounds=2).planned_fits(X, NAMES[EVERY])
    assert in_sample.total == 1 + 1 + 2 + 1


def test_planning_changes_nothing():
    state = np.random.RandomState(3)
    before = state.get_state()[1].copy()
    clf = DecouplingClassifier(cv=StratifiedKFold(3), random_state=state)
    clf.planned_fits(X, NAMES[EVERY])
    np.testing.assert_array_equal(state.get_state()[1], before)
    assert not any(name.endswith("_") for name in vars(clf))


def test_folds_that_can_be_used_once():
    splits = iter([(fold.fit, fold.predict) for fold in folds_of(EVERY)])
    with pytest.raises(ValueError, match="used once: make a list"):
        DecouplingClassifier(cv=splits).planned_fits(X, NAMES[EVERY])


def test_stages_of_right_labels():
    folds = folds_of(CODES, 3)
    plan = plan_fits(folds, (), ON_RIGHT_LABELS, 5, (1, 1))
    assert [stage.fits for stage in plan.stages] == [3, 3 * (1 + 5 + 1)]
    alone = plan_fits(folds, (), ON_RIGHT_LABELS, 0, (1, 1))
    assert [stage.fits for stage in alone.stages] == [3, 3]
    both = plan_fits(folds, nest(folds, CODES), IN_ROUNDS, 2, (3, 2))
    assert [stage.fits for stage in both.stages] == [9, 6, 6 + 6]
