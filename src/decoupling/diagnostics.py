"""Signs that an answer may be wrong, said as warnings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import warn_user
from decoupling.transitions.tasks import Task

# The share of a class may be off by so much before a warning is due.
_BALANCE: Final = 0.1
# Below this singular value of p(label | class, labelled), classes blur into each other.
_SINGULAR: Final = 0.1
# Rows of T estimated from fewer samples than this are hardly more than a guess.
_ENOUGH: Final = 30
# A message lists this many names, and counts the rest.
_SHOWN: Final = 5


class IdentifiabilityWarning(UserWarning):
    """The labels hardly tell the classes apart, or classes may have changed places."""


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
        more = f" and {len(few) - _SHOWN} more" if len(few) > _SHOWN else ""
        warn_user(
            f"p(label | class) is estimated from fewer than {_ENOUGH} rows for "
            f"{', '.join(few[:_SHOWN])}{more}: take it as a guess. If the rates are known pass "
            "labelled= and noise=, or a TransitionPrior as task.",
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
    top = np.bincount(class_proba.argmax(axis=1), minlength=len(task.classes))
    nobody = [name for name, n in zip(task.classes, top, strict=True) if n == 0]
    if nobody:
        warn_user(
            f"No row has {listed(nobody)} as its most probable class: the inference may "
            "have collapsed. Check the task and the rates, or give a TransitionPrior.",
        )


def warn_of_confusion(task: Task, transitions: ArrayLike) -> None:
    """Warn if a class's own label is more frequent in another class, or T is nearly singular."""
    owners, T = np.flatnonzero(task.own >= 0), np.asarray(transitions, dtype=np.float64)
    own = T[:, task.own[owners]]  # (C, K): how often each class gets the owners' labels
    lost = own[owners, np.arange(len(owners))] < own.max(axis=0, initial=0.0)
    if lost.any():
        names = [task.classes[c] for c in owners[lost]]
        warn_user(
            f"The label of {listed(names)} is more frequent in another class than in its own: "
            "classes may have changed places. Give rates, or a TransitionPrior that is surer.",
            IdentifiabilityWarning,
        )
        return
    given = own[owners] / np.maximum(own[owners].sum(axis=1, keepdims=True), 1e-300)
    if len(owners) > 1 and np.linalg.svd(given, compute_uv=False)[-1] < _SINGULAR:
        warn_user(
            "Some classes get nearly the same labels: what tells them apart is mostly the prior. "
            "Merge these classes, or give rates that are known.",
            IdentifiabilityWarning,
        )


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
            "known pass it as labelled=.",
        )


def listed(names: Sequence[Hashable]) -> str:
    """The first few names, and how many more there are."""
    rest = len(names) - _SHOWN
    return ", ".join(map(repr, names[:_SHOWN])) + (f" and {rest} more" if rest > 0 else "")
