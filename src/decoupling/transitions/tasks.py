"""One pattern per labelling task: which labels a class may get, and which rates are equal."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import AnyArray, BoolArray, IntArray
from decoupling._validation import first_offence
from decoupling.transitions._names import Names, as_names, axis_names

__all__ = [
    "Task",
    "class_conditional_noise",
    "complementary",
    "custom",
    "multi_positive_unlabelled",
    "noisy",
    "positive_unlabelled",
    "semi_supervised",
    "supervised",
]

# A cell that is not tied to others, and the column of a class without a label of its own.
_NONE: Final = -1
# Groups of tied cells: those of "unlabelled", of the own label of each class, and of the others.
_UNLABELLED, _OWN, _OTHER = 0, 1, 2


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """Which labels each class may get, and which transitions are equal by assumption.

    Parameters
    ----------
    name : str
        Name of the task, such as ``"semi-supervised"``.
    classes : tuple of length C
        Names of the classes; None is not a class.
    labels : tuple of length S
        Names of the labels; ``labels[0]`` is None, "unlabelled", where the task has it.
    mask : (C, S) array of bool
        Possible transitions: whether class c may get label s.
    own : (C,) array of int
        Column of the class's own label, -1 if it has none that it may get.
    tied : (C, S) array of int
        Cells with the same number are equal by assumption; -1 is free. A number that occurs in
        several classes must occur equally often in all of them.

    Examples
    --------
    >>> from decoupling import TransitionPrior
    >>> TransitionPrior.positive_unlabelled().task.mask  # negatives are always unlabelled
    array([[ True, False],
           [ True,  True]])
    """

    name: str
    classes: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    mask: BoolArray = field(repr=False)
    own: IntArray = field(repr=False)
    tied: IntArray = field(repr=False)

    def __post_init__(self) -> None:
        for name, dtype in (("mask", np.bool_), ("own", np.int64), ("tied", np.int64)):
            object.__setattr__(self, name, _read_only(getattr(self, name), dtype))
        _check_mask(self.mask)
        n_classes, n_labels = self.mask.shape
        object.__setattr__(self, "classes", axis_names("classes", self.classes, n_classes, "mask"))
        object.__setattr__(self, "labels", axis_names("labels", self.labels, n_labels, "mask"))
        _check_tied(self)

    @property
    def has_unlabelled(self) -> bool:
        """Whether column 0 is "unlabelled"."""
        return self.labels[0] is None

    @property
    def clean(self) -> bool:
        """Whether labels are never wrong: no class can get a label that is not its own."""
        wrong = self.labelled_mask
        rows = np.flatnonzero(self.own >= 0)
        wrong[rows, self.own[rows]] = False
        return not wrong.any()

    @property
    def complete(self) -> bool:
        """Whether every class has a label of its own."""
        return bool((self.own >= 0).all())

    @property
    def rate_tied(self) -> bool:
        """Whether p(labelled | class) is the same for all classes by assumption."""
        group = self.tied[:, 0]
        return not self.has_unlabelled or bool(group[0] >= 0 and (group == group[0]).all())

    @property
    def labelled_mask(self) -> BoolArray:
        """Possible transitions to other than "unlabelled", (C, S); a copy."""
        mask = self.mask.copy()
        if self.has_unlabelled:
            mask[:, 0] = False
        return mask

    @property
    def shared(self) -> BoolArray:
        """Cells that are tied to a cell of another class, (C, S)."""
        rows, columns = np.nonzero(self.tied >= 0)
        groups = self.tied[rows, columns]
        once = np.unique(np.stack([groups, rows]), axis=1)  # each group once in each of its classes
        shared = np.zeros_like(self.mask)
        shared[rows, columns] = np.bincount(once[0])[groups] > 1
        return shared


def supervised(classes: Names) -> Task:
    """Every sample has the label of its class."""
    n = len(classes)
    return _square("supervised", classes, np.eye(n, dtype=bool), np.full((n, n), _NONE), False)


def semi_supervised(classes: Names) -> Task:
    """A sample has the label of its class or none, at the same rate in every class."""
    n = len(classes)
    return _square("semi-supervised", classes, np.eye(n, dtype=bool), np.full((n, n), _OWN), True)


def positive_unlabelled(positive: Hashable = 1, negative: Hashable = 0) -> Task:
    """Some positives are labelled, no negatives; classes are (negative, positive)."""
    task = multi_positive_unlabelled([positive], negative)
    return replace(task, name="positive-unlabelled")


def multi_positive_unlabelled(
    positives: Names, negative: Hashable = "negative", noise: bool = False
) -> Task:
    """Some samples of each positive class are labelled, none of the negative class, which is first.

    With `noise` a positive may get the label of every positive: for each class, all wrong labels
    are equally likely.
    """
    positives = as_names("positives", positives)
    n_classes = len(positives) + 1
    own = np.arange(n_classes)
    own_cell = np.eye(n_classes, dtype=bool)
    mask = own_cell | noise
    mask[:, 0] = True
    mask[0, 1:] = False
    wrong = mask & ~own_cell
    wrong[:, 0] = False
    tied = np.where(wrong, own[:, None], _NONE)  # a group per class
    own[0] = _NONE
    classes, labels = (negative, *positives), (None, *positives)
    return Task("multi-positive-unlabelled", classes, labels, mask, own, tied)


def noisy(classes: Names, unlabelled: bool = False) -> Task:
    """Labels are wrong at the same rate in every class, and all wrong labels equally likely."""
    n = len(classes)
    groups = np.where(np.eye(n, dtype=bool), _OWN, _OTHER)
    return _square("noisy", classes, np.ones((n, n), dtype=bool), groups, unlabelled)


def class_conditional_noise(classes: Names, unlabelled: bool = False) -> Task:
    """Each class has wrong labels at rates of its own; only the rate of labelling is shared."""
    n = len(classes)
    every, free = np.ones((n, n), dtype=bool), np.full((n, n), _NONE)
    return _square("class-conditional-noise", classes, every, free, unlabelled)


def complementary(classes: Names, unlabelled: bool = False) -> Task:
    """A label says what the sample is not: any class but its own, all equally likely."""
    n = len(classes)
    if n < 2:
        raise ValueError(f"complementary labels need at least 2 classes; got {n}.")
    mask = ~np.eye(n, dtype=bool)
    return _square("complementary", classes, mask, np.full((n, n), _OTHER), unlabelled)


def custom(mask: ArrayLike, classes: Names, labels: Names) -> Task:
    """The transitions of `mask` (C, S) are possible; a class owns the label of the same name.

    Nothing is tied. A label of the same name that the class cannot get is not its own: it says what
    a sample is not.
    """
    cells = np.asarray(mask, dtype=bool)
    _check_mask(cells)
    same = np.array([[c == s for s in labels] for c in classes], dtype=bool)
    if same.shape != cells.shape:
        raise ValueError(f"mask has shape {cells.shape}; classes by labels is {same.shape}.")
    same &= cells
    own = np.where(same.any(axis=1), same.argmax(axis=1), _NONE)
    tied = np.full(cells.shape, _NONE)
    return Task("custom", tuple(classes), tuple(labels), cells, own, tied)


def _square(name: str, classes: Names, mask: BoolArray, groups: IntArray, unlabelled: bool) -> Task:
    """Task whose labels are its classes, cells (C, C), with or without a tied unlabelled column."""
    names = as_names("classes", classes)
    own = np.where(np.diagonal(mask), np.arange(len(names)), _NONE)
    tied = np.where(mask, groups, _NONE)
    if not unlabelled:
        return Task(name, names, names, mask, own, tied)
    mask = np.pad(mask, ((0, 0), (1, 0)), constant_values=True)
    tied = np.pad(tied, ((0, 0), (1, 0)), constant_values=_UNLABELLED)
    return Task(name, names, (None, *names), mask, np.where(own >= 0, own + 1, _NONE), tied)


def _read_only(values: AnyArray, dtype: type[np.generic]) -> AnyArray:
    copy = np.array(values, dtype=dtype)
    copy.flags.writeable = False
    return copy


def _check_mask(mask: BoolArray) -> None:
    if mask.ndim != 2 or mask.size == 0:
        raise ValueError(f"mask must have shape (classes, labels); got {mask.shape}.")
    empty = np.asarray(~mask.any(axis=1))
    advice = "Every class needs a label that it may get, if only unlabelled."
    first_offence("mask", mask.sum(axis=1), empty, "the number of labels of a class", advice)


def _check_tied(task: Task) -> None:
    """Refuse ties that no T can obey together with rows that sum to 1 for any data."""
    tied = task.tied
    if tied.shape != task.mask.shape:
        raise ValueError(f"tied must have the shape of mask, {task.mask.shape}; got {tied.shape}.")
    impossible = (tied >= 0) & ~task.mask
    first_offence("tied", tied, impossible, "the group of an impossible transition", "Use -1.")
    shared = np.sort(np.where(task.shared, tied, _NONE), axis=1)
    rest = np.asarray((task.mask & ~task.shared).any(axis=1))
    if (shared != shared[0]).any() or (rest != rest[0]).any():
        raise ValueError(
            "tied: a group that several classes share must have as many cells in every class, and "
            "all classes or none must have possible transitions besides the shared ones."
        )
