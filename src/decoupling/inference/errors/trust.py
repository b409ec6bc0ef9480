"""Whether an answer may be wrong: reasons from T, from its prior and from where the rows are."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling.diagnostics.reasons import (
    AT_PRIOR,
    identifiability,
    too_sure,
    top_counts,
    unexpected_labels,
)
from decoupling.diagnostics.record import Reason
from decoupling.inference.ascent.state import Gamma
from decoupling.inference.errors.reported import LearnedTransitions
from decoupling.inference.math import dirichlet
from decoupling.inference.rows.sample import RowSample
from decoupling.inference.rows.storage import in_blocks
from decoupling.transitions.tasks import custom


def told_apart(
    learned: LearnedTransitions,
    class_prior: Gamma,
    classes: tuple[Hashable, ...],
    labels: tuple[Hashable, ...],
) -> Reason:
    """Whether labels tell the classes apart."""
    prior, mean = learned.prior, learned.prior.mean()
    own = custom(mean > 0, classes, labels).own
    # Names alone, which may be mere numbers, do not make a label the class's own: the prior
    # has to say so, too. None is nobody's.
    said = np.where([label is None for label in labels], 0.0, mean)
    mine = said[np.arange(len(own)), own]
    owns = (own >= 0) & (mine >= said[:, own].max(axis=0)) & (mine >= said.max(axis=1))
    gamma, _, share = class_prior.fixed
    told = np.column_stack(
        [mean, prior.total, prior.known, gamma if share is None else share * gamma]
    )
    transitions = learned.posterior.mean()[:, prior.possible_labels]
    return identifiability(classes, np.where(owns, own, -1), transitions, told)


def surprises(
    learned: LearnedTransitions, sample: RowSample, labels: tuple[Hashable, ...], n_rows: float
) -> tuple[Reason | None, Reason | None]:
    """Labels whose share the prior has as good as excluded, and p(label | x) that is too sure."""
    lower, upper = learned.prior_interval()
    possible = learned.posterior.possible_labels
    seen = sample.share @ dirichlet.mean(sample.weight)  # (S,)
    sureness = sample.share @ dirichlet.mean(sample.weight).max(axis=1)
    names = [name for name, can_be in zip(labels, possible, strict=True) if can_be]
    least, most = lower[:, possible].min(axis=0), upper[:, possible].max(axis=0)
    return (
        unexpected_labels(names, seen, least, most, n_rows),
        too_sure(float(sureness), float(upper.max())),
    )


def where_rows_are(
    class_concentration: AnyArray, row_counts: FloatArray, class_prior: FloatArray
) -> tuple[IntArray, float]:
    """Rows of which each class is the most probable one, (C,), and the share still at the prior.

    ``class_concentration`` is Pi, (N, C), wherever it is, ``class_prior`` gamma, (C,).
    """
    top, at_prior, first = np.zeros(len(class_prior), dtype=np.int64), 0.0, 0
    prior = class_prior / class_prior.sum()
    for block in in_blocks(class_concentration):
        proba = dirichlet.mean(block)
        top += top_counts(proba)
        still = np.abs(proba - prior).max(axis=1) < AT_PRIOR
        at_prior += float(row_counts[first : first + len(block)] @ still)
        first += len(block)
    return top, at_prior / float(row_counts.sum())
