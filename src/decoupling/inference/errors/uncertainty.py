"""Error bars of T, of gamma and of the class balance, once all of them may move together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.inference.errors.leading_classes import LeadingClasses
from decoupling.inference.errors.reported import TOGETHER, Reported
from decoupling.inference.errors.response import ALMOST_NOTHING, STIFFEST, respond, widened
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.structure import LabelOwners
from decoupling.inference.rows.sample import RowSample

# Only the leading classes of a row respond where there are more numbers than this that say how each
# of its classes responds to each entry of T. Twice as many take about twice the time and memory.
_RESPONSES: Final = 2**15
# Variance of the logarithm of an entry that cannot vary: next to nothing, and still invertible.
_FIXED: Final = 1e-20


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Variances of T, of gamma and of the class balance.

    Attributes
    ----------
    inflation : array (C, S)
        Variance of each entry of T over that of its Dirichlet distribution; 1 or more.
    gamma : array (C,)
        Variance of gamma.
    balance : array (C,)
        Variance of the mean of E[Y] over the rows, as T and gamma vary.
    """

    inflation: FloatArray
    gamma: FloatArray
    balance: FloatArray

    def over(self, labels: BoolArray) -> Uncertainty:
        """Add columns for the labels that are never seen; ``labels`` (S,) says which are seen."""
        inflation = np.ones((len(self.inflation), len(labels)))
        inflation[:, labels] = self.inflation
        return replace(self, inflation=inflation)


def uncertainty(sample: RowSample, log_transitions: FloatArray, reported: Reported) -> Uncertainty:
    """Error bars to first order.

    Where classes are many, rows of T are taken one by one: see `by_leading_classes`.

    Parameters
    ----------
    sample : RowSample
        Rows at their fixed points under the bound.
    log_transitions : array (C, S)
        E[ln T] there.
    reported : Reported
        What is reported of T and gamma.
    """
    n_entries = log_transitions.size
    if n_entries <= TOGETHER and n_entries * len(log_transitions) <= _RESPONSES:
        return all_together(sample, log_transitions, reported)
    return by_leading_classes(sample, log_transitions, reported)


def all_together(sample: RowSample, log_transitions: FloatArray, reported: Reported) -> Uncertainty:
    """Error bars from the covariance of all entries of T, (C S, C S)."""
    response, free = respond(sample, log_transitions), reported.free
    given = reported.gamma_covariance(response.log_by_gamma)
    # Gamma moves with T, so that rows which both depend on tell less of T.
    by_transitions = reported.n_rows * response.log_by_transitions  # (C, C S)
    follows = given @ by_transitions
    missing = reported.n_rows * response.counts_by_transitions + by_transitions.T @ follows
    missing *= reported.row_share * np.outer(free, free)
    own = _covariance(reported.transitions, free)
    covariance = widened(own, missing)
    variance = np.diag(covariance)
    most = np.diag(_covariance(reported.prior, free))
    shrink = np.sqrt(np.minimum(1.0, most / variance))
    inflation = (variance * shrink**2 / np.diag(own)).reshape(free.shape)
    covariance = covariance * np.outer(shrink, shrink)
    slope = response.mean_by_transitions + response.mean_by_gamma @ follows
    of_gamma = response.mean_by_gamma @ given @ response.mean_by_gamma.T
    return Uncertainty(
        np.where(free, inflation, 1.0),
        np.diag(given + follows @ covariance @ follows.T),
        np.diag(slope @ covariance @ slope.T + of_gamma),
    )


def _covariance(rows: DirichletRows, free: BoolArray) -> FloatArray:
    """Covariance of ln T, (C S, C S); next to nothing if not free."""
    n_classes, n_labels = free.shape
    safe = np.where(rows.parameters > 0, rows.parameters, 1.0)
    # Impossible labels add nothing to the total of their class.
    # A label that has nearly all of its class varies by next to nothing.
    own = (1.0 + ALMOST_NOTHING) * dirichlet.trigamma(safe)[:, :, None] * np.eye(n_labels)
    blocks = own - dirichlet.trigamma(rows.total)[:, None, None]
    blocks = np.where(free[:, :, None] & free[:, None, :], blocks, _FIXED * np.eye(n_labels))
    whole = np.einsum("cst,cd->csdt", blocks, np.eye(n_classes))
    return np.asarray(whole.reshape(n_classes * n_labels, -1))


