"""Owned and shared labels: any pattern of zeros gives what sums over all classes give."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from decoupling import TransitionPrior, infer
from decoupling.inference.math import bound, dirichlet
from decoupling.inference.math.bound import Bound
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.structure import LabelOwners


def in_full(logs, transitions, weight):
    """E[ln X] (N, S), counts of classes (N, C) and of transitions (C, S), by every term."""
    joint = logs[:, :, None] + transitions.expected_log()  # (N, C, S)
    value = logsumexp(joint, axis=1)
    counts = np.exp(joint - value[:, None, :]) * weight[:, None, :]
    return value, counts.sum(axis=2), counts.sum(axis=0)


def random_transitions(rng, possible, tiny=False):
    """Rows of T with these possible labels; some known, some concentrations tiny."""
    parameters = rng.gamma(1.0, 4.0, possible.shape) + 0.05
    if tiny:
        parameters[rng.random(possible.shape) < 0.4] = 1e-3
    rows = DirichletRows.free(np.where(possible, parameters, 0.0))
    known = rows.known | (rng.random(len(possible)) < 0.3)
    return DirichletRows(np.where(known[:, None], rows.mean(), rows.parameters), known)


def check(rng, possible, tiny=False):
    transitions = random_transitions(rng, possible, tiny)
    method, n_classes = Bound(transitions), len(possible)
    concentration = rng.gamma(1.0, 2.0, (5, n_classes)) + 1e-2
    if tiny:
        concentration[rng.random(concentration.shape) < 0.7] = 1e-3
    logs, weight = dirichlet.mean_log(concentration), rng.random((5, possible.shape[1]))
    value, by_class, by_transition = in_full(logs, transitions, weight)
    seen = method.rows(logs)
    found = method.transition_matrix(seen.transition_counts(weight))
    np.testing.assert_allclose(seen.value(), value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(seen.class_counts(weight), by_class, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found, by_transition, rtol=1e-12, atol=1e-15)
    assert (found[~possible] == 0).all()
    if not tiny:
        rough = method.rough_class_counts(concentration, weight)
        np.testing.assert_allclose(rough, by_class, rtol=1e-3)


def emitting(possible):
    """The same with a label for every class, and a class for every label."""
    possible = possible.copy()
    possible[~possible.any(axis=1), 0] = True
    possible[0, ~possible.any(axis=0)] = True
    return possible


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 2), (3, 2), (2, 3)])
def test_every_pattern_of_small_size(shape):
    rng = np.random.default_rng(0)
    for bits in product([False, True], repeat=shape[0] * shape[1]):
        possible = np.reshape(bits, shape)
        if possible.any(axis=0).all() and possible.any(axis=1).all():
            check(rng, possible)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(1, 7),
    n_labels=st.integers(1, 9),
    share=st.floats(0.0, 1.0),
    tiny=st.booleans(),
)
def test_random_patterns(seed, n_classes, n_labels, share, tiny):
    rng = np.random.default_rng(seed)
    check(rng, emitting(rng.random((n_classes, n_labels)) < share), tiny)


def test_lost_entries_are_taken_in_parts(monkeypatch):
    monkeypatch.setattr(bound, "_LOST_ENTRIES", 20)
    rng = np.random.default_rng(1)
    for _ in range(5):
        check(rng, np.ones((6, 8), dtype=bool), tiny=True)


def test_consecutive_labels_are_seen_where_they_lie():
    owners = LabelOwners.of(TransitionPrior.semi_supervised(range(3)).mean > 0)
    assert (owners.shared, owners.owned, owners.owner) == (slice(0, 1), slice(1, 4), slice(0, 3))
    owners = LabelOwners.of(TransitionPrior.multi_positive_unlabelled(range(3)).mean > 0)
    assert (owners.shared, owners.owned, owners.owner) == (slice(0, 1), slice(1, 4), slice(1, 4))
    owners = LabelOwners.of(TransitionPrior.supervised(range(3)).mean > 0)
    assert (owners.shared, owners.owned, owners.owner) == (slice(0, 0), slice(0, 3), slice(0, 3))
    owners = LabelOwners.of(TransitionPrior.noisy(range(3)).mean > 0)
    assert (owners.shared, owners.nobody) == (slice(0, 3), True)


def test_labels_in_any_order_and_several_of_one_class():
    possible = np.array([[1, 0, 0, 1, 0, 0], [0, 1, 1, 1, 0, 1], [0, 0, 0, 1, 0, 0]], dtype=bool)
    owners = LabelOwners.of(possible)
    assert (np.r_[owners.shared] == [3, 4]).all()
    assert (owners.owned == [0, 1, 2, 5]).all()
    assert (owners.owner == [0, 1, 1, 1]).all()
    counts = np.zeros((1, 3))
    owners.add_owned(counts, np.array([[1.0, 2.0, 3.0, 50.0, 60.0, 4.0]]))
    np.testing.assert_array_equal(counts, [[1.0, 9.0, 0.0]])


@pytest.mark.parametrize(
    "prior",
    [
        TransitionPrior.semi_supervised(range(4)),
        TransitionPrior.multi_positive_unlabelled(range(3)),
        TransitionPrior.positive_unlabelled(),
        TransitionPrior.supervised(range(3)),
    ],
    ids=["semi", "multi-positive", "positive", "supervised"],
)
@pytest.mark.parametrize("block_size", [None, 7])
def test_a_label_of_its_own_is_no_different_from_a_nearly_own_one(prior, block_size):
    """A shared label, were its other classes next to impossible, tells the same."""
    rng = np.random.default_rng(2)
    proba = rng.dirichlet(np.ones(len(prior.classes)), 30) @ prior.mean
    nearly = TransitionPrior(0.999999 * prior.mean + 1e-6 / len(prior.labels), prior.strength)
    found, near = (
        infer(proba, p, learn_transitions=False, block_size=block_size) for p in (prior, nearly)
    )
    np.testing.assert_allclose(found.class_proba, near.class_proba, atol=1e-3)
