"""Messages of the library in the words of the command line."""

import re

import numpy as np
import pytest

from decoupling import DecouplingClassifier, infer
from decoupling._text import Argument, Message, message_of
from decoupling.diagnostics.reasons import confusion, empty_classes
from decoupling.diagnostics.warnings import few_rows, unbalanced
from decoupling.report.document import Report
from decoupling.run.settings import OPTIONS
from decoupling.run.solving import collected_warnings
from decoupling.transitions.tasks import noisy

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
        (TWO, {"labelled": 0.5}, "--labelled is below 1, but no row is unlabelled"),
        (TWO, {"task": "complementary", "noise": 0.1}, "Leave --noise out."),
        (["a", 1] * 10, {}, "If one of them means unlabelled, give it as --unlabelled."),
    ],
)
def test_errors_name_options(labels, options, told):
    with pytest.raises(ValueError, match=r"\w") as caught:
        DecouplingClassifier(**options).fit(X[: len(labels)], labels)
    text = message_of(caught.value).told(OPTIONS)
    assert told in text
    assert not PYTHON.search(text), text


SWAPPED = np.array([[0.2, 0.8], [0.8, 0.2]])
ALIKE = np.array([[0.51, 0.49], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            empty_classes(["a", "b"], np.array([3, 0])),
            "No row has 'b' as its most probable class: the inference may have collapsed. Check "
            "--task, and give --labelled and --noise if they are known "
            '(guide: "When a class has no rows").',
        ),
        (
            confusion(["a", "b"], np.arange(2), SWAPPED).message,
            "The label of 'a', 'b' is more frequent in another class than in its own: classes may "
            "have changed places. Give --labelled and --noise if they are known "
            '(guide: "When labels do not tell classes apart").',
        ),
        (
            confusion(["a", "b"], np.arange(2), ALIKE).message,
            "Some classes get nearly the same labels: what tells them apart is mostly the prior. "
            "Merge these classes, or give --labelled and --noise if they are known "
            '(guide: "When labels do not tell classes apart").',
        ),
        (
            few_rows(noisy(["a", "b"]), np.array([12.0, 40.0]), np.array([12.0, 40.0])),
            "p(label | class) is estimated from fewer than 30 rows for 'a' (12): take it as a "
            "guess. If the rates are known give --labelled and --noise "
            '(guide: "Say what you know").',
        ),
        (
            unbalanced(noisy(["a", "b"]), np.array([0.9, 0.1]), np.eye(2), np.ones(2)),
            "Class 'a' is expected in 90.0% of the rows, and found in 50.0%: p(labelled | class) "
            'may be off. If it is known give it as --labelled (guide: "Say what you know").',
        ),
        (
            Message("", "{name} has 1 entry, {@unlabelled:={x!r}}.", name=Argument("cv"), x="no x"),
            "--folds has 1 entry, --unlabelled 'no x'.",
        ),
    ],
)
def test_messages_name_options(message, told):
    assert message.told(OPTIONS) == told
    assert message.told(None) == message


def test_errors_of_reports_name_options(tmp_path):
    with pytest.raises(ValueError, match=r"^path must end in") as caught:
        Report({}).save(tmp_path / "x.pdf")
    told = message_of(caught.value).told(OPTIONS)
    assert told.startswith("--out must end in .html, .md or .json")


def test_warnings_name_options():
    with collected_warnings() as warned:
        DecouplingClassifier(rounds=0).fit(X, ["NaT", *TWO])
    told = {message.code: message.told(OPTIONS) for message in warned}
    assert told["gap-as-text"] == (
        "The column of labels has 'NaT' as a string in 1 row: a gap that was made text? It is kept "
        "as a label; if it means unlabelled, give --unlabelled NaT."
    )


def test_a_run_that_stops_early():
    with collected_warnings() as warned:
        infer([[0.7, 0.3], [0.2, 0.8]], [[5.0, 1.0], [1.0, 5.0]], max_iter=1)
    (message,) = [each for each in warned if each.code == "not-converged"]
    assert message.startswith("Stopped at max_iter=1 before converging: the last iteration")
    assert "Raise max_iter, or tol if this is close enough (guide" in message
    told = message.told(OPTIONS)
    assert told.startswith("Stopped after 1 iterations, not converged: the last iteration")
    assert "max_iter" not in told
    assert told.endswith('(guide: "When it does not converge").')


def test_messages_from_elsewhere_stay_as_they_are():
    message = message_of(UserWarning("X has feature names. Use cv=5."))
    assert message.told(OPTIONS) == "X has feature names. Use cv=5."
    assert message.code == ""
