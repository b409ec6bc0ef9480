"""Steps of `DecouplingClassifier.fit`, in their order, as functions of records.

They read the options of the estimator and never change it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from sklearn.utils import check_consistent_length

from decoupling._text import Message, message_of
from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling._validation import check_count, check_evidence, warn_user
from decoupling.classifier.fit_input import (
    FitInput,
    at_one_rate,
    check_every_label,
    expected_shares,
    is_prefit,
    known_noise,
    known_rows,
    possible_codes,
    prefit_columns,
    task_of,
)
from decoupling.diagnostics.warnings import IdentifiabilityWarning, few_rows, unseen_classes
from decoupling.fits.ensembles import ClassifierError, Training
from decoupling.fits.estimators import check_weights
from decoupling.fits.folds import Fold, check_fold_weights, check_folds, make_folds
from decoupling.fits.nested import NestedFold, nest
from decoupling.fits.plan import IN_ROUNDS, NOT_AGAIN, ON_RIGHT_LABELS, FitPlan, plan_fits
from decoupling.fits.rows import GivenRows
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.inference.infer import check_options, infer
from decoupling.inference.posterior import Posterior
from decoupling.label_model.forms import LabelSet
from decoupling.label_model.model import (
    LabelModel,
    fit_label_model,
    fits_per_fold,
    prefit_label_model,
    warn_if_by_heart,
)
from decoupling.labels.frames import library_of
from decoupling.labels.observed import read_labels
from decoupling.retraining.answer import Retrained, names_beside, parts_beside
from decoupling.retraining.rounds import Rounds, retrain
from decoupling.transitions.choice import label_codes
from decoupling.transitions.estimate import estimated_prior, never_impossible
from decoupling.transitions.prior import TransitionPrior

# Tolerance of the inference, as the rise of the bound per observation. Class probabilities are then
# within 0.01 of where they would end, in the mean over the rows, at a tenth of the iterations:
# p(label | x) is off by far more.
_TOLERANCE: Final = 3e-4


class Options(Protocol):
    """Options of the estimator; see `DecouplingClassifier`."""

    estimator: Any
    task: str | TransitionPrior
    negative: Any
    noise: Any
    labelled: Any
    class_prior: Any
    evidence: Any
    expected_log: str
    order: int
    learn_transitions: bool
    cv: Any
    calibrate: bool
    rounds: int
    unlabelled: Any


class KnownTransitions(NamedTuple):
    """What is known of T before the inference.

    Attributes
    ----------
    prior : TransitionPrior
        What the user said of it, or an estimate.
    support : array (C,)
        How many rows stand behind each row of an estimate; infinity where the user said it.
    """

    prior: TransitionPrior
    support: FloatArray


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
    weight = check_weights(sample_weight, X)
    known = known_rows(task, codes, known_classes)
    rows = GivenRows(X, possible_codes(task, codes, known), weight, known)
    given = FitInput(rows, task, observed, library_of(y))
    _check_options(options, given)
    if is_prefit(options.cv):
        prefit_columns(options.estimator, task, observed, options.unlabelled)
    elif options.cv is not None:
        check_folds(options.cv, len(codes))
    return given


def _check_options(options: Options, given: FitInput) -> None:
    """Refuse options that cannot work."""
    check_count("rounds", options.rounds, least=0)
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


def plan_of(options: Options, given: FitInput, rng: np.random.RandomState) -> FitPlan:
    """Deal the rows to folds, and decide which classifiers will be fitted on them."""
    rows, labels = given.rows, LabelSet.of(given.task)
    if is_prefit(options.cv):
        return plan_fits((), (), NOT_AGAIN, 0, (0, 0))
    if options.cv is None:
        everything = np.arange(len(rows))
        folds = [Fold(everything, everything)]
    else:
        folds = make_folds(rows.X, rows.codes, options.cv, rng)
        check_fold_weights(folds, rows.weight)
    retraining, nested = _retraining_of(options, given, folds)
    rounds = options.rounds
    if retraining == ON_RIGHT_LABELS and not ((rows.codes == 0) & (rows.counts > 0)).any():
        rounds = 0
    per_fold = fits_per_fold(rows, labels, draw_bags=options.cv is not None)
    return plan_fits(folds, nested, retraining, rounds, per_fold)


def _retraining_of(
    options: Options, given: FitInput, folds: list[Fold]
) -> tuple[str, list[NestedFold]]:
    """How p(y|x) is learnt after the inference, and folds within folds if that needs them."""
    task, labelled = given.task, given.labelled
    if not (options.rounds and _all_have(labelled, folds)):
        return NOT_AGAIN, []
    if not (task.clean and task.complete):
        nested = nest(folds, given.rows.codes)
        inner = [fold for view in nested for fold in view.inner]
        return (IN_ROUNDS, nested) if _all_have(labelled, inner) else (NOT_AGAIN, [])
    # Labels are right. Where every class is labelled as often, labelled rows are like the others,
    # and may teach them.
    if task.has_unlabelled and at_one_rate(options.task, task, labelled=options.labelled):
        return ON_RIGHT_LABELS, []
    return NOT_AGAIN, []


def _all_have(labelled: AnyArray, folds: list[Fold]) -> bool:
    """Whether every fold is fitted on some labelled row."""
    return all(labelled[fold.fit].any() for fold in folds)


def label_model_of(
    options: Options,
    training: Training,
    given: FitInput,
    plan: FitPlan,
    rng: np.random.RandomState,
) -> LabelModel:
    """p(s|x), out of fold; or that of a classifier that was fitted elsewhere."""
    rows, task, labels = given.rows, given.task, LabelSet.of(given.task)
    seen = rows.codes >= int(task.has_unlabelled)
    if is_prefit(options.cv):
        columns = prefit_columns(options.estimator, task, given.observed, options.unlabelled)
        model = prefit_label_model(
            training.estimator, rows, columns, labels, calibrate=options.calibrate
        )
        if not task.clean:
            warn_if_by_heart(model.raw, rows.codes, seen)
        return model
    bags = None if options.cv is None else rng  # without folds there is nothing to draw them from
    model = fit_label_model(
        training, rows, plan.folds, labels, calibrate=options.calibrate, rng=bags
    )
    if options.cv is None:
        warn_if_by_heart(model.raw, rows.codes, seen)
    return model


def known_transitions(
    options: Options, given: FitInput, label_model: LabelModel
) -> KnownTransitions:
    """What the user said of T, or a first estimate of it."""
    task, rows, noise = given.task, given.rows, known_noise(options.noise)
    label_counts = np.bincount(rows.codes, rows.counts, minlength=len(task.labels))
    said = np.full(len(task.classes), np.inf)
    if isinstance(options.task, TransitionPrior):
        warn_user(unseen_classes(task, label_counts))
        return KnownTransitions(options.task, said)
    prior, support = estimated_prior(
        task,
        label_model.proba,
        label_model.raw,
        rows.codes,
        rows.counts,
        labelled=options.labelled,
        noise=noise,
        by_best_bin=task.clean and label_model.form.from_bags,
    )
    rate_known = options.labelled is not None or not task.has_unlabelled
    if rate_known and (noise is not None or task.clean):
        return KnownTransitions(prior, said)
    warn_user(few_rows(task, support, label_counts))
    return KnownTransitions(prior, support)


def learns_transitions(options: Options) -> bool:
    """Whether T follows the rounds: it may be learnt, and the user said nothing of it."""
    said = options.labelled is not None or known_noise(options.noise) is not None
    return options.learn_transitions and not (said or isinstance(options.task, TransitionPrior))


def infer_classes(
    options: Options, given: FitInput, label_proba: FloatArray, known: KnownTransitions
) -> Posterior:
    """Posterior of the rows, q(Y) q(T)."""
    return infer(
        label_proba,
        known.prior,
        class_prior=options.class_prior if isinstance(options.class_prior, ClassPrior) else None,
        evidence=options.evidence,
        expected_log=options.expected_log,
        order=options.order,
        learn_transitions=options.learn_transitions,
        sample_weight=given.rows.weight,
        tol=_TOLERANCE,
    ).supported_by(known.support)


def rounds_of(
    options: Options,
    training: Training,
    given: FitInput,
    plan: FitPlan,
    label_model: LabelModel,
    posterior: Posterior,
) -> Rounds | None:
    """Rounds of retraining; None if the classifier fails on the rows within a fold."""
    try:
        views = label_model.within(training, given.rows, plan.nested)
        proba = [posterior.predict(view).class_proba for view in views]
        return retrain(
            training,
            given.rows,
            plan.nested,
            given.task,
            proba,
            posterior.transitions,
            options.rounds,
            learn_transitions=learns_transitions(options),
        )
    except ClassifierError as error:
        # It could be fitted on the rows of every fold; within them there are fewer.
        warn_user(
            Message(
                "no-rounds",
                "There are no rounds of retraining: the classifier cannot be fitted on a part "
                "of the rows of a fold. Use more rows or folds, or {@rounds:=0}. It said: "
                "{error}",
                error=message_of(error),
            )
        )
        return None


def followed_transitions(
    given: FitInput, known: KnownTransitions, rounds: Rounds
) -> KnownTransitions:
    """A prior around the T of the rounds, as strong as before.

    The first estimate has confusions in it of a classifier that learnt the labels as they are.
    """
    mean = never_impossible(given.task, rounds.transitions, known.support)
    return KnownTransitions(replace(known.prior, mean=mean), known.support)


@contextmanager
def without_identifiability_warnings() -> Iterator[None]:
    """Leave out warnings that the first inference has given already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        yield


def rounds_answer(
    options: Options, given: FitInput, label_model: LabelModel, posterior: Posterior, rounds: Rounds
) -> Retrained:
    """The rounds, averaged with what may count beside them."""
    names = names_beside(
        given.task, from_bags=label_model.form.from_bags, held_out=options.cv is not None
    )
    parts = parts_beside(
        names,
        given.task,
        label_model.proba,
        posterior.transitions,
        infer=lambda proba: posterior.predict(proba).class_proba,
    )
    return rounds.answer(given.rows, parts)


def certain_where_known(conditional: FloatArray, known: IntArray) -> FloatArray:
    """p(y|s,x), (N, C), certain of the rows whose class is known; -1 is not known."""
    out = conditional.copy()
    out[known >= 0] = np.eye(conditional.shape[1])[known[known >= 0]]
    return out
