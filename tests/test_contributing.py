"""CONTRIBUTING.md: its picture and its recipes name what is in the tree."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/decoupling"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGES = sorted(path.parent for path in PACKAGE.glob("*/**/__init__.py"))
PICTURE = TEXT.split("## The tree is the flow")[1].split("```")[1]
FILES = sorted(set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|html))?)`", TEXT)))
DEFINED = sorted(set(re.findall(r"`(\w+)` (?:in|of) `((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", TEXT)))


def test_the_picture_has_all_packages():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(re.findall(r"\b([a-z_]+)/", PICTURE)) == packages


def test_the_picture_has_all_modules_beside_them():
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"\b([a-z_]+\.py)", PICTURE)) == modules


def test_no_package_stands_twice():
    names = re.findall(r"\b([a-z_]+)/", PICTURE)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_package_says_what_its_modules_are_for(package):
    """Who opens a folder reads there which file to open next."""
    described = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    inside = {path.stem for path in package.glob("*.py") if not path.stem.startswith("_")}
    inside |= {path.parent.name for path in package.glob("*/__init__.py")}
    assert inside <= set(re.findall(r"`(\w+)`", described))


@pytest.mark.parametrize("path", FILES)
def test_files_that_it_names_are_there(path):
    assert (PACKAGE / path).exists() or (ROOT / path).exists()


@pytest.mark.parametrize(("name", "path"), DEFINED)
def test_functions_that_it_names_are_where_it_says(name, path):
    place = PACKAGE / path
    files = place.glob("*.py") if place.is_dir() else [place]
    sources = "\n".join(file.read_text(encoding="utf-8") for file in files)
    assert re.search(rf"^(?:    )?(?:def |class )?{name}\b", sources, re.MULTILINE)
