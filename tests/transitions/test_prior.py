"""TransitionPrior: what it holds and what it refuses."""

import dataclasses

import numpy as np
import pytest

from decoupling import TransitionPrior


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
