"""The report in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from decoupling._text import visible
from decoupling.report.text import NO_DATA, count, interval, percent, rate, short


def report_markdown(content: dict[str, Any]) -> str:
    """Return the report in Markdown, with tables as GitHub knows them.

    Parameters
    ----------
    content : dict
        From `report_content`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from decoupling import DecouplingClassifier
    >>> from decoupling.report.content import report_content
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::7] = (y[::7] + 1) % 3  # one label in seven is wrong
    >>> clf = DecouplingClassifier(rounds=1, random_state=0).fit(X, y)
    >>> print(report_markdown(report_content(clf, title="Irises"))[:8])
    # Irises
    """
    parts = (
        _verdict,
        _numbers,
        _transitions,
        _classes,
        _review,
        _changes,
        _diagnostics,
        _reproduce,
    )
    blocks = [block for part in parts for block in part(content)]
    return "\n\n".join(blocks) + "\n"


def _verdict(content: dict[str, Any]) -> Iterator[str]:
    verdict = content["verdict"]
    yield f"# {_escaped(content['title'])}"
    yield _escaped(content["task"]["description"])
    yield f"**{_escaped(verdict['headline'])}**"
    if verdict["sentences"]:
        yield _escaped(" ".join(verdict["sentences"]))
    trust = verdict["trust"]
    yield f"**{trust['words']}** ({trust['light']} light):"
    words = {"green": "good", "amber": "caution", "red": "bad"}
    yield "\n".join(
        f"- {words[reason['light']]}: {_escaped(reason['text'])}" for reason in trust["reasons"]
    )


def _numbers(content: dict[str, Any]) -> Iterator[str]:
    yield "## Key numbers"
    yield _table(
        ("number", "value", "note"),
        ((entry["name"], entry["value"], entry["note"]) for entry in content["numbers"]),
    )


def _transitions(content: dict[str, Any]) -> Iterator[str]:
    T = content["transitions"]
    yield "## How classes come by their labels"
    if T["mean"] is None:
        yield f"{count(len(T['classes']))} classes are too many for a table."
    else:
        yield "p(label | class) with its 90% interval; a true class in each row.".replace(
            "|", "\\|"
        )
        yield _transition_table(T)
    if T["worst"]:
        yield "### Worst pairs"
        yield _table(
            ("true class", "marked as", "how often", "90% interval", "expected rows"),
            (
                (
                    _name(pair["class"]),
                    _name(pair["label"]),
                    percent(pair["proba"]),
                    interval(pair["lower"], pair["upper"]),
                    count(pair["rows"]),
                )
                for pair in T["worst"]
            ),
        )


def _transition_table(T: dict[str, Any]) -> str:
    return _table(
        (
            "class",
            *(
                _name(label) + ("" if rows else f" ({NO_DATA})")
                for label, rows in zip(T["labels"], T["rows"], strict=True)
            ),
        ),
        (
            (
                _name(name),
                *(rate(*entry) for entry in zip(*cells, strict=True)),
            )
            for name, *cells in zip(
                T["classes"], T["mean"], T["lower"], T["upper"], T["possible"], strict=True
            )
        ),
    )


def _classes(content: dict[str, Any]) -> Iterator[str]:
    shares = ("expected", "among_labels", "estimated", "labelled", "precision", "recall")
    yield "## Classes"
    yield _table(
        ("class", *(key.replace("_", " ") for key in shares), "90% interval"),
        (
            (
                _name(entry["class"]),
                *("–" if entry[key] is None else percent(entry[key]) for key in shares),
                interval(entry["lower"], entry["upper"]),
            )
            for entry in content["classes"]
        ),
    )


def _review(content: dict[str, Any]) -> Iterator[str]:
    review = content["review"]
    yield "## Rows to review"
    if not review["rows"]:
        yield "No row stands out."
        return
    yield f"{review['question']} {len(review['rows'])} of {count(review['total'])}."
    yield _table(
        ("row", "given", "suggested", review["score"]),
        (
            (_name(row["row"]), _name(row["given"]), _name(row["suggested"]), percent(row["score"]))
            for row in review["rows"]
        ),
    )


def _changes(content: dict[str, Any]) -> Iterator[str]:
    changes = content["changes"]
    yield "## Before and after"
    yield (
        f"{count(changes['kept'])} rows stay as they were, {count(changes['changed'])} change, "
        f"{count(changes['completed'])} that had no class get one."
    )
    if changes["pairs"]:
        yield _table(
            ("before", "after", "rows"),
            (
                (_name(pair["before"]), _name(pair["after"]), count(pair["rows"]))
                for pair in changes["pairs"]
            ),
        )
    truth = changes["truth"]
    if truth is None:
        return
    if truth["right_before"] is not None:
        yield (
            f"Of {count(truth['rows_with_before'])} rows, {percent(truth['right_before'])} were "
            f"right before and {percent(truth['right_after_of_these'])} are after."
        )
    yield (
        f"Of all {count(truth['rows'])} rows with a true class {percent(truth['right_after'])} are "
        f"right; the expected calibration error is {percent(truth['calibration_error'])}."
    )


def _diagnostics(content: dict[str, Any]) -> Iterator[str]:
    diagnostics = content["diagnostics"]
    yield "## Diagnostics"
    yield (
        f"{count(diagnostics['iterations'])} iterations; it ended because "
        f"{diagnostics['stopped']}. The bound rose from {diagnostics['elbo'][0]:,.6g} to "
        f"{diagnostics['elbo'][-1]:,.6g}."
    )
    if diagnostics["warnings"]:
        yield "\n".join(f"- {_escaped(text)}" for text in diagnostics["warnings"])


def _reproduce(content: dict[str, Any]) -> Iterator[str]:
    reproduce = content["reproduce"]
    yield "## Reproduce"
    for command in reproduce["commands"]:
        # Indented: nothing within it can end the block.
        yield "\n".join(f"    {visible(line)}" for line in command.split("\n"))
    facts = {**reproduce["versions"], "seed": reproduce["seed"]}
    facts |= {"data, SHA-256": reproduce["data_hash"] or "not given", "schema": content["schema"]}
    facts |= reproduce["settings"]
    yield _table(
        ("what", "value"), ((_escaped(key), _escaped(value)) for key, value in facts.items())
    )


def _name(name: str | None) -> str:
    return "*unlabelled*" if name is None else _escaped(short(name))


def _escaped(text: object) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~&])", r"\\\1", visible(text))


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
