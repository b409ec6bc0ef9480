"""What a classifier is given to fit: read, and refused if it cannot work.

Everything here is known before the first fit, which may take long.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from decoupling._text import listed
from decoupling._typing import FloatArray, IntArray
from decoupling._validation import SUM_TOLERANCE, is_dask
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.labels.observed import ObservedLabels, encode_labels
from decoupling.transitions._rates import allows_noise, check_rates, is_auto
from decoupling.transitions.choice import choose_task, encode
from decoupling.transitions.estimate import with_rates
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.tasks import Task


@dataclass(frozen=True, eq=False)
class FitInput:
    """Rows, and what is said of each.

    Attributes
    ----------
    X : array-like, dataframe or sparse matrix (N, D)
        Rows.
    codes : array (N,)
        Column of p(label | x) of each row's label.
    weight : array (N,) or None
        How many equal rows each row stands for, if that was said.
    known : array (N,)
        Row of T of each row's class where it is known, -1 elsewhere.
    """

    X: Any
    codes: IntArray
    weight: FloatArray | None
    known: IntArray

    @cached_property
    def counts(self) -> FloatArray:
        """How many equal rows each row stands for, (N,)."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight


def is_prefit(cv: Any) -> bool:
    """Whether the classifier is taken as it was fitted elsewhere."""
    return isinstance(cv, str) and cv == "prefit"


def check_chunks(X: Any, cv: Any) -> None:
    """Refuse rows of Dask for a classifier that is yet to be fitted."""
    if is_dask(X) and not is_prefit(cv):
        raise ValueError(
            "X is a collection of Dask, on which classifiers are not fitted here. Fit one "
            'elsewhere, on a sample or with one made for Dask, and pass it with cv="prefit": '
            "it then predicts chunk by chunk. Or compute X, if it fits into memory; or pass "
            "p(label | x) of your own to decoupling.infer."
        )


def task_of(
    task: str | TransitionPrior,
    observed: ObservedLabels,
    *,
    negative: Hashable,
    noise: Any,
    labelled: Any,
    unlabelled: Any,
) -> Task:
    """The task that was named, or that of a `TransitionPrior`, which leaves nothing to say of T."""
    if not isinstance(task, TransitionPrior):
        return choose_task(
            task, observed, negative=negative, noise=allows_noise(noise), unlabelled=unlabelled
        )
    for name, value in (("noise", noise), ("labelled", labelled)):
        if value is not None:
            raise ValueError(
                f"{name}= was passed along with a TransitionPrior as task, which already "
                f"says it: leave {name} out, or put it into the prior."
            )
    return task.task


def known_rows(task: Task, codes: IntArray, known_classes: Any) -> IntArray:
    """Row of T of each row's class where it is known, -1 elsewhere, (N,)."""
    if known_classes is None:
        return np.full(len(codes), -1)
    check_consistent_length(codes, known_classes)
    return encode_labels(known_classes, task.classes, name="known_classes")


def possible_codes(task: Task, codes: IntArray, known: IntArray) -> IntArray:
    """Labels that the known classes can have, (N,); else that of the class, or none."""
    impossible = (known >= 0) & ~task.mask[known, codes]
    if not task.has_unlabelled:
        impossible &= task.own[known] >= 0
    instead = np.where(task.own[known] < 0, 0, task.own[known])
    return np.where(impossible & task.mask[known, instead], instead, codes)


def known_noise(noise: Any) -> Any:
    """The noise that was given in numbers, or None."""
    return None if is_auto(noise) else noise


def check_every_label(
    said: str | TransitionPrior, task: Task, codes: IntArray, *, labelled: Any, noise: Any
) -> None:
    """Refuse labels that no class can get by what was said of T: its prior, or these rates."""
    if isinstance(said, TransitionPrior):
        possible = said.mean
    else:
        anything = task.mask / task.mask.sum(axis=1, keepdims=True)
        possible = with_rates(task, anything, labelled, known_noise(noise))
    for s in np.flatnonzero(~possible.any(axis=0)):
        name = "unlabelled" if task.labels[s] is None else repr(task.labels[s])
        raise ValueError(
            f"No class can get the label {name}, which {int((codes == s).sum())} rows of y "
            "have: p(label | class) is 0 for all. Correct labelled= and noise=, or the "
            "TransitionPrior."
        )


def expected_shares(class_prior: Any, task: Task) -> FloatArray | None:
    """Share of each class that the user expects, (C,); None if nothing was said of it."""
    if class_prior is None or isinstance(class_prior, ClassPrior):
        return None
    shares = check_rates("class_prior", class_prior, task.classes)
    if abs(shares.sum() - 1.0) > SUM_TOLERANCE:
        raise ValueError(
            f"class_prior must sum to 1 over the classes {listed(task.classes)}; its "
            f"sum is {shares.sum():.6g}."
        )
    return shares


def prefit_columns(
    estimator: Any, task: Task, observed: ObservedLabels, unlabelled: Any
) -> IntArray:
    """Column of p(label | x) of each class of the fitted classifier, by name."""
    if estimator is None:
        raise ValueError('cv="prefit" needs a fitted classifier: pass it as estimator=.')
    check_is_fitted(estimator)
    names = estimator.classes_
    try:
        columns = encode(task, names, unlabelled=unlabelled)
    except ValueError:
        raise ValueError(
            f'cv="prefit": the classifier knows {listed(names.tolist())}, and some of these '
            f"are not among the labels {listed(observed.values.tolist())} of y. If y "
            "merely lacks them, name them in a TransitionPrior as task."
        ) from None
    labels = observed.values
    codes = encode_labels(labels, task.labels)
    absent = [label for label, s in zip(labels.tolist(), codes, strict=True) if s not in columns]
    if absent:
        raise ValueError(
            f'cv="prefit": the classifier was not fitted on the labels {absent} of y; it knows '
            f"{names.tolist()}."
        )
    return columns
