"""Records as JSON and arrays, and back.

A record is written field by field, and read back only if it is one of those listed here and every
field has the type that the record says. No name in a file is ever looked up anywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import numpy as np
import sklearn

from decoupling._typing import AnyArray, BoolArray, FloatArray
from decoupling._validation import is_dask
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.fits.ensembles import Ensemble, Renamed
from decoupling.fits.folds import Fold
from decoupling.inference.ascent.class_prior import ClassPrior, GammaPosterior, KnownGamma
from decoupling.inference.ascent.optimise import Trace
from decoupling.inference.math.conjugate import DirP
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.posterior import Posterior
from decoupling.inference.rows.sample import RowSample
from decoupling.label_model.bags import BalancedBags
from decoupling.label_model.calibration import Calibration
from decoupling.label_model.forms import BagsForm, JointForm, SplitForm
from decoupling.label_model.model import LabelModel
from decoupling.labels.frames import Library
from decoupling.labels.observed import ObservedLabels
from decoupling.likelihood.average import AveragedAnswer
from decoupling.persistence.archive import array_bytes
from decoupling.persistence.estimators import NotKept, type_name, written
from decoupling.persistence.tables import library_of_parts, library_parts
from decoupling.retraining.answer import AS_NAMED, INFERRED, UNDONE, Retrained
from decoupling.setred.classifier import SetredClassifier
from decoupling.setred.search import Round
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.tasks import Task

_RECORDS: Final[dict[str, type]] = {
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
_FITTED: Final[dict[type, dict[str, Any]]] = {
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
_ESTIMATORS: Final = {estimator.__name__: estimator for estimator in _FITTED}
_OPTIONAL: Final = {"n_features_in_", "feature_names_in_"}
_ISOTONIC: Final = ("X_min_", "X_max_", "X_thresholds_", "y_thresholds_", "increasing_")
_KINDS: Final = {np.float64: "f", np.int64: "iu", np.bool_: "b"}
_SPECIAL_FLOATS: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass
class Writer:
    """Turns a model into a tree for JSON, and collects its arrays and its classifiers.

    Attributes
    ----------
    members : dict
        Bytes by name. What is equal is there once.
    lost : list of str
        Types of the objects that could not be written.
    """

    members: dict[str, bytes] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    _names: dict[bytes, str] = field(default_factory=dict)

    def tree(self, value: Any, hint: Any = Any) -> Any:
        """What JSON is to say of a value. ``hint`` is the type that it should have."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": repr(float(value))}
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if is_dask(value):
            value = np.asarray(value)
        if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            return self._objects(value) if value.dtype.hasobject else {"array": self._array(value)}
        if type(value) in (tuple, list):
            of = _entries(hint)
            return {type(value).__name__: [self.tree(entry, of) for entry in value]}
        if type(value) is dict:
            return {"dict": [[self.tree(key, Hashable), self.tree(v)] for key, v in value.items()]}
        if type(value) in _RECORDS.values():
            return {"record": type(value).__name__, "fields": self._fields(value)}
        if type(value) in _FITTED:
            return self._estimator(value)
        if isinstance(value, Library):
            name, *parts = library_parts(value)
            return {"library": name, "parts": [self.tree(part) for part in parts]}
        return self._other(value, hint)

    def _other(self, value: Any, hint: Any) -> Any:
        from sklearn.isotonic import IsotonicRegression

        if type(value) is IsotonicRegression:
            state = value.get_params() | {name: getattr(value, name) for name in _ISOTONIC}
            return {"isotonic": {name: self.tree(part) for name, part in state.items()}}
        if isinstance(value, NotKept):
            self.lost.append(value.what)
            return {"lost": value.what}
        if hint is not Any:
            raise TypeError(
                f"{value!r} of type {type_name(value)} cannot be kept. Names of classes and labels "
                "may be strings, numbers, booleans, dates of numpy, or tuples of these."
            )
        data = written(value)
        if data is None:
            self.lost.append(type_name(value))
            return {"lost": type_name(value)}
        return {"model": self._member("models", "skops", data)}

    def _member(self, folder: str, suffix: str, data: bytes) -> str:
        if data not in self._names:
            name = f"{folder}/{len(self._names):06d}.{suffix}"
            self._names[data], self.members[name] = name, data
        return self._names[data]

    def _array(self, array: AnyArray) -> str:
        return self._member("arrays", "npy", array_bytes(array))

    def _objects(self, array: AnyArray) -> Any:
        """Objects repeat: distinct ones, and which of them is where."""
        places: dict[tuple[type, Hashable], int] = {}
        codes = [places.setdefault((type(v), v), len(places)) for v in array.ravel().tolist()]
        distinct = [self.tree(value, Hashable) for _, value in places]
        where = np.array(codes, dtype=np.int64).reshape(array.shape)
        return {"objects": distinct, "codes": self._array(where)}

    def _fields(self, record: Any) -> dict[str, Any]:
        hints = _hints(type(record))
        return {name: self.tree(getattr(record, name), hint) for name, hint in hints.items()}

    def _estimator(self, estimator: Any) -> Any:
        hints = _param_hints(type(estimator))
        params = estimator.get_params(deep=False)
        present = vars(estimator)
        return {
            "estimator": type(estimator).__name__,
            "params": {name: self.tree(params[name], hint) for name, hint in hints.items()},
            "fitted": {
                name: self.tree(present[name], hint)
                for name, hint in _FITTED[type(estimator)].items()
                if name in present
            },
        }


