"""Signs that an answer may be wrong, as reasons."""

import numpy as np
import pytest

from decoupling._text import listed
from decoupling.diagnostics.reasons import (
    collapse,
    confusion,
    convergence,
    identifiability,
    separation,
    stop_in_words,
    too_sure,
    unexpected_labels,
)

NAMES = ["a", "b", "c"]
OWN = np.arange(3)
DOMINANT = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
ALIKE = np.array([[0.45, 0.44, 0.11], [0.44, 0.45, 0.11], [0.1, 0.1, 0.8]])
SWITCHED = np.array([[0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
NOBODYS = np.full(3, -1)


def test_an_ascent_that_arrived_and_one_that_did_not():
    assert convergence(12, "tolerance", 0.0, 1.0).light == "green"
    assert "the limit of iterations was reached" in convergence(12, "max_iter", 0.0, 1.0).text


@pytest.mark.parametrize("why", ["tolerance", "max_iter", "callback", "line search"])
def test_every_end_has_words(why):
    assert stop_in_words(why)


def test_a_bound_that_fell():
    assert convergence(12, "tolerance", 1e-12, 1e3).light == "green"
    found = convergence(12, "tolerance", 0.5, 1e3)
    assert found.light == "amber"
    assert "fell by 0.5 in one of the 12 iterations" in found.text


def test_a_label_that_is_more_frequent_in_another_class():
    found = confusion(NAMES, OWN, SWITCHED)
    assert found.light == "red"
    assert found.text.startswith("The label of 'a', 'b' is more frequent in another class")


def test_classes_with_nearly_the_same_labels():
    found = confusion(NAMES, OWN, ALIKE)
    assert found.light == "amber"
    assert "nearly the same labels" in found.text


@pytest.mark.parametrize(
    ("own", "transitions"),
    [
        (OWN, DOMINANT),
        # A class that is never labelled has no label to lose, and rates may differ.
        (np.array([-1, 1, 2]), [[1, 0, 0], [0.5, 0.5, 0], [0.99, 0, 0.01]]),
        (NOBODYS, (1 - np.eye(3)) / 2),
        (np.array([-1, 1]), [[1.0, 0.0], [0.8, 0.2]]),
    ],
    ids=["dominant", "one-sided", "complementary", "PU"],
)
def test_no_confusion(own, transitions):
    assert confusion(NAMES, own, transitions) is None


@pytest.mark.parametrize(
    ("transitions", "expected"),
    [
        (np.eye(3), 1.0),
        ([[0.99, 0.01, 0.0], [0.99, 0.0, 0.01]], 1.0),
        ([[0.5, 0.5], [0.5, 0.5]], 0.0),
        ([[0.2, 0.8], [0.6, 0.4], [0.4, 0.6]], 0.0),
    ],
    ids=["identity", "few labels", "equal rows", "more classes than labels"],
)
def test_how_far_labels_tell_classes_apart(transitions, expected):
    assert separation(np.array(transitions)) == pytest.approx(expected, abs=1e-12)


def test_classes_of_which_the_prior_says_the_same():
    prior = np.array([[1.0, 2.0], [3.0, 1.0], [1.0, 2.0]])
    found = identifiability(NAMES, NOBODYS, DOMINANT, prior)
    assert found.light == "amber"
    assert found.text.startswith("The prior says the same of 'a', 'c'")


def test_labels_that_tell_classes_apart_or_not():
    different = np.arange(9.0).reshape(3, 3)
    assert identifiability(NAMES, OWN, DOMINANT, different).light == "green"
    assert identifiability(NAMES, OWN, SWITCHED, different).light == "red"
    found = identifiability(NAMES, NOBODYS, ALIKE, different)
    assert found.light == "amber"
    assert "hardly tell the classes apart" in found.text


def test_a_class_that_is_nobodys():
    found = collapse(NAMES, np.array([3, 0, 1]), 0.0)
    assert found.light == "red"
    assert "No row has 'b' as its most probable class" in found.text


@pytest.mark.parametrize(("share", "light"), [(0.05, "green"), (0.3, "amber"), (0.8, "red")])
def test_rows_that_stay_where_the_prior_put_them(share, light):
    found = collapse(NAMES, np.array([3, 2, 1]), share)
    assert found.light == light
    assert (f"{share:.0%} of the rows" in found.text) == (light != "green")


def test_labels_that_the_prior_does_not_allow():
    limits = np.array([0.6, 0.0]), np.array([1.0, 0.4])
    assert unexpected_labels([None, "x"], np.array([0.8, 0.2]), *limits, 100) is None
    found = unexpected_labels([None, "x"], np.array([0.3, 0.7]), *limits, 1000)
    assert found.light == "amber"
    assert found.text.startswith("30.0% of the rows are unlabelled, and the prior has it that at")
    # A few rows may well be off by chance.
    assert unexpected_labels([None, "x"], np.array([0.55, 0.45]), *limits, 10) is None
    found = unexpected_labels(["x"], np.array([0.7]), np.array([0.0]), np.array([0.4]), 1000)
    assert "70.0% of the rows are of the label 'x'" in found.text
    assert "at most 40.0% of any class are" in found.text


def test_probabilities_that_are_surer_than_the_prior():
    assert too_sure(0.9, 0.95) is None
    assert "no class is surer than 80.0%" in too_sure(0.99, 0.8).text


def test_names_are_cut():
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(list(range(7))) == "0, 1, 2, 3, 4 and 2 more"


def test_a_share_that_was_rounded_up_to_more_than_one():
    rounded = np.array([np.nextafter(1.0, 2.0)])
    assert unexpected_labels(["x"], rounded, np.zeros(1), np.ones(1), 9) is None