def by_leading_classes(
    sample: RowSample, log_transitions: FloatArray, reported: Reported
) -> Uncertainty:
    """Error bars from the rows of T one by one, by the leading classes and labels of each.

    As `all_together`, without what is missing between classes, and labels that do not lead miss
    what their own counts do and vary with those that lead. Where classes share one label, error
    bars come out a few per cent shorter. With noise most do as well, but those of a transition that
    two classes compete for can be several times too short.
    """
    shared = np.arange(log_transitions.shape[1])[LabelOwners.of(log_transitions > -np.inf).shared]
    sample = replace(sample, weight=sample.weight[:, shared])
    leading = LeadingClasses.of(sample, log_transitions[:, shared])
    log_by_gamma, mean_by_gamma = leading.by_gamma()
    given = reported.gamma_covariance(log_by_gamma)
    gamma, balance = np.diag(given), np.diag(mean_by_gamma @ given @ mean_by_gamma.T)
    n_rows, free = reported.n_rows, reported.free
    common = -dirichlet.trigamma(reported.transitions.total)  # covariance of two labels, (C,)
    own, most = _variance(reported.transitions, free), _variance(reported.prior, free)
    inflation = np.ones(free.shape)
    for c, response in enumerate(leading.by_class()):
        labels = shared[response.labels]
        if len(labels) == 0 or not free[c].any():
            continue
        by_transitions, slope = n_rows * response.log, response.mean  # (C, L)
        follows = np.zeros_like(slope)
        if reported.class_prior.learned:
            # Gamma moves with T, so that rows which both depend on tell less of T.
            follows = given @ by_transitions
            slope = slope + mean_by_gamma @ follows
        missing = n_rows * response.counts + by_transitions.T @ follows
        direct = np.zeros_like(own[c])
        direct[shared] = n_rows * response.direct
        covariance, variance = _widened_row(
            own[c], common[c], labels, reported.row_share * missing, reported.row_share * direct
        )
        shrink = np.sqrt(np.minimum(1.0, most[c] / variance))
        inflation[c] = np.where(free[c], variance * shrink**2 / own[c], 1.0)
        covariance *= np.outer(shrink[labels], shrink[labels])
        balance = balance + ((slope @ covariance) * slope).sum(axis=1)
        gamma = gamma + ((follows @ covariance) * follows).sum(axis=1)
    return Uncertainty(inflation, gamma, balance)


def _variance(rows: DirichletRows, free: BoolArray) -> FloatArray:
    """Variance of ln T, (C, S); 1 if not free."""
    # A label that has nearly all of its class varies by next to nothing, and not by nothing.
    own = (1.0 + ALMOST_NOTHING) * dirichlet.trigamma(np.where(free, rows.parameters, 1.0))
    return np.where(free, own - dirichlet.trigamma(rows.total)[:, None], 1.0)


def _widened_row(
    own: FloatArray, common: float, labels: IntArray, missing: FloatArray, direct: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Covariance of the leading labels of a row, (L, L), and variance of all its labels, (S,).

    Given classes the variances are ``own``, and covariances of two labels are all ``common``. So a
    label moves with the leading ones by :math:`u^T d\ln T_L`, :math:`V_L u = common`, and gains the
    variance :math:`u^T (W - V_L) u` as theirs grows from V_L to W.
    """
    given = np.full((len(labels), len(labels)), common)
    np.fill_diagonal(given, own[labels])
    covariance = widened(given, missing)
    with_leading = np.linalg.solve(given, np.full(len(labels), common))
    variance = own / (1.0 - np.clip(own * direct, 0.0, STIFFEST))
    variance += with_leading @ (covariance - given) @ with_leading
    variance[labels] = np.diag(covariance)
    return covariance, variance
