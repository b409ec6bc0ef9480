"""Shares of the parts of a mixture, and of the classes among rows."""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray

# The shares of the classes are then met to a hundredth.
_SCALINGS: Final = 10

# Shares of a mixture that matter are then found. Where the parts are alike it would take more, and
# shares that have moved less from equal ones do no harm.
_MIXINGS: Final = 50


def mixture_shares(likelihood: FloatArray, weight: FloatArray) -> FloatArray:
    r"""Shares of a mixture with which rows are likely, one row besides for each part, (K,).

    Fifty steps of expectation maximisation, from equal shares towards

    .. math:: \max_w \sum_i n_i \ln \sum_k w_k\, p_k(i) + \sum_k \ln w_k

    which they reach where the parts differ. Where these are nearly alike the shares stay nearer to
    equal ones, and it matters little. Of few rows it makes no certainty that a part is of no use.

    Parameters
    ----------
    likelihood : array (K, N)
        Of each row by each part.
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
    """p(y|x) scaled class by class until its mean over the rows is ``shares``, nearly, (N, C).

    Left alone, a classifier that trains itself finds more and more of the class that it finds most.
    """
    scale = np.ones_like(shares)
    for _ in range(_SCALINGS):
        mean = scale * ((weight / (proba @ scale)) @ proba) / weight.sum()
        # A class that nothing is left of, or should be, is not scaled: a row may have no other.
        scale *= np.divide(shares, mean, out=np.ones_like(shares), where=(mean > 0) & (shares > 0))
    return np.asarray(proba * scale / (proba @ scale)[:, None])
