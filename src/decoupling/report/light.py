"""How far a classifier's answer can be trusted: a light, and its reasons in words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from decoupling.diagnostics.reasons import (
    AT_PRIOR,
    SINGULAR,
    collapse,
    confusion,
    nobodys,
    separation,
    top_counts,
)
from decoupling.diagnostics.record import Diagnostics, Reason
from decoupling.diagnostics.warnings import warn_of_balance
from decoupling.label_model.model import agreement_with_labels
from decoupling.report.facts import Facts
from decoupling.report.text import count, listed, percent

if TYPE_CHECKING:
    from decoupling.classifier.estimator import DecouplingClassifier

# A class with fewer rows of its own label than this is hardly known.
ENOUGH: Final = 30
# What the posterior knows best itself.
_OF_POSTERIOR: Final = ("task", "held out")
# From this share on, labels that the classifier holds for impossible cast doubt on it.
_MANY: Final = 0.01


def trust_of(
    clf: DecouplingClassifier,
    facts: Facts,
    said: Sequence[str],
    wording: Callable[[str], str] = str,
) -> tuple[dict[str, Any], list[str]]:
    """The light with its reasons, and all warnings: those that were given, and those found again.

    Parameters
    ----------
    clf : DecouplingClassifier
        The classifier, for its options.
    facts : Facts
        What it found.
    said : sequence of str
        Warnings that the fit gave.
    wording : callable
        Applied to reasons, and to warnings that are found again.
    """
    trust, found = diagnosed(clf, facts, said, wording)
    light = {
        "light": trust.light,
        "words": trust.words,
        "reasons": [{"light": each.light, "text": wording(each.text)} for each in trust.reasons],
    }
    return light, list(dict.fromkeys([*said, *found]))


def diagnosed(
    clf: DecouplingClassifier,
    facts: Facts,
    said: Sequence[str] = (),
    wording: Callable[[str], str] = str,
) -> tuple[Diagnostics, list[str]]:
    """All reasons, and the warnings that are found again; arguments are those of `trust_of`."""
    confused = confusion(facts.classes, facts.task.own, facts.transitions)
    top = top_counts(facts.class_proba)
    collapsed = nobodys(facts.classes, top)
    unbalanced = _warned(
        warn_of_balance, facts.task, facts.expected, facts.conditional, facts.weight
    )
    again = [confused.text if confused else None, collapsed, *unbalanced]
    found = [wording(text) for text in again if text is not None]
    trust = Diagnostics(
        (
            facts.trace.convergence,
            confused or _identifiability(clf, facts),
            collapse(facts.classes, top, _share_at_prior(facts)),
            _support(facts),
            _held_out(clf, facts),
            *(r for r in clf.posterior_.diagnostics.reasons if r.about in _OF_POSTERIOR),
            *_contradicted(clf, facts),
            *(Reason("amber", "balance", text) for text in unbalanced),
            *_other(said, found),
        )
    )
    return trust, found


def _warned(check: Callable[..., None], *arguments: Any) -> list[str]:
    """What a check has to warn of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(*arguments)
    return [str(warning.message) for warning in caught]


def _identifiability(clf: DecouplingClassifier, facts: Facts) -> Reason:
    if facts.kind == "one-sided":
        never = [facts.classes[c] for c in np.flatnonzero(facts.task.own < 0)]
        text = (
            f"No label says {listed(never)}: its share hangs on the rate at which the other "
            "classes are labelled, and twice as many labelled half as often would look the same."
        )
        if clf.labelled is not None or not isinstance(clf.task, str):
            return Reason("green", "identifiability", f"{text} That rate was given.")
        return Reason(
            "amber",
            "identifiability",
            f"{text} That rate is estimated from the rows that look surest.",
        )
    if not facts.names_classes:
        if separation(facts.transitions) < SINGULAR:
            text = "Labels hardly tell the classes apart: the prior does most of it."
            return Reason("amber", "identifiability", text)
        text = "No label names a class outright, but together they tell the classes apart."
        return Reason("green", "identifiability", text)
    text = "Every class has a label of its own, most frequent in that class."
    return Reason("green", "identifiability", text)


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
        return Reason(
            "amber",
            "support",
            f"No row carries the label {listed(none)}: there are no data, and what is said of it "
            "is the prior's word.",
        )
    few = [facts.labels[s] for s in columns if rows[s] < ENOUGH]
    if few:
        return Reason(
            "amber",
            "support",
            f"Fewer than {ENOUGH} rows carry the label {listed(few)}: what is said of it is little "
            "more than a guess.",
        )
    least = count(rows[columns].min())
    return Reason("green", "support", f"Every label is carried by {least} rows or more.")


def _held_out(clf: DecouplingClassifier, facts: Facts) -> Reason:
    if clf.cv is None:
        share = agreement_with_labels(clf.label_model_.raw, facts.codes, facts.labelled)
        return Reason(
            "red",
            "held out",
            "p(label | x) was predicted for the very rows that the classifier was fitted on, and "
            f"agrees with {percent(share)} of their labels: mistakes may be learnt by heart. "
            "Use cv=5.",
        )
    if isinstance(clf.cv, str):
        return Reason(
            "amber",
            "held out",
            "The classifier was fitted elsewhere: if it saw the labels of these rows, it may know "
            "their mistakes by heart.",
        )
    text = "p(label | x) of every row comes from a classifier that never saw its label."
    return Reason("green", "held out", text)


def _contradicted(clf: DecouplingClassifier, facts: Facts) -> Iterator[Reason]:
    """Labels to which the classifier gave the probability 0."""
    n_rows = facts.counts_of(clf.label_model_.contradicted(facts.codes))
    if n_rows:
        share = n_rows / float(facts.weight.sum())
        yield Reason(
            "amber" if share > _MANY else "green",
            "label model",
            f"p(label | x) is 0 for the labels that {count(n_rows)} rows have, which was taken as "
            "next to nothing: the classifier is surer than it can be.",
        )


def _other(said: Sequence[str], found: Sequence[str]) -> Iterator[Reason]:
    others = [text for text in dict.fromkeys(said) if text not in found]
    if others:
        what = "A warning was" if len(others) == 1 else f"{len(others)} warnings were"
        yield Reason("amber", "warnings", f"{what} given; see Diagnostics.")
