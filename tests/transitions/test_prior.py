"""TransitionPrior: what it holds and what it refuses."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from decoupling import TransitionPrior
from decoupling.transitions import tasks
from decoupling.transitions.projection import project


def test_concentration_with_zeros_and_known_rows():
    prior = TransitionPrior([[1.0, 0.0], [0.25, 0.75]], [np.inf, 8.0])
    np.testing.assert_array_equal(prior.concentration, [[np.inf, 0.0], [2.0, 6.0]])
    np.testing.assert_array_equal(prior.known, [True, False])
    assert prior.classes == (0, 1)
    assert prior.labels == (0, 1)


def test_one_strength_for_all():
    prior = TransitionPrior(np.eye(3), 5)
    np.testing.assert_array_equal(prior.strength, [5.0, 5.0, 5.0])


def test_from_concentration_is_its_inverse():
    concentration = np.array([[1.0, 3.0], [0.0, 2.0]])
    prior = TransitionPrior.from_concentration(concentration, classes="ab", labels=[None, "x"])
    np.testing.assert_allclose(prior.concentration, concentration)
    assert prior.classes == ("a", "b")


def test_it_is_immutable_and_keeps_no_view():
    mean = np.eye(2)
    prior = TransitionPrior(mean, 3.0)
    mean[0, 0] = 7.0
    assert prior.mean[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        prior.mean[0, 0] = 0.5
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.strength = 3.0
    with pytest.raises((AttributeError, TypeError)):
        prior.strenght = 3.0


@pytest.mark.parametrize(
    ("mean", "strength", "options", "message"),
    [
        ([[0.5, 0.6]], 1.0, {}, r"mean: 1.1 at row 0 is the sum of a row that is not 1"),
        ([[1.5, -0.5]], 1.0, {}, r"mean: 1.5 at row 0, column 0 is not a probability .*2 such"),
        ([[np.nan, 1.0]], 1.0, {}, r"mean: nan at row 0, column 0"),
        ([[1.0, 0.0], [0.0, 0.0]], 1.0, {}, r"mean: .* row 1 .* without any possible label"),
        ([0.5, 0.5], 1.0, {}, r"mean must have 2 axes"),
        (np.zeros((0, 2)), 1.0, {}, r"mean is empty"),
        ([[0.5, 0.5]], 0.0, {}, r"strength: 0 at row 0 is not positive"),
        ([[0.5, 0.5]], -1.0, {}, r"strength: -1"),
        ([[0.5, 0.5]], np.nan, {}, r"strength: nan"),
        ([[0.5, 0.5]], "x", {}, r"strength must be a number or one per class; got 'x'"),
        ([[0.5, 0.5]], [1.0, 2.0], {}, r"strength must be a number or one per class, shape \(1,\)"),
        ([[0.5, 0.5]], 1.0, {"classes": ["a", "b"]}, r"classes must have 1 entries .* got 2"),
        ([[0.5, 0.5]], 1.0, {"labels": ["a", "a"]}, r"labels must be distinct; repeated: a"),
    ],
)
def test_bad_arguments(mean, strength, options, message):
    with pytest.raises(ValueError, match=message):
        TransitionPrior(mean, strength, **options)


AB, ABC = ["a", "b"], ["a", "b", "c"]
INF = np.inf


@pytest.mark.parametrize(
    ("prior", "labels", "mean", "strength"),
    [
        (TransitionPrior.supervised(AB), AB, np.eye(2), [INF, INF]),
        (TransitionPrior.semi_supervised(AB), [None, *AB], [[0.9, 0.1, 0], [0.9, 0, 0.1]], 10),
        (
            TransitionPrior.semi_supervised(AB, {"b": 1.0, "a": 0.3}, strength=4),
            [None, *AB],
            [[0.7, 0.3, 0], [0, 0, 1]],
            [4, INF],
        ),
        (TransitionPrior.semi_supervised(AB, 1.0), AB, np.eye(2), [INF, INF]),
        (TransitionPrior.positive_unlabelled(), [None, 1], [[1, 0], [0.8, 0.2]], [INF, 10]),
        (TransitionPrior.positive_unlabelled(1.0), [None, 1], np.eye(2), [INF, INF]),
        (
            TransitionPrior.multi_positive_unlabelled(AB, labelled=[0.2, 0.5], strength=[1, 2, 3]),
            [None, *AB],
            [[1, 0, 0], [0.8, 0.2, 0], [0.5, 0, 0.5]],
            [INF, 2, 3],
        ),
        (
            TransitionPrior.multi_positive_unlabelled(
                ABC, labelled=0.5, noise={**dict.fromkeys(ABC, 0.4), "c": 0}
            ),
            [None, *ABC],
            [[1, 0, 0, 0], [0.5, 0.3, 0.1, 0.1], [0.5, 0.1, 0.3, 0.1], [0.5, 0, 0, 0.5]],
            [INF, 10, 10, 10],
        ),
        (
            TransitionPrior.noisy(ABC),
            ABC,
            [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
            10,
        ),
        (
            TransitionPrior.noisy(AB, [0.5, 0.1], labelled=[0.2, 1.0]),
            [None, *AB],
            [[0.8, 0.1, 0.1], [0, 0.1, 0.9]],
            10,
        ),
        (
            TransitionPrior.class_conditional_noise(AB, [[0.7, 0.3], [0.1, 0.9]]),
            AB,
            [[0.7, 0.3], [0.1, 0.9]],
            10,
        ),
        (
            TransitionPrior.class_conditional_noise(AB, [[0, 0.3], [0, 0]], 0.5),
            [None, *AB],
            [[0.5, 0.35, 0.15], [0.5, 0, 0.5]],
            10,
        ),
        (
            TransitionPrior.complementary(ABC),
            ABC,
            [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]],
            10,
        ),
        (
            TransitionPrior.complementary(AB, labelled=0.4, strength=3),
            [None, *AB],
            [[0.6, 0, 0.4], [0.6, 0.4, 0]],
            3,
        ),
    ],
)
def test_constructors(prior, labels, mean, strength):
    assert prior.labels == tuple(labels)
    np.testing.assert_allclose(prior.mean, mean, rtol=1e-12)
    np.testing.assert_array_equal(prior.mean == 0, np.asarray(mean) == 0)
    np.testing.assert_array_equal(prior.strength, np.broadcast_to(strength, len(prior.classes)))


@pytest.mark.parametrize(
    ("prior", "task"),
    [
        (TransitionPrior.supervised(ABC), tasks.supervised(ABC)),
        (TransitionPrior.semi_supervised(ABC), tasks.semi_supervised(ABC)),
        (TransitionPrior.positive_unlabelled(), tasks.positive_unlabelled(1, 0)),
        (
            TransitionPrior.multi_positive_unlabelled(ABC, labelled=[0.1, 0.2, 0.3]),
            tasks.multi_positive_unlabelled(ABC, "negative"),
        ),
        (
            TransitionPrior.multi_positive_unlabelled(ABC, noise=[0.1, 0.2, 0.3]),
            tasks.multi_positive_unlabelled(ABC, "negative", noise=True),
        ),
        (TransitionPrior.noisy(ABC), tasks.noisy(ABC, unlabelled=False)),
        (TransitionPrior.noisy(ABC, labelled=0.3), tasks.noisy(ABC, unlabelled=True)),
        (
            TransitionPrior.class_conditional_noise(AB, [[0, 0.3], [0.1, 0]], 0.5),
            tasks.class_conditional_noise(AB, unlabelled=True),
        ),
        (TransitionPrior.complementary(ABC, labelled=0.3), tasks.complementary(ABC, True)),
    ],
)
def test_constructors_obey_the_task_of_their_name(prior, task):
    assert (prior.classes, prior.labels) == (task.classes, task.labels)
    np.testing.assert_allclose(project(task, prior.mean), prior.mean, rtol=1e-12)
    np.testing.assert_array_equal(prior.task.mask, task.mask)
    np.testing.assert_array_equal(prior.task.own, task.own)


def test_rounding_does_not_make_an_impossible_label_possible():
    prior = TransitionPrior.class_conditional_noise(range(11), 0.1 * (1 - np.eye(11)))
    assert (np.diagonal(prior.mean) == 0).all()


@pytest.mark.parametrize(
    ("name", "arguments", "options", "message"),
    [
        ("supervised", ["ab"], {}, r"classes must be a sequence of names"),
        ("supervised", [["a", None]], {}, r"classes: None at place 1.*reserved for unlabelled"),
        ("semi_supervised", [[]], {}, r"classes is empty"),
        ("semi_supervised", [AB, 1.2], {}, r"labelled: 1.2 for class 'a' is not a prob.* \(2 such"),
        ("semi_supervised", [AB, [0.5, np.nan]], {}, r"labelled: nan for class 'b'"),
        ("semi_supervised", [AB, [0.1, 0.2, 0.3]], {}, r"one per class \(2: 'a', 'b'\).* got 3"),
        ("semi_supervised", [AB, "often"], {}, r"labelled must be an array of numbers"),
        ("semi_supervised", [AB, [0.0, 0.1]], {}, r"labelled: 0 for class 'a'.* cannot be learned"),
        (
            "semi_supervised",
            [AB, {"a": 0.1, "x": 0.1}],
            {},
            r"labelled must have the names 'a', 'b'; unknown: 'x'; missing: 'b'",
        ),
        ("semi_supervised", [AB], {"strength": 0}, r"strength: 0 at row 0 is not positive"),
        ("positive_unlabelled", [0.2, "x", "x"], {}, r"classes must be distinct; repeated: x"),
        ("positive_unlabelled", [{0: 0, 1: 0.2}], {}, r"labelled must .* unknown: 0"),
        ("positive_unlabelled", [0.0], {}, r"labelled: 0 for class 1"),
        ("multi_positive_unlabelled", ["fraud"], {}, r"positives must .* use \['fraud'\]"),
        ("multi_positive_unlabelled", [["a"]], {"noise": 0.1}, r"Wrong labels need at least 2 cla"),
        ("noisy", [AB, -0.1], {}, r"noise: -0.1 for class 'a'"),
        (
            "class_conditional_noise",
            [AB, pd.DataFrame(np.eye(2), AB, AB)],
            {},
            r"noise is a data frame.* pass an array: noise.to_numpy\(\)",
        ),
        ("class_conditional_noise", [AB, np.eye(3)], {}, r"noise must have shape \(2, 2\)"),
        (
            "class_conditional_noise",
            [AB, [[0.5, 0.3], [0, 1]]],
            {},
            r"noise: 0.8 at row 0 is the sum of a row that is not 1",
        ),
        ("class_conditional_noise", [AB, [[0, 1.1], [0, 0]]], {}, r"noise: 1.1 at row 0, column 1"),
        ("complementary", [["a"]], {}, r"Wrong labels need at least 2 classes"),
    ],
)
def test_bad_rates(name, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(TransitionPrior, name)(*arguments, **options)


def test_none_is_the_first_label_only():
    with pytest.raises(ValueError, match=r"labels: None at place 1"):
        TransitionPrior(np.eye(2), 1, labels=["a", None])


@pytest.mark.parametrize(
    ("class_balance", "expected"),
    [
        (None, [0.9, 0.1]),
        ([0.75, 0.25], [0.95, 0.05]),
        ({1: 1.0, 0: 0.0}, [0.8, 0.2]),
    ],
)
def test_predictive(class_balance, expected):
    prior = TransitionPrior.positive_unlabelled(0.2)
    np.testing.assert_allclose(prior.predictive(class_balance), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("class_balance", "message"),
    [
        ([0.5, 0.6], r"class_balance must sum to 1 over the classes 0, 1; its sum is 1.1"),
        ([1.5, -0.5], r"class_balance: 1.5 for class 0"),
        ({0: 1.0}, r"class_balance must .* missing: 1"),
    ],
)
def test_bad_class_balance(class_balance, message):
    with pytest.raises(ValueError, match=message):
        TransitionPrior.positive_unlabelled().predictive(class_balance)


def test_describe():
    prior = TransitionPrior.positive_unlabelled(0.2, "fraudulent order", "order")
    assert prior.describe(class_balance=[0.99, 0.01]).splitlines() == [
        "label             expected",
        "unlabelled          99.80%",
        "fraudulent order     0.20%",
    ]
    assert prior.describe({None: 3}).splitlines() == [
        "label             expected  observed",
        "unlabelled          90.00%   100.00%",
        "fraudulent order    10.00%     0.00%",
    ]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({None: 1, "x": 2}, r"labels must have the names None, 1; unknown: 'x'"),
        ({None: -1}, r"labels: -1 at row 0 is not a count"),
        ({None: 0}, r"labels: all counts are 0"),
    ],
)
def test_describe_refuses(labels, message):
    with pytest.raises(ValueError, match=message):
        TransitionPrior.positive_unlabelled().describe(labels)
