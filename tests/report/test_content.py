"""The dictionary behind the report."""

import json
import math
import re
import warnings

import numpy as np
import pytest
from flowers import HOSTILE, NAMES, fit, irises
from sklearn.datasets import load_iris

from decoupling import DecouplingClassifier
from decoupling.report.content import SCHEMA, report_content

SECTIONS = ["schema", "title", "task", "verdict", "numbers", "transitions", "classes", "review"]
SECTIONS += ["changes", "diagnostics", "reproduce"]


def floats(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for entry in value for number in floats(entry)]
    return [value] if isinstance(value, float) else []


def test_json_can_hold_it(kind):
    content = report_content(kind[1])
    assert list(content) == SECTIONS
    assert content["schema"] == SCHEMA
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert all(math.isfinite(number) for number in floats(content))


def test_it_depends_on_nothing_else():
    X, given, truth = irises()
    reports = [
        json.dumps(report_content(fit(X, given), true_classes=truth, data_hash="ab"))
        for _ in range(2)
    ]
    assert reports[0] == reports[1]
    assert not re.search(r"0x[0-9a-f]{6}|/tmp|/home|20\d\d-\d\d", reports[0])


def test_transitions_are_those_of_the_classifier(noisy):
    content = report_content(noisy)["transitions"]
    np.testing.assert_allclose(content["mean"], noisy.transitions_, atol=1e-6)
    np.testing.assert_allclose(content["upper"], noisy.transition_interval(0.9)[1], atol=1e-6)
    assert content["classes"] == content["labels"] == NAMES.tolist()
    assert [pair["rows"] for pair in content["worst"]] == sorted(
        (pair["rows"] for pair in content["worst"]), reverse=True
    )
    assert all(pair["class"] != pair["label"] for pair in content["worst"])


def test_quality_of_labels_by_hand(noisy):
    """Precision goes by the rows, as the headline does: together they say the same."""
    T, proba = noisy.transitions_, noisy.label_conditional_proba_
    codes, content = noisy.observed_.codes, report_content(noisy)
    right = 0.0
    for c, entry in enumerate(content["classes"]):
        assert entry["recall"] == pytest.approx(T[c, c], abs=1e-6)
        assert entry["precision"] == pytest.approx(proba[codes == c, c].mean(), abs=1e-6)
        assert entry["lower"] <= entry["estimated"] <= entry["upper"]
        assert entry["expected"] is None
        right += entry["precision"] * entry["among_labels"]
    wrong = content["verdict"]["finding"]["wrong_labels"]["share"]
    assert right == pytest.approx(1 - wrong, abs=1e-5)


def test_a_class_without_a_label_has_no_quality(one_sided):
    other = report_content(one_sided)["classes"][0]
    assert other["class"] == "other"
    assert other["precision"] is other["recall"] is other["among_labels"] is None
    assert other["labelled"] == 0


def test_names_titles_and_hashes(noisy):
    names = [f"flower {i}" for i in range(150)]
    content = report_content(
        noisy,
        row_names=names,
        title="Flowers",
        task_description="Two botanists.",
        settings={"label": "species", "seed": 3},
        data_hash="cafe",
        warnings=["Beware."],
        commands=["decoupling run flowers.csv"],
    )
    assert content["title"] == "Flowers"
    assert content["task"]["description"] == "Two botanists."
    assert content["review"]["rows"][0]["row"].startswith("flower ")
    assert content["review"]["key"] == content["reproduce"]["data_hash"] == "cafe"
    assert content["reproduce"]["settings"]["label"] == "species"
    assert content["reproduce"]["settings"]["seed"] == "3"
    assert content["reproduce"]["commands"] == ["decoupling run flowers.csv"]
    assert content["diagnostics"]["warnings"] == ["Beware."]


def test_thumbnails(noisy):
    images = [None, *np.arange(149 * 4).reshape(149, 2, 2)]
    rows = report_content(noisy, thumbnails=images)["review"]["rows"]
    assert rows[0]["thumbnail"].startswith("data:image/png;base64,")


def test_weights_count_as_rows():
    X, given, _ = irises()
    content = report_content(fit(X, given).fit(X, given, sample_weight=np.full(150, 2.0)))
    assert content["numbers"][0]["value"] == "300"


def test_numbers_as_labels():
    X, given, truth = irises(np.array([10, 20, 30]))
    content = report_content(fit(X, given.astype(int)), true_classes=truth.astype(int))
    assert content["transitions"]["classes"] == ["10", "20", "30"]
    assert content["changes"]["truth"]["right_after"] > 0.9


def test_hostile_names_stay_as_they_are(hostile):
    assert sorted(report_content(hostile)["transitions"]["classes"]) == sorted(HOSTILE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_review": -1}, "n_review must be an integer, at least 0"),
        ({"n_review": 501}, "n_review must be at most 500"),
        ({"row_names": ["a"]}, "row_names must have one name per row, 150; got 1"),
        ({"row_names": ["a"] * 150}, r"'a' is the name of several rows \(149 repeated in all\)"),
        ({"thumbnails": [None]}, "thumbnails must have one entry per row, 150; got 1"),
        ({"true_classes": ["a"] * 150}, "true_classes"),
    ],
)
def test_bad_input(noisy, options, message):
    with pytest.raises(ValueError, match=message):
        report_content(noisy, **options)


def test_labels_whose_rows_have_no_weight_have_no_quality():
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 2, 0.0, 1.0)
    clf = DecouplingClassifier(task="noisy", rounds=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = report_content(clf.fit(X, y, sample_weight=weight))
    assert content["classes"][2]["precision"] is None
    assert content["classes"][2]["rows_labelled"] == 0
    texts = [reason["text"] for reason in content["verdict"]["trust"]["reasons"]]
    assert [text for text in texts if text.startswith("No row carries the label")], texts
