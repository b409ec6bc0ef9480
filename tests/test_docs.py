"""The site holds together: every public name is in it, and every link leads somewhere."""

import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest
from typer.main import get_command

import decoupling
from decoupling import datasets, persistence
from decoupling.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REPOSITORY = runpy.run_path(str(DOCS / "_ext" / "repository.py"))
# Made by `make docs`, so that a fresh clone does not have them.
MADE = ("gallery", "generated", "reference/generated")
LINK = re.compile(r"(?<!`)\[[^\]`]*(?:`[^`]*`[^\]`]*)*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?)\s*$", re.MULTILINE)
TARGET = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)


def pages():
    """Markdown that people read: of the site, and at the root."""
    site = [p for p in DOCS.rglob("*.md") if not is_made(p)]
    beside = (*ROOT.glob("results/**/*.md"), *ROOT.glob("benchmarks/**/*.md"))
    return sorted([*site, *ROOT.glob("*.md"), *beside])


def is_made(path):
    return any(path.is_relative_to(DOCS / folder) for folder in MADE)


def prose(path):
    """The text of a page, with what it takes from other files, without its blocks of code."""
    text, _ = REPOSITORY["included"](path.read_text(encoding="utf-8"), path)
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def slug(title):
    """The anchor that a heading gets: as on GitHub, and as MyST makes it."""
    return re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).strip().replace(" ", "-")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for found in LINK.finditer(prose(page)):
        target, _, anchor = found["target"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists() or is_made(there), f"{page.name}: {found[0]}"
        if anchor and there.suffix == ".md":
            text = prose(there)
            anchors = {slug(title) for title in HEADING.findall(text)} | {*TARGET.findall(text)}
            assert anchor in anchors, f"{page.name}: {found[0]}"


@pytest.mark.parametrize(
    ("prefix", "module"),
    [("", decoupling), ("datasets.", datasets), ("persistence.", persistence)],
    ids=["decoupling", "datasets", "persistence"],
)
def test_every_public_name_is_in_the_reference(prefix, module):
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^ {3}~?([\w.]+)$", text, flags=re.MULTILINE))
    public = {
        prefix + name for name in module.__all__ if not hasattr(decoupling, name) or not prefix
    }
    assert public
    assert public <= listed


def test_every_command_is_in_the_guide_and_every_option_in_the_reference():
    guide = (DOCS / "guide" / "command_line.md").read_text(encoding="utf-8")
    shown = runpy.run_path(str(DOCS / "_ext" / "commands.py"))["sections"]()
    group = get_command(app)
    assert set(re.findall(r"^\| `(\w+)` \|", guide, flags=re.M)) >= set(group.commands)
    for name, command in group.commands.items():
        for path, each in getattr(command, "commands", {name: command}).items():
            heading = name if path == name else f"{name} {path}"
            text = shown.split(f"## {heading}\n")[1].split("\n## ")[0]
            for parameter in each.params:
                assert all(f"`{option}`" in text for option in parameter.opts if "-" in option)


def test_messages_point_to_sections_that_exist():
    sources = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py")}
    # No other way to name a section: every call is one that is read here, and nobody writes it out.
    assert [name for name, text in sources.items() if "guide: " in text] == ["_text.py"]
    source = "\n".join(sources.values())
    calls = re.findall(r"(?<!def )\bguide\((?!section)", source)
    written = re.findall(r'\bguide\("([^"]+)"\)', source)
    assert len(written) == len(calls)
    named = set(written)
    headings = {
        title for page in (DOCS / "guide").glob("*.md") for title in HEADING.findall(prose(page))
    }
    assert "Predict out of fold" in named
    assert named <= headings


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_tables_have_as_many_columns_as_their_rules(page):
    """Else a table is shown as a paragraph: a bar in a heading is enough."""
    lines = prose(page).splitlines()
    for heading, rule in pairwise(lines):
        if re.fullmatch(r"\|[\s:|-]*-[\s:|-]*\|", rule) and heading.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", heading)) == rule.count("|"), heading


def test_a_number_and_its_error_stay_on_one_line():
    moved = REPOSITORY["moved"]("| 1.0 ± 0.1 |", 1, ROOT / "README.md", DOCS / "index.md")
    assert moved.strip() == "| 1.0\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.1 |"
