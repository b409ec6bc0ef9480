"""Whether the reported distribution of T can stand for its posterior, with the rows integrated out.

The posterior of T that error bars are reported for is p(T) prod_i L_i(T)^share: the integral of
each row over its class distribution, worth as much as rows are in learning T. For few classes and
rows it can be evaluated, and importance weights of draws from what is reported say whether that
covers it: see `pareto`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.errors.marginal import log_marginal, simplex_nodes
from decoupling.inference.errors.pareto import tail_shape
from decoupling.inference.errors.reported import LearnedTransitions
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.draws import draw_dirichlet
from decoupling.inference.rows.sample import RowSample

# Draws of T: fewer make k-hat jump, and its cost grows with them.
_DRAWS: Final = 500
# Nodes for each class but one: with fewer the logarithm of an integral would be wrong by more than
# 0.01 at the usual evidence.
_NODES: Final = 16
# Exponentials that are taken at most: some seconds of work.
_MOST: Final = 2**28
# Draws of T that are all but 0 or 1 in every entry are the corners alone, and say nothing.
_CORNER: Final = 1e-12
# Nodes are those of exponents gamma - 1: a smaller gamma drowns in rounding, and where more than
# about 1000 stands against little there is no number for their shares.
_LEAST_GAMMA: Final = 1e-12


def affordable(n_rows: int, n_classes: int) -> bool:
    """Whether so many rows can be integrated in some seconds.

    Examples
    --------
    >>> [affordable(2000, n_classes) for n_classes in (2, 3, 4)]
    [True, True, False]
    """
    # In logarithms, since the number itself may be too large for any.
    size = np.log2(_DRAWS * n_rows) + (n_classes - 1) * np.log2(_NODES)
    return bool(size <= np.log2(_MOST))


def transition_k_hat(
    learned: LearnedTransitions,
    inflation: FloatArray,
    sample: RowSample,
    n_rows: float,
    gamma: FloatArray,
) -> float | None:
    """k-hat of the reported distribution of T. The draws for it are always the same.

    Parameters
    ----------
    learned : LearnedTransitions
        q(T) and p(T).
    inflation : array (C, S)
        That of `Uncertainty`.
    sample : RowSample
        All rows that count.
    n_rows : float
        Number of rows that they stand for.
    gamma : array (C,)
        Prior of the class distribution of each row.
    """
    possible = learned.posterior.possible_labels
    reported, prior = learned.wide(inflation).columns(possible), learned.prior
    draws = draw_dirichlet(reported.parameters, _DRAWS, np.random.default_rng(0))
    return transition_tail(
        np.where(reported.known[:, None], reported.mean(), draws),
        reported,
        prior.replace(prior.parameters * learned.share).columns(possible),
        sample.weight,
        sample.share * n_rows * learned.share,
        gamma,
    )


def transition_tail(
    draws: FloatArray,
    reported: DirichletRows,
    prior: DirichletRows,
    weight: FloatArray,
    repeats: FloatArray,
    gamma: FloatArray,
) -> float | None:
    """k-hat of the reported distribution of T; None if there are no numbers for it.

    Parameters
    ----------
    draws : array (n, C, S)
        Draws of T from ``reported``.
    reported, prior : DirichletRows
        Reported distribution of T, and its prior.
    weight : array (N, S)
        Evidence times p(s|x).
    repeats : array (N,)
        What each row is worth in learning T.
    gamma : array (C,)
        Prior of the class distribution of each row.
    """
    if gamma.min() < _LEAST_GAMMA:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        nodes = simplex_nodes(gamma, _NODES)
    if not np.isfinite(nodes[1]).all():
        return None
    free = (reported.parameters > 0) & ~reported.known[:, None]
    difference = np.where(free, prior.parameters - reported.parameters, 0.0)
    logs = np.log(np.where(free, np.maximum(draws, np.finfo(np.float64).tiny), 1.0))
    weights = log_marginal(draws, weight, repeats, nodes) + (difference * logs).sum(axis=(1, 2))
    at_corners = (draws[:, free] < _CORNER) | (draws[:, free] > 1.0 - _CORNER)
    return None if at_corners.all() or not np.isfinite(weights).all() else tail_shape(weights)
