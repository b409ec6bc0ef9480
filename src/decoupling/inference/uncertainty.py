"""Error bars of T, of gamma and of the class balance, once all of them may move together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray
from decoupling.inference import dirichlet
from decoupling.inference.class_prior import GammaPosterior, KnownGamma
from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.response import Response, widened

# With more entries of T than this, classes are taken one by one.
_TOGETHER: Final = 600


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What is not known of the labelling and of the classes.

    Attributes
    ----------
    inflation : array (C, S)
        Variance of each entry of T over that of its Dirichlet distribution; 1 or more.
    gamma : array (C, C)
        Covariance of gamma.
    balance : array (C,)
        Variance of the mean of E[Y] over the rows, as T and gamma vary.
    """

    inflation: FloatArray
    gamma: FloatArray
    balance: FloatArray

    def over(self, labels: BoolArray) -> Uncertainty:
        """The same with columns for the labels that are never seen, too; ``labels`` (S,) are."""
        inflation = np.ones((len(self.inflation), len(labels)))
        inflation[:, labels] = self.inflation
        return replace(self, inflation=inflation)


def uncertainty(
    response: Response,
    reported: DirichletRows,
    prior_total: FloatArray,
    class_prior: KnownGamma | GammaPosterior,
    n_rows: float,
    row_share: float,
) -> Uncertainty:
    """Error bars to first order.

    Parameters
    ----------
    response : Response
        Of the average row.
    reported : DirichletRows
        q(T) as it is reported, given the classes of the rows.
    prior_total : array (C,)
        What its prior alone is worth: T is never less sure than that.
    class_prior : KnownGamma or GammaPosterior
        Gamma, or q(gamma).
    n_rows : float
        Number of rows.
    row_share : float
        What the counts of a row are worth in learning T; 0 if it was not learned.
    """
    shape = reported.parameters.shape
    free = _free(reported)
    keep = np.flatnonzero(free)
    by_transitions = n_rows * response.log_by_transitions[:, keep]
    n_classes = shape[0]
    given = np.zeros((n_classes, n_classes))
    if isinstance(class_prior, GammaPosterior):
        given = class_prior.covariance(response.log_by_gamma, n_rows)
    # Gamma follows T, and through the rows it takes information from it.
    follows = given @ by_transitions
    missing = n_rows * response.counts_by_transitions[np.ix_(keep, keep)]
    missing += by_transitions.T @ follows
    own = _covariance(reported)[np.ix_(keep, keep)]
    covariance = _widened(own, row_share * missing, keep // shape[1])
    prior = reported.replace(reported.mean() * prior_total[:, None])
    most = np.diag(_covariance(prior))[keep]
    shrink = np.sqrt(np.minimum(1.0, most / np.diag(covariance)))
    covariance *= shrink[:, None] * shrink
    slope = response.mean_by_transitions[:, keep] + response.mean_by_gamma @ follows
    inflation = np.ones(free.size)
    inflation[keep] = np.diag(covariance) / np.diag(own)
    of_gamma = response.mean_by_gamma @ given @ response.mean_by_gamma.T
    return Uncertainty(
        inflation.reshape(shape),
        given + follows @ covariance @ follows.T,
        np.diag(slope @ covariance @ slope.T) + np.diag(of_gamma),
    )


def _free(rows: DirichletRows) -> BoolArray:
    """Entries of T that can vary, (C S,)."""
    possible = (rows.parameters > 0) & ~rows.known[:, None]
    possible &= np.count_nonzero(possible, axis=1, keepdims=True) > 1
    return possible.reshape(-1)


def _covariance(rows: DirichletRows) -> FloatArray:
    """Covariance of ln T, (C S, C S), for entries that can vary."""
    n_classes, n_labels = rows.parameters.shape
    safe = np.where(rows.parameters > 0, rows.parameters, 1.0)
    shared = dirichlet.trigamma(rows.parameters.sum(axis=1))
    out = np.zeros((n_classes, n_labels, n_classes, n_labels))
    for c in range(n_classes):
        out[c, :, c, :] = np.diag(dirichlet.trigamma(safe[c])) - shared[c]
    return out.reshape(n_classes * n_labels, -1)


def _widened(own: FloatArray, missing: FloatArray, classes: FloatArray) -> FloatArray:
    """Covariance once rows follow: of all entries together, or class by class if they are many."""
    if len(own) <= _TOGETHER:
        return widened(own, missing) if len(own) else own
    out = np.zeros_like(own)
    for c in np.unique(classes):
        entries = np.ix_(*[np.flatnonzero(classes == c)] * 2)
        out[entries] = widened(own[entries], missing[entries])
    return out
