"""The report in the form that is wanted."""

import html
import json
import re
import webbrowser

import pytest

from decoupling.report.document import Report


@pytest.fixture(scope="module")
def report(noisy):
    return noisy.report(title="Irises", n_review=3)


def test_the_classifier_makes_it(report):
    assert isinstance(report, Report)
    assert len(report.content["review"]["rows"]) == 3
    assert repr(report) == "<Report: Between 5.2% and 28% of the labels are wrong. Use with care.>"


@pytest.mark.parametrize(
    ("suffix", "start"), [("html", "<!doctype"), ("md", "# Irises"), ("JSON", "{")]
)
def test_the_ending_says_what_is_written(report, tmp_path, suffix, start):
    path = report.save(tmp_path / "new" / f"report.{suffix}")
    assert path.read_text(encoding="utf-8").startswith(start)


def test_json_is_the_content(report):
    assert json.loads(report.json()) == report.content


def test_another_ending_is_refused(report, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.html, \.md or \.json.*'report.pdf'"):
        report.save(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_opening_shows_a_file(report, monkeypatch):
    shown = []
    monkeypatch.setattr(webbrowser, "open", shown.append)
    path = report.open()
    assert shown == [path.as_uri()]
    assert path.read_text(encoding="utf-8") == report.html()
    path.unlink()
    path.parent.rmdir()


def test_a_notebook_shows_it_in_a_frame(report):
    frame = report._repr_html_()
    (inside,) = re.findall(r'srcdoc="([^"]*)"', frame)
    assert html.unescape(inside) == report.html()
    assert "allow-same-origin" not in frame
