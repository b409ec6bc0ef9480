"""Contents that a file may have: our records and estimators by name, with their types."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import numpy as np

from decoupling._typing import AnyArray, BoolArray, FloatArray
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.fits.ensembles import Ensemble, Renamed
from decoupling.fits.folds import Fold
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.inference.ascent.gamma_posterior import GammaPosterior, KnownGamma
from decoupling.inference.ascent.monitor import Trace
from decoupling.inference.math.conjugate import DirP
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.posterior import Posterior
from decoupling.inference.rows.sample import RowSample
from decoupling.label_model.bags import BalancedBags
from decoupling.label_model.calibration import Calibration
from decoupling.label_model.forms import BagsForm, JointForm, SplitForm
from decoupling.label_model.model import LabelModel
from decoupling.labels.libraries import Library
from decoupling.labels.observed import ObservedLabels
from decoupling.likelihood.average import AveragedAnswer
from decoupling.likelihood.overlap import OverlapAnswer
from decoupling.retraining.answer import Retrained
from decoupling.setred.classifier import SetredClassifier
from decoupling.setred.search import Round
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.tasks import Task

# Records by the names of their types.
RECORDS: Final[dict[str, type]] = {
    record.__name__: record
    for record in (
        AveragedAnswer,
        BagsForm,
        BalancedBags,
        Calibration,
        ClassPrior,
        DirP,
        DirichletRows,
        Ensemble,
        Fold,
        GammaPosterior,
        JointForm,
        KnownGamma,
        LabelModel,
        ObservedLabels,
        OverlapAnswer,
        Posterior,
        Renamed,
        Retrained,
        Round,
        RowSample,
        SplitForm,
        Task,
        Trace,
        TransitionPrior,
    )
}

# What `fit` leaves behind. Names of columns are there only if the rows had any.
_SHARED: Final[dict[str, Any]] = {
    "classes_": AnyArray,
    "transduction_": AnyArray,
    "n_iter_": int,
    "n_features_in_": int,
    "feature_names_in_": AnyArray,
}
FITTED: Final[dict[type, dict[str, Any]]] = {
    DecouplingClassifier: _SHARED
    | {
        "labels_": tuple[Hashable, ...],
        "transitions_": FloatArray,
        "label_proba_": FloatArray,
        "class_proba_": FloatArray,
        "label_conditional_proba_": FloatArray,
        "posterior_": Posterior,
        "prior_": TransitionPrior,
        "task_": Task,
        "label_model_": LabelModel,
        "retrained_": Retrained | None,
        "overlap_answer_": OverlapAnswer | None,
        "observed_": ObservedLabels,
        "_labels_like": Library,
    },
    SetredClassifier: _SHARED
    | {
        "relabelled_": BoolArray,
        "history_": tuple[Round, ...],
        "termination_condition_": str,
        "estimator_": Ensemble,
    },
}
# The same estimators by the names of their types.
ESTIMATORS: Final = {estimator.__name__: estimator for estimator in FITTED}
# Attributes that a fitted estimator may lack.
OPTIONAL: Final = {"n_features_in_", "feature_names_in_"}
# Attributes that files of schema 6 and before lack, and what they are then.
LATER: Final[dict[str, Any]] = {"overlap_answer_": None}
# Attributes of a fitted isotonic map of scikit-learn.
ISOTONIC: Final = ("X_min_", "X_max_", "X_thresholds_", "y_thresholds_", "increasing_")
# Kinds of a dtype of numpy that pass for each type in an annotation of an array.
_KINDS: Final = {np.float64: "f", np.int64: "iu", np.bool_: "b"}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type of an annotation.

    Examples
    --------
    >>> fits((1, "a"), tuple[Hashable, ...]), fits(np.eye(2), FloatArray), fits(None, str | int)
    (True, True, False)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, choice) for choice in arguments)
    if origin is np.ndarray:
        (scalar,) = get_args(arguments[1])
        return isinstance(value, np.ndarray) and (
            scalar is Any or value.dtype.kind in _KINDS[scalar]
        )
    if origin is tuple:
        return isinstance(value, tuple) and all(fits(entry, arguments[0]) for entry in value)
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(fits(e, arguments[0]) for e in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, NoneType if hint is None else origin or hint)


def entries_of(hint: Any) -> Any:
    """Type of the entries of a sequence."""
    choices = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for choice in choices:
        if get_origin(choice) in (tuple, Sequence):
            return get_args(choice)[0]
    return hint if hint in (Any, Hashable) else Any


def fields_of(record: type) -> dict[str, Any]:
    """Types of the fields of a record, by name."""
    hints = get_type_hints(record)
    return {part.name: hints[part.name] for part in fields(record)}


def parameters_of(estimator: type) -> dict[str, Any]:
    """Types of the parameters of an estimator, by name."""
    hints = get_type_hints(estimator.__init__)  # type: ignore[misc]
    return {name: hint for name, hint in hints.items() if name != "return"}
