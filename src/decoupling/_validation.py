"""Checks of arguments: what is wrong, where, how often, and what to do about it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from numbers import Integral, Number
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from decoupling._text import Argument, Message
from decoupling._typing import AnyArray, BoolArray, FloatArray

# Rows of probabilities may miss 1 by this much and are renormalised; beyond it they are refused. At
# ten times this, rows that lack a rare label would pass.
SUM_TOLERANCE = 1e-3
# Sums of rows in single precision miss 1 by so much at most: there is no warning below it.
ROUNDING = 1e-5
# Smallest concentration. The information has 1 / a^2 in it, which overflows below 1e-154, and which
# is multiplied with counts.
SMALLEST: Final = 1e-100
# Largest concentration. It is squared, which overflows above 1e154, and multiplied with counts.
LARGEST: Final = 1e100
# Types of pd.NA and pd.NaT, by name, since pandas is not a dependency.
_PANDAS_GAPS: Final = {"NAType", "NaTType"}
_PACKAGE: Final = str(Path(__file__).parent)

Fit = TypeVar("Fit", bound=Callable[..., Any])


def warn_user(message: Message | None, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the library, however deep inside it the reason is found.

    The warning carries the message, see `decoupling._text.message_of`. None is no warning.
    """
    if message is None:
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def needs_extra(extra: str, purpose: str) -> Iterator[None]:
    """Say which extra to install if an import inside finds no module."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'{purpose} needs {error.name}: pip install "decoupling[{extra}]".', name=error.name
        ) from error


def is_dask(source: object) -> bool:
    """Whether this is a collection of Dask, which need not be imported for it."""
    dask = sys.modules.get("dask")  # whoever has a collection has imported it
    return dask is not None and bool(dask.is_dask_collection(source))


def all_or_nothing(fit: Fit) -> Fit:
    """Make a method that leaves its object as it was if it fails."""

    @wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast("Fit", guarded)


def check_memory(n_rows: int, n_columns: int) -> None:
    """Refuse rows that do not fit into memory, before hours are spent on them."""
    needed, there = 8 * n_rows * n_columns, _memory()
    if needed > there:
        raise ValueError(
            f"{n_rows:,} rows need {needed / 2**30:,.0f} GiB of memory for what is inferred of "
            f"them, and this machine has {there / 2**30:,.0f}. Pass p(label | x) to "
            "decoupling.infer as something that need not be in memory, such as a NumPy memmap, a "
            ".npy or Parquet file, an iterator of blocks or a collection of Dask."
        )


def _memory() -> float:
    """Bytes of memory of this machine; no limit where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # pragma: no cover - not on Windows
        return float("inf")


