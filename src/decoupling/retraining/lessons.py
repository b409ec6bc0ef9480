"""Fits on classes: every row as a member of each class that it may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from decoupling._typing import FloatArray, IntArray
from decoupling.fits.ensembles import Ensemble, Training
from decoupling.fits.folds import Fold
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.shielding import own_rows
from decoupling.retraining.trusted_rows import in_expected_shares, training_weights
from decoupling.transitions.conditional import certain_where_known, label_conditional
from decoupling.transitions.tasks import Task

# Share of the weight of a row. A copy of the row with less than this is not worth its time.
_NEGLIGIBLE: Final = 0.01


class Lesson(NamedTuple):
    """What a fold trains on.

    Attributes
    ----------
    members : array (N, C)
        How much each row counts as a member of each class; 0 where the fold may not see the row.
    expected : array (C,)
        Expected number of rows of each class among those that the fold may see.
    """

    members: FloatArray
    expected: FloatArray

    def for_classifier(self, training: Training) -> FloatArray:
        """Members in the expected shares of the classes, if the classifier takes weights, (N, C).

        Without weights a row is kept or not, and a scale would thin rows out.
        """
        return in_expected_shares(*self) if training.takes_weights else self.members


def lesson_of(
    task: Task,
    class_proba: FloatArray,
    transitions: FloatArray,
    given: GivenRows,
    seen: IntArray,
    *,
    with_unlabelled: bool,
) -> Lesson:
    """Choose what can be trusted among the rows that a fold may see.

    Rows of a known class train as members of it, whatever their label is.
    """
    codes, weight, known = given.codes[seen], given.counts[seen], given.known_class[seen]
    members = np.zeros_like(class_proba)
    conditional = label_conditional(class_proba[seen], transitions, codes)
    members[seen] = training_weights(
        task, conditional, codes, weight, with_unlabelled=with_unlabelled
    )
    conditional = certain_where_known(conditional, known)
    certain = known >= 0
    members[seen[certain]] = weight[certain, None] * conditional[certain]
    return Lesson(members, conditional.T @ weight)


def fit_each(
    training: Training, X: Any, members: Sequence[FloatArray], folds: Sequence[Sequence[Fold]]
) -> list[Ensemble]:
    """Fit classifiers of classes: for each array of members, one for each of its folds."""
    one_by_one = Training(training.estimator, training.fit_params)
    return list(
        Parallel(n_jobs=training.n_jobs)(
            delayed(fit_classes)(one_by_one, X, each, some)
            for each, some in zip(members, folds, strict=True)
        )
    )


def fit_classes(training: Training, X: Any, members: FloatArray, folds: Sequence[Fold]) -> Ensemble:
    """Fit one classifier per fold on every row as a member of each class that it may have.

    A classifier that takes no weights gets each row once, in the class of which it is most a
    member, if the row has more than half of a weight of 1.
    """
    n_rows, n_classes = members.shape
    if training.takes_weights:
        rows, classes = np.nonzero(members > _NEGLIGIBLE * members.sum(axis=1, keepdims=True))
        weight: FloatArray | None = members[rows, classes]
    else:
        rows = np.flatnonzero(members.sum(axis=1) > 0.5)
        classes, weight = members[rows].argmax(axis=1), None
    copies = [Fold(np.flatnonzero(np.isin(rows, fold.fit)), fold.predict) for fold in folds]
    spread = Training(training.estimator, training.params_of(rows, n_rows), training.n_jobs)
    return spread.ensemble(own_rows(X, rows), classes, weight, copies, n_classes)
