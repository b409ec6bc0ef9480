"""A fitted classifier as a dictionary that JSON can hold: all that the report says.

The schema, number 1. Names of classes, labels and rows are strings, and None is unlabelled; those
of more than 200 letters are cut, and end in a part of their SHA-256, so that they stay distinct.
Probabilities and shares are from 0 to 1, and intervals hold 90%.

================  ================================================================================
``schema``        1; raised when a key changes its meaning or goes.
``title``         Of the report.
``task``          ``name``, ``description``, and ``kind``: what there is to find out.
``verdict``       ``headline``, ``sentences``; ``trust`` with ``light``, ``words`` and
                  ``reasons``; ``finding``, the numbers behind the words.
``numbers``       Key numbers: ``name``, ``value`` as text, ``note``.
``transitions``   ``classes``, ``labels``; ``mean``, ``lower``, ``upper`` and ``possible``, a list
                  per class, or None where there are more than 30 classes;
                  ``own``, the column of each class's own label or None; ``rows`` of each label;
                  ``worst``, the commonest wrong pairs with the rows that are expected of them.
``classes``       Per class: shares ``expected``, ``among_labels``, ``estimated`` (``lower``,
                  ``upper``); of its labels ``labelled``, ``precision``, ``recall``.
``review``        Rows to look at: ``question``, ``score``, what the score is; ``rows``; ``total``,
                  how many there are; ``key``, under which a browser keeps decisions.
``changes``       ``kept``, ``changed``, ``completed``; ``pairs``; ``truth``, scores or None.
``diagnostics``   ``elbo`` by iteration, ``iterations``, ``stopped``, ``warnings``.
``reproduce``     ``settings``, ``versions``, ``data_hash``, ``commands``.
================  ================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from decoupling._text import Message
from decoupling.diagnostics.reasons import stop_in_words
from decoupling.report.changes import changes_of
from decoupling.report.facts import Facts, read_facts
from decoupling.report.light import light_of
from decoupling.report.reproduction import reproduction_of
from decoupling.report.review import review_of
from decoupling.report.text import count, percent, plain
from decoupling.report.verdict import MENDED, SURE, finding_of, words_of

if TYPE_CHECKING:
    from decoupling.classifier.estimator import DecouplingClassifier

# Number of the layout of the dictionary; raised when a key changes its meaning or goes.
SCHEMA: Final = 1
# Classes of which T is shown as a table at most; of more classes only the worst pairs are. A table
# of twice as many is wider than a page.
FOLDED: Final = 30
# Wrong pairs of class and label that are listed at most.
WORST: Final = 10
# Digits behind the point of all numbers but the bound: what is finer is not known.
_DIGITS: Final = 6

DESCRIPTIONS: Final = {
    "noisy": "Labels may be wrong.",
    "one-sided": "Some classes are labelled now and then, the others never.",
    "semi-supervised": "Labels are right, and some rows have none.",
    "supervised": "Every row has a label, and every label is right.",
    "complementary": "Labels say what a row is not.",
    "indirect": "Labels are not the names of classes; each only hints at some.",
}


# Over the limit: its keywords are those of `DecouplingClassifier.report`, which is public, one for
# each thing that can be shown.
def report_content(
    clf: DecouplingClassifier,
    *,
    row_names: Sequence[Any] | None = None,
    title: str | None = None,
    task_description: str | None = None,
    settings: Mapping[str, Any] | None = None,
    data_hash: str | None = None,
    warnings: Sequence[str | Message] = (),
    n_review: int = 50,
    before: Any = None,
    thumbnails: Sequence[Any] | None = None,
    true_classes: Any = None,
    commands: Sequence[str] = (),
    decided: Sequence[int] = (),
    options: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return everything that the report says, as a dictionary that JSON can hold.

    It depends on nothing but its arguments: no time of day, no path. The module's docstring is its
    schema.

    Parameters
    ----------
    clf : DecouplingClassifier
        A fitted classifier.
    row_names : sequence of length N, optional
        What to call the training rows, each in its own way, such as ``y.index``; 0, 1, ... by
        default.
    title : str, optional
        Title of the report.
    task_description : str, optional
        How the labels came about, in a sentence.
    settings : mapping, optional
        Settings to show beside the options of the classifier, such as those of a command line.
    data_hash : str, optional
        SHA-256 of the data. Decisions in the browser are kept under it.
    warnings : sequence of str or Message
        Warnings that the fit gave. A text is shown as it is.
    n_review : int
        How many rows to list, at most 500.
    before : array-like (N,), optional
        The class that each row was taken for before, missing where there was none; by default the
        label it was given.
    thumbnails : sequence of length N, optional
        A small image of each row: the bytes of a PNG, JPEG or GIF, or an array (height, width).
        None for a row without one.
    true_classes : array-like (N,), optional
        True classes, missing where they are not known, to score the answer with.
    commands : sequence of str
        Commands that make this report, to be copied; by default the call in Python.
    decided : sequence of int
        Rows whose class somebody has decided on: there is nothing left to review in them.
    options : mapping, optional
        The option of each argument, for readers of the command line; by default messages name the
        arguments of Python.

    Returns
    -------
    dict
        For `report_page` and `report_markdown`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from decoupling import DecouplingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::7] = (y[::7] + 1) % 3  # one label in seven is wrong
    >>> clf = DecouplingClassifier(rounds=1, random_state=0).fit(X, y)
    >>> content = report_content(clf, n_review=5)
    >>> content["verdict"]["headline"].endswith("of the labels are wrong.")
    True
    >>> sum(int(row["row"]) % 7 == 0 for row in content["review"]["rows"])
    5
    """
    facts = read_facts(clf)
    given = [text if isinstance(text, Message) else Message.plain(text) for text in warnings]
    light, all_warnings = light_of(clf, facts, given, options)
    finding = finding_of(facts)
    headline, sentences = words_of(facts, finding)
    review = review_of(facts, row_names, thumbnails, n_review, data_hash, decided)
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "title": title or "Label report",
        "task": _task(facts, task_description),
        "verdict": {
            "headline": headline,
            "sentences": sentences,
            "trust": light,
            "finding": finding,
        },
        "numbers": _numbers(facts, finding),
        "transitions": _transitions(facts),
        "classes": _classes(facts),
        "review": review | {"more": review["more"].told(options) if review["more"] else ""},
        "changes": changes_of(facts, before, true_classes),
        "diagnostics": _diagnostics(facts, all_warnings),
        "reproduce": reproduction_of(clf, settings, data_hash, commands),
    }
    return dict(_rounded(content))


