"""Signs that an answer may be wrong, as messages of warnings; None where there is no sign."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._text import RATES, Message, first_few, listed
from decoupling._typing import AnyArray, FloatArray
from decoupling.diagnostics.reasons import empty_classes, top_counts
from decoupling.labels.lookalikes import lookalikes
from decoupling.labels.observed import ObservedLabels
from decoupling.transitions.tasks import Task

# Difference of the share of a class from the expected share that is worth a warning. It is well
# beyond the error of an estimate from a few hundred rows. At twice this a class could be wrong by a
# fifth of all rows before there is a word of it.
_BALANCE: Final = 0.1
# Rows that a row of T needs behind it. From fewer a rate of 0.1 has a standard error above 0.05.
_ENOUGH: Final = 30


class IdentifiabilityWarning(UserWarning):
    """The labels hardly tell the classes apart, or classes may have changed places.

    Examples
    --------
    A prior that says the same of two classes leaves it to chance which of them is which. To have
    the inference end there instead, make an error of the warning:

    >>> import warnings
    >>> from decoupling import IdentifiabilityWarning, TransitionPrior, infer
    >>> prior = TransitionPrior([[0.5, 0.5], [0.5, 0.5]], 10, classes=["cat", "dog"])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", IdentifiabilityWarning)
    ...     infer([[0.6, 0.4]], prior)
    Traceback (most recent call last):
        ...
    decoupling.diagnostics.IdentifiabilityWarning: The prior says the same of 'cat', 'dog': ...
    """

    # Filters of warnings name a class by its module, and should not need to know the file.
    __module__ = "decoupling.diagnostics"


def few_rows(task: Task, support: FloatArray, rows: AnyArray) -> Message | None:
    """Message about rows of T that are a guess; None if all of them are, or none.

    Parameters
    ----------
    task : Task
        The task.
    support : array (C,)
        How many rows stand behind each row of T.
    rows : array (S,)
        How many rows have each label.
    """
    # Other classes have a known row of T, or no label of their own.
    unsure = (task.own >= 0) & (task.mask.sum(axis=1) > 1)
    few = [
        f"{name!r} ({n:.0f})"
        for name, n, estimated in zip(task.classes, support.round(), unsure, strict=True)
        if estimated and n < _ENOUGH
    ]
    if not few or rows[int(task.has_unlabelled) :].max() < _ENOUGH:
        return None
    return Message(
        "few-rows",
        "p(label | class) is estimated from fewer than {enough} rows for {classes}: take it as a "
        "guess. If the rates are known {pass|give} {@labelled:=} and {@noise:=}"
        "{, or a TransitionPrior as task|} {guide}.",
        enough=_ENOUGH,
        classes=first_few(few),
        guide=RATES,
    )


def names_alike(task: Task, observed: ObservedLabels) -> Message | None:
    """Message about names of classes and labels that look alike, and are told apart.

    `read_labels` has warned of those that are all labels of rows.
    """
    seen = set(observed.values.tolist())
    names = [name for name in (*task.classes, *task.labels) if name is not None]
    groups = [group for group in lookalikes(names) if not seen.issuperset(group)]
    if not groups:
        return None
    return Message(
        "names-alike",
        "Names of classes or labels look alike, and are told apart: {groups}. A label is that of a "
        "class only if both names are equal. If they mean the same, write them alike in {y|the "
        "column of labels}, in {@negative} and in {@task}.",
        groups=first_few([" and ".join(map(ascii, group)) for group in groups], "; "),
    )


def unseen_classes(task: Task, rows: AnyArray) -> Message | None:
    """Message about classes whose own label no row has: the prior alone decides on them."""
    unseen = [
        name for name, s in zip(task.classes, task.own, strict=True) if s >= 0 and not rows[s]
    ]
    if not unseen:
        return None
    return Message(
        "unseen-classes",
        "No row has the label of {classes}: what is said of that class is the prior's word alone. "
        "Leave it out of the TransitionPrior if it cannot occur.",
        classes=listed(unseen),
    )


def collapsed(task: Task, class_proba: FloatArray) -> Message | None:
    """Message about classes that are the most probable one of no row."""
    return empty_classes(task.classes, top_counts(class_proba))


def unbalanced(
    task: Task, expected: FloatArray | None, conditional: FloatArray, weight: FloatArray
) -> Message | None:
    """Message about a class whose share is far from the expected one.

    Parameters
    ----------
    task : Task
        The task.
    expected : array (C,) or None
        Shares that the user expects; None if nothing is expected.
    conditional : array (N, C)
        p(class | label, x).
    weight : array (N,)
        How many equal rows each row stands for.
    """
    if expected is None:
        return None
    found = weight @ conditional / weight.sum()
    worst = int(np.abs(found - expected).argmax())
    if abs(found[worst] - expected[worst]) <= _BALANCE:
        return None
    return Message(
        "unbalanced",
        "Class {name!r} is expected in {expected:.1%} of the rows, and found in {found:.1%}: "
        "p(labelled | class) may be off. If it is known {pass|give} it as {@labelled:=} {guide}.",
        name=task.classes[worst],
        expected=float(expected[worst]),
        found=float(found[worst]),
        guide=RATES,
    )
