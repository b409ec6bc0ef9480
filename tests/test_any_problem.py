"""Problems drawn at random: an answer that is a distribution, or an error that says what is wrong.

`make nightly` draws thousands of them.
"""

import os
import traceback
import warnings
from datetime import date

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from decoupling import ClassPrior, DecouplingClassifier, TransitionPrior, infer
from decoupling.inference.math.expected_log import METHODS
from decoupling.transitions.choice import TASKS

EXAMPLES = int(os.environ.get("DECOUPLING_EXAMPLES", "40"))
SEEDS = st.integers(0, 2**32 - 1)
ESTIMATORS = [
    GaussianNB(),
    LogisticRegression(max_iter=50),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    DummyClassifier(strategy="stratified", random_state=0),
]
# Three labels of every type, and what is missing among them.
TYPES = [
    ("ant", "bee", "cow"),
    (0, 1, 2),
    (-1, 1, 10**12),
    (0.0, 1.0, 2.0),
    (False, True, True),
    (date(2020, 1, 1), date(2020, 1, 2), date(1999, 1, 1)),
    ("", " ", "nan"),
    (b"a", b"b", b"c"),
    ("a", 1, None),
]
GAPS = [None, float("nan")]


def assert_distributions(rows):
    assert np.isfinite(rows).all()
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=1e-9)


def assert_documented(error):
    """It was raised on purpose, by us or by scikit-learn, and says why."""
    origin = traceback.extract_tb(error.__traceback__)[-1].filename
    assert "decoupling" in origin or "sklearn" in origin, error
    assert len(str(error)) > 20, error


@st.composite
def core_problems(draw):
    """p(label | x), a prior, and options of `infer`."""
    n_rows, n_classes, n_labels = (draw(st.integers(1, most)) for most in (30, 5, 5))
    rng = np.random.default_rng(draw(SEEDS))
    sharpness = draw(st.sampled_from([0.02, 0.5, 5.0]))
    proba = rng.dirichlet(np.full(n_labels, sharpness), n_rows)
    if draw(st.booleans()):
        proba = np.eye(n_labels)[proba.argmax(axis=1)]
    mean = rng.dirichlet(np.full(n_labels, 0.5), n_classes)
    mean[rng.random(mean.shape) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    strength = draw(st.sampled_from([1e-3, 1.0, 30.0, 1e6, np.inf]))
    options = {
        "evidence": draw(st.sampled_from(["auto", 1e-3, 1.0, 1e4])),
        "expected_log": draw(st.sampled_from(sorted(set(METHODS) - {"exact"}))),
        "learn_transitions": draw(st.booleans()),
        "class_prior": draw(
            st.sampled_from([None, ClassPrior.symmetric(0.01), ClassPrior.learned()])
        ),
        "max_iter": 60,
        "block_size": draw(st.sampled_from([None, 1, 7])),
        "sample_weight": draw(st.sampled_from([None, rng.integers(0, 3, n_rows).astype(float)])),
    }
    return proba, mean, strength, options


@given(core_problems())
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_core(problem):
    proba, mean, strength, options = problem
    before = proba.tobytes(), mean.tobytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            total = mean.sum(axis=1, keepdims=True)
            prior = TransitionPrior(mean / np.where(total > 0, total, 1.0), strength)
            found = infer(proba, prior, **options)
    except ValueError as error:
        assert_documented(error)
        return
    finally:
        assert (proba.tobytes(), mean.tobytes()) == before
    assert_distributions(found.class_proba)
    assert_distributions(found.transitions)
    assert np.isfinite(found.trace.elbo).all()
    for low, high in (found.transition_interval(), found.class_balance_interval()):
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    assert found.diagnostics.light in ("green", "amber", "red")


@st.composite
def label_problems(draw):
    """Rows, labels of some type with gaps, and options of a classifier."""
    n_rows = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(SEEDS))
    n_labels = draw(st.integers(1, 3))
    codes = rng.integers(0, n_labels, n_rows)
    X = codes[:, None] * draw(st.sampled_from([0.0, 2.0])) + rng.normal(size=(n_rows, 2))
    values = [*draw(st.sampled_from(TYPES)), draw(st.sampled_from(GAPS))]
    hidden = rng.random(n_rows) < draw(st.sampled_from([0.0, 0.3, 0.9]))
    y = np.fromiter((values[code] for code in np.where(hidden, 3, codes)), object, n_rows)
    options = {
        "task": draw(st.sampled_from(TASKS)),
        "cv": draw(st.sampled_from([2, 3, None])),
        "rounds": draw(st.integers(0, 1)),
        "calibrate": draw(st.booleans()),
        "noise": draw(st.sampled_from([None, "auto", 0.2, 1.0])),
        "labelled": draw(st.sampled_from([None, 0.5, 1.0])),
        "random_state": 0,
    }
    weight = draw(st.sampled_from([None, rng.integers(0, 3, n_rows)]))
    return X, y, weight, draw(st.sampled_from(ESTIMATORS)), options


@given(label_problems())
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_classifier(problem):
    X, y, weight, estimator, options = problem
    before = X.tobytes(), y.tolist()
    clf = DecouplingClassifier(estimator, **options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few rows, twins, collapse: this is a wild lot
            clf.fit(X, y, sample_weight=weight)
    except (ValueError, TypeError) as error:
        assert_documented(error)
        return
    finally:
        assert X.tobytes() == before[0]
        assert all(one is other for one, other in zip(y.tolist(), before[1], strict=True))
    for rows in (
        clf.predict_proba(X), clf.class_proba_, clf.label_conditional_proba_, clf.transitions_,
        clf.label_proba_,
    ):  # fmt: skip
        assert_distributions(rows)
    assert set(clf.predict(X).tolist()) <= set(clf.classes_.tolist())
