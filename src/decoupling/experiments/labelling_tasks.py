"""The paper's labelling tasks: clean classes in, labels out.

They draw labels for its experiments. The tasks that can be solved are in `transitions.tasks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import FloatArray, IntArray

# Label of rows without one.
UNLABELLED: Final = -1
# Name of the class of all rows that are never labelled.
NEGATIVE: Final = -2


@dataclass(frozen=True)
class LabellingTask:
    """A way in which labels come about.

    Attributes
    ----------
    name : str
        As on the command line.
    title : str
        As over a figure.
    task : str
        As `DecouplingClassifier` has it.
    positives : int or None
        Classes 1 to this number can be labelled and the others are negative; None: all can.
    noise : float
        p(wrong label | class, labelled).
    downwards : bool
        Whether wrong labels are those of classes with lower numbers only.
    """

    name: str
    title: str
    task: str
    positives: int | None = None
    noise: float = 0.0
    downwards: bool = False

    def suits(self, n_classes: int) -> bool:
        """Whether there are enough classes: one negative at least."""
        return self.positives is None or self.positives < n_classes

    def targets(self, classes: IntArray) -> IntArray:
        """Classes that the task tells apart, (N,): the others become negative."""
        if self.positives is None:
            return classes
        positive = (classes >= 1) & (classes <= self.positives)
        return np.where(positive, classes, NEGATIVE)

    def scored(self, n_classes: int) -> IntArray:
        """Classes that macro-F1 is taken over: all, or the positive ones."""
        if self.positives is None:
            return np.arange(n_classes)
        return np.arange(1, self.positives + 1)

    def confusion(self, n_classes: int) -> FloatArray:
        """p(label | class, labelled) over the scored classes, (K, K)."""
        size = len(self.scored(n_classes))
        others = np.tril(np.ones((size, size)), -1) if self.downwards else 1.0 - np.eye(size)
        number = others.sum(axis=1, keepdims=True)
        wrong = self.noise * others / np.maximum(number, 1.0)
        return np.asarray(wrong + np.diag(1.0 - wrong.sum(axis=1)))

    def counts(self, classes: IntArray, n_classes: int, labels: int) -> IntArray:
        """Samples of each scored class that get a label, (K,).

        ``labels`` of the smallest class, and the same share of the others, since the tasks have it
        that a label is as likely in every class.
        """
        size = np.bincount(classes, minlength=n_classes)
        numbers = np.rint(labels * size / size.min()).astype(np.int64)
        return np.asarray(numbers[self.scored(n_classes)])

    def draw(self, classes: IntArray, n_classes: int, labels: int, run: int) -> IntArray:
        """Labels of some samples of each class that can have one, (N,); -1: none.

        The samples that have labels among 100 are among those that have them among 200.
        """
        rng = np.random.default_rng([run, *self.name.encode()])
        scored = self.scored(n_classes)
        given = np.full(len(classes), UNLABELLED)
        confusion = self.confusion(n_classes)
        order = rng.permutation(len(classes))
        drawn = rng.random(len(classes))
        for row, count in enumerate(self.counts(classes, n_classes, labels)):
            chosen = order[classes[order] == scored[row]][:count]
            # Each sample has its own number for its noise, whatever else is labelled.
            bounds = confusion[row].cumsum()[:-1]
            given[chosen] = scored[(drawn[chosen, None] >= bounds).sum(axis=1)]
        return given

    def transitions(self, classes: IntArray, n_classes: int, labels: int) -> FloatArray:
        """T = p(label | class), (C, S): unlabelled first; the negative class first."""
        size = np.bincount(classes, minlength=n_classes)[self.scored(n_classes)]
        share = (self.counts(classes, n_classes, labels) / size)[:, None]
        T = np.hstack([1.0 - share, share * self.confusion(n_classes)])
        if self.positives is None:
            return np.asarray(T)
        return np.vstack([np.eye(1, T.shape[1]), T])


# Tasks by name. Shares of noise and numbers of positive classes are the paper's.
TASKS: Final = {
    task.name: task
    for task in (
        LabellingTask("semi", "Semi-supervised", "semi-supervised"),
        LabellingTask("noise20", "20% noise", "noisy", noise=0.2),
        LabellingTask("noise50", "50% noise", "noisy", noise=0.5),
        LabellingTask(
            "conditional", "22% noise to lower classes", "class-conditional-noise",
            noise=0.22, downwards=True,
        ),
        LabellingTask("pu", "Positive-unlabelled", "positive-unlabelled", positives=1),
        LabellingTask(
            "pu3", "3 positives, unlabelled", "multi-positive-unlabelled", positives=3
        ),
        LabellingTask(
            "pu7", "7 positives, unlabelled", "multi-positive-unlabelled", positives=7
        ),
    )
}  # fmt: skip