def _task(facts: Facts, description: str | None) -> dict[str, str]:
    return {
        "name": facts.task.name,
        "kind": facts.kind,
        "description": description or DESCRIPTIONS[facts.kind],
    }


def _diagnostics(facts: Facts, warnings: list[str]) -> dict[str, Any]:
    trace = facts.trace
    return {
        "elbo": [float(f"{value:.8g}") for value in trace.elbo],
        "iterations": trace.n_iter,
        "converged": trace.converged,
        "stopped": stop_in_words(trace.stopped_because),
        "warnings": warnings,
    }


def _numbers(facts: Facts, finding: dict[str, Any]) -> list[dict[str, str]]:
    n_labelled = facts.counts_of(facts.labelled)
    numbers = [
        ("Rows", count(facts.weight.sum()), f"{count(n_labelled)} with a label"),
        ("Classes", count(len(facts.classes)), f"task: {facts.task.name}"),
    ]
    wrong, positives, open_rows = (
        finding[key] for key in ("wrong_labels", "positives", "unlabelled")
    )
    if wrong is not None:
        doubtful = f"{count(wrong['doubtful'])} labels are more likely wrong than right"
        numbers += [
            ("Wrong labels", *_wrong_share(wrong)),
            ("Expected errors", count(wrong["expected"]), doubtful),
            (
                "Rows to correct",
                count(wrong["rows_to_mend"]),
                f"to mend {percent(MENDED)} of the expected errors",
            ),
        ]
    if positives is not None:
        note = "of the unlabelled rows"
        if positives["lower"] is not None:
            note += f"; {_span(positives)}"
        numbers.append(("Hidden positives", percent(positives["share"]), note))
        if len(positives["classes"]) == 1:
            (only,) = positives["classes"]
            numbers.append(("Positives with a label", percent(only["rate"]), _span(only)))
    if open_rows is not None:
        note = f"of {count(open_rows['rows'])} rows at {SURE} or more"
        numbers.append(("Sure of the class", percent(open_rows["sure"]), note))
    return [{"name": name, "value": value, "note": note} for name, value, note in numbers]


