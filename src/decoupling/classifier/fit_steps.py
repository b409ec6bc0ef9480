"""Steps of `DecouplingClassifier.fit`, in their order, as functions of records.

They read the options of the estimator and never change it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from decoupling._text import Message, message_of
from decoupling._typing import FloatArray
from decoupling._validation import warn_user
from decoupling.classifier.alone import answers_alone, learns_transitions, settled
from decoupling.classifier.fit_input import (
    FitInput,
    expected_shares,
    prefit_columns,
)
from decoupling.classifier.options import Options, is_prefit, known_noise
from decoupling.diagnostics.warnings import (
    IdentifiabilityWarning,
    collapsed,
    few_rows,
    unbalanced,
    unseen_classes,
)
from decoupling.fits.ensembles import ClassifierError, Training
from decoupling.fits.given_rows import GivenRows
from decoupling.fits.plan import FitPlan
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.inference.infer import infer
from decoupling.inference.posterior import Posterior
from decoupling.label_model.forms import LabelSet
from decoupling.label_model.model import (
    LabelModel,
    fit_label_model,
    prefit_label_model,
    warn_if_by_heart,
)
from decoupling.likelihood.overlap import Settled
from decoupling.retraining.answer import Retrained, names_beside, parts_beside
from decoupling.retraining.right_labels import learn_from_right_labels
from decoupling.retraining.rounds import Rounds, retrain
from decoupling.transitions.conditional import certain_where_known, label_conditional
from decoupling.transitions.estimate import estimated_prior, never_impossible
from decoupling.transitions.prior import TransitionPrior

# Tolerance of the inference, as the rise of the bound per observation. Class probabilities are then
# within 0.01 of where they would end, in the mean over the rows, at a tenth of the iterations:
# p(label | x) is off by far more.
_TOLERANCE: Final = 3e-4


class KnownTransitions(NamedTuple):
    """What is known of T before the inference.

    Attributes
    ----------
    prior : TransitionPrior
        What the user said of it, or an estimate.
    support : array (C,)
        How many rows stand behind each row of an estimate; infinity where the user said it.
    settled : Settled or None
        Classes and T by labels and p(label | x) alone, over all overlaps of the classes, where
        p(label | x) was given and nothing was said of T. The inference then holds T.
    """

    prior: TransitionPrior
    support: FloatArray
    settled: Settled | None = None


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
    """What the user said of T, what labels have settled of it, or a first estimate."""
    known = _first_transitions(options, given, label_model)
    if not answers_alone(options, given.task):
        return known
    rows = given.rows
    found = settled(options, given.task, label_model.proba, rows.codes, rows.counts)
    return KnownTransitions(replace(known.prior, mean=found.transitions), known.support, found)


def _first_transitions(
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


def follows_rounds(options: Options, given: FitInput) -> bool:
    """Whether T is inferred once more, around that of the rounds: it is learnt, by wrong labels."""
    return learns_transitions(options) and not given.task.clean


def infer_classes(
    options: Options,
    given: FitInput,
    label_proba: FloatArray,
    known: KnownTransitions,
) -> Posterior:
    """Posterior of the rows, q(Y) q(T)."""
    return infer(
        label_proba,
        known.prior,
        class_prior=options.class_prior if isinstance(options.class_prior, ClassPrior) else None,
        evidence=options.evidence,
        expected_log=options.expected_log,
        order=options.order,
        learn_transitions=options.learn_transitions and known.settled is None,
        sample_weight=given.rows.weight,
        tol=_TOLERANCE,
    ).supported_by(known.support)


def right_labels_of(
    options: Options, training: Training, given: FitInput, plan: FitPlan
) -> Retrained:
    """Self-training on labels that are right."""
    return learn_from_right_labels(training, given.rows, plan.folds, given.task, options.rounds)


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


def infer_again(
    options: Options, given: FitInput, label_proba: FloatArray, known: KnownTransitions
) -> Posterior:
    """Posterior of the rows under another prior; the first inference has given its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        return infer_classes(options, given, label_proba, known)


def rounds_answer(
    options: Options, given: FitInput, label_model: LabelModel, posterior: Posterior, rounds: Rounds
) -> Retrained:
    """The answer: an average over the rounds and the other estimates that may count beside them."""
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


def label_conditional_of(
    rows: GivenRows, class_proba: FloatArray, known: KnownTransitions, posterior: Posterior
) -> FloatArray:
    """p(y|s,x), (N, C), certain where the class of a row is known."""
    if known.settled is None:
        found = label_conditional(class_proba, posterior.transitions, rows.codes)
    else:
        found = known.settled.conditional
    return certain_where_known(found, rows.known_class)


def warn_of_answer(
    options: Options, given: FitInput, class_proba: FloatArray, conditional: FloatArray
) -> None:
    """Warn if a class has no rows, or if shares of classes are far from those expected."""
    warn_user(collapsed(given.task, class_proba))
    expected = expected_shares(options.class_prior, given.task)
    warn_user(unbalanced(given.task, expected, conditional, given.rows.counts))
