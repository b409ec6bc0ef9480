"""T as it is reported: with the mean of q(T), and as wide as its prior and its rows leave it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray
from decoupling.inference.ascent.state import Gamma
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.intervals import beta_interval

# With more entries of T than this no matrix over pairs of them is made: it would have more than
# 360,000 numbers, and twice the entries take eight times as long.
TOGETHER: Final = 600
# Least sum of concentrations that is reported of a row of T: it can be divided by.
_TINY: Final = 1e-12
# Level of the intervals of the prior. The prior all but excludes values beyond them.
_NEARLY_ALL: Final = 0.99


@dataclass(frozen=True, eq=False)
class LearnedTransitions:
    """q(T) and p(T) in the units of the evidence, and how much of them is reported.

    Attributes
    ----------
    posterior, prior : DirichletRows
        q(T) and p(T).
    share : float
        Both are multiplied by this to be reported: the evidence for T over that for the rows.
    prior_share : array (C, 1)
        How much of the prior is reported: less than 1 where it was estimated from few rows.
    """

    posterior: DirichletRows
    prior: DirichletRows
    share: float
    prior_share: FloatArray

    @property
    def prior_total(self) -> FloatArray:
        """What the prior of each row of T is worth, as reported, (C,)."""
        share = self.prior_share[:, 0] * self.share
        return np.asarray(np.maximum(self.prior.total * share, _TINY))

    @property
    def reported(self) -> DirichletRows:
        """q(T) with its mean, and as sure as its prior and its rows are to be reported."""
        counts = self.posterior.total - self.prior.total
        total = np.maximum(counts * self.share + self.prior_total, _TINY)
        return self.posterior.replace(self.posterior.mean() * total[:, None])

    def interval(self, inflation: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends of credible intervals for T, each (C, S); ``inflation`` is that of `Uncertainty`."""
        reported, mean = self.reported, self.posterior.mean()
        sure = reported.known[:, None]
        total = reported.parameters.sum(axis=1, keepdims=True)
        total = (total + 1.0) / inflation - 1.0
        total = np.maximum(total, self.prior_total[:, None])
        lower, upper = beta_interval(
            np.stack([mean, 1.0 - mean], axis=-1) * total[..., None], level
        )
        return (
            np.where(sure, mean, np.minimum(lower[..., 0], mean)),
            np.where(sure, mean, np.maximum(upper[..., 0], mean)),
        )

    def wide(self, inflation: FloatArray) -> DirichletRows:
        """Dirichlet rows of T as wide as the intervals, by the widest entry of each row."""
        reported = self.reported
        wide = (reported.total + 1.0) / inflation.max(axis=1) - 1.0
        shrink = np.maximum(wide, self.prior_total) / reported.total
        return reported.replace(reported.parameters * shrink[:, None])

    def prior_interval(self) -> tuple[FloatArray, FloatArray]:
        """Ends of intervals for T under its prior, each (C, S)."""
        mean, sure = self.prior.mean(), self.prior.known[:, None]
        lower, upper = beta_interval(mean * self.prior_total[:, None], _NEARLY_ALL)
        return np.where(sure, mean, lower), np.where(sure, mean, upper)

    def supported_by(self, rows: FloatArray) -> FloatArray:
        """``prior_share`` once the prior is worth no more than so many rows, (C,)."""
        support = np.maximum(rows, 1.0)[:, None]
        prior = self.prior.parameters.sum(axis=1, keepdims=True)
        limit = np.minimum(1.0, support / (prior * self.share))
        return np.asarray(np.minimum(self.prior_share, limit))


@dataclass(frozen=True, eq=False)
class Reported:
    """Posterior of T and gamma that error bars start from.

    Attributes
    ----------
    transitions : DirichletRows
        q(T) as it is reported, given the classes of the rows.
    prior_total : array (C,)
        What its prior alone is worth: T is never less sure than that.
    class_prior : Gamma
        Gamma, or q(gamma).
    n_rows : float
        Number of rows.
    row_share : float
        What the counts of a row are worth in learning T; 0 if it was not learned.
    """

    transitions: DirichletRows
    prior_total: FloatArray
    class_prior: Gamma
    n_rows: float
    row_share: float

    @property
    def prior(self) -> DirichletRows:
        """T as sure as its prior alone makes it."""
        return self.transitions.replace(self.transitions.mean() * self.prior_total[:, None])

    @property
    def free(self) -> BoolArray:
        """Entries of T that can vary, (C, S)."""
        possible = (self.transitions.parameters > 0) & ~self.transitions.known[:, None]
        return np.asarray(possible & (np.count_nonzero(possible, axis=1, keepdims=True) > 1))

    def gamma_covariance(self, log_by_gamma: FloatArray) -> FloatArray:
        """Covariance of gamma given T, (C, C), for this response of E[ln Y] to it."""
        return self.class_prior.covariance(log_by_gamma, self.n_rows)
