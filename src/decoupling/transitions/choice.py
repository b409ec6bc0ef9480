"""The task that observed labels call for."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import IntArray
from decoupling.labels.frames import objects_of
from decoupling.labels.observed import ObservedLabels, encode_labels, recode_labels
from decoupling.transitions import tasks
from decoupling.transitions.tasks import Task

# Names that `choose_task` knows.
TASKS: Final = (
    "auto",
    "supervised",
    "semi-supervised",
    "positive-unlabelled",
    "multi-positive-unlabelled",
    "noisy",
    "class-conditional-noise",
    "complementary",
)
# Default name of the class that is never labelled. It gives way to one of the type of the labels.
DEFAULT_NEGATIVE: Final = "negative"


def choose_task(
    name: str,
    observed: ObservedLabels,
    *,
    negative: Hashable = DEFAULT_NEGATIVE,
    noise: bool,
    unlabelled: Hashable = None,
) -> Task:
    """Task of this name over the labels observed; classes are sorted where they can be.

    Parameters
    ----------
    name : str
        One of `TASKS`. "auto" is positive-unlabelled if a single label and unlabelled rows are
        seen, otherwise noisy, which is semi-supervised learning with a few wrong labels where rows
        are unlabelled.
    observed : ObservedLabels
        The labels.
    negative : hashable
        Name of the class that is never labelled.
    noise : bool
        Whether labels may be wrong where the task alone would not say so.
    unlabelled : hashable
        Value that means unlabelled, which should not become the name of a class.
    """
    if not isinstance(name, str) or name not in TASKS:
        raise ValueError(
            Message(
                "unknown-task",
                "{@task} must be one of {tasks}{ or a TransitionPrior|}; got {name!r}.",
                tasks=", ".join(TASKS),
                name=name,
            )
        )
    labels = _names(observed.values)
    some_unlabelled = not bool(observed.labelled.all())
    if name == "auto":
        name = "positive-unlabelled" if some_unlabelled and len(labels) == 1 else "noisy"
    if name in ("positive-unlabelled", "multi-positive-unlabelled"):
        _check_one_sided(name, observed)
        never = negative_name(labels, negative, unlabelled)
        if name == "positive-unlabelled":
            return in_order(tasks.positive_unlabelled(labels[0], never))
        return in_order(tasks.multi_positive_unlabelled(labels, never, noise))
    _check_several_classes(name, observed)
    if name == "supervised":
        return tasks.noisy(labels) if noise else tasks.supervised(labels)
    if name == "semi-supervised" and not noise:
        return tasks.semi_supervised(labels) if some_unlabelled else tasks.supervised(labels)
    if name == "class-conditional-noise":
        return tasks.class_conditional_noise(labels, some_unlabelled)
    if name == "complementary":
        return tasks.complementary(labels, some_unlabelled)
    return tasks.noisy(labels, some_unlabelled)


def _check_one_sided(name: str, observed: ObservedLabels) -> None:
    """Refuse labels that do not fit a task in which one class is never labelled."""
    labels = _names(observed.values)
    if observed.labelled.all():
        raise ValueError(
            Message(
                "no-unlabelled-rows",
                "task {task!r} needs unlabelled rows, and every row {of y |}has a label. "
                "{Mark unlabelled rows with None or NaN|Leave the cells of unlabelled rows empty}, "
                "or say which label means unlabelled, such as {@unlabelled:=0}.",
                task=name,
            )
        )
    if name == "positive-unlabelled" and len(labels) > 1:
        counts = ", ".join(f"{v!r} ({n})" for v, n in zip(labels, observed.counts, strict=True))
        raise ValueError(
            Message(
                "several-labels",
                "task {task!r} has a single label, and {y|the column of labels} has {n}: {counts}. "
                "If one of them means unlabelled {pass|give} it as {@unlabelled:=}{...|}; else use "
                '"multi-positive-unlabelled".',
                task=name,
                n=len(labels),
                counts=counts,
            )
        )


def _check_several_classes(name: str, observed: ObservedLabels) -> None:
    """Refuse labels that do not fit a task in which every class has labels."""
    labels = _names(observed.values)
    unlabelled = int((~observed.labelled).sum())
    if len(labels) < 2:
        advice = (
            'Use {@task:="positive-unlabelled"}.'
            if unlabelled
            else "If other rows are unlabelled, {mark them with None or NaN|leave their cells "
            'empty}: that is "positive-unlabelled".'
        )
        raise ValueError(
            Message(
                "one-class",
                "{y|The column of labels} has only 1 class, {label!r}, and task {task!r} needs at "
                f"least two. {advice}",
                label=labels[0],
                task=name,
            )
        )
    if name == "supervised" and unlabelled:
        raise ValueError(
            Message(
                "unlabelled-rows",
                "{y|The column of labels} has {n} unlabelled rows, which a supervised task "
                'does not have. Use {@task:="semi-supervised"}.',
                n=unlabelled,
            )
        )


def negative_name(
    labels: list[Hashable], negative: Hashable, unlabelled: Hashable = None
) -> Hashable:
    """Name of the class that is never labelled, of the same type as the others if it is not given.

    For a boolean the other one; for numbers 0, or what lies below them all if 0 is taken, but for
    the value that means ``unlabelled``.
    """
    if negative is None or not isinstance(negative, Hashable) or negative != negative:
        raise ValueError(
            f"negative must be the name of a class, such as a string or a number; got {negative!r}."
        )
    if negative in labels:
        raise ValueError(
            Message(
                "negative-is-a-label",
                "The negative class is called {name!r}, which is also a label in "
                "{y|the column of labels}. If it means unlabelled {pass|give} "
                "{@unlabelled:={name!r}}; otherwise name it with {@negative:=}{...|.}",
                name=negative,
            )
        )
    if negative != DEFAULT_NEGATIVE:
        return negative
    if isinstance(labels[0], bool):
        return not labels[0] if len(labels) == 1 else negative
    if isinstance(labels[0], int | float):
        zero = type(labels[0])(0)
        below: float = min(labels) - 1  # type: ignore[operator, type-var]
        if zero not in labels:
            return zero
        return below - 1 if below == unlabelled else below
    return negative


def in_order(task: Task) -> Task:
    """The task with its classes sorted, as users of scikit-learn expect, if they can be."""
    try:
        order = sorted(range(len(task.classes)), key=lambda c: task.classes[c])  # type: ignore[arg-type, return-value]
    except TypeError:
        return task
    classes = tuple(task.classes[c] for c in order)
    return Task(
        task.name, classes, task.labels, task.mask[order], task.own[order], task.tied[order]
    )


def _names(values: np.ndarray) -> list[Hashable]:
    """Labels as Python has them; dates stay as they are, since Python would change their type."""
    return list(values) if values.dtype.kind in "mM" else values.tolist()


def encode(task: Task, y: object, *, unlabelled: Hashable = None) -> IntArray:
    """Column of p(s|x) of each row's label, (N,)."""
    return _columns(task, encode_labels(y, _label_names(task), unlabelled=unlabelled))


