"""The report in Markdown."""

import re

from flowers import HOSTILE, irises

from decoupling.report.content import report_content
from decoupling.report.markdown import report_markdown


def test_tables_are_whole(kind):
    text = report_markdown(report_content(kind[1]))
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(columns) == 1
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "Key numbers"
    assert headings[-1] == "Reproduce"


def test_what_it_says(noisy):
    _, _, truth = irises()
    text = report_markdown(report_content(noisy, title="Irises", true_classes=truth))
    assert text.startswith(
        "# Irises\n\nLabels may be wrong.\n\n**Between 5.2% and 28% of the labels"
    )
    assert "**Use with care** (amber light):" in text
    assert "were right before and" in text
    assert "| versicolor | virginica |" in text


def test_names_are_shown_as_they_are(hostile):
    text = report_markdown(report_content(hostile, title=HOSTILE[0], warnings=[HOSTILE[2]]))
    assert not re.search(r"(?<!\\)<(?!unset)[a-z/]", text)
    assert r"\</script\>" in text
    assert r"\$x\_ \[red\] \| \\x1b" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\u2028\u202e]", text)
