"""Shares of the parts of a mixture, and of the classes among rows."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray

# Scalings of the classes, one after the other. The mean is then within 0.01 of the shares.
_SCALINGS: Final = 10
# Steps of EM. Shares of parts that differ have then converged. Where the parts are alike it would
# take more steps, and shares that stay closer to equal ones do no harm.
_MIXINGS: Final = 50


def mixture_shares(likelihood: FloatArray, weight: FloatArray) -> FloatArray:
    r"""Shares of a mixture that make rows likely, with one more row for each part, (K,).

    Fifty EM steps from equal shares towards

    .. math:: \max_w \sum_i n_i \ln \sum_k w_k\, p_k(i) + \sum_k \ln w_k

    which they reach where the parts differ. Where the parts are nearly alike the shares stay closer
    to equal ones, which matters little. A few rows cannot make a share 0.

    Parameters
    ----------
    likelihood : array (K, N)
        Likelihood of each row by each part.
    weight : array (N,)
        How often each row counts.

    Examples
    --------
    >>> mixture_shares(np.array([[0.9, 0.8, 0.9], [0.1, 0.2, 0.1]]), np.ones(3)).round(2)
    array([0.77, 0.23])
    """
    likelihood = np.maximum(likelihood, np.finfo(float).tiny)
    shares = np.full(len(likelihood), 1.0 / len(likelihood))
    for _ in range(_MIXINGS):
        joint = shares[:, None] * likelihood
        amount = (joint / joint.sum(axis=0)) @ weight + 1.0
        shares = amount / amount.sum()
    return shares


def with_shares(proba: FloatArray, weight: FloatArray, shares: FloatArray) -> FloatArray:
    """p(y|x) scaled class by class until its mean over the rows is nearly ``shares``, (N, C).

    Otherwise a classifier that trains itself finds its largest class more and more often.
    """
    scale = np.ones_like(shares)
    for _ in range(_SCALINGS):
        mean = scale * ((weight / (proba @ scale)) @ proba) / weight.sum()
        # A class whose mean or share is 0 keeps its scale: some row may have this class alone.
        scale *= np.divide(shares, mean, out=np.ones_like(shares), where=(mean > 0) & (shares > 0))
    return np.asarray(proba * scale / (proba @ scale)[:, None])
