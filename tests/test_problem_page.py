"""The page from symptoms to tasks names every task, and its code and pictures are true."""

import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from decoupling.transitions.choice import TASKS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "problems.md"


@pytest.fixture(scope="module")
def pictures():
    """What the script of the page makes, by file name."""
    script = runpy.run_path(str(ROOT / "docs" / "_ext" / "transition_pictures.py"))
    return dict(script["pictures"]())


def test_every_task_has_a_section_and_a_picture(pictures):
    text = PAGE.read_text(encoding="utf-8")
    for task in set(TASKS) - {"auto"}:
        assert f"({task})=\n" in text
        assert f"generated/{task}.svg" in text
        assert f'task="{task}"' in text
        assert f'href="#{task}"' in pictures["decision.svg"]


def test_every_picture_of_the_page_is_made(pictures):
    named = set(re.findall(r"generated/([\w-]+\.svg)", PAGE.read_text(encoding="utf-8")))
    assert named == set(pictures)


def test_pictures_are_svg_without_colours_of_one_theme(pictures):
    for content in pictures.values():
        root = ElementTree.fromstring(content)
        assert root.tag.endswith("svg")
        assert root.get("aria-label")
        assert "currentColor" in content
        assert "black" not in content


def test_code_of_the_page_runs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import run_readme

    sys.modules.pop("run_readme")
    failures = list(run_readme.run_file(PAGE))
    assert not failures, failures
