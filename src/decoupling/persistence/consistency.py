"""Whether the parts of a model fit together: what was read may have been forged with care."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from decoupling._typing import AnyArray
from decoupling._validation import SUM_TOLERANCE, check_evidence, check_positive
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.fits.ensembles import Ensemble
from decoupling.inference.ascent.gamma_posterior import GammaPosterior, KnownGamma
from decoupling.inference.posterior import Posterior, posterior_parts
from decoupling.label_model.model import LabelModel
from decoupling.likelihood.average import AveragedAnswer
from decoupling.likelihood.overlap import LEAST_OVERLAP, OverlapAnswer
from decoupling.persistence.kinds import RECORDS, fields_of
from decoupling.retraining.answer import BESIDE, INFERRED, Retrained
from decoupling.setred.classifier import SetredClassifier
from decoupling.transitions.choice import label_codes
from decoupling.transitions.tasks import Task

# Least p(label | class) of an answer over overlaps. Fits have a billionth or more; dividing by what
# is far below would leave the numbers.
_POSSIBLE: Final = 1e-50
# Largest amount that is accepted: its square is still a number. Amounts of a fit stay far below.
_LARGEST: Final = 1e150

Expected = Iterator[tuple[AnyArray, tuple[int, ...]]]


def check_whole(model: Any) -> None:
    """Refuse a model of which a part is missing, of another shape, or no number.

    Raises
    ------
    ValueError
        If so; `NotFittedError`, which is one, for an estimator that was never fitted.
    """
    if isinstance(model, Posterior):
        _check_posterior(model)
        return
    check_is_fitted(model)
    _check_shapes(
        _of_setred(model) if isinstance(model, SetredClassifier) else _of_classifier(model)
    )
    if isinstance(model, SetredClassifier):
        _check_ensemble(model.estimator_, len(model.classes_))
        return
    _check_posterior(model.posterior_)
    _check_classifier(model)


def _check_shapes(expected: Expected) -> None:
    for array, shape in expected:
        if array.shape != shape:
            raise ValueError(f"an array of shape {array.shape} where {shape} should be")


def _check_posterior(posterior: Posterior) -> None:
    _check_shapes(_of_posterior(posterior))
    parts, trace = posterior_parts(posterior), posterior.trace
    _check_amounts(parts.prior_share)
    _check_totals(
        posterior.class_concentration,
        posterior.class_prior,
        parts.transitions.parameters,
        parts.transition_prior.parameters,
        np.atleast_1d(parts.row_counts),
        parts.sample.concentration,
        parts.sample.weight,
    )
    _check_distributions(parts.sample.share)
    _check_finite(trace.elbo, trace.likelihood, trace.prior, trace.entropy, trace.constant)
    check_evidence("evidence", posterior.evidence)
    _check_above_0(parts.reported_share)
    _check_amounts(parts.reported_share)
    _check_gamma(parts.class_prior)
    if parts.parent is not None:
        _check_posterior(parts.parent)


def _check_gamma(gamma: KnownGamma | GammaPosterior) -> None:
    if isinstance(gamma, KnownGamma):
        check_positive("class_prior", gamma.mean, ndim=1)
        return
    _check_codes(gamma.factor, len(gamma.location))
    _check_finite(gamma.heading, gamma.prior.rate)
    _check_amounts(gamma.prior.eta)
    _check_amounts(gamma.shape, gamma.location)
    _check_above_0(*gamma.shape, *gamma.location, *gamma.share)
    _check_distributions(
        *(gamma.share[gamma.factor == factor] for factor in range(len(gamma.location)))
    )


def _of_posterior(posterior: Posterior) -> Expected:
    """Arrays of a posterior, and their shapes."""
    n_rows, n_classes, n_labels = (
        len(posterior.class_concentration),
        len(posterior.classes),
        len(posterior.labels),
    )
    parts = posterior_parts(posterior)
    yield posterior.class_concentration, (n_rows, n_classes)
    yield posterior.class_prior, (n_classes,)
    for rows in (parts.transitions, parts.transition_prior):
        yield rows.parameters, (n_classes, n_labels)
        yield rows.known, (n_classes,)
    yield parts.prior_share, (n_classes, 1)
    yield parts.row_counts, (n_rows,) if parts.row_counts.ndim else ()
    sample, possible = parts.sample, parts.transitions.possible_labels
    yield sample.weight, (len(sample.share), int(possible.sum()))
    yield sample.concentration, (len(sample.share), n_classes)
    yield sample.share, (len(sample.share),)
    trace = posterior.trace
    for terms in (trace.elbo, trace.likelihood, trace.prior, trace.entropy, trace.constant):
        yield terms, (len(trace.elbo),)
    gamma = parts.class_prior
    if isinstance(gamma, GammaPosterior):
        for of_class in (gamma.factor, gamma.share, gamma.prior.rate):
            yield of_class, (n_classes,)
        for of_factor in (gamma.shape, gamma.location, gamma.heading):
            yield of_factor, (len(gamma.location),)
    else:
        yield gamma.mean, (n_classes,)


def _of_classifier(model: DecouplingClassifier) -> Expected:
    n_rows, n_classes, n_labels = (
        len(model.label_proba_),
        len(model.posterior_.classes),
        len(model.posterior_.labels),
    )
    yield model.posterior_.class_concentration, (n_rows, n_classes)
    for of_class in (model.classes_, model.task_.own):
        yield of_class, (n_classes,)
    yield model.task_.mask, (n_classes, n_labels)
    for of_row in (model.observed_.codes, model.transduction_):
        yield of_row, (n_rows,)
    for by_label in (model.label_proba_, model.label_model_.raw, model.label_model_.proba):
        yield by_label, (n_rows, n_labels)
    for transitions in (model.transitions_, model.prior_.mean):
        yield transitions, (n_classes, n_labels)
    yield model.class_proba_, (n_rows, n_classes)
    yield model.label_conditional_proba_, (n_rows, n_classes)
    if model.overlap_answer_ is not None:
        n_overlaps = model.overlap_answer_.overlaps.size
        yield model.overlap_answer_.overlaps, (n_overlaps,)
        yield model.overlap_answer_.transitions, (n_overlaps, n_classes, n_labels)
    if model.retrained_ is not None:
        yield model.retrained_.class_proba, (n_rows, n_classes)
        yield from _of_answer(model.retrained_.answer, n_classes)


def _of_answer(answer: AveragedAnswer, n_classes: int) -> Expected:
    n_answers = answer.weights.size
    yield answer.weights, (n_answers,)
    yield answer.shares, (n_answers, answer.shares.size // max(n_answers, 1))
    yield answer.temperatures, (n_answers,)
    yield answer.offsets, (n_answers, n_classes)


def _check_classifier(model: DecouplingClassifier) -> None:
    n_classes, n_labels = model.transitions_.shape
    _check_distributions(
        model.transitions_,
        model.prior_.mean,
        model.label_proba_,
        model.label_model_.raw,
        model.label_model_.proba,
        model.class_proba_,
        model.label_conditional_proba_,
    )
    _check_label_model(model.label_model_, len(model.label_proba_))
    _check_codes(model.observed_.codes, len(model.observed_.values), least=-1)
    _check_codes(model.task_.own, n_labels, least=-1)
    if model.labels_ != model.task_.labels or model.labels_ != model.posterior_.labels:
        raise ValueError("labels that are not those of its parts")
    label_codes(model.task_, model.observed_)  # refuses labels that the task does not have
    form = model.label_model_.form
    *rates, labels = form.ensembles
    _check_ensemble(labels, n_labels)
    for rate in rates:
        _check_ensemble(rate, 2)
    if form.fixed_rate is not None:
        _check_share(form.fixed_rate)
    if model.overlap_answer_ is not None:
        _check_overlaps(model.overlap_answer_)
    if model.retrained_ is not None:
        _check_ensemble(model.retrained_.ensemble, n_classes)
        _check_distributions(model.retrained_.class_proba)
        _check_parts(model.retrained_, model.task_)
        _check_answer(model.retrained_.answer)


def _check_parts(retrained: Retrained, task: Task) -> None:
    """Names of parts that the answer has, and that there can be."""
    beside = set(retrained.beside)
    if len(retrained.beside) != retrained.answer.n_parts - 1 or beside - set(BESIDE):
        raise ValueError(f"an answer of other parts than the rounds and {retrained.beside}")
    if beside - {INFERRED} and not task.complete:
        raise ValueError("labels as they are named, where some class has no label of its own")


def _check_overlaps(answer: OverlapAnswer) -> None:
    """Shares of doubt that can be asked for, and a T for each in which every label is possible."""
    if not answer.overlaps.size or not (answer.transitions > _POSSIBLE).all():
        raise ValueError("an answer of no overlap, or with a label that is impossible")
    _check_distributions(answer.transitions)
    if not ((answer.overlaps >= LEAST_OVERLAP) & (answer.overlaps <= 1.0)).all():
        raise ValueError("an overlap that nobody can ask for")


def _check_answer(answer: AveragedAnswer) -> None:
    _check_distributions(answer.weights, answer.shares)
    _check_above_0(*answer.temperatures)
    with np.errstate(over="ignore"):  # what is infinite is refused
        cooled = np.abs(answer.offsets / answer.temperatures[:, None])
        _check_amounts(1.0 / answer.temperatures, cooled)


def _check_label_model(model: LabelModel, n_rows: int) -> None:
    if model.calibration is not None:
        _check_above_0(model.calibration.temperature)
        _check_isotonic(model.calibration.labelled)
    _check_finite(model.log_likelihood)
    for fold in model.folds:
        _check_codes(fold.fit, n_rows)
        _check_codes(fold.predict, n_rows)


def _check_isotonic(isotonic: Any) -> None:
    """A map of shares to shares; outside of its points there would be no answer."""
    if isotonic is None:
        return
    points, values = isotonic.X_thresholds_, isotonic.y_thresholds_
    _check_finite(points)
    _check_amounts(values)
    whole = points.ndim == 1 and len(points) > 0 and points.shape == values.shape
    if not (whole and (np.diff(points) >= 0).all() and (values <= 1.0).all()):
        raise ValueError("an isotonic map that is none")
    ends = points[0] <= isotonic.X_min_ <= isotonic.X_max_ <= points[-1]
    if not (ends and isotonic.out_of_bounds == "clip"):
        raise ValueError("an isotonic map that ends before its points do")


def _of_setred(model: SetredClassifier) -> Expected:
    n_rows = len(model.transduction_)
    yield model.classes_, (len(model.classes_),)
    yield model.transduction_, (n_rows,)
    yield model.relabelled_, (n_rows,)


def _check_ensemble(ensemble: Any, n_codes: int) -> None:
    if not (isinstance(ensemble, Ensemble) and ensemble.models and ensemble.n_codes == n_codes):
        raise ValueError(f"no classifiers of {n_codes} classes")
    if ensemble.weights is not None:
        if len(ensemble.weights) != len(ensemble.models):
            raise ValueError(
                f"{len(ensemble.weights)} weights of {len(ensemble.models)} classifiers"
            )
        _check_distributions(np.array(ensemble.weights))
    for model in ensemble.models:
        _check_member(model, n_codes)


def _check_member(model: Any, n_codes: int) -> None:
    """A classifier, or a record of ours with classifiers of the same codes in its fields."""
    if isinstance(model, Ensemble):
        _check_ensemble(model, n_codes)
        return
    if not hasattr(model, "predict_proba"):
        raise ValueError("a classifier without probabilities")
    if type(model) in RECORDS.values():
        for name, hint in fields_of(type(model)).items():
            if hint in (Any, Ensemble):
                _check_member(getattr(model, name), n_codes)


def _check_finite(*arrays: AnyArray | float) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("an array whose entries are not all finite")


def _check_amounts(*arrays: AnyArray | float) -> None:
    for values in arrays:
        array = np.asarray(values)
        if not ((array >= 0) & (array <= _LARGEST)).all():
            raise ValueError(f"an array whose entries are not all from 0 to {_LARGEST:g}")


def _check_share(share: float) -> None:
    if not 0.0 <= share <= 1.0:
        raise ValueError("a share that is not from 0 to 1")


def _check_above_0(*numbers: float) -> None:
    if not all(isfinite(number) and number > 0 for number in numbers):
        raise ValueError("a number that is not finite and above 0")


def _check_distributions(*arrays: AnyArray) -> None:
    """Rows that are probabilities."""
    _check_amounts(*arrays)
    if not all((np.abs(array.sum(axis=-1) - 1.0) <= SUM_TOLERANCE).all() for array in arrays):
        raise ValueError("an array whose rows do not sum to 1")


def _check_totals(*arrays: AnyArray) -> None:
    """Rows that are divided by their sums."""
    _check_amounts(*arrays, *(array.sum(axis=-1) for array in arrays))
    if not all((array.sum(axis=-1) > 0).all() for array in arrays):
        raise ValueError("an array with a row of zeros")


def _check_codes(codes: AnyArray, n: int, least: int = 0) -> None:
    if codes.size and (codes.min() < least or codes.max() >= n):
        raise ValueError(f"codes that are not all from {least} to {n - 1}")
