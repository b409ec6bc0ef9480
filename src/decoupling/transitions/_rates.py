"""Rates that users give: a number, or one for each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from decoupling._text import Argument, Message, listed
from decoupling._typing import FloatArray
from decoupling._validation import ROUNDING, SUM_TOLERANCE, as_float, first_offence
from decoupling.transitions._names import Names

Rates: TypeAlias = ArrayLike | Mapping[Any, float]


def check_rates(name: str, values: Any, classes: Names) -> FloatArray:
    """A rate in [0, 1] for each class, (C,): from a number, one per class, or {class: rate}."""
    if hasattr(values, "keys"):  # a mapping; also a pandas Series, whose order may be any
        values = by_name(name, values, classes)
    several = np.ndim(values) > 0
    rates = as_float(name, values if several else [values], ndim=1)
    if several and len(rates) != len(classes):
        raise ValueError(
            f"{name} must be a number, one per class ({len(classes)}: "
            f"{listed(classes)}) or a mapping {{class: rate}}; got {len(rates)} values."
        )
    rates = np.array(np.broadcast_to(rates, len(classes)))
    bad = np.flatnonzero(~((rates >= 0) & (rates <= 1)))
    if len(bad):
        raise ValueError(
            Message(
                "no-probability",
                "{name}: {rate:.6g} for class {of!r} is not a probability in [0, 1] ({n} such in "
                "all).",
                name=Argument(name),
                rate=rates[bad[0]],
                of=classes[bad[0]],
                n=len(bad),
            )
        )
    return rates


def check_balance(name: str, values: Any, classes: Names) -> FloatArray:
    """A share of each class, (C,), which sum to 1."""
    shares = check_rates(name, values, classes)
    if abs(shares.sum() - 1.0) > SUM_TOLERANCE:
        raise ValueError(
            f"{name} must sum to 1 over the classes {listed(classes)}; its sum is "
            f"{shares.sum():.6g}."
        )
    return shares


def by_name(name: str, values: Any, names: Names, default: float | None = None) -> list[Any]:
    """Values of a mapping in the order of `names`; a missing one is refused or `default`."""
    given = dict(values)
    unknown = [key for key in given if key not in names]
    missing = [key for key in names if key not in given] if default is None else []
    if unknown or missing:
        wrong = [f"unknown: {listed(unknown)}"] * bool(unknown)
        wrong += [f"missing: {listed(missing)}"] * bool(missing)
        raise ValueError(f"{name} must have the names {listed(names)}; {'; '.join(wrong)}.")
    return [given.get(key, default) for key in names]


def check_labelled(labelled: Rates, classes: Names) -> FloatArray:
    """p(labelled | class), (C,), above 0."""
    rates = check_rates("labelled", labelled, classes)
    never = [repr(c) for c, rate in zip(classes, rates, strict=True) if rate == 0]
    if never:
        raise ValueError(
            Message(
                "never-labelled",
                "{@labelled}: 0 for class {classes}. A class that never gets a label cannot be "
                "learned from labels; give a rate above 0, or make it the negative class of "
                "{multi_positive_unlabelled|--task multi-positive-unlabelled}.",
                classes=", ".join(never),
            )
        )
    return rates


def uniform_noise(noise: Rates, classes: Names) -> FloatArray:
    """p(s | c, labelled), (C, C), with all wrong labels equally likely."""
    rates = check_rates("noise", noise, classes)[:, None]
    n_classes = len(classes)
    if n_classes == 1 and rates[0, 0] > 0:
        raise ValueError(f"Wrong labels need at least 2 classes; there is only {classes[0]!r}.")
    return np.where(np.eye(n_classes, dtype=bool), 1 - rates, rates / max(n_classes - 1, 1))


def allows_noise(noise: Any) -> bool:
    """Whether some label may be wrong, given what the user said of it."""
    if noise is None:
        return False
    if is_auto(noise):
        return True
    refuse_frame(noise)
    values = list(dict(noise).values()) if hasattr(noise, "keys") else noise
    try:
        return bool(np.any(np.asarray(values, dtype=np.float64) != 0))
    except (TypeError, ValueError) as error:
        raise ValueError(
            'noise must be "auto", a number, one per class, a mapping {class: rate} or an array '
            f"of p(label | class, labelled); {error}."
        ) from None


def is_auto(noise: Any) -> bool:
    """Whether labels may be wrong at a rate that is to be estimated."""
    return isinstance(noise, str) and noise == "auto"


def refuse_frame(noise: Any) -> None:
    """A table has names that may stand in another order than the classes."""
    if hasattr(noise, "columns"):
        raise ValueError(
            "noise is a data frame, whose rows and columns would be taken by their place. Bring "
            "them into the order of the classes and pass an array: noise.to_numpy()."
        )


def check_noise(noise: ArrayLike, n_classes: int) -> FloatArray:
    """p(s | c, labelled), (C, C), with the diagonal filled in if it is zero."""
    refuse_frame(noise)
    rows = as_float("noise", noise, ndim=2)
    if rows.shape != (n_classes, n_classes):
        raise ValueError(f"noise must have shape ({n_classes}, {n_classes}); got {rows.shape}.")
    advice = (
        "Rows are p(label | class, labelled); with zeros on the diagonal, of wrong labels only."
    )
    bad = ~((rows >= 0) & (rows <= 1))
    first_offence("noise", rows, bad, "not a probability in [0, 1]", advice)
    total = rows.sum(axis=1)
    if not np.diagonal(rows).any():
        # What rounding leaves must not make an impossible label possible.
        rows = rows + np.diag(np.where(1 - total > ROUNDING, 1 - total, 0.0))
    off = np.abs(rows.sum(axis=1) - 1) > SUM_TOLERANCE
    first_offence("noise", total, off, "the sum of a row that is not 1", advice)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
