"""Classes before and after; and how many are right, where true classes are known."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.evaluation.bins import calibration_bins
from decoupling.labels.observed import encode_labels
from decoupling.report.facts import Facts
from decoupling.report.text import plain

# Pairs of given and suggested that are listed at most. They are the commonest; a longer list has
# pairs of a few rows.
PAIRS: Final = 12
# Bins of the calibration curve, of equal width. With twice as many most of them are nearly empty.
BINS: Final = 10
# Probability below which the logarithm of the log-loss is cut: one row with a true class that was
# called impossible would make it infinite.
_TINY: Final = 1e-15


def changes_of(facts: Facts, before: Any, true_classes: Any) -> dict[str, Any]:
    """Rows kept, changed and completed, the commonest changes, and scores if truth is known.

    Parameters
    ----------
    facts : Facts
        What was found.
    before : array-like (N,) or None
        The class that each row was taken for before; by default the label it was given.
    true_classes : array-like (N,) or None
        True classes, missing where they are not known.
    """
    was = facts.named if before is None else _encoded("before", before, facts)
    now = facts.suggested
    known = was >= 0
    changed, weight = known & (was != now), facts.weight
    moved, n = was != now, len(facts.classes)
    # One number per pair; before is -1 where there was none.
    totals = np.bincount((was[moved] + 1) * n + now[moved], weight[moved], minlength=(n + 1) * n)
    order = [(k // n - 1, k % n) for k in np.argsort(-totals, kind="stable") if totals[k] > 0]
    pairs = totals.reshape(n + 1, n)
    found: dict[str, Any] = {
        "before": "given" if before is None else "before",
        "kept": facts.counts_of(known & ~changed),
        "changed": facts.counts_of(changed),
        "completed": facts.counts_of(~known),
        "pairs": [
            {
                "before": None if a < 0 else plain(facts.classes[a]),
                "after": plain(facts.classes[b]),
                "rows": float(pairs[a + 1, b]),
            }
            for a, b in order[:PAIRS]
        ],
        "n_pairs": len(order),
        "truth": None,
    }
    if true_classes is not None:
        found["truth"] = _scores(facts, was, _encoded("true_classes", true_classes, facts))
    return found


def _encoded(name: str, values: Any, facts: Facts) -> IntArray:
    try:
        codes = encode_labels(values, facts.classes)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if len(codes) != len(facts.codes):
        raise ValueError(
            f"{name} must have one class per row, {len(facts.codes)}; got {len(codes)}."
        )
    return codes


def _scores(facts: Facts, was: IntArray, truth: IntArray) -> dict[str, Any]:
    known = truth >= 0
    if not known.any():
        raise ValueError("true_classes: every row is missing. Leave true_classes out.")
    both = known & (was >= 0)
    now = facts.suggested
    p_true = facts.conditional[known, truth[known]]
    weight = facts.weight[known]
    bins = _calibration(facts, truth, known)
    gaps = [abs(entry["confidence"] - entry["right"]) * entry["rows"] for entry in bins]
    return {
        "rows": facts.counts_of(known),
        "rows_with_before": facts.counts_of(both),
        "right_before": _share(facts.weight, was == truth, both),
        "right_after_of_these": _share(facts.weight, now == truth, both),
        "right_after": _share(facts.weight, now == truth, known),
        "log_loss": float(-(weight @ np.log(np.maximum(p_true, _TINY))) / weight.sum()),
        "calibration_error": float(sum(gaps) / weight.sum()),
        "calibration": bins,
    }


def _share(weight: FloatArray, right: BoolArray, among: BoolArray) -> float | None:
    total = float(weight[among].sum())
    return float(weight[among & right].sum()) / total if total > 0 else None


def _calibration(facts: Facts, truth: IntArray, known: BoolArray) -> list[dict[str, float]]:
    """Share of rows whose suggested class is right, in bins of its probability."""
    bins = calibration_bins(
        facts.conditional[known].max(axis=1),
        (facts.suggested == truth)[known],
        BINS,
        facts.weight[known],
    )
    return [
        {"confidence": confidence, "right": right, "rows": rows}
        for confidence, right, rows in zip(*(values.tolist() for values in bins), strict=True)
        if rows > 0
    ]
