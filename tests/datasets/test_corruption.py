"""Clean classes turned into labels: drawn from T, by name, reproducibly."""

import numpy as np
import pandas as pd
import pytest

from decoupling import TransitionPrior
from decoupling.datasets import give_labels

NAMES = ["ant", "bee", "cow"]


@pytest.mark.parametrize(
    "prior",
    [
        TransitionPrior.supervised(NAMES),
        TransitionPrior.semi_supervised(NAMES, labelled=[0.2, 0.5, 0.9]),
        TransitionPrior.noisy(NAMES, noise=0.3, labelled=0.6),
        TransitionPrior.complementary(NAMES),
        TransitionPrior.multi_positive_unlabelled(NAMES[:2], "cow", labelled=0.3),
    ],
    ids=["supervised", "semi-supervised", "noisy", "complementary", "one-sided"],
)
def test_labels_occur_as_often_as_they_should(prior):
    n = 20_000
    for c, name in enumerate(prior.classes):
        given = give_labels([name] * n, prior, random_state=0)
        share = [np.mean([label == s for label in given]) for s in prior.labels]
        error = np.sqrt(prior.mean[c] * (1 - prior.mean[c]) / n)
        # Five standard errors, and nothing where a label is impossible or certain.
        assert (np.abs(share - prior.mean[c]) <= 5 * error).all()


def test_rows_and_columns_go_by_name():
    T = [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    prior = TransitionPrior(T, 1, classes=["cow", "ant", "bee"], labels=["x", "y", "z"])
    assert give_labels(["ant", "bee", "cow", "ant"], prior, 0).tolist() == ["y", "x", "z", "y"]


@pytest.mark.parametrize(
    "seed",
    [3, np.random.RandomState(3), np.random.default_rng(3)],
    ids=["number", "RandomState", "Generator"],
)
def test_sources_of_randomness(seed):
    prior = TransitionPrior.noisy(NAMES, noise=0.5)
    classes = np.array(NAMES * 50)
    first = give_labels(classes, prior, seed)
    second = give_labels(classes, prior, seed)
    assert (first == second).all() == isinstance(seed, int)  # a generator goes on
    assert (give_labels(classes, prior) != classes).any()


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (["a", "b"], "<U1"),
        ([0, 1], "int64"),
        ([0.0, 1.0], "float64"),
        ([False, True], "bool"),
        ([None, "a"], "O"),
        (["a", 1], "O"),
        ([(1, 2), (3, 4)], "O"),
        (["a\0", "b"], "O"),  # numpy would cut the zero
        ([2**70, 1], "O"),
    ],
    ids=repr,
)
def test_labels_keep_their_type(labels, dtype):
    prior = TransitionPrior([[0.5, 0.5]], 1, classes=["x"], labels=labels)
    given = give_labels(["x"] * 40, prior, random_state=0)
    assert given.shape == (40,)
    assert given.dtype == dtype
    assert set(given.tolist()) == set(labels)


@pytest.mark.parametrize(
    "classes",
    [
        NAMES * 4,
        np.array(NAMES * 4),
        pd.Series(NAMES * 4, dtype="category", index=range(12, 0, -1)),
    ],
    ids=["list", "array", "pandas"],
)
def test_classes_of_any_kind(classes):
    prior = TransitionPrior.noisy(NAMES, noise=0.5)
    given = give_labels(classes, prior, random_state=0)
    np.testing.assert_array_equal(given, give_labels(NAMES * 4, prior, random_state=0))


class Extreme(np.random.RandomState):
    """Draws the ends of the unit interval."""

    def uniform(self, size):
        return np.where(np.arange(size) % 2, np.nextafter(1.0, 0.0), 0.0)


def test_rounding_makes_no_label_possible():
    # Ten shares of 0.1 sum to less than 1, and neither end of the interval may be reached.
    mean = [[0.0, *[0.1] * 10, 0.0]]
    prior = TransitionPrior(mean, 1, classes=["x"])
    assert np.cumsum(prior.mean)[-1] < 1.0
    assert set(give_labels(["x"] * 4, prior, Extreme()).tolist()) == {1, 10}


@pytest.mark.parametrize(
    ("classes", "transitions", "message"),
    [
        (["ant", None], TransitionPrior.noisy(NAMES), r"1 samples have no class \(first: row 1\)"),
        (["ant", "yak"], TransitionPrior.noisy(NAMES), "'yak'"),
        ([], TransitionPrior.noisy(NAMES), "empty"),
        (["ant"], np.eye(3), "transitions must be a TransitionPrior; got ndarray"),
    ],
    ids=["missing", "unknown", "empty", "array"],
)
def test_bad_input(classes, transitions, message):
    with pytest.raises(ValueError, match=message):
        give_labels(classes, transitions, random_state=0)
