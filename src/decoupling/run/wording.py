"""What the library says of its arguments, in the words of the command line.

Errors and warnings come from code that is called from Python, and name its arguments; whoever typed
a command knows options, and cells of a table.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

# Option of each argument.
OPTIONS: Final = {
    "unlabelled": "--unlabelled",
    "labelled": "--labelled",
    "noise": "--noise",
    "negative": "--negative",
    "task": "--task",
    "rounds": "--rounds",
    "cv": "--folds",
    "estimator": "--estimator",
    "label_proba": "--label-proba",
    "encoding": "--encoding",
    "row_names": "--id",
    "id_column": "--id",
    "thumbnails": "--image",
    "known_classes": "--decisions",
    "n_review": "--review",
    "trusted": "--trust",
    "path": "--out",
}
_NAME: Final = "|".join(OPTIONS)
# Phrases for which another name is not enough.
_PHRASES: Final = (
    (r"Stopped at max_iter=(\d+) before converging", r"Stopped after \1 iterations, not converged"),
    (r" Raise max_iter, or tol if this is close enough\.", ""),
    (r"Check the task and the rates, or give a TransitionPrior", "Check --task, and give rates"),
    (r"rates, or a TransitionPrior that is surer", "rates"),
    (r"\b([Gg])ive rates\b(?! that)", r"\1ive rates that are known"),
    (r"\brates that are known", "--labelled and --noise if they are known"),
    (r"class of multi_positive_unlabelled", "class of --task multi-positive-unlabelled"),
    (r",? or (put it into )?(a|the) TransitionPrior( as task)?", ""),
    (r"\bmark them with None or NaN", "leave their cells empty"),
    (r"\bMark unlabelled rows with None or NaN", "Leave the cells of unlabelled rows empty"),
    (r"\bmake them None where", "leave their cells empty where"),
    (r"Convert them to one type, for example with .*?; if", "If"),
    (r"clf\.label_issues\(\) lists", "labels.csv lists"),
    (r"a whole file of decoupling\.save", "a whole model.decoupling of a run"),
    (r"\bpass it as\b", "give it as"),
    (r"\bpass (?=[a-z_]+=)", "give "),
    (r"\bX has\b", "the table has"),
    (r"\b(rows?) of y\b", r"\1"),
    (r"(^|\. )y (?=has|mixes|holds)", r"\1The column of labels "),
    (r"\by(?= has)|(?<=in )y\b|(?<=of )y\b", "the column of labels"),
    (r"=\.\.\.$", "=."),
)
# rounds=0, task="noisy", unlabelled='?', labelled=, negative=...
_GIVEN: Final = re.compile(rf"(?<![\w-])({_NAME})=(?:\.\.\.|([\"'])(.*?)\2|([-\w.]*\w)(?![\w(])|)")
# An argument as the subject of a sentence.
_SUBJECT: Final = re.compile(
    rf"(?<![\w-])({_NAME})(?=:| must\b| '[^']*' (?:is|cannot|names)\b| has\b| needs\b)"
)


def in_options(text: str) -> str:
    """A message with the options of the command line for the arguments of the library.

    Examples
    --------
    >>> in_options('y has only 1 class. Use task="noisy", or pass unlabelled=0.')
    'The column of labels has only 1 class. Use --task noisy, or give --unlabelled 0.'
    >>> in_options("labelled: 2 is not a probability. Compare with rounds=0.")
    '--labelled: 2 is not a probability. Compare with --rounds 0.'
    """
    for phrase, plain in _PHRASES:
        text = re.sub(phrase, plain, text)
    text = _GIVEN.sub(_typed, text)
    return _SUBJECT.sub(lambda found: OPTIONS[found[1]], text)


def _typed(found: re.Match[str]) -> str:
    option, value = OPTIONS[found[1]], found[3] or found[4]
    return f"{option} {shlex.quote(value)}" if value else option
