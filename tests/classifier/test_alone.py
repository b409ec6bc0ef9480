"""p(label | x) and labels without retraining."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from decoupling import DecouplingClassifier, TransitionPrior, infer, label_issues
from decoupling.classifier.alone import WrongRange, wrong_range
from decoupling.transitions.tasks import noisy, semi_supervised


class Given(ClassifierMixin, BaseEstimator):
    """p(label | x) is what the columns of X say."""

    def __init__(self, classes=(0, 1, 2)):
        self.classes = classes
        self.classes_ = np.array(classes)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.asarray(X)

    def __sklearn_is_fitted__(self):
        return True


T = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.3, 0.6]])


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 1500)
    q = 0.9 * np.eye(3)[classes] + 0.1 * rng.dirichlet(np.ones(3), 1500)
    labels = np.array([rng.choice(3, p=T[c]) for c in classes])
    return q @ T, labels, classes


def prefit(**options):
    return DecouplingClassifier(Given(), task="noisy", cv="prefit", **options)


def test_t_is_free_where_the_labels_have_it_so(problem):
    proba, labels, classes = problem
    clf = prefit().fit(proba, labels)
    np.testing.assert_allclose(clf.transitions_, T, atol=0.06)
    assert np.mean(clf.transduction_ == classes) > 0.97
    assert np.mean(clf.predict(proba) == classes) > 0.97
    np.testing.assert_allclose(clf.predict_proba(proba).sum(axis=1), 1.0)


def test_both_tasks_of_wrong_labels_answer_alike(problem):
    proba, labels, _ = problem
    free = DecouplingClassifier(Given(), task="class-conditional-noise", cv="prefit")
    tied = prefit().fit(proba, labels)
    free.fit(proba, labels)
    np.testing.assert_array_equal(tied.label_conditional_proba_, free.label_conditional_proba_)


def test_the_overlap_may_be_said(problem):
    proba, labels, _ = problem
    ends = [prefit(overlap=o).fit(proba, labels) for o in (0.0, 1.0)]
    expected = [clf.label_issues(all_rows=True).p_wrong.sum() for clf in ends]
    assert expected[0] > expected[1]
    assert ends[0].overlap_answer_.overlaps.tolist() == [0.01]
    assert not ends[0].diagnostics.about("overlap")


@pytest.mark.parametrize("overlap", [-0.1, 1.1, "much", True, np.nan])
def test_an_overlap_is_a_share(problem, overlap):
    with pytest.raises(ValueError, match="overlap must be a share from 0 to 1"):
        prefit(overlap=overlap).fit(*problem[:2])


@pytest.mark.parametrize(
    "options", [{"noise": 0.2}, {"cv": 5}, {"learn_transitions": False}, {"task": "supervised"}]
)
def test_an_overlap_that_nothing_uses_is_refused(problem, options):
    with pytest.raises(ValueError, match="overlap would not be used"):
        prefit(overlap=0.5).set_params(**options).fit(*problem[:2])


def test_a_t_that_was_said_is_kept(problem):
    proba, labels, _ = problem
    prior = TransitionPrior(T, np.inf, classes=range(3), labels=range(3))
    clf = DecouplingClassifier(Given(), task=prior, cv="prefit").fit(proba, labels)
    assert clf.overlap_answer_ is None
    np.testing.assert_allclose(clf.transitions_, T)


def test_known_classes_are_certain(problem):
    proba, labels, classes = problem
    known = np.full(len(labels), np.nan)
    known[:5] = classes[:5]
    clf = prefit().fit(proba, labels, known_classes=known)
    np.testing.assert_allclose(clf.label_conditional_proba_[np.arange(5), classes[:5]], 1.0)


def average_precision(wrong, rows):
    """Of a ranking of all rows, the worst first."""
    hits = wrong[rows]
    return float((np.cumsum(hits) / np.arange(1, len(rows) + 1))[hits].mean())


def test_labels_are_ranked_as_well_as_by_the_first_choice(problem):
    """Even noise in unequal classes: cells of T say nothing of which labels are wrong."""
    rng = np.random.default_rng(1)
    classes = rng.choice(3, 2000, p=[0.7, 0.2, 0.1])
    proba = 0.8 * np.eye(3)[classes] + 0.2 * rng.dirichlet(np.ones(3), 2000)
    wrong = rng.random(2000) < 0.02
    labels = np.where(wrong, (classes + rng.integers(1, 3, 2000)) % 3, classes)
    plain = average_precision(wrong, np.argsort(proba[np.arange(2000), labels]))
    found = prefit().fit(proba, labels).label_issues(all_rows=True).row
    assert average_precision(wrong, found) > plain - 0.005
    prior = TransitionPrior.noisy(range(3), noise=0.1, strength=50)
    issues = label_issues(infer(proba, prior), labels, all_rows=True)
    assert average_precision(wrong, issues.row) > plain - 0.05


def test_the_range_of_wrong_labels(problem):
    proba, labels, classes = problem
    found = wrong_range(noisy(range(3)), proba, labels, np.ones(len(labels)))
    assert found.low <= np.mean(labels != classes) <= found.high
    assert found.disagreeing == pytest.approx(np.mean(proba.argmax(axis=1) != labels))


def test_unlabelled_rows_have_no_part_in_it(problem):
    proba, labels, _ = problem
    half = np.column_stack([np.full(len(proba), 0.5), 0.5 * proba])
    seen = np.where(np.arange(len(labels)) % 2 == 0, labels + 1, 0)
    weight = np.ones(len(labels))
    with_none = wrong_range(semi_supervised(range(3)), half, seen, weight)
    alone = wrong_range(noisy(range(3)), proba[::2], labels[::2], weight[::2])
    assert with_none == pytest.approx(alone)


def test_no_label_has_no_range(problem):
    proba, labels, _ = problem
    assert wrong_range(noisy(range(3)), proba, labels, np.zeros(len(labels))) is None


def test_rows_that_halve_a_range():
    found = WrongRange(0.02, 0.28, 0.27)
    half = 1.645 * np.sqrt(0.15 * 0.85 / found.rows_that_halve)
    assert found.is_open
    assert half == pytest.approx(0.26 / 4, rel=0.1)
    assert not WrongRange(0.18, 0.22, 0.2).is_open
