"""The finding in words, fitted to what the labels can tell."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from decoupling._typing import BoolArray
from decoupling.classifier.alone import WrongRange
from decoupling.report.facts import Facts
from decoupling.report.text import count, interval, joined_names, percent, plain, quoted, rows

# The share of the expected errors that a list of rows to mend is measured by.
MENDED: Final = 0.8
# Probability from which on a class counts as sure.
SURE: Final = 0.9
# Share of wrong labels below which hardly any is said to be wrong.
_HARDLY: Final = 0.005
# Share of the mistakes below which no pair of classes is named: the mistakes are spread.
_SPREAD: Final = 0.03


def finding_of(facts: Facts) -> dict[str, Any]:
    """The numbers behind the verdict; what does not apply is None."""
    finding: dict[str, Any] = {
        "kind": facts.kind,
        "wrong_labels": None,
        "unlabelled": None,
        "positives": None,
    }
    # Rows of no weight do not count.
    if not facts.task.clean and facts.counts_of(facts.owned) >= 0.5:
        finding["wrong_labels"] = _wrong_labels(facts)
    unnamed = facts.unnamed
    if facts.counts_of(unnamed) >= 0.5:
        finding["unlabelled"] = _unlabelled(facts, unnamed)
        if facts.kind == "one-sided":
            finding["positives"] = _positives(facts)
    return finding


def _wrong_labels(facts: Facts) -> dict[str, Any]:
    share, lower, upper = facts.wrong_share()
    counts = np.where(facts.wrong_pairs(), facts.expected_counts(), 0.0)
    c, s = np.unravel_index(counts.argmax(), counts.shape)
    return {
        "share": share,
        "lower": lower,
        "upper": upper,
        "expected": share * facts.counts_of(facts.owned),
        "doubtful": int((facts.owned & (facts.p_wrong >= 0.5)).sum()),
        "rows_to_mend": facts.rows_to_mend(MENDED),
        "range": None if facts.wrong_range is None else _range(facts.wrong_range, share),
        "commonest": {
            "class": plain(facts.classes[c]),
            "label": plain(facts.labels[s]),
            "share_of_errors": float(counts[c, s] / max(counts.sum(), 1e-300)),
        },
    }


def _range(found: WrongRange, share: float) -> dict[str, Any]:
    """What labels leave open of the share that is wrong; the answer itself lies within it."""
    return {
        "low": min(found.low, share),
        "high": max(found.high, share),
        "disagreeing": found.disagreeing,
        "open": found.is_open,
        "rows_that_halve": found.rows_that_halve if found.is_open else None,
    }


def _unlabelled(facts: Facts, these: BoolArray) -> dict[str, Any]:
    best = facts.conditional[these].max(axis=1)
    weight = facts.weight[these]
    return {
        "rows": float(weight.sum()),
        "sure": float(weight @ (best >= SURE) / weight.sum()),
        "expected_right": float(weight @ best / weight.sum()),
    }


def _positives(facts: Facts) -> dict[str, Any]:
    """Share of the labelled classes among the unlabelled rows, and the rate of labelling."""
    unlabelled, never = ~facts.labelled, facts.task.own < 0
    weight = facts.weight[unlabelled]
    by_class = weight @ facts.conditional[unlabelled] / weight.sum()
    share = float(by_class[~never].sum())
    lower = upper = None
    if never.sum() == 1:
        n, n_labelled = float(facts.weight.sum()), facts.counts_of(facts.labelled)
        ends = [
            (n * float(1.0 - of_negative[never][0]) - n_labelled) / float(weight.sum())
            for of_negative in (facts.balance_upper, facts.balance_lower)
        ]
        lower, upper = max(ends[0], 0.0), min(ends[1], 1.0)
    rates = [
        {
            "class": plain(facts.classes[c]),
            "rate": float(1.0 - facts.transitions[c, 0]),
            "lower": float(1.0 - facts.upper[c, 0]),
            "upper": float(1.0 - facts.lower[c, 0]),
            "among_unlabelled": float(by_class[c]),
        }
        for c in np.flatnonzero(~never)
    ]
    return {"share": share, "lower": lower, "upper": upper, "classes": rates}


def words_of(facts: Facts, finding: dict[str, Any]) -> tuple[str, list[str]]:
    """A headline, and sentences that say more."""
    sentences = [
        *_on_positives(finding["positives"], finding["unlabelled"]),
        *_on_wrong_labels(finding["wrong_labels"]),
        *_on_unlabelled(finding["unlabelled"], facts),
    ]
    if not sentences:
        sentences = [
            f"All {rows(facts.weight.sum())} have a label, and every label is taken as right.",
            'There is nothing to correct. If labels may be wrong, fit with task="noisy".',
        ]
    return sentences[0], sentences[1:]


def _on_wrong_labels(wrong: dict[str, Any] | None) -> list[str]:
    if wrong is None:
        return []
    span, between = interval(wrong["lower"], wrong["upper"]), wrong["range"]
    if between is not None and between["open"]:
        sentences = _on_open_range(between, wrong["share"])
    elif wrong["share"] < _HARDLY:
        return [f"Hardly any label looks wrong: {percent(wrong['share'])} of them ({span})."]
    else:
        sentences = [f"About {percent(wrong['share'])} ({span}) of the labels look wrong."]
    pair = wrong["commonest"]
    confusion = f"{quoted(pair['class'])} marked {quoted(pair['label'])}"
    share = percent(pair["share_of_errors"])
    if pair["share_of_errors"] < _SPREAD:
        sentences.append(f"Mistakes are spread: no pair of classes makes up more than {share}.")
    elif pair["share_of_errors"] >= 0.5:
        sentences.append(f"Most of these ({share}) are {confusion}.")
    else:
        sentences.append(f"The commonest mistake is {confusion}, {share} of them.")
    sentences.append(
        f"Correcting {rows(wrong['rows_to_mend'])} would mend {percent(MENDED)} of the expected "
        "errors."
    )
    return sentences


def _on_open_range(between: dict[str, Any], share: float) -> list[str]:
    """The share of wrong labels where one label per row does not tell it."""
    low, high = percent(between["low"]), percent(between["high"])
    return [
        f"Between {low} and {high} of the labels are wrong.",
        f"The classifier disagrees with {percent(between['disagreeing'])} of them. If that is "
        f"because classes overlap, as few as {low} are wrong; if labels are mistaken, as many as "
        f"{high}.",
        f"Looking up {count(between['rows_that_halve'])} rows drawn at random would halve this "
        "range.",
        f"The probabilities of the rows add up to {percent(share)}.",
    ]


def _on_positives(positives: dict[str, Any] | None, unlabelled: dict[str, Any] | None) -> list[str]:
    if positives is None or unlabelled is None:
        return []
    classes, share = positives["classes"], percent(positives["share"])
    span = ""
    if positives["lower"] is not None:
        span = f" ({interval(positives['lower'], positives['upper'])})"
    if len(classes) == 1:
        (only,) = classes
        return [
            f"About {share}{span} of the {count(unlabelled['rows'])} unlabelled rows are "
            f"{quoted(only['class'])}.",
            f"About {percent(only['rate'])} ({interval(only['lower'], only['upper'])}) of all rows "
            f"that are {quoted(only['class'])} were labelled.",
        ]
    most = max(classes, key=lambda entry: float(entry["among_unlabelled"]))
    return [
        f"About {share}{span} of the {count(unlabelled['rows'])} unlabelled rows belong to a class "
        "that is labelled now and then.",
        f"The commonest of these is {quoted(most['class'])}: "
        f"{percent(most['among_unlabelled'])} of the unlabelled rows.",
    ]


def _on_unlabelled(unlabelled: dict[str, Any] | None, facts: Facts) -> list[str]:
    if unlabelled is None:
        return []
    n, sure = unlabelled["rows"], percent(unlabelled["sure"])
    right = f"about {percent(unlabelled['expected_right'])} of them are expected to be right"
    if not facts.names_classes:
        return [
            f"None of the {rows(n)} has a label that names its class, and each has a class now; "
            f"{right}.",
            f"For {sure} of them it has a probability of {SURE} or more.",
        ]
    if round(n) == 1:
        share = percent(unlabelled["expected_right"])
        return [f"The one unlabelled row has a class now, right with a probability of {share}."]
    if facts.kind != "semi-supervised":
        return [f"All {count(n)} unlabelled rows have a class now; {right}."]
    top = np.bincount(facts.suggested[~facts.labelled], minlength=len(facts.classes))
    names = [facts.classes[c] for c in np.argsort(-top, kind="stable")[:3] if top[c]]
    return [
        f"All {count(n)} unlabelled rows have a class now; {right}.",
        f"For {sure} of them the class has a probability of {SURE} or more.",
        f"The class given most often is {quoted(names[0])}."
        if len(names) == 1
        else f"The classes given most often are {joined_names(names)}.",
    ]
