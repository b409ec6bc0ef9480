"""The simulated example follows the process that its docstring states."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from decoupling.datasets import four_normals
from decoupling.datasets.simulated import COVARIANCES, MEANS


def test_transitions_of_the_paper():
    assert_allclose(
        four_normals(1).transitions,
        [
            [0.9975, 0.0025 / 3, 0.0025 / 3, 0.0025 / 3],
            [0.7, 0.25, 0.025, 0.025],
            [0.7, 0.025, 0.25, 0.025],
            [0.7, 0.025, 0.025, 0.25],
        ],
    )


@pytest.mark.parametrize(
    ("unlabelled", "noise", "negative_noise"),
    [(0.7, 0.05, 0.0025), (0, 0, 0), (1, 0, 1), (0.3, 0.7, 0.5), (0.9, 0.1, 0)],
)
def test_probabilities_are_probabilities(unlabelled, noise, negative_noise):
    data = four_normals(
        200,
        unlabelled=unlabelled,
        noise=noise,
        negative_noise=negative_noise,
        random_state=0,
    )
    for proba in (data.transitions, data.class_posterior, data.label_posterior):
        assert (proba >= 0).all()
        assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)


def test_frequencies_follow_the_transitions():
    n_samples = 400_000
    data = four_normals(n_samples, negative_noise=0.1, random_state=0)
    counts = np.zeros((4, 4))
    np.add.at(counts, (data.classes, data.labels), 1)
    assert_allclose(counts.sum(axis=1) / n_samples, 0.25, atol=0.005)
    assert_allclose(counts / counts.sum(axis=1, keepdims=True), data.transitions, atol=0.005)


def test_impossible_labels_are_never_drawn():
    data = four_normals(5000, unlabelled=0, noise=0, negative_noise=0, random_state=0)
    assert_array_equal(data.labels, data.classes)


def test_samples_follow_their_normal():
    data = four_normals(200_000, random_state=0)
    for label, (mean, covariance) in enumerate(zip(MEANS, COVARIANCES, strict=True)):
        X = data.X[data.classes == label]
        assert_allclose(X.mean(axis=0), mean, atol=0.02)
        assert_allclose(np.cov(X.T), covariance, atol=0.02)


def test_posteriors_agree_with_bayes_by_hand():
    data = four_normals(5, random_state=3)
    x = data.X[2]
    density = []
    for mean, ((a, b), (_, d)) in zip(MEANS, COVARIANCES, strict=True):
        determinant = a * d - b * b
        u, v = x - mean
        distance = (d * u * u - 2 * b * u * v + a * v * v) / determinant
        density.append(math.exp(-distance / 2) / (2 * math.pi * math.sqrt(determinant)))
    class_posterior = np.array(density) / sum(density)
    label_posterior = [
        sum(class_posterior[y] * data.transitions[y, s] for y in range(4)) for s in range(4)
    ]
    assert_allclose(data.class_posterior[2], class_posterior, rtol=1e-12)
    assert_allclose(data.label_posterior[2], label_posterior, rtol=1e-12)


def test_class_posterior_is_calibrated():
    data = four_normals(100_000, random_state=1)
    for label in range(4):
        proba = data.class_posterior[:, label]
        near_half = (proba > 0.4) & (proba < 0.6)
        hits = data.classes[near_half] == label
        assert abs(hits.mean() - proba[near_half].mean()) < 0.02


def test_same_seed_same_bits():
    first, second = four_normals(300, random_state=7), four_normals(300, random_state=7)
    for name in vars(first):
        assert_array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(first.X, four_normals(300, random_state=8).X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a positive integer, got 0"),
        ({"n_samples": 1.5}, "n_samples must be a positive integer, got 1.5"),
        ({"unlabelled": 1.1}, "unlabelled is a probability"),
        ({"noise": -0.1}, "noise is a probability"),
        ({"negative_noise": math.nan}, "negative_noise is a probability"),
        ({"unlabelled": 0.8, "noise": 0.3}, "unlabelled \\+ noise must be at most 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        four_normals(**arguments)
