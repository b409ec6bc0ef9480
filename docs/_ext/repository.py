"""Pages made of Markdown files elsewhere in the repository, so that nothing is written twice.

A line in a page is replaced by the text that it names:

    % repository: results/README.md                      all of a file
    % repository: results/README.md # Fashion MNIST      one section of it
    % repository: benchmarks/speed.md between table      from "table: begin" to "table: end"

The heading of a file or a section is left to the page. Headings below it move up or down to follow
the page, links and pictures are made to fit. A link to what is no page of the site is written
as the name of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
# Which page of the site a file of the repository is, or is part of.
PAGES: Final = {
    "CHANGELOG.md": "docs/changelog.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "README.md": "docs/index.md",
    "benchmarks/README.md": "docs/evidence/peers.md",
    "benchmarks/quality/tables/behind.md": "docs/evidence/behind.md",
    "benchmarks/quality/tables/every_setting.md": "docs/evidence/every_setting.md",
    "benchmarks/quality/tables/means.md": "docs/evidence/means.md",
    "benchmarks/quality/tables/network.md": "docs/evidence/means.md",
    "benchmarks/quality/tables/ranks.md": "docs/evidence/means.md",
    "benchmarks/quality/tables/rivals.md": "docs/evidence/means.md",
    "benchmarks/quality/tables/settings.md": "docs/evidence/means.md",
    "benchmarks/quality/tried.md": "docs/evidence/tried.md",
    "benchmarks/real/before.md": "docs/evidence/real.md",
    "benchmarks/real/tables.md": "docs/evidence/real.md",
    "benchmarks/speed.md": "docs/evidence/speed.md",
    "examples": "docs/gallery/index.rst",
    "results/README.md": "docs/evidence/paper.md",
    "results/calibration/README.md": "docs/evidence/coverage.md",
    "results/calibration/sbc/README.md": "docs/evidence/simulation.md",
    "results/fashion/cnn.md": "docs/evidence/fashion.md",
    "results/reference/README.md": "docs/evidence/exact.md",
    "results/self_training/fashion/cnn.md": "docs/evidence/self_training.md",
}
_LINE: Final = re.compile(
    r"^% repository: (?P<file>\S+)(?: # (?P<section>.+)| between (?P<marks>.+))?$", re.M
)
_LINK: Final = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_HEADING: Final = re.compile(r"^(?P<marks>#+) (?P<title>.*)$")
_IMAGE: Final = re.compile(r"^(!\[[^\]]*\]\([^)]*\)\n)(?=!\[)", re.M)


def included(text: str, page: Path) -> tuple[str, list[Path]]:
    """A page with its lines replaced, and the files that were read."""
    files: list[Path] = []

    def replacement(line: re.Match[str]) -> str:
        file = ROOT / line["file"]
        files.append(file)
        whole = file.read_text(encoding="utf-8")
        body = (
            between(whole, line["marks"]) if line["marks"] else section_of(whole, line["section"])
        )
        level = heading_level(text[: line.start()])
        return moved(body, level, file, page)

    return _LINE.sub(replacement, text), files


def section_of(text: str, title: str | None) -> str:
    """The text below a heading up to the next one as high; None is the file without its title."""
    if title is None:
        return re.sub(r"\A\s*# .*\n", "", text).strip("\n") + "\n"
    lines, depth = [], 0
    for line, heading in headings(text):
        if depth:
            if heading and len(heading["marks"]) <= depth:
                break
            lines.append(line)
        elif heading and heading["title"] == title:
            depth = len(heading["marks"])
    if not depth:
        raise ValueError(f"no section {title!r}")
    return "\n".join(lines).strip("\n") + "\n"


def between(text: str, name: str) -> str:
    """What a command has put between its comments."""
    return text.split(f"<!-- {name}: begin -->")[1].split(f"<!-- {name}: end -->")[0].strip() + "\n"


def headings(text: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Lines, with the heading that a line is, if any; code is no heading."""
    code = False
    for line in text.splitlines():
        code ^= line.startswith("```")
        yield line, None if code else _HEADING.match(line)


def heading_level(text: str) -> int:
    """How deep the last heading of a text is."""
    return [0, *(len(found["marks"]) for _, found in headings(text) if found)][-1]


def moved(body: str, level: int, file: Path, page: Path) -> str:
    """A text as part of a page: below a heading of a level, its links as seen from there."""
    found = [len(heading["marks"]) for _, heading in headings(body) if heading]
    shift = level + 1 - min(found, default=level + 1)
    lines = [
        "#" * (len(heading["marks"]) + shift) + " " + heading["title"] if heading else line
        for line, heading in headings(body)
    ]
    text = _LINK.sub(lambda link: relinked(link, file, page), "\n".join(lines))
    text = text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")  # a number and its error
    return _IMAGE.sub(r"\1\n", text) + "\n"  # a picture is a paragraph of its own


def relinked(link: re.Match[str], file: Path, page: Path) -> str:
    """A link of a file as a page has to write it."""
    target, _, anchor = link["target"].partition("#")
    if "://" in target or not target:
        return link[0]
    there = Path(os.path.normpath(file.parent / target))
    name = there.relative_to(ROOT).as_posix()
    if not link["mark"] and name not in PAGES and not there.is_relative_to(DOCS):
        return link["text"] if link["text"].strip("`") == name else f"{link['text']} (`{name}`)"
    there = ROOT / PAGES.get(name, name)
    seen = Path(os.path.relpath(there, page.parent)).as_posix()
    return f"{link['mark']}[{link['text']}]({seen}{'#' + anchor if anchor else ''})"


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(name))
    if page.suffix == ".md":
        source[0], files = included(source[0], page)
        for file in files:
            app.env.note_dependency(str(file), docname=name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
