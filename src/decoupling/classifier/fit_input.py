"""The input of a fit: read, and refused if it cannot work.

Everything here is known before the first classifier is fitted, which may take long.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from decoupling._text import Message, listed
from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling._validation import check_count, check_evidence, check_flag, is_dask, warn_user
from decoupling.classifier.options import Options, is_prefit, known_noise
from decoupling.diagnostics.warnings import names_alike
from decoupling.fits.ensembles import known_classes
from decoupling.fits.folds import check_folds
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.row_weights import check_weights
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.inference.checks import check_options
from decoupling.labels.doubts import warn_of_index
from decoupling.labels.libraries import Library, library_of
from decoupling.labels.observed import ObservedLabels, encode_labels, read_labels
from decoupling.transitions._rates import allows_noise, check_balance
from decoupling.transitions.choice import choose_task, encode, label_codes
from decoupling.transitions.estimate import with_rates
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.tasks import Task


@dataclass(frozen=True, eq=False)
class FitInput:
    """What a classifier is fitted on, read and checked.

    Attributes
    ----------
    rows : GivenRows
        Features, codes of the labels, weights and known classes. The code of a label that the known
        class of its row cannot get is that of the class.
    task : Task
        Which labels each class may get.
    observed : ObservedLabels
        The labels that were given.
    labels_like : Library
        Library that the labels came in.
    """

    rows: GivenRows
    task: Task
    observed: ObservedLabels
    labels_like: Library

    @property
    def labelled(self) -> BoolArray:
        """Rows that have a label and any weight, (N,)."""
        first = int(self.task.has_unlabelled)
        return np.asarray((self.rows.codes >= first) & (self.rows.counts > 0))


def read_input(
    options: Options, X: Any, y: Any, sample_weight: Any, known_classes: Any
) -> FitInput:
    """Read labels, weights and known classes, and refuse what cannot be fitted."""
    observed = read_labels(y, unlabelled=options.unlabelled)
    task = task_of(
        options.task,
        observed,
        negative=options.negative,
        noise=options.noise,
        labelled=options.labelled,
        unlabelled=options.unlabelled,
    )
    codes = label_codes(task, observed)
    check_consistent_length(X, codes)
    warn_of_index(X, y=y, sample_weight=sample_weight, known_classes=known_classes)
    weight = check_weights(sample_weight, X)
    known = known_rows(task, codes, known_classes)
    rows = GivenRows(X, possible_codes(task, codes, known), weight, known)
    given = FitInput(rows, task, observed, library_of(y))
    _check_options(options, given)
    warn_user(names_alike(task, observed))
    if is_prefit(options.cv):
        prefit_columns(options.estimator, task, observed, options.unlabelled)
    elif options.cv is not None:
        check_folds(options.cv, len(codes))
    return given


def _check_options(options: Options, given: FitInput) -> None:
    """Refuse options that cannot work."""
    check_count("rounds", options.rounds, least=0)
    check_flag("calibrate", options.calibrate)
    check_flag("learn_transitions", options.learn_transitions)
    if not isinstance(options.verbose, bool):
        check_count("verbose", options.verbose, least=0)
    check_options(options.expected_log, options.order)
    if not isinstance(options.evidence, str):
        check_evidence("evidence", options.evidence)
    expected_shares(options.class_prior, given.task)
    if isinstance(options.class_prior, ClassPrior):
        options.class_prior.start(given.task.classes)
    if not given.rows.counts[given.observed.labelled].any():
        raise ValueError("sample_weight is 0 for every labelled row: no label is left.")
    check_every_label(
        options.task, given.task, given.rows.codes, labelled=options.labelled, noise=options.noise
    )


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
    """Codes of labels, (N,); a label that the known class cannot get becomes that of the class.

    A class without a label of its own leaves the row unlabelled.
    """
    impossible = (known >= 0) & ~task.mask[known, codes]
    if not task.has_unlabelled:
        impossible &= task.own[known] >= 0
    instead = np.where(task.own[known] < 0, 0, task.own[known])
    return np.where(impossible & task.mask[known, instead], instead, codes)


def at_one_rate(said: str | TransitionPrior, task: Task, *, labelled: Any) -> bool:
    """Whether all classes are labelled equally often, so that labelled rows are like the others.

    ``said`` is the task as the user gave it. Without a rate the task itself says it.
    """
    if isinstance(said, TransitionPrior):
        unlabelled = said.mean[:, 0]
    elif labelled is not None:
        unlabelled = with_rates(task, _anything(task), labelled, None)[:, 0]
    else:
        return task.rate_tied
    return bool(np.allclose(unlabelled, unlabelled[0]))


def _anything(task: Task) -> FloatArray:
    """T in which each class gets all the labels that it may get equally often, (C, S)."""
    return np.asarray(task.mask / task.mask.sum(axis=1, keepdims=True))


def check_every_label(
    said: str | TransitionPrior, task: Task, codes: IntArray, *, labelled: Any, noise: Any
) -> None:
    """Refuse labels that no class can get by what was said of T: its prior, or these rates."""
    if isinstance(said, TransitionPrior):
        possible = said.mean
    else:
        possible = with_rates(task, _anything(task), labelled, known_noise(noise))
    for s in np.flatnonzero(~possible.any(axis=0)):
        name = "unlabelled" if task.labels[s] is None else repr(task.labels[s])
        raise ValueError(
            Message(
                "impossible-label",
                "No class can get the label {label}, which {n} rows {of y |}have: p(label | class) "
                "is 0 for all. Correct {@labelled:=} and {@noise:=}{, or the TransitionPrior|}.",
                label=name,
                n=int((codes == s).sum()),
            )
        )


def expected_shares(class_prior: Any, task: Task) -> FloatArray | None:
    """Share of each class that the user expects, (C,); None if nothing was said of it."""
    if class_prior is None or isinstance(class_prior, ClassPrior):
        return None
    return check_balance("class_prior", class_prior, task.classes)


def prefit_columns(
    estimator: Any, task: Task, observed: ObservedLabels, unlabelled: Any
) -> IntArray:
    """Column of p(label | x) of each class of the fitted classifier, by name."""
    if estimator is None:
        raise ValueError('cv="prefit" needs a fitted classifier: pass it as estimator=.')
    if hasattr(estimator, "__sklearn_tags__"):  # others cannot be asked
        check_is_fitted(estimator)
    names = known_classes(estimator)
    try:
        columns = encode(task, names, unlabelled=unlabelled)
    except ValueError:
        raise ValueError(
            Message(
                "prefit-on-others",
                '{@cv:="prefit"}: the classifier knows {known}, and some of these are not among '
                "the labels {labels} of {y|the column of labels}. If y merely lacks them, name "
                "them in a TransitionPrior as task.",
                known=listed(names.tolist()),
                labels=listed(observed.values.tolist()),
            )
        ) from None
    labels = observed.values
    codes = encode_labels(labels, task.labels)
    absent = [label for label, s in zip(labels.tolist(), codes, strict=True) if s not in columns]
    if absent:
        raise ValueError(
            Message(
                "prefit-without-labels",
                '{@cv:="prefit"}: the classifier was not fitted on the labels {absent} of '
                "{y|the column of labels}; it knows {known}.",
                absent=absent,
                known=names.tolist(),
            )
        )
    return columns
