"""Signs that an answer may be wrong, said as warnings."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._text import RATES, first_few, listed
from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.diagnostics.reasons import nobodys, top_counts
from decoupling.transitions.tasks import Task

# The share of a class may be off by so much before a warning is due.
_BALANCE: Final = 0.1
# Rows of T estimated from fewer samples than this are hardly more than a guess.
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


def warn_of_few(task: Task, support: FloatArray, rows: AnyArray) -> None:
    """Warn of classes whose labelling is a guess, unless every one is.

    ``support`` is how many rows stand behind each row of T, (C,), ``rows`` the number of each
    label, (S,).
    """
    unsure = (task.own >= 0) & (task.mask.sum(axis=1) > 1)  # the others are known, or guesses
    few = [
        f"{name!r} ({n:.0f})"
        for name, n, estimated in zip(task.classes, support.round(), unsure, strict=True)
        if estimated and n < _ENOUGH
    ]
    if few and rows[int(task.has_unlabelled) :].max() >= _ENOUGH:
        warn_user(
            f"p(label | class) is estimated from fewer than {_ENOUGH} rows for "
            f"{first_few(few)}: take it as a guess. If the rates are known pass "
            f"labelled= and noise=, or a TransitionPrior as task {RATES}.",
        )


def warn_of_unseen(task: Task, rows: AnyArray) -> None:
    """Warn of classes whose own label no row has, so that only the prior speaks of them."""
    unseen = [
        name for name, s in zip(task.classes, task.own, strict=True) if s >= 0 and not rows[s]
    ]
    if unseen:
        warn_user(
            f"No row has the label of {listed(unseen)}: what is said of that class is the prior's "
            "word alone. Leave it out of the TransitionPrior if it cannot occur."
        )


def warn_of_collapse(task: Task, class_proba: FloatArray) -> None:
    """Warn of a class that is nobody's most probable one."""
    text = nobodys(task.classes, top_counts(class_proba))
    if text is not None:
        warn_user(text)


def warn_of_balance(
    task: Task, expected: FloatArray | None, conditional: FloatArray, weight: FloatArray
) -> None:
    """Warn if the share of a class differs much from what is expected, (C,); None expects nothing.

    ``conditional`` is p(class | label, x), (N, C).
    """
    if expected is None:
        return
    found = weight @ conditional / weight.sum()
    worst = int(np.abs(found - expected).argmax())
    if abs(found[worst] - expected[worst]) > _BALANCE:
        warn_user(
            f"Class {task.classes[worst]!r} is expected in {expected[worst]:.1%} of the "
            f"rows, and found in {found[worst]:.1%}: p(labelled | class) may be off. If it is "
            f"known pass it as labelled= {RATES}.",
        )