@dataclass(frozen=True)
class Reader:
    """Turns such a tree back into the model.

    Attributes
    ----------
    arrays : mapping
        Arrays by the name of their member.
    models : mapping
        Classifiers by the name of their member.
    """

    arrays: Mapping[str, AnyArray]
    models: Mapping[str, Any]

    def value(self, tree: Any, hint: Any = Any) -> Any:
        """What the tree describes, which must be of the type ``hint``."""
        found = self._value(tree, hint)
        if not fits(found, hint):
            raise ValueError(f"{type_name(found)} where {hint} should be")
        return found

    def _value(self, tree: Any, hint: Any) -> Any:
        match tree:
            case None | bool() | int() | float() | str():
                return tree
            case {"float": str(text)}:
                return _SPECIAL_FLOATS[text]
            case {"scalar": str(name)}:
                return self.arrays[name][()]
            case {"array": str(name)}:
                return self.arrays[name]
            case {"objects": list(distinct), "codes": str(name)}:
                return self._objects(distinct, self.arrays[name])
            case {"tuple": list(entries)}:
                return tuple(self.value(entry, _entries(hint)) for entry in entries)
            case {"list": list(entries)}:
                return [self.value(entry, _entries(hint)) for entry in entries]
            case {"dict": list(pairs)}:
                return {self.value(key, Hashable): self.value(value) for key, value in pairs}
            case {"record": str(name), "fields": dict(parts)}:
                return self._record(_RECORDS[name], parts)
            case {"estimator": str(name), "params": dict(params), "fitted": dict(fitted)}:
                return self._estimator(_ESTIMATORS[name], params, fitted)
            case {"library": str(name), "parts": [index, dtype]}:
                return library_of_parts(name, self.value(index), self.value(dtype))
            case {"isotonic": dict(state)}:
                return self._isotonic(state)
            case {"model": str(name)}:
                return self.models[name]
            case {"lost": str(what)}:
                return NotKept(what)
        raise ValueError(f"nothing is known of {str(tree)[:80]!r}")

    def _objects(self, distinct: list[Any], codes: AnyArray) -> AnyArray:
        values = [self.value(entry, Hashable) for entry in distinct]
        array = np.fromiter(values, dtype=object, count=len(values))
        objects: AnyArray = array[codes]
        objects.flags.writeable = False
        return objects

    def _record(self, record: type, parts: dict[str, Any]) -> Any:
        hints = _hints(record)
        if record is Retrained and "beside" not in parts:
            return self._retrained_of_5(parts)
        if set(parts) - set(hints):
            raise ValueError(f"{record.__name__} has no {sorted(set(parts) - set(hints))}")
        values = {name: self.value(part, hints[name]) for name, part in parts.items()}
        made = record(**values)
        # Exactly as they were: a record may have scaled them once more when it checked them.
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made

    def _retrained_of_5(self, parts: dict[str, Any]) -> Retrained:
        """Of schema 5, in which the number of parts said which they were."""
        hints = {name: hint for name, hint in _hints(Retrained).items() if name != "beside"}
        found = Retrained(**{name: self.value(parts[name], hints[name]) for name in hints})
        beside: dict[int, tuple[str, ...]] = {1: (), 2: (INFERRED,), 3: (UNDONE, AS_NAMED)}
        return replace(found, beside=beside[found.answer.n_parts])

    def _estimator(self, estimator: type, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
        hints, expected = _param_hints(estimator), _FITTED[estimator]
        unknown = sorted(set(params) - set(hints) | set(fitted) - set(expected))
        # One that was never fitted is a parameter of another.
        missing = sorted(set(expected) - set(fitted) - _OPTIONAL) if fitted else []
        if unknown or missing:
            raise ValueError(f"{estimator.__name__} has no {unknown}, and needs {missing}")
        made = estimator(**{name: self.value(part, hints[name]) for name, part in params.items()})
        for name, part in fitted.items():
            setattr(made, name, self.value(part, expected[name]))
        return made

    def _isotonic(self, state: dict[str, Any]) -> Any:
        from sklearn.isotonic import IsotonicRegression

        parts = {name: self.value(part) for name, part in state.items()}
        if set(parts) != {*IsotonicRegression().get_params(), *_ISOTONIC}:
            raise ValueError("an isotonic map has other parts")
        model = IsotonicRegression()
        # Makes the interpolating function, too.
        model.__setstate__({**parts, "_sklearn_version": sklearn.__version__})
        return model


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


def _entries(hint: Any) -> Any:
    """Type of the entries of a sequence."""
    choices = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for choice in choices:
        if get_origin(choice) in (tuple, Sequence):
            return get_args(choice)[0]
    return hint if hint in (Any, Hashable) else Any


def _hints(record: type) -> dict[str, Any]:
    """Types of the fields of a record, by name."""
    hints = get_type_hints(record)
    return {part.name: hints[part.name] for part in fields(record)}


def _param_hints(estimator: type) -> dict[str, Any]:
    """Types of the parameters of an estimator, by name."""
    hints = get_type_hints(estimator.__init__)  # type: ignore[misc]
    return {name: hint for name, hint in hints.items() if name != "return"}
