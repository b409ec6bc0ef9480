"""Names of classes and labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np

Names: TypeAlias = Sequence[Hashable]


def as_names(name: str, names: Names) -> tuple[Hashable, ...]:
    """Names as a tuple of at least one; a string is one name, not a sequence of letters."""
    if isinstance(names, str):
        raise ValueError(f"{name} must be a sequence of names; for a single one use [{names!r}].")
    result = plain_names(names)
    if not result:
        raise ValueError(f"{name} is empty: at least one name is needed.")
    return result


def plain_names(names: Names) -> tuple[Hashable, ...]:
    """Names as a tuple. Those of an array become values of Python, which print without a type."""
    return tuple(names.tolist() if isinstance(names, np.ndarray) else names)


def axis_names(name: str, names: Names | None, size: int, like: str) -> tuple[Hashable, ...]:
    """Distinct names for the axis of `size` entries of the array `like`; 0, 1, ... by default."""
    result = tuple(range(size)) if names is None else plain_names(names)
    if len(result) != size:
        raise ValueError(f"{name} must have {size} entries to match {like}; got {len(result)}.")
    if len(set(result)) != size:
        twice = sorted({str(n) for n in result if result.count(n) > 1})
        raise ValueError(f"{name} must be distinct; repeated: {', '.join(twice)}.")
    allowed = 1 if name == "labels" else 0
    if None in result[allowed:]:
        raise ValueError(
            f"{name}: None at place {result.index(None)}. None is reserved for unlabelled, "
            "which is the first of the labels and never a class."
        )
    return result
