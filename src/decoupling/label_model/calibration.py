"""Calibration of p(s|x) on the labels themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from decoupling._typing import FloatArray, IntArray
from decoupling.likelihood.temperature import HOTTEST, best_temperature, log_proba, tempered

# Distance of p(labelled | x) from 0 and 1, at least. The isotonic map is flat at its ends, where it
# would promise certainty. At twice this distance the largest odds are half as large.
_LEAST_LABELLED: Final = 1e-4


@dataclass(frozen=True, eq=False)
class Calibration:
    """Maps p(s|x) so that it agrees with how often labels occur.

    Attributes
    ----------
    labelled : IsotonicRegression or None
        Map of p(labelled | x); None leaves it as it is.
    temperature : float
        Temperature of p(label | labelled, x): 1 leaves it as it is, more softens it.
    has_unlabelled : bool
        Whether column 0 is unlabelled.
    """

    labelled: Any
    temperature: float
    has_unlabelled: bool

    def apply(self, proba: FloatArray) -> FloatArray:
        """Calibrated p(s|x), (N, S)."""
        first = int(self.has_unlabelled)
        share = 1.0 - proba[:, 0] if self.has_unlabelled else np.ones(len(proba))
        given = tempered(proba[:, first:], self.temperature)
        if self.labelled is not None:
            share = self.labelled.predict(share).clip(_LEAST_LABELLED, 1.0 - _LEAST_LABELLED)
        out = np.empty_like(proba)
        out[:, 0] = 1.0 - share
        out[:, first:] = given * share[:, None]
        return out


def fit_calibration(
    proba: FloatArray, codes: IntArray, weight: FloatArray, *, has_unlabelled: bool
) -> Calibration:
    """Isotonic map of labelled against unlabelled, and one temperature for the labels."""
    first = int(has_unlabelled)
    isotonic = None
    if has_unlabelled and np.ptp(proba[:, 0]) > 0:
        from sklearn.isotonic import IsotonicRegression

        isotonic = IsotonicRegression(out_of_bounds="clip", y_min=0.0, y_max=1.0)
        isotonic.fit(1.0 - proba[:, 0], codes > 0, sample_weight=weight)
    rows = codes >= first
    temperature = 1.0
    if proba.shape[1] - first > 1:
        logs = log_proba(proba[rows, first:])
        given = np.eye(logs.shape[1])[codes[rows] - first]
        temperature = best_temperature(logs, given, weight[rows], coldest=1.0 / HOTTEST)
    return Calibration(isotonic, temperature, has_unlabelled)
