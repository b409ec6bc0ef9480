"""The finding in words."""

import dataclasses

import numpy as np
import pytest
from flowers import NAMES, fit, irises

from decoupling import TransitionPrior
from decoupling.report.facts import read_facts
from decoupling.report.verdict import finding_of, words_of


def said(clf, **changed):
    facts = dataclasses.replace(read_facts(clf), **changed)
    headline, sentences = words_of(facts, finding_of(facts))
    return " ".join([headline, *sentences])


def test_wrong_labels(noisy):
    text = said(noisy, wrong_range=None)
    assert text.startswith("About 17% (11–23%) of the labels look wrong. The commonest mistake is")
    assert "Correcting 23 rows would mend 80% of the expected errors." in text


def test_a_range_where_labels_cannot_tell(noisy):
    text = said(noisy)
    assert text.startswith("Between 5.2% and 28% of the labels are wrong. The classifier disagrees")
    assert "with 23% of them. If that is because classes overlap, as few as 5.2% are wrong" in text
    assert "The probabilities of the rows add up to 17%." in text
    assert "Correcting 23 rows would mend 80% of the expected errors." in text


def test_the_answer_lies_within_the_range(noisy):
    facts = dataclasses.replace(read_facts(noisy), p_wrong=np.full(150, 0.5))
    between = finding_of(facts)["wrong_labels"]["range"]
    assert between["low"] < between["disagreeing"] < between["high"] == 0.5


def test_one_mistake_that_is_most_of_them(noisy):
    facts = read_facts(noisy)
    finding = finding_of(facts)
    finding["wrong_labels"]["commonest"]["share_of_errors"] = 0.7
    assert "Most of these (70%) are “versicolor” marked “virginica”." in words_of(facts, finding)[1]


def test_hardly_any_wrong_label(noisy):
    facts = dataclasses.replace(read_facts(noisy), p_wrong=np.full(150, 1e-3), wrong_range=None)
    assert words_of(facts, finding_of(facts))[0].startswith("Hardly any label looks wrong: 0.1%")


def test_one_sided(one_sided):
    text = said(one_sided)
    assert "of the 116 unlabelled rows are “setosa”. About 73% (62–82%) of all rows that" in text
    positives = finding_of(read_facts(one_sided))["positives"]
    true = 16 / 116  # 50 irises are setosa, 34 of them labelled
    assert positives["lower"] < true < positives["upper"]
    assert positives["lower"] < positives["share"] < positives["upper"]


def test_several_positive_classes():
    X, _, truth = irises()
    labelled = (truth != "virginica") & (np.random.default_rng(1).random(150) < 0.8)
    clf = fit(X, np.where(labelled, truth, None), task="multi-positive-unlabelled")
    assert "belong to a class that is labelled now and then. The commonest of these is “" in said(
        clf
    )


def test_semi_supervised(semi_supervised):
    text = said(semi_supervised)
    assert text.startswith("All 48 unlabelled rows have a class now; about 91% of them are")
    assert "The classes given most often are “versicolor”" in text


def test_a_single_unlabelled_row():
    X, given, _ = irises()
    given = given.astype(object)
    given[7] = None
    assert "The one unlabelled row has a class now, right with a probability of" in said(
        fit(X, given, task="noisy")
    )


def test_complementary(complementary):
    text = said(complementary)
    assert text.startswith("None of the 150 rows has a label that names its class, and each has")


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_labels_that_only_hint():
    X, given, _ = irises()
    T = [[0.8, 0.2], [0.3, 0.7], [0.2, 0.8]]
    prior = TransitionPrior(T, 50, classes=NAMES.tolist(), labels=["no", "yes"])
    clf = fit(X, np.where(given == "setosa", "no", "yes"), task=prior)
    assert read_facts(clf).kind == "indirect"
    assert said(clf).startswith("None of the 150 rows has a label that names its class")


def test_rows_of_no_weight_do_not_count():
    X, given, _ = irises()
    given[::15] = None
    weight = np.where(np.arange(150) % 15, 1.0, 0.0)
    clf = fit(X, given).fit(X, given, sample_weight=weight)
    assert finding_of(read_facts(clf))["unlabelled"] is None


def test_supervised(supervised):
    assert said(supervised).startswith("All 150 rows have a label, and every label is taken as")


@pytest.mark.parametrize("missing", [0.3])
def test_noisy_and_missing(missing):
    X, given, _ = irises()
    given[np.random.default_rng(5).random(150) < missing] = None
    text = said(fit(X, given))
    assert "of the labels are wrong." in text
    assert "unlabelled rows have a class now" in text
