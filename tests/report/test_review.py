"""Rows to look at."""

import numpy as np
import pytest
from flowers import HOSTILE

from decoupling.report.facts import read_facts
from decoupling.report.review import review_of


def test_rows_are_those_that_look_wrong(noisy):
    review = review_of(read_facts(noisy), None, None, 10, None)
    assert review["more"] == "clf.label_issues() lists them all"
    issues = noisy.label_issues()
    assert review["total"] == len(issues)
    assert {row["row"] for row in review["rows"]} <= {str(row) for row in issues.row}
    np.testing.assert_allclose([row["score"] for row in review["rows"]], issues.p_wrong[:10])
    for row in review["rows"]:
        assert row["classes"][0]["class"] == row["suggested"] != row["given"]
        assert row["thumbnail"] is None


def test_unlabelled_rows_that_look_positive(one_sided):
    review = review_of(read_facts(one_sided), None, None, 500, None)
    assert review["score"] == "p(positive)"
    assert review["total"] == len(review["rows"]) > 0
    assert {row["given"] for row in review["rows"]} == {None}
    assert {row["suggested"] for row in review["rows"]} == {"setosa"}
    found = ~one_sided.observed_.labelled & (one_sided.transduction_ == "setosa")
    assert {int(row["row"]) for row in review["rows"]} == set(np.flatnonzero(found))


def test_rows_whose_class_is_least_sure(semi_supervised):
    review = review_of(read_facts(semi_supervised), None, None, 500, None)
    assert review["score"] == "p(other class)"
    assert review["total"] == 48
    best = semi_supervised.label_conditional_proba_.max(axis=1)
    scores = [row["score"] for row in review["rows"]]
    assert scores == sorted(scores, reverse=True)
    first = int(review["rows"][0]["row"])
    assert best[first] == best[~semi_supervised.observed_.labelled].min()


def test_the_key_is_the_hash_of_the_data_or_of_labels_and_names(noisy):
    facts = read_facts(noisy)

    def key(names, data_hash=None):
        return review_of(facts, names, None, 1, data_hash)["key"]

    assert key(None, "cafe") == "cafe"
    assert key(None) == key(range(150)) != key(range(1, 151))


def test_names_of_any_kind(hostile):
    names = [f"{HOSTILE[i % 3]} {i}" for i in range(150)]
    review = review_of(read_facts(hostile), names, None, 5, None)
    assert all(row["row"] in names for row in review["rows"])


def test_thumbnails_of_the_rows_listed(noisy):
    first = noisy.label_issues().row[0]
    images = [None] * 150
    images[first] = b"GIF89a"
    rows = review_of(read_facts(noisy), None, images, 2, None)["rows"]
    assert [row["thumbnail"] for row in rows] == ["data:image/gif;base64,R0lGODlh", None]


@pytest.mark.parametrize(
    ("names", "images", "n_review", "message"),
    [
        (None, None, -1, "n_review must be an integer, at least 0"),
        (None, None, 501, "n_review must be at most 500"),
        (["a"], None, 1, "row_names must have one name per row, 150; got 1"),
        (["a"] * 150, None, 1, r"'a' is the name of several rows \(149 repeated in all\)"),
        (None, [None], 1, "thumbnails must have one entry per row, 150; got 1"),
    ],
)
def test_bad_input(noisy, names, images, n_review, message):
    with pytest.raises(ValueError, match=message):
        review_of(read_facts(noisy), names, images, n_review, None)