def _wrong_share(wrong: Mapping[str, Any]) -> tuple[str, str]:
    """The share of wrong labels and its interval, or the range that labels leave open."""
    between = wrong["range"]
    if between is None or not between["open"]:
        return percent(wrong["share"]), _span(wrong)
    ends = f"{percent(between['low'])} to {percent(between['high'])}"
    return ends, f"by how much classes overlap; rows add up to {percent(wrong['share'])}"


def _span(entry: Mapping[str, float]) -> str:
    return f"90% interval {percent(entry['lower'])} to {percent(entry['upper'])}"


def _transitions(facts: Facts) -> dict[str, Any]:
    counts = np.where(facts.wrong_pairs(), facts.expected_counts(), 0.0)
    order = np.argsort(-counts, axis=None, kind="stable")[:WORST]
    cells = [(int(c), int(s)) for c, s in zip(*np.unravel_index(order, counts.shape), strict=True)]
    whole = len(facts.classes) <= FOLDED
    return {
        "classes": [plain(name) for name in facts.classes],
        "labels": [plain(name) for name in facts.labels],
        "own": [None if s < 0 else int(s) for s in facts.task.own],
        "rows": facts.label_counts.tolist(),
        "possible": facts.task.mask.tolist() if whole else None,
        "mean": facts.transitions.tolist() if whole else None,
        "lower": facts.lower.tolist() if whole else None,
        "upper": facts.upper.tolist() if whole else None,
        "worst": [
            {
                "class": plain(facts.classes[c]),
                "label": plain(facts.labels[s]),
                "proba": float(facts.transitions[c, s]),
                "lower": float(facts.lower[c, s]),
                "upper": float(facts.upper[c, s]),
                "rows": float(counts[c, s]),
            }
            for c, s in cells
            if counts[c, s] >= 0.5
        ],
    }


def _classes(facts: Facts) -> list[dict[str, Any]]:
    rows = facts.label_counts
    n_owned = max(facts.counts_of(facts.owned), 1e-300)
    shares, T, counts = facts.shares, facts.transitions, facts.expected_counts()
    table = []
    for c, name in enumerate(facts.classes):
        own = int(facts.task.own[c])
        marked = float(rows[own]) if own >= 0 else 0.0
        table.append(
            {
                "class": plain(name),
                "expected": None if facts.expected is None else float(facts.expected[c]),
                "among_labels": float(rows[own] / n_owned) if own >= 0 else None,
                "rows_labelled": float(rows[own]) if own >= 0 else None,
                "estimated": float(shares[c]),
                "lower": float(facts.balance_lower[c]),
                "upper": float(facts.balance_upper[c]),
                "labelled": 1.0 - float(T[c, 0]) if facts.task.has_unlabelled else 1.0,
                "precision": float(counts[c, own]) / marked if marked > 0 else None,
                "recall": float(T[c, own]) if own >= 0 else None,
            }
        )
    return table


def _rounded(value: Any, key: str = "") -> Any:
    """Numbers with the digits that count; the bound has its own."""
    if isinstance(value, dict):
        return {name: _rounded(entry, name) for name, entry in value.items()}
    if isinstance(value, list):
        return value if key == "elbo" else [_rounded(entry, key) for entry in value]
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0  # no negative zero
    return value
