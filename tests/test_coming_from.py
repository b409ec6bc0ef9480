"""The pages for users of other libraries show code that runs and prints what they say.

Code of a library that is not installed is left out.
"""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "coming_from").glob("*.md"))
IMPORT = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


@pytest.fixture
def markdown(monkeypatch):
    """Return the tool that runs the code blocks of Markdown files."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import run_readme

    yield run_readme
    sys.modules.pop("run_readme")


@pytest.mark.filterwarnings("default")  # other libraries may warn
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_runs_and_prints_what_the_page_says(path, markdown):
    text = path.read_text(encoding="utf-8")
    blocks = list(markdown.read_blocks(text))
    namespace = {"__name__": "__main__"}
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        needed = IMPORT.findall(block.content) if block.language == "python" else []
        if block.language == "python" and all(map(importlib.util.find_spec, needed)):
            expected = markdown.printed_after(block, following, text)
            failures = list(markdown.run_python(block, expected, namespace, path))
            assert not failures, f"{path.name}:{failures[0].line}: {failures[0].message}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_is_in_the_index(path):
    index = (ROOT / "docs" / "coming_from" / "index.md").read_text(encoding="utf-8")
    toctree = re.search(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)[1].split()
    assert path.stem == "index" or path.stem in toctree
