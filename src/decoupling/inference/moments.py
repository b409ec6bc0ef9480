r"""Moments of a label's probability under given concentrations, without an inference.

With :math:`X_{is} = \sum_c Y_{ic} T_{cs}` these are :math:`E[X^p]` and :math:`E[\ln X]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import FloatArray
from decoupling._validation import check_count, check_positive
from decoupling.inference.checks import check_options
from decoupling.inference.math.agreement_series import AgreementSeries
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import make_method
from decoupling.transitions._rows import check_concentration
from decoupling.transitions.prior import TransitionPrior


def agreement_terms(
    class_concentration: ArrayLike,
    transition_concentration: ArrayLike | TransitionPrior,
    order: int,
) -> FloatArray:
    r"""Agreement terms :math:`E[(\sum_c Y_{ic} T_{cs})^p]` for p = 1..order.

    Parameters
    ----------
    class_concentration : array-like (N, C)
        Dirichlet concentrations of each row of Y, called Pi in the paper.
    transition_concentration : array-like (C, S) or TransitionPrior
        Dirichlet concentrations of each row of T, called Theta in the paper; zeros are impossible
        labels. A `TransitionPrior` may hold known rows.
    order : int
        Highest order, called K in the paper.

    Returns
    -------
    array (order, N, S)

    Examples
    --------
    >>> agreement_terms([[10.0, 1.0]], [[10.0, 1.0], [4.0, 4.0]], order=2)[:, 0, 0].round(5)
    array([0.8719 , 0.76752])
    """
    check_count("order", order)
    concentration, transitions = _check_pair(class_concentration, transition_concentration)
    return AgreementSeries.of(transitions, order).terms(concentration)


def expected_log(
    class_concentration: ArrayLike,
    transition_concentration: ArrayLike | TransitionPrior,
    method: str = "exact",
    order: int = 2,
) -> FloatArray:
    r"""Expected logarithm :math:`E[\ln \sum_c Y_{ic} T_{cs}]` of each label's probability.

    Parameters
    ----------
    class_concentration : array-like (N, C)
        Dirichlet concentrations of each row of Y, called Pi in the paper.
    transition_concentration : array-like (C, S) or TransitionPrior
        Dirichlet concentrations of each row of T, called Theta in the paper; zeros are impossible
        labels. A `TransitionPrior` may hold known rows.
    method : {"exact", "bound", "beta", "taylor"}
        How to evaluate it.
    order : int
        Order of the Taylor series; only for "taylor".

    Returns
    -------
    array (N, S)
        Minus infinity in the column of a label that no class can emit.

    Examples
    --------
    >>> pi, theta = [[2.0, 3.0, 4.0, 1.0]], [[3.0, 7.0], [1.0, 9.0], [0.5, 9.5], [8.0, 2.0]]
    >>> for method in ("exact", "beta", "bound"):
    ...     print(method, round(float(expected_log(pi, theta, method)[0, 0]), 4))
    exact -1.7727
    beta -1.7761
    bound -2.2049
    """
    concentration, transitions = _check_pair(class_concentration, transition_concentration)
    check_options(method, order)
    possible = transitions.possible_labels
    out = np.full((len(concentration), len(possible)), -np.inf)
    out[:, possible] = make_method(method, transitions.columns(possible), order).value(
        concentration
    )
    return out


def _check_pair(
    class_concentration: ArrayLike, transition_concentration: ArrayLike | TransitionPrior
) -> tuple[FloatArray, DirichletRows]:
    """Both concentrations as arrays that fit each other."""
    concentration = check_positive("class_concentration", class_concentration, ndim=2)
    if isinstance(transition_concentration, TransitionPrior):
        transitions = DirichletRows.of_means(
            transition_concentration.mean, transition_concentration.strength
        )
    else:
        rows = check_concentration("transition_concentration", transition_concentration)
        transitions = DirichletRows.free(rows)
    n_classes = transitions.parameters.shape[0]
    if concentration.shape[1] != n_classes:
        raise ValueError(
            f"class_concentration has {concentration.shape[1]} columns and the transitions "
            f"{n_classes} rows: both are the number of classes."
        )
    return concentration, transitions
