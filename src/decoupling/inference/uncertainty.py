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

# Variance of the logarithm of an entry that cannot vary.
_FIXED: Final = 1e-20


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
    shape, groups = reported.parameters.shape, len(response.counts_by_transitions)
    free = _free(reported)
    given = np.zeros((shape[0], shape[0]))
    if isinstance(class_prior, GammaPosterior):
        given = class_prior.covariance(response.log_by_gamma, n_rows)
    # Gamma follows T, and through the rows it takes information from it.
    by_transitions = n_rows * response.log_by_transitions  # (C, C S)
    follows = given @ by_transitions
    missing = n_rows * response.counts_by_transitions
    missing += np.swapaxes(_grouped(by_transitions, groups), 1, 2) @ _grouped(follows, groups)
    free_pairs = _grouped(free.reshape(1, -1).astype(float), groups)
    missing *= row_share * np.swapaxes(free_pairs, 1, 2) * free_pairs
    own = _covariance(reported, free, groups)
    covariance = widened(own, missing)
    given_classes, variance = (np.diagonal(c, axis1=1, axis2=2) for c in (own, covariance))
    prior = reported.replace(reported.mean() * prior_total[:, None])
    most = np.diagonal(_covariance(prior, free, groups), axis1=1, axis2=2)
    shrink = np.sqrt(np.minimum(1.0, most / variance))
    inflation = (variance * shrink**2 / given_classes).reshape(shape)
    covariance = covariance * shrink[:, :, None] * shrink[:, None, :]

    def variance_of(slope: FloatArray) -> FloatArray:
        """Covariance of what moves with ln T by ``slope``, (C, C S)."""
        parts = _grouped(slope, groups)
        return np.asarray((parts @ covariance @ np.swapaxes(parts, 1, 2)).sum(axis=0))

    slope = response.mean_by_transitions + response.mean_by_gamma @ follows
    of_gamma = response.mean_by_gamma @ given @ response.mean_by_gamma.T
    return Uncertainty(
        np.where(free, inflation, 1.0),
        given + variance_of(follows),
        np.diag(variance_of(slope)) + np.diag(of_gamma),
    )


def _grouped(values: FloatArray, groups: int) -> FloatArray:
    """Columns over the entries of T, (R, C S), in groups of them, (G, R, K)."""
    return np.moveaxis(values.reshape(len(values), groups, -1), 1, 0)


def _free(rows: DirichletRows) -> BoolArray:
    """Entries of T that can vary, (C, S)."""
    possible = (rows.parameters > 0) & ~rows.known[:, None]
    return np.asarray(possible & (np.count_nonzero(possible, axis=1, keepdims=True) > 1))


def _covariance(rows: DirichletRows, free: BoolArray, groups: int) -> FloatArray:
    """Covariance of ln T in groups of its entries, (G, K, K); next to nothing if not free."""
    n_classes, n_labels = free.shape
    safe = np.where(rows.parameters > 0, rows.parameters, 1.0)
    # Impossible labels add nothing to the total of their class.
    own = dirichlet.trigamma(safe)[:, :, None] * np.eye(n_labels)
    blocks = own - dirichlet.trigamma(rows.total)[:, None, None]
    blocks = np.where(free[:, :, None] & free[:, None, :], blocks, _FIXED * np.eye(n_labels))
    if groups > 1:
        return np.asarray(blocks)
    whole = np.einsum("cst,cd->csdt", blocks, np.eye(n_classes))
    return np.asarray(whole.reshape(1, n_classes * n_labels, -1))
