"""The report as one self-contained page."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any, Final

from decoupling._text import Message, visible
from decoupling._validation import needs_extra, warn_user
from decoupling.report import charts, text

# Shades of the heat map; each has a class in style.css.
STEPS: Final = 10
# Bytes of a page at most, before there is a warning: larger ones are slow to open.
LARGEST: Final = 1_000_000


def report_page(content: dict[str, Any]) -> str:
    """Return one HTML page that needs nothing else: no file, no network, and no script to be read.

    Parameters
    ----------
    content : dict
        From `report_content`.

    Notes
    -----
    With scripts, the rows to review can be sorted, filtered and decided on, and ``decisions.csv``
    be downloaded: columns row, given, decision (accept, reject or change) and class, the one that
    was decided on, empty if a row stays unlabelled. A text that a spreadsheet would take for a
    formula has an apostrophe before it: take away one where a text begins with apostrophes and
    then ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Plain numbers have none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from decoupling import DecouplingClassifier
    >>> from decoupling.report.content import report_content
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::7] = (y[::7] + 1) % 3  # one label in seven is wrong
    >>> clf = DecouplingClassifier(rounds=1, random_state=0).fit(X, y)
    >>> page = report_page(report_content(clf, title="Irises"))
    >>> "<h1>Irises</h1>" in page
    True
    """
    style, script = _asset("style.css"), _asset("review.js")
    review, transitions = content["review"], content["transitions"]
    folded = transitions["mean"] is None
    page: str = _template().render(
        **content,
        style=style,
        script=script,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
        folded=folded,
        text_table="" if folded else _text_table(transitions),
        trace=charts.trace_chart(content["diagnostics"]["elbo"]),
        calibration=charts.calibration_chart(
            (content["changes"]["truth"] or {}).get("calibration", [])
        ),
        review_data={
            "key": review["key"],
            "classes": transitions["classes"],
            "rows": [
                {key: row[key] for key in ("row", "given", "suggested", "score")}
                for row in review["rows"]
            ],
        },
    )
    size = len(page.encode())
    if size > LARGEST:
        warn_user(
            Message(
                "large-page",
                "The page has {size:,} bytes, more than {limit:,}: it may be slow to open. List "
                "fewer rows with {@n_review:=}, or give smaller thumbnails and shorter names.",
                size=size,
                limit=LARGEST,
            )
        )
    return page


def _asset(name: str) -> str:
    return files("decoupling.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    with needs_extra("report", "A report as a page"):
        import jinja2
        from markupsafe import Markup

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        visible=visible,
        short=text.short,
        percent=text.percent,
        count=text.count,
        rows=text.rows,
        shade=_shade,
        verbatim=Markup,  # for the style and the script alone
    )
    environment.globals.update(
        interval=text.interval, whole=text.whole_interval, no_data=text.NO_DATA
    )
    return environment.from_string(_asset("template.html"))


def _shade(share: float, root: bool = False) -> int:
    """Step of the heat map; small shares show better by their root."""
    return round(STEPS * (share**0.5 if root else share))


def _csp_hash(inline: str) -> str:
    """Name of a text of the page in its content security policy: its SHA-256."""
    digest = hashlib.sha256(inline.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _text_table(transitions: dict[str, Any]) -> str:
    """T in letters alone, for those who cannot see the map."""
    head = [
        "class",
        *("unlabelled" if s is None else text.short(s, 14) for s in transitions["labels"]),
    ]
    lines = [head]
    for c, name in enumerate(transitions["classes"]):
        cells = zip(
            transitions["mean"][c],
            transitions["lower"][c],
            transitions["upper"][c],
            transitions["possible"][c],
            strict=True,
        )
        lines.append(
            [
                text.short(name, 14),
                *(text.rate(*cell) for cell in cells),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
