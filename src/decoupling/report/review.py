"""Rows to look at: which, in what order, and what a browser knows them by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling._validation import check_count
from decoupling.report.facts import Facts
from decoupling.report.text import plain
from decoupling.report.thumbnails import data_uri

# Rows that a page can list and stay below a megabyte.
MOST_ROWS: Final = 500
# Classes of a row that are named at most, the most probable ones.
NAMED: Final = 3
# Probability of a class below which it is not named: it would hardly help to decide.
_MATTERS: Final = 0.05
_MORE: Final = Message("more-rows", "{clf.label_issues()|labels.csv} lists them all")


def review_of(
    facts: Facts,
    row_names: Sequence[Any] | None,
    thumbnails: Sequence[Any] | None,
    n_review: int,
    data_hash: str | None,
    decided: Sequence[int] = (),
) -> dict[str, Any]:
    """The rows that people should look at; arguments as in `report_content`."""
    check_count("n_review", n_review, least=0)
    if n_review > MOST_ROWS:
        raise ValueError(
            Message(
                "too-many-to-review",
                "{@n_review} must be at most {limit}, so that the page stays small; got {n}. "
                "{clf.label_issues()|labels.csv} lists all rows.",
                limit=MOST_ROWS,
                n=n_review,
            )
        )
    names = _row_names(row_names, len(facts.codes))
    if thumbnails is not None and len(thumbnails) != len(names):
        raise ValueError(
            Message(
                "wrong-length",
                "{@thumbnails} must have one entry per row, {n_rows}; got {n}.",
                n_rows=len(names),
                n=len(thumbnails),
            )
        )
    question, score, order, scores = _ranked(facts)
    order = order[~np.isin(order, decided)]
    listed = [_entry(facts, i, scores, names, thumbnails) for i in order[:n_review].tolist()]
    return {
        "question": question,
        "score": score,
        "total": len(order),
        "rows": listed,
        "more": _MORE if len(order) > len(listed) and score == "p(wrong)" else None,
        "key": data_hash or _fingerprint(facts, names),
    }


def _entry(
    facts: Facts,
    i: int,
    scores: FloatArray,
    names: Sequence[str],
    thumbnails: Sequence[Any] | None,
) -> dict[str, Any]:
    """One row of the list."""
    proba = facts.conditional[i]
    best = np.argsort(-proba, kind="stable")[:NAMED]
    image = None if thumbnails is None else thumbnails[i]
    return {
        "row": plain(names[i]),
        "given": plain(facts.labels[facts.codes[i]]),
        "suggested": plain(facts.classes[best[0]]),
        "score": float(scores[i]),
        "classes": [
            {"class": plain(facts.classes[c]), "proba": float(proba[c])}
            for c in best
            if c == best[0] or proba[c] >= _MATTERS
        ],
        "thumbnail": None if image is None else data_uri(image, i),
    }


def _ranked(facts: Facts) -> tuple[str, str, IntArray, FloatArray]:
    """Question that is asked, name of the score, rows in their order, score of every row (N,)."""
    doubtful = facts.owned & (facts.p_wrong >= 0.5)
    if doubtful.any() or facts.kind in ("noisy", "supervised"):
        question = "Labels that are more likely wrong than right, the worst first."
        return question, "p(wrong)", _order(facts.doubt, doubtful), facts.p_wrong
    if facts.kind == "one-sided":
        positive = np.where(facts.task.own >= 0, facts.conditional, 0.0).sum(axis=1)
        unlabelled = ~facts.labelled & (positive >= 0.5)
        question = "Unlabelled rows that look like a labelled class, the surest first."
        return question, "p(positive)", _order(positive, unlabelled), positive
    unsure = 1.0 - facts.conditional.max(axis=1)
    question = "Rows whose class is least sure, where a label would help most."
    return question, "p(other class)", _order(unsure, facts.unnamed), unsure


def _order(score: FloatArray, among: BoolArray) -> IntArray:
    order = np.argsort(-score, kind="stable")
    return np.asarray(order[among[order]])


def _row_names(row_names: Sequence[Any] | None, n_rows: int) -> list[str]:
    names = [str(name) for name in (range(n_rows) if row_names is None else row_names)]
    if len(names) != n_rows:
        text = "{@row_names} must have one name per row, {n_rows}; got {n}."
        raise ValueError(Message("wrong-length", text, n_rows=n_rows, n=len(names)))
    twice = n_rows - len(set(names))
    if twice:
        seen: set[str] = set()
        first = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(
            Message(
                "names-repeated",
                "{@row_names}: {first!r} is the name of several rows ({n} repeated in all), and "
                "decisions go by name. Make them unique, or leave row_names out.",
                first=first,
                n=twice,
            )
        )
    return names


def _fingerprint(facts: Facts, names: Sequence[str]) -> str:
    """Hash of the labels that were given, by which a browser knows the data again."""
    labels = [plain(label) for label in facts.labels]
    text = json.dumps([labels, facts.codes.tolist(), list(names)])
    return hashlib.sha256(text.encode()).hexdigest()
