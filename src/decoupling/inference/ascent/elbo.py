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

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows


@dataclass(frozen=True, slots=True)
class Terms:
    """The four parts of the bound; they add up over blocks of rows."""

    likelihood: float = 0.0
    prior: float = 0.0
    entropy: float = 0.0
    constant: float = 0.0

    @property
    def elbo(self) -> float:
        """The bound itself."""
        return self.likelihood + self.prior + self.entropy + self.constant

    def __add__(self, other: Terms) -> Terms:
        """Sum term by term."""
        return Terms(
            self.likelihood + other.likelihood,
            self.prior + other.prior,
            self.entropy + other.entropy,
            self.constant + other.constant,
        )


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


def class_constant(n_rows: float, class_prior: FloatArray) -> Terms:
    """- N ln B(gamma): the normaliser of p(Y | gamma) counts once per row."""
    return Terms(constant=-n_rows * float(dirichlet.log_normaliser(class_prior)))


def transition_terms(posterior: DirichletRows, prior: DirichletRows) -> Terms:
    """Prior, entropy and constant of T under q = ``posterior`` and p = ``prior``."""
    logs = np.where(prior.parameters > 0, posterior.expected_log(), 0.0)
    weights = np.where(prior.known[:, None], 0.0, prior.parameters - 1.0)
    return Terms(
        prior=float((weights * logs).sum()),
        entropy=float(posterior.entropy().sum()),
        constant=-float(prior.log_normaliser().sum()),
    )


def class_gradient(concentration: FloatArray, class_prior: FloatArray) -> FloatArray:
    """Gradient of prior and entropy of Y in Pi: F(Pi) (gamma - Pi), (N, C)."""
    return dirichlet.fisher_product(concentration, class_prior - concentration)


def transition_gradient(posterior: DirichletRows, prior: DirichletRows) -> FloatArray:
    """Gradient of prior and entropy of T in Theta: F(Theta) (A - Theta), (C, S)."""
    return posterior.fisher_product(prior.parameters - posterior.parameters)
