r"""The evidence lower bound as named terms, summed once, nothing dropped.

.. math::

    ELBO = \underbrace{\sum_{is} w_{is} E \ln (YT)_{is}}_{likelihood}
    + \underbrace{\sum_{ic} (\gamma_c - 1) E \ln Y_{ic}
    + \sum_{cs} (A_{cs} - 1) E \ln T_{cs}}_{prior}
    + \underbrace{\sum_i H(\Pi_i) + \sum_c H(\Theta_c)}_{entropy}
    \underbrace{- N \ln B(\gamma) - \sum_c \ln B(A_c)}_{constant}

with :math:`w_{is}` the evidence of row i times p(s | x_i). The constants stay in, so that bounds of
different priors compare. Structural zeros and known rows of T are constants under both p and q and
take no part.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from decoupling._typing import FloatArray
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows


def likelihood_rows(value: FloatArray, weight: FloatArray) -> FloatArray:
    """Likelihood of each row, (N,): ``weight`` (N, S) times E[ln X]."""
    return dirichlet.row_sum(weight * value)


def class_rows(
    concentration: FloatArray, logs: FloatArray, class_prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Prior and entropy of each row of Y, each (N,).

    ``logs`` is E[ln Y] (N, C), ``class_prior`` gamma (C,). The normaliser of the prior is left to
    `class_constant`.
    """
    log_normaliser = dirichlet.row_sum(gammaln(concentration))
    log_normaliser -= gammaln(dirichlet.row_sum(concentration))
    total = dirichlet.row_sum(logs)
    prior = logs @ class_prior - total
    entropy = log_normaliser - dirichlet.row_sum(concentration * logs) + total
    return prior, entropy


def row_terms(
    gamma: FloatArray,
    value: FloatArray,
    concentration: FloatArray,
    weight: FloatArray,
    logs: FloatArray | None = None,
) -> FloatArray:
    """Likelihood, prior and entropy of each row, (n, 3).

    Parameters
    ----------
    gamma : array (C,)
        Dirichlet prior of each row of Y.
    value : array (n, S)
        E[ln X].
    concentration : array (n, C)
        Pi.
    weight : array (n, S)
        Evidence times p(s|x).
    logs : array (n, C), optional
        E[ln Y], if it is at hand.
    """
    logs = dirichlet.mean_log(concentration) if logs is None else logs
    prior, entropy = class_rows(concentration, logs, gamma)
    return np.stack([likelihood_rows(value, weight), prior, entropy], axis=1)


def class_constant(n_rows: float, class_prior: FloatArray) -> Terms:
    """- N ln B(gamma): the normaliser of p(Y | gamma) counts once per row."""
    return Terms(constant=-n_rows * float(dirichlet.log_normaliser(class_prior)))


def transition_terms(posterior: DirichletRows, prior: DirichletRows) -> Terms:
    """Prior, entropy and constant of T under q = ``posterior`` and p = ``prior``.

    The sums of E[ln T] in prior and entropy cancel, and are huge if a concentration is tiny: their
    sum is taken without them.
    """
    logs = np.where(prior.parameters > 0, posterior.expected_log(), 0.0)
    known = prior.known[:, None]
    weights = np.where(known, 0.0, prior.parameters - 1.0)
    gained = np.where(known, 0.0, prior.parameters - posterior.parameters) * logs
    return Terms(
        prior=float((weights * logs).sum()),
        entropy=float(posterior.entropy().sum()),
        constant=-float(prior.log_normaliser().sum()),
        together=float(gained.sum() + posterior.log_normaliser().sum()),
    )


def class_gradient(concentration: FloatArray, class_prior: FloatArray) -> FloatArray:
    """Gradient of prior and entropy of Y in Pi: F(Pi) (gamma - Pi), (N, C)."""
    return dirichlet.fisher_product(concentration, class_prior - concentration)


def transition_gradient(posterior: DirichletRows, prior: DirichletRows) -> FloatArray:
    """Gradient of prior and entropy of T in Theta: F(Theta) (A - Theta), (C, S)."""
    return posterior.fisher_product(prior.parameters - posterior.parameters)
