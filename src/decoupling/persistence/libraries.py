"""The library that labels came in, as plain values: the index of pandas, types of columns."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from decoupling.labels.libraries import LIBRARIES, Library

_NAMES: Final = (str, int, float, bool)


def library_parts(library: Library) -> tuple[str, Any, Any]:
    """Name, index and type of a `Library` in values that JSON and arrays can hold.

    None for an index or a type that they cannot: an index of several levels, say, or a type that
    its name does not tell all of. Tables of the labels then have a plain one.
    """
    return library.name, _index_parts(library.index), _type_parts(library.name, library.dtype)


def library_of_parts(name: str, index: Any, dtype: Any) -> Library:
    """The `Library` again; numpy if it is not installed here."""
    if name not in LIBRARIES or find_spec(name) is None:
        return Library()
    return Library(name, _index(index), _type(name, dtype))


def _index_parts(index: Any) -> Any:
    """A range by its three numbers, any other index by its values; and its name."""
    if index is None or index.nlevels > 1 or not isinstance(index.name, (*_NAMES, type(None))):
        return None
    if hasattr(index, "step"):
        return (index.start, index.stop, index.step), index.name
    values = np.asarray(index)
    if values.dtype.kind == "O" and not all(type(value) in _NAMES for value in values):
        return None
    again = _index((values, index.name))
    return (values, index.name) if again.dtype == index.dtype and again.equals(index) else None


def _index(parts: Any) -> Any:
    if parts is None:
        return None
    pandas = import_module("pandas")
    values, name = parts
    if isinstance(values, tuple):
        return pandas.RangeIndex(*values, name=name)
    return pandas.Index(values, name=name)


def _type_parts(library: str, dtype: Any) -> Any:
    """A type by its name; categories of pandas by their values, and whether they have an order."""
    if dtype is None:
        return None
    if library == "pandas" and str(dtype) == "category":
        categories = np.asarray(dtype.categories)
        plain = categories.dtype.kind != "O" or all(type(v) in _NAMES for v in categories)
        return (categories, bool(dtype.ordered)) if plain else None
    found = _type(library, str(dtype))
    return str(dtype) if found is not None and found == dtype else None


def _type(library: str, parts: Any) -> Any:
    module = import_module(library)
    if isinstance(parts, tuple):
        return module.CategoricalDtype(*parts)
    if not isinstance(parts, str):
        return None
    try:
        if library == "pandas":
            return module.api.types.pandas_dtype(parts)
        if library == "pyarrow":
            return module.type_for_alias(parts)
    except Exception:  # each library has errors of its own for a name that it does not know
        return None
    found = getattr(module, parts, None)
    return found if isinstance(found, type) and issubclass(found, module.DataType) else None
