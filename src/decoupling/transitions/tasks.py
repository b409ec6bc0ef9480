"""One pattern per labelling task: which labels a class may get, and which rates are equal."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import as_float, first_offence
from decoupling.transitions._rates import Names, as_names, check_names

__all__ = [
    "Task",
    "class_conditional_noise",
    "complementary",
    "custom",
    "multi_positive_unlabelled",
    "noisy",
    "positive_unlabelled",
    "project",
    "semi_supervised",
    "supervised",
]

# Numbers of the groups of tied cells; a free cell, or a class without a label of its own, has NONE.
NONE, UNLABELLED, OWN, OTHER = -1, 0, 1, 2


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
        object.__setattr__(self, "classes", check_names("classes", self.classes, n_classes, "mask"))
        object.__setattr__(self, "labels", check_names("labels", self.labels, n_labels, "mask"))
        _check_tied(self)

    @property
    def has_unlabelled(self) -> bool:
        """Whether column 0 is "unlabelled"."""
        return self.labels[0] is None

    @property
    def clean(self) -> bool:
        """Whether labels are never wrong: no class can get a label that is not its own."""
        wrong = self._labelled_mask
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
    def _labelled_mask(self) -> BoolArray:
        """Possible transitions to other than "unlabelled", (C, S); a copy."""
        mask = self.mask.copy()
        if self.has_unlabelled:
            mask[:, 0] = False
        return mask

    @property
    def _shared(self) -> BoolArray:
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
    return _square("supervised", classes, np.eye(n, dtype=bool), np.full((n, n), NONE), False)


def semi_supervised(classes: Names) -> Task:
    """A sample has the label of its class or none, at the same rate in every class."""
    n = len(classes)
    return _square("semi-supervised", classes, np.eye(n, dtype=bool), np.full((n, n), OWN), True)


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
    tied = np.where(wrong, own[:, None], NONE)  # a group per class
    own[0] = NONE
    classes, labels = (negative, *positives), (None, *positives)
    return Task("multi-positive-unlabelled", classes, labels, mask, own, tied)


def noisy(classes: Names, unlabelled: bool = False) -> Task:
    """Labels are wrong at the same rate in every class, and all wrong labels equally likely."""
    n = len(classes)
    groups = np.where(np.eye(n, dtype=bool), OWN, OTHER)
    return _square("noisy", classes, np.ones((n, n), dtype=bool), groups, unlabelled)


def class_conditional_noise(
    classes: Names, unlabelled: bool = False, mask: ArrayLike | None = None
) -> Task:
    """Each class has wrong labels at rates of its own; only the rate of labelling is shared.

    `mask` (C, C) says which labels a class may get, all by default; each class needs one.
    """
    n = len(classes)
    cells = np.ones((n, n), dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if cells.shape != (n, n):
        raise ValueError(f"mask must have shape ({n}, {n}), classes by classes; got {cells.shape}.")
    _check_mask(cells)
    groups = np.full((n, n), NONE)
    return _square("class-conditional-noise", classes, cells, groups, unlabelled)


def complementary(classes: Names, unlabelled: bool = False) -> Task:
    """A label says what the sample is not: any class but its own, all equally likely."""
    n = len(classes)
    if n < 2:
        raise ValueError(f"complementary labels need at least 2 classes; got {n}.")
    mask = ~np.eye(n, dtype=bool)
    return _square("complementary", classes, mask, np.full((n, n), OTHER), unlabelled)


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
    own = np.where(same.any(axis=1), same.argmax(axis=1), NONE)
    tied = np.full(cells.shape, NONE)
    return Task("custom", tuple(classes), tuple(labels), cells, own, tied)


def project(task: Task, counts: ArrayLike) -> FloatArray:
    r"""Turn counts of labels per class, or a rough T, into a T that obeys `task`.

    With :math:`M_c` the labels other than unlabelled that class c may get, counts :math:`n_{cs}`
    become

    .. math::

        T_{c0} = \frac{n_{c0}}{\sum_s n_{cs}}, \qquad
        T_{cs} = (1 - T_{c0}) \frac{n_{cs}}{\sum_{t \in M_c} n_{ct}} \quad (s \in M_c),

    equal shares where the last sum is 0: p(labelled | class) is kept, and what was counted for
    impossible labels goes to the possible ones. Without an unlabelled label :math:`T_{c0} = 0` in
    the second formula; a class that can only be unlabelled has :math:`T_{c0} = 1`. Then each group
    G of tied cells takes its mean over the classes that have counts,

    .. math:: T_{cs} \leftarrow \frac{1}{|G|} \sum_{(d, t) \in G} T_{dt} \quad ((c, s) \in G),

    and cells that are not shared between classes are scaled to what the shared ones leave of their
    row. A class without any counts takes the shared cells of the others, and is uniform over its
    possible labels in the rest.

    Parameters
    ----------
    task : Task
        The pattern to obey.
    counts : array-like (C, S)
        Counts or probabilities, at least 0.

    Returns
    -------
    (C, S) array
        Rows sum to 1, impossible transitions are 0, tied ones are equal. A T that obeys the task
        already is returned as it is, to rounding.

    Examples
    --------
    Three of the 40 labels of class "a" are impossible; it is still labelled 4 times in 10:

    >>> project(multi_positive_unlabelled(["a", "b"]), [[50, 0, 0], [60, 37, 3], [20, 0, 20]])
    array([[1. , 0. , 0. ],
           [0.6, 0.4, 0. ],
           [0.5, 0. , 0.5]])
    """
    rows = _check_counts(task, counts)
    seen = np.asarray(rows.any(axis=1))
    uniform = _shares(np.zeros_like(rows), task.mask)
    transitions = np.where(seen[:, None], _obey_mask(task, rows), uniform)
    return _fill_rows(task, _pool(task.tied, transitions, seen))


def _obey_mask(task: Task, rows: FloatArray) -> FloatArray:
    """Rows sum to 1 and are 0 outside the mask; p(labelled | class) is that of `rows`."""
    labelled = task._labelled_mask
    unlabelled = np.zeros(len(rows))
    if task.has_unlabelled:
        share = _shares(rows, np.ones_like(task.mask))[:, 0]
        unlabelled = np.where(labelled.any(axis=1), np.where(task.mask[:, 0], share, 0.0), 1.0)
    transitions = (1 - unlabelled)[:, None] * _shares(rows, labelled)
    transitions[:, 0] += unlabelled
    return transitions


def _pool(tied: IntArray, transitions: FloatArray, seen: BoolArray) -> FloatArray:
    """Give each group of tied cells its mean over the classes in `seen`, over all if none is."""
    cells = tied >= 0
    groups = tied[cells]
    weight = np.broadcast_to(seen[:, None], tied.shape)[cells].astype(np.float64)
    weight[np.bincount(groups, weight)[groups] == 0] = 1.0
    total = np.bincount(groups, weight * transitions[cells])
    pooled = transitions.copy()
    pooled[cells] = total[groups] / np.bincount(groups, weight)[groups]
    return pooled


def _fill_rows(task: Task, transitions: FloatArray) -> FloatArray:
    """Keep the cells that classes share, and scale the others to the rest of their row."""
    shared = task._shared
    fixed = np.where(shared, transitions, 0.0)
    # Rounding may bring the shared cells above 1 by a hair.
    rest = np.maximum(1 - fixed.sum(axis=1, keepdims=True), 0.0)
    return np.asarray(fixed + rest * _shares(transitions, task.mask & ~shared))


def _shares(values: FloatArray, cells: BoolArray) -> FloatArray:
    """Each row's values within `cells` over their sum; equal shares if that is 0; 0 elsewhere."""
    inside = np.where(cells, values, 0.0)
    inside = np.where(inside.any(axis=1, keepdims=True), inside, cells)
    largest = inside.max(axis=1, keepdims=True)
    # By the largest first, so that sums of huge or of tiny counts stay within range.
    inside = inside / np.where(largest > 0, largest, 1.0)
    total = inside.sum(axis=1, keepdims=True)
    return np.asarray(inside / np.where(total > 0, total, 1.0))