def frozen(array: FloatArray) -> FloatArray:
    """A read-only copy."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def as_float(name: str, values: ArrayLike, *, ndim: int) -> FloatArray:
    """``values`` as a float64 array with ``ndim`` axes and at least one entry."""
    array = as_numbers(name, values)
    check_shape(name, array, ndim)
    return np.asarray(array, dtype=np.float64)


def as_numbers(name: str, values: ArrayLike) -> AnyArray:
    """``values`` as an array of real numbers, of their own type where it is one."""
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
        if array.ndim == 0 and not isinstance(array.item(), Number | np.number | str | bytes):
            raise TypeError(f"got {'None' if values is None else type(values).__name__}")
        if array.dtype.kind == "O":
            # Gaps of pandas, pd.NA, cannot be made numbers.
            gaps = np.asarray(np.frompyfunc(is_gap, 1, 1)(array), dtype=bool)
            array = np.where(gaps, np.nan, array)
        if array.dtype.kind in "OUS":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers; {error}.") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be an array of real numbers; got dtype {array.dtype}.")
    return array


def refuse_masked(name: str, values: Any) -> None:
    """Refuse an array of which something is masked: numpy would take what is behind the mask."""
    if not np.ma.is_masked(values):
        return
    masked = np.argwhere(np.ma.getmaskarray(values))
    places = zip(("row", "column", "layer"), masked[0].tolist(), strict=False)
    raise ValueError(
        f"{name}: {len(masked)} entries are masked, the first at "
        f"{', '.join(f'{axis} {place}' for axis, place in places)}. Fill them with numbers, as "
        "numpy.ma.filled does, or leave these rows out."
    )


def is_gap(value: Any) -> bool:
    """Whether a value is None, NaN, NA or NaT."""
    return value is None or type(value).__name__ in _PANDAS_GAPS or bool(value != value)


def check_shape(name: str, array: AnyArray, ndim: int) -> None:
    """Refuse an array without any entry, or of another number of axes."""
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} axes; got shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")


def first_offence(
    name: str, values: AnyArray, bad: BoolArray, what: str, advice: str, first_row: int = 0
) -> None:
    """Raise a ValueError about the first entry where ``bad`` holds; do nothing if none does.

    ``first_row`` is the number of the first row, if others came before it.
    """
    count = int(np.count_nonzero(bad))
    if count == 0:
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    where = f"row {first_row + index[0]}" + (f", column {index[1]}" if len(index) > 1 else "")
    entries = "1 such entry" if count == 1 else f"{count} such entries"
    raise ValueError(
        Message(
            "bad-entry",
            "{name}: {value:.6g} at {where} is {what} ({entries} in all). {advice}",
            name=Argument(name),
            value=values[index],
            where=where,
            what=what,
            entries=entries,
            advice=advice,
        )
    )


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Refuse what is not an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(
            Message(
                "no-count",
                "{name} must be an integer, at least {least}; got {value!r}.",
                name=Argument(name),
                least=least,
                value=value,
            )
        )


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither true nor false: the text "no" would count as true."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, Integral) and value in (0, 1)):
        return
    raise ValueError(
        Message(
            "no-flag", "{name} must be True or False; got {value!r}.",
            name=Argument(name), value=value,
        )
    )  # fmt: skip


def check_positive(name: str, values: ArrayLike, *, ndim: int) -> FloatArray:
    """``values`` as an array of concentrations, finite and above 0."""
    array = as_float(name, values, ndim=ndim)
    advice = "Dirichlet concentrations are finite and greater than 0."
    first_offence(name, array, ~np.isfinite(array), "not finite", advice)
    first_offence(name, array, array <= 0, "not positive", advice)
    check_range(name, array)
    return array


def check_range(name: str, array: FloatArray) -> None:
    """Refuse numbers above 0 that are too small or too large to compute with."""
    beyond = ((array > 0) & (array < SMALLEST)) | (array > LARGEST)
    advice = f"Numbers from {SMALLEST:g} to {LARGEST:g} will do."
    first_offence(name, array, beyond, "too extreme to compute with", advice)


@dataclass
class RowSums:
    """How far the sums of rows are from 1; blocks of rows are added up.

    Attributes
    ----------
    off : int
        Rows that are off by more than rounding.
    worst_row, worst_sum
        The row that is farthest off, and its sum.
    """

    off: int = 0
    worst_row: int = 0
    worst_sum: float = 1.0

    def add(self, other: RowSums) -> None:
        """Add another block of rows."""
        self.off += other.off
        if abs(other.worst_sum - 1.0) > abs(self.worst_sum - 1.0):
            self.worst_row, self.worst_sum = other.worst_row, other.worst_sum

    def warn(self) -> None:
        """Warn if some rows are off by more than rounding."""
        if self.off:
            warn_user(
                Message(
                    "rows-off-one",
                    "{@label_proba}: {n_rows} rows miss 1 by up to {gap:.2g} (worst: row {row}, "
                    "sum {total:.6g}); renormalised.",
                    n_rows=self.off,
                    gap=abs(self.worst_sum - 1.0),
                    row=self.worst_row,
                    total=self.worst_sum,
                )
            )


def check_label_proba(values: ArrayLike, *, n_labels: int | None = None) -> AnyArray:
    """p(s|x) with rows that sum to 1 to within `SUM_TOLERANCE`, in its own dtype and not copied.

    Rows are divided by their sum where they are used, block by block, so that no second (N, S)
    array is made.
    """
    array = as_numbers("label_proba", values)
    check_rows(array, n_labels).warn()
    return array


def check_rows(
    array: AnyArray, n_labels: int | None, first_row: int = 0, name: str = "label_proba"
) -> RowSums:
    """Refuse rows that are no distributions of labels; how far their sums are from 1."""
    check_shape(name, array, ndim=2)
    if n_labels is not None and array.shape[1] != n_labels:
        raise ValueError(
            f"{name} has {array.shape[1]} columns, transitions has {n_labels} labels: "
            "one column per label, in the same order, is needed."
        )
    advice = "Impute or drop these rows first."
    first_offence(name, array, ~np.isfinite(array), "not finite", advice, first_row)
    outside = (array < 0) | (array > 1 + SUM_TOLERANCE)
    if outside.any():
        advice = _outside_advice(array)
        first_offence(name, array, outside, "outside [0, 1]", advice, first_row)
    total = array.sum(axis=1, dtype=np.float64)
    error = np.abs(total - 1.0)
    first_offence(
        name,
        total,
        error > SUM_TOLERANCE,
        "the sum of a row that is not 1",
        "Rows are p(label | x). If they are logits apply a softmax, if percentages divide by 100, "
        "if a label is missing add its column (unlabelled is a label too).",
        first_row,
    )
    worst = int(error.argmax())
    off = int(np.count_nonzero(error > ROUNDING))
    return RowSums(off, first_row + worst, float(total[worst]))


def _outside_advice(array: AnyArray) -> str:
    if (array < 0).any():
        return "Were logits passed? Apply a softmax first."
    if np.allclose(array.sum(axis=1), 100.0, atol=1.0):
        return "Were percentages passed? Divide by 100 first."
    return "Were logits or counts passed? Apply a softmax, or divide each row by its sum."


def check_evidence(name: str, values: ArrayLike, n_rows: int | None = None) -> FloatArray:
    """``values`` as evidence, finite and above 0: a number, or one for each of ``n_rows`` rows."""
    if isinstance(values, str | bytes):
        raise ValueError(f"{name} must be a number; got the text {values!r}.")
    array = np.asarray(as_numbers(name, values), dtype=np.float64)
    shapes: list[tuple[int, ...]] = [()] if n_rows is None else [(), (n_rows,)]
    if array.shape not in shapes:
        wanted = "a number" if n_rows is None else f"a number or one per row, shape ({n_rows},)"
        raise ValueError(f"{name} must be {wanted}; got shape {array.shape}.")
    flat = array.reshape(-1)
    advice = "It counts observations: a finite number greater than 0."
    first_offence(name, flat, ~np.isfinite(flat), "not finite", advice)
    first_offence(name, flat, flat <= 0, "not positive", advice)
    check_range(name, flat)
    return array
