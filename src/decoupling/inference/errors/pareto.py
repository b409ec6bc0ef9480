r"""The tail of importance weights: whether draws can stand for another distribution.

Weights :math:`p / q` of draws from q have a tail like a generalised Pareto distribution of some
shape k. Below 1/2 their variance is finite. Above 0.7 no number of draws that anyone takes would
make up for what q leaves out of p: q is too narrow, or in another place (Vehtari, Simpson, Gelman,
Yao and Gabry, 2024). The shape is fitted as Zhang and Stephens (2009) do.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from decoupling._typing import FloatArray

# Draws of a tail at least: a shape fitted to fewer says nothing.
_FEWEST: Final = 5
# Trial values of the fit, to which the root of the number of draws is added: as published.
_TRIALS: Final = 30
# Trial values lie so many times the first quartile apart: as published.
_QUARTILES: Final = 3.0
# Weights that differ by less than this share of the largest differ by rounding.
_FLAT: Final = 1e-8
# A quartile that is this share of the largest draw cannot be divided by.
_NOTHING: Final = 1e-290
# A trial value nearer to 0 than this, over the largest draw, is the exponential distribution.
_NEARLY_EXPONENTIAL: Final = 1e-9
# Mean of the prior of the shape: as published.
_PRIOR_SHAPE: Final = 0.5
# Weight of that prior, in draws: as published. With twice as many it would count for twice as much.
_PRIOR_DRAWS: Final = 10.0


def tail_shape(log_weights: FloatArray) -> float:
    """k-hat of importance weights, whose logarithms are given up to a constant, (n,).

    -inf if the tail is flat, and inf if it is one draw.

    Examples
    --------
    Draws of an exponential distribution for one that is twice as wide have k = 1/2:

    >>> draws = np.random.default_rng(0).exponential(size=20_000)
    >>> round(tail_shape(draws - draws / 2), 1)
    0.5
    """
    n = len(log_weights)
    length = int(np.ceil(min(0.2 * n, 3.0 * np.sqrt(n))))
    if length < _FEWEST:
        raise ValueError(f"k-hat needs more draws: the tail of {n} is {length}.")
    ordered = np.sort(log_weights)
    tail = ordered[-length - 1 :] - ordered[-1]
    excess = np.exp(tail[1:]) - np.exp(tail[0])
    if excess[-1] <= _FLAT:
        return -np.inf
    return fit_shape(excess)


def fit_shape(excess: FloatArray) -> float:
    """Shape of a generalised Pareto distribution from sorted draws, (n,), the last above 0.

    An average over trial values of -shape / scale by their profile likelihood, then drawn towards
    1/2 as far as a few draws would.
    """
    n = len(excess)
    quartile = excess[int(n / 4 + 0.5) - 1]
    if quartile <= _NOTHING * excess[-1]:
        return np.inf  # next to the largest all others are nothing
    n_trials = _TRIALS + int(np.sqrt(n))
    steps = np.arange(n_trials) + 0.5
    trials = 1.0 / excess[-1] + (1.0 - np.sqrt(n_trials / steps)) / (_QUARTILES * quartile)
    # The one at 0 is the exponential distribution, whose likelihood is the limit of its neighbours.
    near = np.abs(trials) * excess[-1] < _NEARLY_EXPONENTIAL
    trials = np.where(near, _NEARLY_EXPONENTIAL / excess[-1], trials)
    shapes = np.log1p(-trials[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-trials / shapes) - shapes - 1.0)
    likelihood = np.exp(profile - profile.max())
    best = float(trials @ likelihood / likelihood.sum())
    shape = float(np.log1p(-best * excess).mean())
    return (n * shape + _PRIOR_DRAWS * _PRIOR_SHAPE) / (n + _PRIOR_DRAWS)