def _square(name: str, classes: Names, mask: BoolArray, groups: IntArray, unlabelled: bool) -> Task:
    """Task whose labels are its classes, cells (C, C), with or without a tied unlabelled column."""
    names = as_names("classes", classes)
    own = np.where(np.diagonal(mask), np.arange(len(names)), NONE)
    tied = np.where(mask, groups, NONE)
    if not unlabelled:
        return Task(name, names, names, mask, own, tied)
    mask = np.pad(mask, ((0, 0), (1, 0)), constant_values=True)
    tied = np.pad(tied, ((0, 0), (1, 0)), constant_values=UNLABELLED)
    return Task(name, names, (None, *names), mask, np.where(own >= 0, own + 1, NONE), tied)


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
    shared = np.sort(np.where(task._shared, tied, NONE), axis=1)
    rest = np.asarray((task.mask & ~task._shared).any(axis=1))
    if (shared != shared[0]).any() or (rest != rest[0]).any():
        raise ValueError(
            "tied: a group that several classes share must have as many cells in every class, and "
            "all classes or none must have possible transitions besides the shared ones."
        )


def _check_counts(task: Task, counts: ArrayLike) -> FloatArray:
    rows = as_float("counts", counts, ndim=2)
    if rows.shape != task.mask.shape:
        raise ValueError(f"counts must have shape {task.mask.shape}; got {rows.shape}.")
    bad = ~(np.isfinite(rows) & (rows >= 0))
    first_offence("counts", rows, bad, "negative or not finite", "Counts are at least 0.")
    return rows
