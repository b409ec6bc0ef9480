"""Checks of the options of an inference. They import nothing of the inference itself."""

from __future__ import annotations

from numbers import Real
from pathlib import Path
from typing import Final

from numpy.typing import ArrayLike

from decoupling._validation import check_count

# Names of the methods in `math.expected_log.METHODS`, which is not imported for them.
EXPECTED_LOGS: Final = ("beta", "bound", "exact", "taylor")
# Names of the ascents in `infer`.
OPTIMISERS: Final = ("l-bfgs", "natural")
# Observations that a row counts for by "auto". Held-out likelihood of the labels grows with the
# evidence and has flattened by here.
AUTO_EVIDENCE: Final = 100.0


def check_options(expected_log: str, order: int) -> None:
    """Refuse ways to evaluate the expected logarithm that there are not."""
    if expected_log not in EXPECTED_LOGS:
        raise ValueError(
            f"expected_log must be one of {list(EXPECTED_LOGS)}; got {expected_log!r}."
        )
    check_count("order", order)


def as_evidence(evidence: str | ArrayLike) -> ArrayLike:
    """Return how much rows count for: as given, or the default for "auto"."""
    if isinstance(evidence, str):
        if evidence != "auto":
            raise ValueError(f'evidence must be "auto", a number or one per row; got {evidence!r}.')
        return AUTO_EVIDENCE
    return evidence


def check_ascent(optimiser: str, max_iter: int, tol: float, counts: dict[str, int | None]) -> None:
    """Refuse ways to ascend that there are not; ``counts`` are other numbers by name."""
    if optimiser not in OPTIMISERS:
        raise ValueError(f"optimiser must be one of {list(OPTIMISERS)}; got {optimiser!r}.")
    if not (isinstance(tol, Real) and tol >= 0):
        raise ValueError(f"tol must be a number, 0 or more; got {tol!r}.")
    check_count("max_iter", max_iter, least=0)
    for name, count in counts.items():
        if count is not None:
            check_count(name, count)
    if optimiser == "l-bfgs" and counts["local_steps"] != 1:
        raise ValueError('local_steps are those of optimiser="natural".')


def check_checkpoint(checkpoint: str | Path | None, expected_log: str, optimiser: str) -> None:
    """Refuse a checkpoint of a method that does not keep any."""
    if checkpoint is not None and (expected_log, optimiser) != ("bound", "natural"):
        raise ValueError(
            'A checkpoint can be kept with expected_log="bound" and optimiser="natural" only; '
            f"got {expected_log!r} and {optimiser!r}."
        )
