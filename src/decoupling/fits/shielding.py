"""Rows that a model cannot change: what one model does to them in place, the next must not see.

Some models scale their rows in place, such as a pipeline with ``StandardScaler(copy=False)``. Where
several models read the same rows, each would find what the one before has left. So each of them is
given a read-only view of an array, which costs nothing, and a copy only if it cannot do with that.
A dataframe is copied at once: scikit-learn takes the right to write to those of pandas. That takes
a third of the time of the fastest predictions, and little of that of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from typing import Any, Final, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from decoupling._typing import IntArray
from decoupling.labels.libraries import library_of

# What NumPy, SciPy and Cython say of an array that must not be written to.
_REFUSED: Final = re.compile(r"read-?\s?only|not writeable|WRITEABLE", re.IGNORECASE)

Result = TypeVar("Result")


def own_rows(X: Any, rows: IntArray) -> Any:
    """Some of the rows, by their numbers, in memory that they share with no others.

    Examples
    --------
    >>> own_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    some = _safe_indexing(X, rows)
    # If all rows are taken in their order, pandas returns a dataframe that shares their memory.
    shares = library_of(X).name == "pandas" and len(some) == len(X)
    return some.copy(deep=True) if shares else some


def shielded(call: Callable[[Any], Result], X: Any) -> Result:
    """Call a function with rows that it cannot change, and return its result.

    Parameters
    ----------
    call : callable
        Takes the rows. It is called once more, with a copy, if it fails since it must not write.
    X : array-like, dataframe or sparse matrix (N, D)
        The rows.

    Examples
    --------
    >>> X = np.array([[2.0]])
    >>> shielded(lambda rows: np.subtract(rows, 2.0, out=rows), X), X
    (array([[0.]]), array([[2.]]))
    """
    try:
        return call(_read_only(X))
    except Exception as error:  # classifiers of other libraries have errors of their own
        if not _REFUSED.search(str(error)):
            raise
    return call(_copied(X))


def _read_only(X: Any) -> Any:
    """An array or a sparse matrix without the right to write to it; a copy of other rows."""
    if isinstance(X, np.ndarray):
        view = X.view()
        view.flags.writeable = False
        return view
    if issparse(X):
        shallow = copy(X)  # which shares the arrays
        for name in _arrays_of(X):
            setattr(shallow, name, _read_only(getattr(X, name)))
        return shallow
    return _copied(X)


def _arrays_of(X: Any) -> list[str]:
    """Names of the arrays that a sparse matrix is made of."""
    return [name for name, value in vars(X).items() if isinstance(value, np.ndarray)]


def _copied(X: Any) -> Any:
    """A copy of the rows. Cells that are objects, such as texts, are not copied."""
    if library_of(X).name == "pandas":
        return X.copy(deep=True)
    if isinstance(X, np.ndarray) or issparse(X):
        return X.copy()
    return copy(X)  # polars and pyarrow share only what cannot change
