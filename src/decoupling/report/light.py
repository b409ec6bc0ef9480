"""The light of a classifier: how far its answer can be trusted, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from decoupling._text import OVERLAP, Message
from decoupling.classifier.options import is_prefit
from decoupling.diagnostics.reasons import (
    AT_PRIOR,
    SINGULAR,
    collapse,
    confusion,
    separation,
    top_counts,
)
from decoupling.diagnostics.record import Diagnostics, Reason
from decoupling.diagnostics.warnings import collapsed, unbalanced
from decoupling.label_model.model import agreement_with_labels
from decoupling.report.facts import Facts
from decoupling.report.text import count, joined_names, percent

if TYPE_CHECKING:
    from decoupling.classifier.estimator import DecouplingClassifier

# Labels with fewer rows than this are called a guess. A share among so many rows has a standard
# error of up to 0.09.
ENOUGH: Final = 30
# Reasons that only the posterior can give: they need p(label | x) under its prior.
_OF_POSTERIOR: Final = ("task", "held out")
# Probability from which on p(label | x) is sure of a class.
_SURE: Final = 0.9
# Share of the rows above which answers against a sure p(label | x) make the light amber, and so do
# labels that the classifier holds for impossible.
_MANY: Final = 0.01


def light_of(
    clf: DecouplingClassifier,
    facts: Facts,
    given: Sequence[Message],
    options: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """The light with its reasons, and all warnings: those that were given, and those found again.

    Parameters
    ----------
    clf : DecouplingClassifier
        The classifier, for its options.
    facts : Facts
        What it found.
    given : sequence of Message
        Warnings that the fit gave.
    options : mapping, optional
        The option of each argument, for readers of the command line.
    """
    signs = _signs(facts)
    diagnostics = diagnosed(clf, facts, given)
    codes = {message.code for message in given}
    warnings = [*given, *(message for message in signs if message.code not in codes)]
    light = {
        "light": diagnostics.light,
        "words": diagnostics.words,
        "reasons": [
            {"light": each.light, "text": each.message.told(options)}
            for each in diagnostics.reasons
        ],
    }
    return light, list(dict.fromkeys(message.told(options) for message in warnings))


def diagnosed(
    clf: DecouplingClassifier, facts: Facts, given: Sequence[Message] = ()
) -> Diagnostics:
    """Find the reasons for and against trusting a classifier; arguments as in `light_of`."""
    confused = confusion(facts.classes, facts.task.own, facts.transitions)
    off = unbalanced(facts.task, facts.expected, facts.conditional, facts.weight)
    return Diagnostics(
        (
            facts.trace.convergence,
            confused or _identifiability(clf, facts),
            collapse(facts.classes, top_counts(facts.class_proba), _share_at_prior(facts)),
            _support(facts),
            _held_out(clf, facts),
            *(r for r in clf.posterior_.diagnostics.reasons if r.about in _OF_POSTERIOR),
            *_overlap(facts),
            *_first_choice(clf, facts),
            *_contradicted(clf, facts),
            *([] if off is None else [Reason("amber", "balance", off)]),
            *_other(given, _signs(facts)),
        )
    )


def _signs(facts: Facts) -> list[Message]:
    """Messages that the fit warns of, too, and that can be found again in its answer."""
    confused = confusion(facts.classes, facts.task.own, facts.transitions)
    found = [
        None if confused is None else confused.message,
        collapsed(facts.task, facts.class_proba),
        unbalanced(facts.task, facts.expected, facts.conditional, facts.weight),
    ]
    return [message for message in found if message is not None]


def _identifiability(clf: DecouplingClassifier, facts: Facts) -> Reason:
    if facts.kind == "one-sided":
        return _one_sided(clf, facts)
    if facts.names_classes:
        text = "Every class has a label of its own, most frequent in that class."
        return _reason("green", "identifiability", "own-labels", text)
    if separation(facts.transitions) < SINGULAR:
        text = "Labels hardly tell the classes apart: the prior does most of it."
        return _reason("amber", "identifiability", "hardly-told-apart", text)
    text = "No label names a class outright, but together they tell the classes apart."
    return _reason("green", "identifiability", "told-apart", text)


def _one_sided(clf: DecouplingClassifier, facts: Facts) -> Reason:
    """The share of a class without a label depends on the rate at which others are labelled."""
    never = [facts.classes[c] for c in np.flatnonzero(facts.task.own < 0)]
    text = (
        "No label says {classes}: its share hangs on the rate at which the other classes are "
        "labelled, and twice as many labelled half as often would look the same. "
    )
    if clf.labelled is not None or not isinstance(clf.task, str):
        light, code, more = "green", "rate-given", "That rate was given."
    else:
        light, code = "amber", "rate-estimated"
        more = "That rate is estimated from the rows that look surest."
    return _reason(light, "identifiability", code, text + more, classes=joined_names(never))


def _share_at_prior(facts: Facts) -> float:
    distance = np.abs(facts.class_proba - facts.prior_mean).max(axis=1)
    return facts.counts_of(distance < AT_PRIOR) / float(facts.weight.sum())


def _support(facts: Facts) -> Reason:
    rows = facts.label_counts
    columns = facts.task.own[facts.task.own >= 0]
    if not columns.size:  # labels that say what rows are not
        columns = np.arange(int(facts.task.has_unlabelled), len(facts.labels))
    none = [facts.labels[s] for s in columns if rows[s] == 0]
    if none:
        text = (
            "No row carries the label {labels}: there are no data, and what is said of it is the "
            "prior's word."
        )
        return _reason("amber", "support", "no-rows", text, labels=joined_names(none))
    few = [facts.labels[s] for s in columns if rows[s] < ENOUGH]
    if few:
        text = (
            "Fewer than {enough} rows carry the label {labels}: what is said of it is little more "
            "than a guess."
        )
        return _reason(
            "amber", "support", "few-rows-of-label", text, enough=ENOUGH, labels=joined_names(few)
        )
    text = "Every label is carried by {least} rows or more."
    return _reason("green", "support", "enough-rows", text, least=count(rows[columns].min()))


def _held_out(clf: DecouplingClassifier, facts: Facts) -> Reason:
    if clf.cv is None:
        share = agreement_with_labels(clf.label_model_.raw, facts.codes, facts.labelled)
        text = (
            "p(label | x) was predicted for the very rows that the classifier was fitted on, and "
            "agrees with {share} of their labels: mistakes may be learnt by heart. Use {@cv:=5}."
        )
        return _reason("red", "held out", "in-sample", text, share=percent(share))
    if is_prefit(clf.cv):
        text = (
            "The classifier was fitted elsewhere: if it saw the labels of these rows, it may know "
            "their mistakes by heart."
        )
        return _reason("amber", "held out", "fitted-elsewhere", text)
    text = "p(label | x) of every row comes from a classifier that never saw its label."
    return _reason("green", "held out", "out-of-fold", text)


def _contradicted(clf: DecouplingClassifier, facts: Facts) -> Iterator[Reason]:
    """Labels to which the classifier gave the probability 0."""
    n_rows = facts.counts_of(clf.label_model_.contradicted(facts.codes))
    if n_rows:
        share = n_rows / float(facts.weight.sum())
        text = (
            "p(label | x) is 0 for the labels that {n_rows} rows have, which was taken as next to "
            "nothing: the classifier is surer than it can be."
        )
        light = "amber" if share > _MANY else "green"
        yield _reason(light, "label model", "impossible-labels", text, n_rows=count(n_rows))


def _overlap(facts: Facts) -> Iterator[Reason]:
    """How much of the answer depends on what labels cannot tell."""
    found = facts.wrong_range
    if found is None:
        return
    light, code = "green", "overlap-settled"
    text = "From {low} to {high} of the labels are wrong, however much classes overlap."
    if found.is_open:
        light, code = "amber", "overlap-open"
        text = (
            "From {low} to {high} of the labels may be wrong: one label per row cannot tell "
            "overlap of the classes from mistakes. Look up {n_rows} rows drawn at random, or give "
            "{@noise} if it is known {guide}."
        )
    numbers = {"low": percent(found.low), "high": percent(found.high)}
    more = {"n_rows": count(found.rows_that_halve), "guide": OVERLAP} if found.is_open else {}
    yield _reason(light, "overlap", code, text, **numbers, **more)


def _first_choice(clf: DecouplingClassifier, facts: Facts) -> Iterator[Reason]:
    """Rows of which p(label | x) is sure, and whose answer is another class."""
    own = facts.task.own
    if not facts.task.complete or facts.task.clean:
        return
    proba = clf.label_proba_[:, own]
    sure = (proba.max(axis=1) >= _SURE) & facts.labelled
    n_rows = facts.counts_of(sure & (proba.argmax(axis=1) != facts.suggested))
    if n_rows > _MANY * float(facts.weight.sum()):
        text = (
            "On {n_rows} rows the answer is another class than the one of which p(label | x) is "
            "sure: look at some of them before you rely on either."
        )
        yield _reason("amber", "first choice", "not-the-first-choice", text, n_rows=count(n_rows))


def _other(given: Sequence[Message], signs: Sequence[Message]) -> Iterator[Reason]:
    """Warnings of the fit that no other reason speaks of."""
    codes = {message.code for message in signs}
    n_others = len({message for message in given if message.code not in codes})
    if n_others:
        what = "A warning was" if n_others == 1 else f"{n_others} warnings were"
        text = "{what} given; see Diagnostics."
        yield _reason("amber", "warnings", "other-warnings", text, what=what)


def _reason(light: str, about: str, code: str, template: str, **fields: object) -> Reason:
    return Reason(light, about, Message(code, template, **fields))
