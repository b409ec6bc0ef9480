"""Messages of the library in the words of the command line."""

import re

import numpy as np
import pytest

from decoupling import DecouplingClassifier
from decoupling.run.wording import in_options

X = np.arange(21.0)[:, None]
TWO = ["a", "b"] * 10
HALF = ["a", None] * 10
# An argument of Python: a name and a sign of equality, or the name of a class of the library.
PYTHON = re.compile(r"\b[a-z_]+=|TransitionPrior|\bNaN\b|\by\b|clf\.")


@pytest.mark.parametrize(
    ("labels", "options", "told"),
    [
        (TWO, {"task": "guess"}, "--task must be one of auto, supervised, "),
        (TWO, {"task": "positive-unlabelled"}, "such as --unlabelled 0."),
        (["a", "b", None] * 7, {"task": "positive-unlabelled"}, "give it as --unlabelled;"),
        (HALF, {"task": "noisy"}, "Use --task positive-unlabelled."),
        (["a"] * 20, {"task": "noisy"}, "leave their cells empty"),
        (["a", "b", None] * 7, {"task": "supervised"}, "Use --task semi-supervised."),
        (HALF, {"negative": "a"}, "give --unlabelled a; otherwise name it with --negative."),
        (TWO, {"labelled": 2.0}, "--labelled: 2 for class 'a'"),
        (TWO, {"noise": -1.0}, "--noise: -1 for class 'a'"),
        (HALF, {"labelled": 0.0}, "--labelled: 0 for class"),
        (["a", "b", None] * 7, {"labelled": 0.0}, "of --task multi-positive-unlabelled"),
        (["a", "b", None] * 7, {"labelled": 1.0}, "Correct --labelled and --noise."),
        (TWO, {"rounds": -1}, "--rounds must be an integer"),
        (TWO, {"cv": 1}, "--folds must be at least 2 folds"),
        (["a", 1] * 10, {}, "If one of them means unlabelled, give it as --unlabelled."),
    ],
)
def test_errors_name_options(labels, options, told):
    with pytest.raises(ValueError, match=r"\w") as caught:
        DecouplingClassifier(**options).fit(X[: len(labels)], labels)
    text = in_options(str(caught.value))
    assert told in text
    assert not PYTHON.search(text), text


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Stopped at max_iter=500 before converging: it rose. Raise max_iter, or tol if this is "
            "close enough.",
            "Stopped after 500 iterations, not converged: it rose.",
        ),
        (
            "If the rates are known pass labelled= and noise=, or a TransitionPrior as task.",
            "If the rates are known give --labelled and --noise.",
        ),
        (
            "Check the task and the rates, or give a TransitionPrior.",
            "Check --task, and give --labelled and --noise if they are known.",
        ),
        (
            "Merge these classes, or give rates that are known.",
            "Merge these classes, or give --labelled and --noise if they are known.",
        ),
        (
            "Give rates, or a TransitionPrior that is surer.",
            "Give --labelled and --noise if they are known.",
        ),
        ("path must end in .html; got 'x.pdf'.", "--out must end in .html; got 'x.pdf'."),
        ("pass unlabelled='no label'.", "give --unlabelled 'no label'."),
        ("a.csv has no column 'y'. Its columns are: y, x.", None),
        ("The column 'noise' cannot be that of the labels.", None),
    ],
)
def test_phrases(said, told):
    assert in_options(said) == (said if told is None else told)