def label_codes(task: Task, observed: ObservedLabels) -> IntArray:
    """Column of p(s|x) of each row's label, from labels that were read, (N,)."""
    return _columns(task, recode_labels(observed, _label_names(task)))


def _label_names(task: Task) -> tuple[Hashable, ...]:
    """Labels of the task without "unlabelled"."""
    return task.labels[1:] if task.has_unlabelled else task.labels


def _columns(task: Task, codes: IntArray) -> IntArray:
    """Columns of p(s|x), (N,), from places among the labels without "unlabelled", -1 for none."""
    if task.has_unlabelled:
        return codes + 1
    missing = codes < 0
    if missing.any():
        raise ValueError(
            f"y has {int(missing.sum())} unlabelled rows (first: row {int(missing.argmax())}), and "
            "the transition prior has no column for them. Give it one, called None."
        )
    return codes


def class_array(task: Task, values: np.ndarray) -> np.ndarray:
    """Names of the classes in the type of the labels, (C,)."""
    objects = objects_of(task.classes)
    if values.dtype.kind == "O" or not all(map(np.isscalar, task.classes)):
        return objects
    names = np.asarray(task.classes)
    if values.dtype.kind == names.dtype.kind or {values.dtype.kind, names.dtype.kind} == {"i", "u"}:
        # The name of the negative class may be out of the range of the labels.
        cast = names.astype(values.dtype) if values.dtype.kind in "biuf" else names
        return cast if (cast == names).all() else names
    return names if {values.dtype.kind, names.dtype.kind} <= set("iuf") else objects
