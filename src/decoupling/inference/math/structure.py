r"""Labels that one class alone can emit need no sum over classes.

Where :math:`T_{cs} = 0` for all classes but one, label s is *owned*:
:math:`X_{is} = Y_{ic} T_{cs}`, whose expected logarithm is a sum of two, and every count of the
label is one of its owner. Only the other labels, the *shared* ones, take matrix products with T.
Semi-supervised and positive-unlabelled labels are owned but for "unlabelled", and cost N C instead
of N C S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.inference.math import dirichlet


@dataclass(frozen=True, eq=False)
class LabelOwners:
    """Labels that one class alone can emit, and those that are shared.

    Indices that are consecutive are slices, so that columns are seen where they lie.

    Attributes
    ----------
    shape : tuple (C, S)
        Numbers of classes and labels.
    shared : int array or slice (S',)
        Labels that several classes can emit, or none.
    owned : int array or slice
        The other labels, by owner.
    owner : int array or slice
        The class of each owned label.
    first : int array or None
        Where the labels of each owner begin among the owned ones; None if none has several.
    """

    shape: tuple[int, int]
    shared: IntArray | slice
    owned: IntArray | slice
    owner: IntArray | slice
    first: IntArray | None

    @classmethod
    def of(cls, possible: BoolArray) -> LabelOwners:
        """Owners under a pattern of possible transitions, (C, S)."""
        single = np.count_nonzero(possible, axis=0) == 1
        labels = np.flatnonzero(single)
        owner = possible[:, labels].argmax(axis=0)
        by_owner = np.argsort(owner, kind="stable")
        owner = owner[by_owner]
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        return cls(
            (possible.shape[0], possible.shape[1]),
            _as_slice(np.flatnonzero(~single)),
            _as_slice(labels[by_owner]),
            _as_slice(owner),
            None if len(first) == len(owner) else first,
        )

    @property
    def nobody(self) -> bool:
        """Whether all labels are shared."""
        return isinstance(self.owned, slice) and self.owned.stop == 0

    def add_owned(self, class_counts: FloatArray, weight: FloatArray) -> None:
        """Add the weight of owned labels, of (N, S), to the counts of their owners, (N, C)."""
        if self.nobody:
            return
        owned = weight[:, self.owned]
        if self.first is None:
            class_counts[:, self.owner] += owned
        else:
            owners = np.asarray(self.owner)[self.first]
            class_counts[:, owners] += np.add.reduceat(owned, self.first, axis=1)

    def join(
        self, shared_logs: FloatArray, class_logs: FloatArray, owned_logs: FloatArray
    ) -> FloatArray:
        """E[ln X], (N, S), from that of shared labels, (N, S'), and the terms of the owned ones.

        These are E[ln Y], ``class_logs`` (N, C), and E[ln T] of the owner.
        """
        if self.nobody:
            return shared_logs
        out = np.empty((len(class_logs), self.shape[1]))
        out[:, self.shared] = shared_logs
        out[:, self.owned] = class_logs[:, self.owner] + owned_logs
        return out

    def pack(self, shared_counts: FloatArray, weight: FloatArray) -> FloatArray:
        """Counts of possible transitions, (P,): of shared labels, (C, S'), then of owned ones.

        An owned label counts with its ``weight``, (N, S), whatever the classes. So packed, counts
        of many blocks of rows add up without the zeros between them.
        """
        flat = shared_counts.reshape(-1)
        if self.nobody:
            return flat
        return np.concatenate([flat, dirichlet.row_sum(weight[:, self.owned].T)])

    def unpack(self, counts: FloatArray) -> FloatArray:
        """Packed counts as a matrix, (C, S)."""
        if self.nobody:
            return counts.reshape(self.shape)
        out = np.zeros(self.shape)
        classes, labels = (np.arange(n) for n in self.shape)
        owned = labels[self.owned]
        shared_counts, owned_counts = np.split(counts, [len(counts) - len(owned)])
        out[:, self.shared] = shared_counts.reshape(len(classes), -1)
        out[classes[self.owner], owned] = owned_counts
        return out


def _as_slice(index: IntArray) -> IntArray | slice:
    """Return indices as a slice if each is one more than the one before."""
    if len(index) == 0:
        return slice(0, 0)
    return slice(int(index[0]), int(index[-1]) + 1) if (np.diff(index) == 1).all() else index
