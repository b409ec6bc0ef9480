"""The page without a browser: whole, small, and never steered by names."""

import base64
import hashlib
import json
import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from flowers import HOSTILE, fit, irises

from decoupling.report.content import report_content
from decoupling.report.markdown import report_markdown
from decoupling.report.page import report_page

VOID = {"meta", "img", "input"}
SVG_VOID = {"rect", "circle", "path", "polyline"}


class Elements(HTMLParser):
    """Tags with their attributes, the text outside of scripts and styles, and what is in those."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.open, self.inside = [], [], [], {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in SVG_VOID
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.inside.setdefault(self.open[-1], []).append(data)
        else:
            self.text.append(data)

    def values(self, *names):
        return [a[name] for _, a in self.tags for name in names if name in a]


def page_of(clf, **options):
    return report_page(report_content(clf, **options))


def test_every_tag_is_closed_and_every_anchor_exists(kind):
    page = page_of(kind[1], true_classes=None)
    elements = Elements(page)
    assert elements.open == []
    ids = elements.values("id")
    assert len(ids) == len(set(ids))
    assert {"#" + name for name in ids} >= set(elements.values("href"))
    assert set(elements.values("aria-labelledby")) <= set(ids)


def test_nothing_comes_from_elsewhere(kind):
    X = np.zeros((150, 2, 2))
    elements = Elements(page_of(kind[1], thumbnails=X))
    assert all(value.startswith("data:image/") for value in elements.values("src"))
    assert all(value.startswith("#") for value in elements.values("href"))
    tags = [tag for tag, _ in elements.tags]
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(tags)
    assert "http:" not in "".join(elements.inside["style"]) + "".join(elements.inside["script"])


def test_the_policy_knows_the_style_and_the_script(noisy):
    page = page_of(noisy)
    (policy,) = [
        a["content"] for tag, a in Elements(page).tags if "http-equiv" in a and tag == "meta"
    ]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for pattern in (r"<style>(.*?)</style>", r"<script>(.*?)</script>"):
        (inline,) = re.findall(pattern, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_no_style_or_handler_in_attributes(kind):
    names = {name for _, attributes in Elements(page_of(kind[1])).tags for name in attributes}
    assert "style" not in names
    assert not [name for name in names if name.startswith("on")]


def test_hostile_names_are_text(hostile, noisy):
    rows = [f"{HOSTILE[i % 3]} {i}" for i in range(150)]
    texts = {"title": HOSTILE[0], "task_description": HOSTILE[1], "warnings": HOSTILE}
    more = {"commands": HOSTILE, "settings": {HOSTILE[1]: HOSTILE[0]}, "data_hash": HOSTILE[0]}
    page = page_of(hostile, row_names=rows, **texts, **more)
    plain = Elements(page_of(noisy, data_hash="x"))
    elements = Elements(page)
    count = [tag for tag, _ in elements.tags].count
    assert count("script") == [tag for tag, _ in plain.tags].count("script") == 2
    assert count("img") == 0
    shown = "".join(elements.text)
    assert HOSTILE[1] in shown
    assert not re.search("[\x00-\x09\x0b-\x1f\u2028\u202a-\u202e]", page)
    assert r"\x1b[31m\u202e\u2028\n\t" in shown


def test_the_block_of_data_holds_names_as_they_are(hostile):
    page = page_of(hostile, row_names=[f"{HOSTILE[2]}{i}" for i in range(150)])
    (block,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert not set("<>&\u2028") & set(block)
    data = json.loads(block)
    assert sorted(data["classes"]) == sorted(HOSTILE)
    assert data["rows"][0]["row"].startswith(HOSTILE[2])


def test_the_same_page_twice(noisy):
    assert page_of(noisy) == page_of(noisy)


def test_every_row_can_be_read_without_scripts(noisy):
    _, _, truth = irises()
    content = report_content(noisy, true_classes=truth)
    shown = "".join(Elements(report_page(content)).text)
    assert content["verdict"]["headline"] in shown
    for row in content["review"]["rows"]:
        assert re.search(rf"\b{row['row']}\b", shown)
    for entry in ("Use with care", "Calibration", "Right before", "Worst pairs", "Settings"):
        assert entry in shown


def test_many_classes_are_folded():
    content = _many_classes(31)
    page = report_page(content)
    assert "31 classes are too many for a map" in page
    assert 'class="heat' not in page
    assert "Worst pairs" in page
    assert content["transitions"]["mean"] is None
    assert "31 classes are too many for a table" in report_markdown(content)
    assert 'class="heat' in report_page(_many_classes(30))
    assert len(report_page(_many_classes(30)).encode()) < 1_000_000


def _many_classes(n):
    """The content of a report on n classes, without a fit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8 * n, 2))
    y = np.repeat(np.arange(n), 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = fit(X, y, task="noisy", cv=2, rounds=0, calibrate=False)
    content = report_content(clf)
    content["transitions"]["worst"] = content["transitions"]["worst"] or [
        {"class": "1", "label": "2", "proba": 0.1, "lower": 0.0, "upper": 0.2, "rows": 1.0}
    ]
    return content


def test_a_full_page_is_small(noisy):
    images = np.random.default_rng(0).random((150, 28, 28))
    page = page_of(noisy, thumbnails=images, true_classes=irises()[2])
    assert len(page.encode()) < 300_000


def test_a_large_page_warns(noisy):
    with pytest.warns(UserWarning, match="bytes, more than 1,000,000"):
        page_of(noisy, commands=["x" * 1_000_000])


def test_names_as_long_as_books_are_cut():
    X, given, _ = irises()
    books = {name: name * 100_000 for name in set(given)}
    clf = fit(X, np.array([books[name] for name in given], dtype=object), task="noisy")
    report = clf.report(row_names=["x" * 60_000 + str(i) for i in range(150)])
    assert len(report.html().encode()) < 200_000
    assert len(report.json()) < 200_000
    assert len(report.markdown()) < 200_000
    assert len(set(report.content["transitions"]["classes"])) == 3
    assert len({row["row"] for row in report.content["review"]["rows"]}) == len(
        report.content["review"]["rows"]
    )


def test_no_row_stands_out(supervised):
    assert "No row stands out." in page_of(supervised)


def test_a_missing_extra_is_named():
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from decoupling.report.page import _template\n"
        "try:\n    _template()\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'A report as a page needs jinja2: pip install "decoupling[report]".' in run.stdout


def test_changes_of_rows_that_hardly_count(noisy):
    """Six digits of their weights are kept, which may all be 0."""
    content = report_content(noisy)
    pairs = content["changes"]["pairs"]
    content["changes"]["pairs"] = [pair | {"rows": 0.0} for pair in pairs]
    assert pairs
    assert "Commonest changes" in report_page(content)
