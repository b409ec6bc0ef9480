"""Before and after."""

import numpy as np
import pytest
from flowers import irises

from decoupling.report.changes import changes_of
from decoupling.report.facts import read_facts

TRUTH = irises()[2]


def test_rows_are_kept_changed_or_completed(kind):
    facts = read_facts(kind[1])
    found = changes_of(facts, None, None)
    assert found["kept"] + found["changed"] + found["completed"] == 150
    listed = sum(pair["rows"] for pair in found["pairs"])
    assert listed == (facts.named != facts.suggested).sum()
    assert found["truth"] is None


def test_scores(noisy):
    facts = read_facts(noisy)
    truth = changes_of(facts, None, TRUTH)["truth"]
    given = noisy.observed_.values[noisy.observed_.codes]
    assert truth["right_before"] == pytest.approx(np.mean(given == TRUTH))
    assert truth["right_after"] == pytest.approx(np.mean(noisy.transduction_ == TRUTH))
    assert truth["right_after"] > truth["right_before"]
    assert sum(entry["rows"] for entry in truth["calibration"]) == 150
    codes = np.searchsorted(noisy.classes_.astype(str), TRUTH.astype(str))
    p = noisy.label_conditional_proba_[np.arange(150), codes]
    assert truth["log_loss"] == pytest.approx(-np.log(p).mean())


def test_calibration_by_hand(noisy):
    facts = read_facts(noisy)
    best = facts.conditional.max(axis=1)
    right = noisy.transduction_ == TRUTH
    entry = changes_of(facts, None, TRUTH)["truth"]["calibration"][-1]
    assert entry["confidence"] == pytest.approx(best[best >= 0.9].mean())
    assert entry["right"] == pytest.approx(right[best >= 0.9].mean())


def test_some_true_classes(noisy):
    some = TRUTH.copy()
    some[10:] = None
    truth = changes_of(read_facts(noisy), None, some)["truth"]
    assert truth["rows"] == 10


def test_no_label_to_compare_with(complementary):
    truth = changes_of(read_facts(complementary), None, TRUTH)["truth"]
    assert truth["right_before"] is None
    assert truth["right_after"] > 0.5


def test_other_classes_before(noisy):
    found = changes_of(read_facts(noisy), TRUTH, TRUTH)
    assert found["truth"]["right_before"] == 1
    assert found["before"] == "before"


@pytest.mark.parametrize(
    ("before", "truth", "message"),
    [
        (["setosa"], None, "before must have one class per row, 150; got 1"),
        (None, ["rose"] * 150, "true_classes: .*'rose'"),
        (None, [None] * 150, "true_classes: every row is missing"),
    ],
)
def test_bad_input(noisy, before, truth, message):
    with pytest.raises(ValueError, match=message):
        changes_of(read_facts(noisy), before, truth)
