"""What the report takes from a classifier, by hand."""

import dataclasses

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from decoupling import DecouplingClassifier
from decoupling.report.facts import read_facts


def by_hand(noisy, **changes):
    """Facts of four rows, two of each label, in three classes."""
    facts = read_facts(noisy)
    W = np.array([[0.9, 0.1, 0.0], [0.4, 0.6, 0.0], [0.0, 1.0, 0.0], [0.0, 0.3, 0.7]])
    small = {
        "codes": np.array([0, 0, 1, 1]),
        "weight": np.array([1.0, 1.0, 1.0, 2.0]),
        "class_proba": W,
        "conditional": W,
        "p_wrong": np.array([0.1, 0.6, 0.0, 0.7]),
    }
    return dataclasses.replace(facts, **{**small, **changes})


@pytest.mark.parametrize("kind", ["noisy", "one-sided", "semi-supervised", "complementary"])
def test_kinds_go_by_what_labels_can_say(every_kind, kind):
    assert read_facts(every_kind[kind]).kind == kind


def test_counts_and_shares(noisy):
    facts = by_hand(noisy)
    np.testing.assert_allclose(facts.shares, [1.3 / 5, 2.3 / 5, 1.4 / 5])
    np.testing.assert_allclose(facts.expected_counts()[:, :2], [[1.3, 0.0], [0.7, 1.6], [0, 1.4]])
    assert facts.suggested.tolist() == [0, 1, 1, 2]
    assert facts.named.tolist() == [0, 0, 1, 1]


def test_rows_to_mend_are_the_worst_ones(noisy):
    facts = by_hand(noisy)  # weighted: 0.1, 0.6, 0, 1.4 of 2.1
    assert facts.rows_to_mend(0.6) == 1
    assert facts.rows_to_mend(0.8) == 2
    assert facts.rows_to_mend(1.0) == 3
    assert by_hand(noisy, p_wrong=np.zeros(4)).rows_to_mend(0.8) == 0


def test_share_of_wrong_labels(noisy):
    T = read_facts(noisy).transitions
    share, lower, upper = by_hand(noisy, lower=T, upper=T).wrong_share()
    assert share == pytest.approx(2.1 / 5)
    # With T known what is left is the variance of the rows.
    deviation = np.sqrt(0.1 * 0.9 + 0.6 * 0.4 + 4 * 0.7 * 0.3) / 5
    assert upper - share == pytest.approx(1.6449 * deviation, rel=1e-4)
    wide = by_hand(noisy, lower=T - 0.1, upper=T + 0.1).wrong_share()
    assert wide[1] <= lower < share < upper < wide[2]


def test_wrong_pairs_leave_out_gaps_and_own_labels(one_sided, semi_supervised, noisy):
    assert not read_facts(one_sided).wrong_pairs().any()
    assert not read_facts(semi_supervised).wrong_pairs().any()
    np.testing.assert_array_equal(read_facts(noisy).wrong_pairs(), ~np.eye(3, dtype=bool))


def test_intervals_of_shares_hold_the_shares(kind):
    facts = read_facts(kind[1])
    assert (facts.balance_lower <= facts.shares + 1e-12).all()
    assert (facts.shares <= facts.balance_upper + 1e-12).all()
    assert (facts.balance_lower >= 0).all()
    assert (facts.balance_upper <= 1).all()


def test_an_unfitted_classifier_is_refused():
    with pytest.raises(NotFittedError):
        read_facts(DecouplingClassifier())
