"""The light, and its reasons."""

import dataclasses
import warnings

import numpy as np
import pytest
from flowers import NAMES, fit, irises

from decoupling import TransitionPrior
from decoupling._text import Message
from decoupling.classifier.alone import WrongRange
from decoupling.report.facts import read_facts
from decoupling.report.light import light_of


def reasons(trust, light):
    return " ".join(r["text"] for r in trust["reasons"] if r["light"] == light)


def test_all_is_well(noisy):
    told = dataclasses.replace(read_facts(noisy), wrong_range=None)
    trust, said = light_of(noisy, told, [])
    assert trust["light"] == "green"
    assert said == []
    assert len(trust["reasons"]) == 5


def test_a_share_of_wrong_labels_that_labels_cannot_tell(noisy):
    trust, _ = light_of(noisy, read_facts(noisy), [])
    assert trust["light"] == "amber"
    assert "From 5.2% to 28% of the labels may be wrong" in reasons(trust, "amber")
    narrow = WrongRange(0.16, 0.2, 0.19)
    trust, _ = light_of(noisy, dataclasses.replace(read_facts(noisy), wrong_range=narrow), [])
    assert trust["light"] == "green"
    assert "From 16% to 20% of the labels are wrong, however" in reasons(trust, "green")


def test_an_answer_against_a_sure_first_choice():
    X, _, truth = irises()
    truth[::25] = NAMES[0]  # labels of six rows, some of them wrong
    clf = fit(X, truth, task="noisy", noise=0.05)
    facts = read_facts(clf)
    assert not clf.diagnostics.about("first choice")
    turned = dataclasses.replace(facts, conditional=np.roll(facts.conditional, 1, axis=1))
    assert "the answer is another class" in reasons(light_of(clf, turned, [])[0], "amber")


def test_reasons_in_the_words_of_the_command_line(noisy):
    facts = read_facts(noisy)
    swapped = dataclasses.replace(facts, transitions=facts.transitions[[1, 0, 2]])
    given = [Message.plain("As it was said.")]
    trust, said = light_of(noisy, swapped, given, {"noise": "--noise"})
    assert "Give --labelled and --noise if they are known (guide" in reasons(trust, "red")
    assert said[0] == "As it was said."
    assert "Give --labelled and --noise if they are known (guide" in said[1]


def test_a_warning_that_was_given_is_not_found_again(noisy):
    facts = read_facts(noisy)
    swapped = dataclasses.replace(facts, transitions=facts.transitions[[1, 0, 2]])
    given = [Message.plain("Classes may have changed places.", "classes-swapped")]
    trust, said = light_of(noisy, swapped, given)
    assert said == ["Classes may have changed places."]
    assert "given; see Diagnostics" not in reasons(trust, "amber")


def test_a_run_that_did_not_converge(noisy):
    facts = read_facts(noisy)
    trace = dataclasses.replace(facts.trace, stopped_because="max_iter")
    trust, _ = light_of(noisy, dataclasses.replace(facts, trace=trace), [])
    assert trust["light"] == "amber"
    assert "the limit of iterations was reached" in trust["reasons"][0]["text"]


def test_classes_that_changed_places(noisy):
    facts = read_facts(noisy)
    swapped = dataclasses.replace(facts, transitions=facts.transitions[[1, 0, 2]])
    trust, said = light_of(noisy, swapped, [])
    assert trust["light"] == "red"
    assert "classes may have changed places" in reasons(trust, "red")
    assert len(said) == 1


def test_classes_with_nearly_the_same_labels(noisy):
    T = np.array([[0.5, 0.4, 0.1], [0.45, 0.45, 0.1], [0.1, 0.1, 0.8]])
    trust, _ = light_of(noisy, dataclasses.replace(read_facts(noisy), transitions=T), [])
    assert "nearly the same labels" in reasons(trust, "amber")


def test_a_class_that_is_nobodys(noisy):
    facts = read_facts(noisy)
    proba = np.tile([0.6, 0.4, 0.0], (150, 1))
    trust, _ = light_of(noisy, dataclasses.replace(facts, class_proba=proba), [])
    assert "collapsed" in reasons(trust, "red")


@pytest.mark.parametrize(("share", "light"), [(0.05, "green"), (0.3, "amber"), (0.8, "red")])
def test_rows_that_the_prior_put_there(noisy, share, light):
    facts = read_facts(noisy)
    proba = facts.class_proba.copy()
    proba[:: 3 if share < 0.4 else 1][: int(share * 150)] = facts.prior_mean
    trust, _ = light_of(noisy, dataclasses.replace(facts, class_proba=proba), [])
    assert ("where the prior put them" in reasons(trust, light)) == (light != "green")


def test_few_rows_of_a_label():
    X, given, _ = irises()
    rare = np.flatnonzero(given == "setosa")[10:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = fit(np.delete(X, rare, axis=0), np.delete(given, rare))
    trust, _ = light_of(clf, read_facts(clf), [])
    assert "Fewer than 30 rows carry the label “setosa”" in reasons(trust, "amber")


def test_labels_that_the_classifier_saw():
    X, given, _ = irises()
    clf = fit(X, given, cv=None)
    trust, _ = light_of(clf, read_facts(clf), [])
    assert "by heart" in reasons(trust, "red")


def test_a_share_that_is_not_as_expected():
    X, given, _ = irises()
    with pytest.warns(UserWarning, match="is expected in 80.0%"):
        clf = fit(X, given, class_prior=[0.8, 0.1, 0.1])
    trust, said = light_of(clf, read_facts(clf), [])
    assert "is expected in 80.0%" in reasons(trust, "amber")
    assert len(said) == 1


def test_one_sided_labels_hang_on_their_rate(one_sided):
    trust, _ = light_of(one_sided, read_facts(one_sided), [])
    assert "No label says “other”" in reasons(trust, "amber")
    X, _, _ = irises()
    y = np.where(one_sided.observed_.labelled, "setosa", None)
    prior = TransitionPrior.positive_unlabelled(0.7, "setosa", "other", strength=100)
    known = fit(X, y, task=prior)
    assert "That rate was given" in reasons(light_of(known, read_facts(known), [])[0], "green")


def test_warnings_are_passed_on_once(noisy):
    trust, said = light_of(
        noisy, read_facts(noisy), [Message.plain(text) for text in ("one", "two", "one")]
    )
    assert said == ["one", "two"]
    assert reasons(trust, "amber").endswith("2 warnings were given; see Diagnostics.")
