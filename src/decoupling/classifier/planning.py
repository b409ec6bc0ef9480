"""Which classifiers a fit will train, decided before the first one."""

from __future__ import annotations

import numpy as np

from decoupling._typing import AnyArray
from decoupling.classifier.fit_input import (
    FitInput,
    at_one_rate,
)
from decoupling.classifier.options import Options, is_prefit
from decoupling.fits.folds import Fold, check_fold_weights, make_folds
from decoupling.fits.nested import NestedFold, nest
from decoupling.fits.plan import IN_ROUNDS, NOT_AGAIN, ON_RIGHT_LABELS, FitPlan, plan_fits
from decoupling.label_model.forms import LabelSet
from decoupling.label_model.model import (
    fits_per_fold,
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
    # Labels are right. Where every class is labelled equally often, labelled rows are like the
    # others, so that a classifier of them may label the others.
    if task.has_unlabelled and at_one_rate(options.task, task, labelled=options.labelled):
        return ON_RIGHT_LABELS, []
    return NOT_AGAIN, []


def _all_have(labelled: AnyArray, folds: list[Fold]) -> bool:
    """Whether every fold is fitted on some labelled row."""
    return all(labelled[fold.fit].any() for fold in folds)
