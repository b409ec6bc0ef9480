"""The pages of the theory say what comes out: their examples, names and formulas hold."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
ROLE = re.compile(r"\{py:\w+\}`([\w.]+)`")

pytestmark = pytest.mark.skipif(not PAGES, reason="the documentation is not part of this copy")


def by_name(paths):
    return pytest.mark.parametrize("path", paths, ids=[path.stem for path in paths])


@by_name([path for path in PAGES if path.stem != "index"])
def test_examples(path):
    text, names = path.read_text(encoding="utf-8"), {}
    runner, parser, said = doctest.DocTestRunner(), doctest.DocTestParser(), []
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        test = parser.get_doctest(block[1], names, path.stem, str(path), line)
        runner.run(test, out=said.append, clear_globs=False)
        names = test.globs
    assert runner.tries > 0
    assert not runner.failures, "".join(said)


@by_name(PAGES)
def test_names_and_files_exist(path):
    text = path.read_text(encoding="utf-8")
    for target in ROLE.findall(text):
        module, *attributes = target.split(".")
        found = importlib.import_module(module)
        for attribute in attributes:
            found = getattr(found, attribute)
    for source in re.findall(r"`((?:src|tests)/[\w/]+\.py)`", text):
        assert (ROOT / source).is_file(), source
    for page in re.findall(r"\]\((\w+\.md)\)", text):
        assert (path.parent / page).is_file(), page


def test_functions_that_pages_name_are_in_the_source():
    """A name in backticks with an underscore or a capital is one of the code."""
    sources = [
        path.read_text(encoding="utf-8") for path in (ROOT / "src" / "decoupling").rglob("*.py")
    ]
    known = set(re.findall(r"\w+", "\n".join(sources)))
    for path in PAGES:
        prose = BLOCK.sub("", path.read_text(encoding="utf-8"))
        named = re.findall(r"(?<!\})`([A-Za-z_][\w.]*)`", prose)
        assert not {part for name in named for part in name.split(".")} - known, path.stem


@by_name(PAGES)
def test_formulas_become_mathml(path):
    mathml = pytest.importorskip("docutils.utils.math.latex2mathml")
    text = re.sub(r"`[^`\n]*`", "", BLOCK.sub("", path.read_text(encoding="utf-8")))
    displayed = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
    inline = re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL))
    for formula in displayed + inline:
        assert mathml.tex2mathml(formula.strip()).startswith("<math"), formula
