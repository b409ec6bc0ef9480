"""Report: what was found, in the form that is wanted."""

from __future__ import annotations

import html
import json
import tempfile
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from decoupling._files import written_whole
from decoupling._text import Message
from decoupling.report.markdown import report_markdown
from decoupling.report.page import report_page

# Height of the page within a notebook, in pixels: a screen shows all of it.
_FRAME: Final = 800


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report on a fitted classifier; made by `decoupling.DecouplingClassifier.report`.

    Attributes
    ----------
    content : dict
        All that it says; its schema is the docstring of ``decoupling.report.content``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from decoupling import DecouplingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[::7] = (y[::7] + 1) % 3
    >>> report = DecouplingClassifier(rounds=1, random_state=0).fit(X, y).report()
    >>> report.content["verdict"]["trust"]["words"]
    'Use with care'
    >>> report.html().startswith("<!doctype html>")
    True
    """

    content: dict[str, Any]

    def html(self) -> str:
        """One page with all it needs inside."""
        return report_page(self.content)

    def markdown(self) -> str:
        """The report in Markdown."""
        return report_markdown(self.content)

    def json(self) -> str:
        """The content as JSON."""
        return json.dumps(self.content, indent=2, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the report in the form that the path ends in: .html, .md or .json."""
        path = Path(path)
        forms: dict[str, Callable[[], str]] = {
            ".html": self.html,
            ".htm": self.html,
            ".md": self.markdown,
            ".json": self.json,
        }
        if path.suffix.lower() not in forms:
            raise ValueError(
                Message(
                    "unknown-form",
                    "{@path} must end in .html, .md or .json, which says what to write; got "
                    "{name!r}.",
                    name=path.name,
                )
            )
        data = forms[path.suffix.lower()]().encode("utf-8")
        with written_whole(path) as part:
            part.write_bytes(data)
        return path

    def open(self) -> Path:
        """Write the page to a new temporary folder and show it in the browser."""
        path = self.save(Path(tempfile.mkdtemp(prefix="decoupling-")) / "report.html")
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        verdict = self.content["verdict"]
        return f"<Report: {verdict['headline']} {verdict['trust']['words']}.>"

    def _repr_html_(self) -> str:
        # In a frame of its own origin, neither the page nor the notebook can reach the other.
        return (
            f'<iframe title="Report" srcdoc="{html.escape(self.html())}" '
            'sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {_FRAME}px; border: 0"></iframe>'
        )
