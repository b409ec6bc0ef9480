r"""The likelihood of T with the class distributions of the rows integrated out.

.. math:: L_i(T) = \int Dir(Y \mid \gamma) \prod_s (Y T)_s^{w_{is}} \, dY

by Gauss-Jacobi nodes, one class after the other broken off a stick. They are exact for polynomials,
which this is if the weights are whole numbers, and there are more of them with every class: for a
few classes only.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import roots_jacobi

from decoupling._typing import FloatArray

# Numbers of the largest intermediate array at a time: 8 MB.
_ENTRIES: Final = 2**20
# Logarithms are cut to this: that of an impossible label must stay a number where it has no weight.
_LOWEST: Final = -1e4


def simplex_nodes(gamma: FloatArray, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Points of the simplex, (K, C), and their shares of Dir(gamma), (K,).

    Exact for polynomials of degree below 2 ``n_nodes``; K is the power C - 1 of ``n_nodes``.

    Examples
    --------
    >>> points, share = simplex_nodes(np.array([0.5, 1.0, 1.5]), 4)
    >>> (share @ points).round(6)
    array([0.166667, 0.333333, 0.5     ])
    """
    points, shares = np.ones((1, 1)), np.ones(1)  # the last column is the rest of the stick
    for c in range(len(gamma) - 1):
        # Where both add up to 1, SciPy divides by 0 on its way to an entry that it does not use.
        with np.errstate(divide="ignore", invalid="ignore"):
            x, own = roots_jacobi(n_nodes, gamma[c + 1 :].sum() - 1.0, gamma[c] - 1.0)
        cut, rest = (1.0 + x) / 2.0, points[:, -1:]
        broken = [(rest * cut).reshape(-1, 1), (rest * (1.0 - cut)).reshape(-1, 1)]
        points = np.hstack([np.repeat(points[:, :-1], n_nodes, axis=0), *broken])
        shares = np.outer(shares, own / own.sum()).ravel()
    return points, shares


def log_marginal(
    transitions: FloatArray,
    weight: FloatArray,
    repeats: FloatArray,
    nodes: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Sum over the rows of ln L_i(T) for each of several T.

    Parameters
    ----------
    transitions : array (n, C, S)
        Several T.
    weight : array (N, S)
        Evidence times p(s|x).
    repeats : array (N,)
        How many equal rows each row stands for.
    nodes : pair of arrays (K, C) and (K,)
        Those of `simplex_nodes`.

    Returns
    -------
    array (n,)
    """
    points, shares = nodes
    size = max(1, _ENTRIES // len(shares))
    out = np.zeros(len(transitions))
    for k, emits in enumerate(transitions):
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(points @ emits), _LOWEST).T  # (S, K)
        for first in range(0, len(weight), size):
            rows = slice(first, first + size)
            terms = weight[rows] @ logs
            most = terms.max(axis=1, keepdims=True)
            terms -= most
            np.exp(terms, out=terms)
            out[k] += repeats[rows] @ (np.log(terms @ shares) + most[:, 0])
    return out
