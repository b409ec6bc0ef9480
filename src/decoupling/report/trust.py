"""How far an answer can be trusted: a light, and its reasons in words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from decoupling.diagnostics import warn_of_balance, warn_of_collapse, warn_of_confusion
from decoupling.report.facts import Facts
from decoupling.report.text import count, listed, percent

if TYPE_CHECKING:
    from decoupling.classifier import DecouplingClassifier

# From good to bad; the light is the worst of its reasons.
LIGHTS: Final = ("green", "amber", "red")
WORDS: Final = {
    "green": "Looks sound",
    "amber": "Use with care",
    "red": "Do not rely on this yet",
}
# A class with fewer rows of its own label than this is hardly known.
ENOUGH: Final = 30
# A row is where the prior put it if no class is further from it than this.
_AT_PRIOR: Final = 0.02
# Shares of such rows that are worth a word, and that are a failure.
_SOME, _MOST = 0.1, 0.5
# Below this singular value labels hardly tell classes apart.
_SINGULAR: Final = 0.1

Reason = tuple[str, str]


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
    confused = _warned(warn_of_confusion, facts.task, facts.transitions)
    collapsed = _warned(warn_of_collapse, facts.task, facts.class_proba)
    unbalanced = _warned(
        warn_of_balance, facts.task, facts.expected, facts.conditional, facts.weight
    )
    found = [wording(text) for text in (*confused, *collapsed, *unbalanced)]
    reasons = [
        _convergence(facts),
        _identifiability(clf, facts, confused),
        _collapse(facts, collapsed),
        _support(facts),
        _held_out(clf, facts),
        *(("amber", text) for text in unbalanced),
        *_other(said, found),
    ]
    light = max((level for level, _ in reasons), key=LIGHTS.index)
    reasons.sort(key=lambda reason: -LIGHTS.index(reason[0]))  # stable: the worst first
    trust = {
        "light": light,
        "words": WORDS[light],
        "reasons": [{"light": level, "text": wording(text)} for level, text in reasons],
    }
    return trust, list(dict.fromkeys([*said, *found]))


def _warned(check: Callable[..., None], *arguments: Any) -> list[str]:
    """What a check has to warn of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check(*arguments)
    return [str(warning.message) for warning in caught]


def _convergence(facts: Facts) -> Reason:
    trace = facts.trace
    if trace.converged:
        return "green", f"The inference converged, in {count(trace.n_iter)} iterations."
    return "amber", (
        f"The inference had not converged after {count(trace.n_iter)} iterations: "
        f"{stop_in_words(trace.stopped_because)}."
    )


def stop_in_words(stopped_because: str) -> str:
    """Why the inference ended."""
    return {
        "tolerance": "an iteration raised the bound by less than the tolerance",
        "max_iter": "the limit of iterations was reached",
        "callback": "it was told to stop",
        "line search": "no higher point was found",
    }[stopped_because]


def _identifiability(clf: DecouplingClassifier, facts: Facts, confused: Sequence[str]) -> Reason:
    if confused:
        return ("red" if "changed places" in confused[0] else "amber"), confused[0]
    if facts.kind == "one-sided":
        never = [facts.classes[c] for c in np.flatnonzero(facts.task.own < 0)]
        text = (
            f"No label says {listed(never)}: its share hangs on the rate at which the other "
            "classes are labelled, and twice as many labelled half as often would look the same."
        )
        if clf.labelled is not None or not isinstance(clf.task, str):
            return "green", f"{text} That rate was given."
        return "amber", f"{text} That rate is estimated from the rows that look surest."
    if not facts.names_classes:
        singular = np.linalg.svd(facts.transitions, compute_uv=False)[len(facts.classes) - 1 :]
        if not singular.size or singular[0] < _SINGULAR:
            return "amber", "Labels hardly tell the classes apart: the prior does most of it."
        return "green", "No label names a class outright, but together they tell the classes apart."
    return "green", "Every class has a label of its own, most frequent in that class."


def _collapse(facts: Facts, collapsed: Sequence[str]) -> Reason:
    if collapsed:
        return "red", collapsed[0]
    distance = np.abs(facts.class_proba - facts.prior_mean).max(axis=1)
    share = facts.counts_of(distance < _AT_PRIOR) / facts.weight.sum()
    if share > _SOME:
        return ("red" if share > _MOST else "amber"), (
            f"{percent(share)} of the rows are no further than where the prior put them: "
            "p(label | x) says nothing about these."
        )
    return "green", "Every class is found in some rows, and rows differ from the prior."


def _support(facts: Facts) -> Reason:
    rows = np.bincount(facts.codes, facts.weight, minlength=len(facts.labels))
    columns = facts.task.own[facts.task.own >= 0]
    if not columns.size:  # labels that say what rows are not
        columns = np.arange(int(facts.task.has_unlabelled), len(facts.labels))
    few = [facts.labels[s] for s in columns if rows[s] < ENOUGH]
    if few:
        return "amber", (
            f"Fewer than {ENOUGH} rows carry the label {listed(few)}: what is said of it is little "
            "more than a guess."
        )
    return "green", f"Every label is carried by {count(rows[columns].min())} rows or more."


def _held_out(clf: DecouplingClassifier, facts: Facts) -> Reason:
    if clf.cv is None:
        agreement = (clf.label_model_.raw.argmax(axis=1) == facts.codes)[facts.labelled].mean()
        return "red", (
            "p(label | x) was predicted for the very rows that the classifier was fitted on, and "
            f"agrees with {percent(agreement)} of their labels: mistakes may be learnt by heart. "
            "Use cv=5."
        )
    if isinstance(clf.cv, str):
        return "amber", (
            "The classifier was fitted elsewhere: if it saw the labels of these rows, it may know "
            "their mistakes by heart."
        )
    return "green", "p(label | x) of every row comes from a classifier that never saw its label."


def _other(said: Sequence[str], found: Sequence[str]) -> Iterator[Reason]:
    others = [text for text in dict.fromkeys(said) if text not in found]
    if others:
        what = "A warning was" if len(others) == 1 else f"{len(others)} warnings were"
        yield "amber", f"{what} given; see Diagnostics."
