"""Records as JSON and arrays, and back.

A record is written field by field, and read back only if it is one of those in `kinds` and every
field has the type that the record says. No name in a file is ever looked up anywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import sklearn

from decoupling._typing import AnyArray
from decoupling._validation import is_dask
from decoupling.labels.libraries import Library
from decoupling.persistence.archive import array_bytes
from decoupling.persistence.kinds import (
    ESTIMATORS,
    FITTED,
    ISOTONIC,
    LATER,
    OPTIONAL,
    RECORDS,
    entries_of,
    fields_of,
    fits,
    parameters_of,
)
from decoupling.persistence.libraries import library_of_parts, library_parts
from decoupling.persistence.skops_files import NotKept, type_name, written

# Floats that JSON has no number for, by what is written instead.
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
        """Describe a value for JSON. ``hint`` is the type that it should have."""
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
            of = entries_of(hint)
            return {type(value).__name__: [self.tree(entry, of) for entry in value]}
        if type(value) is dict:
            return {"dict": [[self.tree(key, Hashable), self.tree(v)] for key, v in value.items()]}
        if type(value) in RECORDS.values():
            return {"record": type(value).__name__, "fields": self._fields(value)}
        if type(value) in FITTED:
            return self._estimator(value)
        if isinstance(value, Library):
            name, *parts = library_parts(value)
            return {"library": name, "parts": [self.tree(part) for part in parts]}
        return self._other(value, hint)

    def _other(self, value: Any, hint: Any) -> Any:
        from sklearn.isotonic import IsotonicRegression

        if type(value) is IsotonicRegression:
            state = value.get_params() | {name: getattr(value, name) for name in ISOTONIC}
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
        """Describe an array of objects by its distinct ones and their places: names repeat."""
        places: dict[tuple[type, Hashable], int] = {}
        codes = [places.setdefault((type(v), v), len(places)) for v in array.ravel().tolist()]
        distinct = [self.tree(value, Hashable) for _, value in places]
        where = np.array(codes, dtype=np.int64).reshape(array.shape)
        return {"objects": distinct, "codes": self._array(where)}

    def _fields(self, record: Any) -> dict[str, Any]:
        hints = fields_of(type(record))
        return {name: self.tree(getattr(record, name), hint) for name, hint in hints.items()}

    def _estimator(self, estimator: Any) -> Any:
        hints = parameters_of(type(estimator))
        params = estimator.get_params(deep=False)
        present = vars(estimator)
        return {
            "estimator": type(estimator).__name__,
            "params": {name: self.tree(params[name], hint) for name, hint in hints.items()},
            "fitted": {
                name: self.tree(present[name], hint)
                for name, hint in FITTED[type(estimator)].items()
                if name in present
            },
        }


@dataclass(frozen=True)
class Reader:
    """Turns a tree that `Writer` has made back into the model.

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
        """Build what a tree describes, which must be of the type ``hint``."""
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
                return tuple(self.value(entry, entries_of(hint)) for entry in entries)
            case {"list": list(entries)}:
                return [self.value(entry, entries_of(hint)) for entry in entries]
            case {"dict": list(pairs)}:
                return {self.value(key, Hashable): self.value(value) for key, value in pairs}
            case {"record": str(name), "fields": dict(parts)}:
                return self._record(RECORDS[name], parts)
            case {"estimator": str(name), "params": dict(params), "fitted": dict(fitted)}:
                return self._estimator(ESTIMATORS[name], params, fitted)
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
        hints = fields_of(record)
        if set(parts) - set(hints):
            raise ValueError(f"{record.__name__} has no {sorted(set(parts) - set(hints))}")
        values = {name: self.value(part, hints[name]) for name, part in parts.items()}
        made = record(**values)
        # Exactly as they were: a record may have scaled them once more when it checked them.
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made

    def _estimator(self, estimator: type, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
        hints, expected = parameters_of(estimator), FITTED[estimator]
        unknown = sorted(set(params) - set(hints) | set(fitted) - set(expected))
        # An estimator that is a parameter of another one need not be fitted.
        missing = sorted(set(expected) - set(fitted) - OPTIONAL - set(LATER)) if fitted else []
        if unknown or missing:
            raise ValueError(f"{estimator.__name__} has no {unknown}, and needs {missing}")
        made = estimator(**{name: self.value(part, hints[name]) for name, part in params.items()})
        for name, part in fitted.items():
            setattr(made, name, self.value(part, expected[name]))
        for name in set(LATER) & set(expected) - set(fitted) if fitted else ():
            setattr(made, name, LATER[name])
        return made

    def _isotonic(self, state: dict[str, Any]) -> Any:
        from sklearn.isotonic import IsotonicRegression

        parts = {name: self.value(part) for name, part in state.items()}
        if set(parts) != {*IsotonicRegression().get_params(), *ISOTONIC}:
            raise ValueError("an isotonic map has other parts")
        model = IsotonicRegression()
        # Makes the interpolating function, too.
        model.__setstate__({**parts, "_sklearn_version": sklearn.__version__})
        return model
