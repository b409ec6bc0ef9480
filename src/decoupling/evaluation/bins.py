"""Confidence beside accuracy, in bins of equal width."""

from __future__ import annotations

import numpy as np

from decoupling._typing import BoolArray, FloatArray


def calibration_bins(
    confidence: FloatArray, right: BoolArray, n_bins: int, weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean confidence, accuracy and number of rows of each bin, each (n_bins,); NaN if it is empty.

    Parameters
    ----------
    confidence : array (N,)
        Probability of what was predicted.
    right : bool array (N,)
        Whether that is right.
    n_bins : int
        Number of bins.
    weight : array (N,), optional
        How many equal rows each row stands for.

    Examples
    --------
    >>> calibration_bins(np.array([0.6, 0.8, 0.9]), np.array([False, True, True]), 2)
    (array([       nan, 0.76666667]), array([       nan, 0.66666667]), array([0., 3.]))
    """
    weight = np.ones(len(confidence)) if weight is None else weight
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    count: FloatArray = np.asarray(np.bincount(bins, weight, minlength=n_bins), dtype=np.float64)
    rows = np.where(count > 0, count, np.nan)
    mean = np.bincount(bins, weight * confidence, minlength=n_bins) / rows
    return mean, np.bincount(bins, weight * right, minlength=n_bins) / rows, count
