"""The same seed gives the same bits, whoever computes them; and inputs are left alone."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from flowers import fit, irises
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_problem
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB

from decoupling import DecouplingClassifier, SetredClassifier, infer, save

THREADS = 8
PROBLEM = random_problem(3, n_rows=200)


def bits(clf):
    return clf.predict_proba(irises()[0]).tobytes() + clf.label_conditional_proba_.tobytes()


@pytest.mark.parametrize("options", [{"n_jobs": 1}, {"n_jobs": 2}], ids=["1 job", "2 jobs"])
def test_fits_of_one_seed(options):
    X, given, _ = irises()
    forest = RandomForestClassifier(5, random_state=0)
    assert bits(fit(X, given, estimator=forest, **options)) == bits(fit(X, given, estimator=forest))


def test_fits_from_eight_threads_at_once():
    X, given, _ = irises()

    def one(seed):
        return bits(fit(X, given, estimator=GaussianNB(), random_state=seed))

    alone = [one(seed) for seed in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        together = list(threads.map(one, range(THREADS)))
    assert together == alone
    assert len(set(alone)) > 1


def test_inferences_from_eight_threads_at_once():
    def one(block_size):
        found = infer(PROBLEM.label_proba, PROBLEM.concentration, block_size=block_size)
        low, high = found.transition_interval()
        return found.class_proba.tobytes() + low.tobytes() + high.tobytes()

    sizes = [17, 50, 200, None] * 2
    alone = [one(size) for size in sizes]
    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(one, sizes)) == alone


@pytest.mark.parametrize("block_size", [1, 17, 64, 200, 1000])
def test_block_sizes(block_size):
    expected = infer(PROBLEM.label_proba, PROBLEM.concentration)
    found = infer(PROBLEM.label_proba, PROBLEM.concentration, block_size=block_size)
    again = infer(PROBLEM.label_proba, PROBLEM.concentration, block_size=block_size, n_threads=3)
    assert found.class_proba.tobytes() == again.class_proba.tobytes()
    np.testing.assert_allclose(found.class_proba, expected.class_proba, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.transitions, expected.transitions, rtol=0, atol=1e-10)


@given(seed=st.integers(0, 1000), dtype=st.sampled_from(["f2", "f4", "f8"]), weighted=st.booleans())
@settings(max_examples=15, deadline=None)
def test_inputs_are_left_alone(seed, dtype, weighted):
    """They may be read-only, and they are the same bits afterwards."""
    problem = random_problem(seed, n_rows=12)
    weight = np.arange(12.0) + 1.0 if weighted else None
    proba, prior = problem.label_proba.astype(dtype), problem.concentration.copy()
    arrays = [array for array in (proba, prior, weight) if array is not None]
    before = [array.tobytes() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of half precision, and few rows
        posterior = infer(proba, prior, sample_weight=weight)
        posterior.draw(2, random_state=seed)
        posterior.predict(proba)
    assert [array.tobytes() for array in arrays] == before


def test_rows_labels_and_options_are_left_alone():
    X, given, _ = irises()
    given[::5] = None
    weight = np.ones(150)
    for array in (X, weight):
        array.flags.writeable = False
    before = X.tobytes(), given.tolist(), weight.tobytes()
    estimator = GaussianNB()
    clf = fit(X, given, estimator=estimator).fit(X, given, sample_weight=weight)
    SetredClassifier(GaussianNB(), max_iter=2, random_state=0).fit(X, given)
    clf.label_issues().table()
    clf.report().html()
    assert (X.tobytes(), given.tolist(), weight.tobytes()) == before
    assert not hasattr(estimator, "classes_")


def test_one_fitted_classifier_is_asked_by_eight_threads_at_once(tmp_path):
    """What is computed on first use, and kept, is the same whoever comes first."""
    X, given, _ = irises()
    clf = fit(X, given, estimator=GaussianNB())

    def answers(number, clf=clf):
        for path in (tmp_path / f"{number}.decoupling", tmp_path / "all.decoupling"):
            save(clf, path)
        low, high = clf.transition_interval()
        drawn = clf.posterior_.draw(2, random_state=0)
        parts = (clf.predict_proba(X), low, high, *drawn, *clf.class_balance_interval())
        return b"".join(part.tobytes() for part in parts)

    with ThreadPoolExecutor(THREADS) as threads:
        together = set(threads.map(answers, range(THREADS)))
    assert together == {answers("alone", fit(X, given, estimator=GaussianNB()))}
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_self_training_of_one_seed(n_jobs):
    X, given, _ = irises()
    given[::3] = None
    start = DecouplingClassifier(GaussianNB(), cv=2, rounds=0, random_state=0, n_jobs=n_jobs)
    models = [
        SetredClassifier(GaussianNB(), start=one, max_iter=2, random_state=0).fit(X, given)
        for one in (start, clone(start).set_params(n_jobs=None))
    ]
    one, other = (model.predict_proba(X).tobytes() for model in models)
    assert one == other
