"""One row in words: the numbers are those of the classifier."""

import json

import numpy as np
import pytest

from decoupling import DecouplingClassifier
from decoupling.run.explanation import explanation_of

RNG = np.random.default_rng(0)
CLASSES = np.repeat(["ant", "bee"], 60)
X = np.where(CLASSES == "ant", -1.5, 1.5)[:, None] + RNG.normal(size=(120, 1))
LABELS = CLASSES.astype(object)
LABELS[3], LABELS[70], LABELS[[5, 80]] = "bee", "ant", None
CLF = DecouplingClassifier(task="noisy", rounds=0, random_state=0).fit(X, LABELS)


@pytest.mark.parametrize("row", range(0, 120, 7))
def test_the_result_is_bayes_rule(row):
    found = explanation_of(CLF, row)
    product = found.class_proba * found.given_label
    np.testing.assert_allclose(found.result, product / product.sum(), rtol=1e-9)
    assert found.given == LABELS[row]
    assert found.shares.sum() == pytest.approx(1)
    assert json.loads(json.dumps(found.as_dict()))["row"] == row


def test_words():
    wrong = explanation_of(CLF, 3).words()
    assert "Row 3 has the label 'bee'." in wrong
    assert "most probably 'ant'" in wrong
    assert "the label is wrong with a probability of" in wrong
    assert "so that it is right with a probability of" in explanation_of(CLF, 0).words()
    missing = explanation_of(CLF, 5).words()
    assert "Row 5 has no label." in missing
    assert "stay unlabelled in" in missing


def test_retraining_is_said():
    retrained = DecouplingClassifier(task="noisy", rounds=1, cv=3, random_state=0).fit(X, LABELS)
    assert "was retrained on the classes" in explanation_of(retrained, 0).words()
    assert explanation_of(retrained, 0).as_dict()["retrained"]
    assert "retrain" not in explanation_of(CLF, 0).words()


@pytest.mark.parametrize("row", [-1, 120])
def test_no_such_row(row):
    with pytest.raises(ValueError, match="row must be from 0 to 119"):
        explanation_of(CLF, row)
