"""Draws of categories and of Dirichlet distributions."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, RandomState
from sklearn.utils import check_random_state

from decoupling._typing import FloatArray, IntArray


def as_generator(
    random_state: int | Generator | RandomState | None,
) -> Generator | RandomState:
    """Return the source of draws for a seed, a RandomState, a Generator or None."""
    if isinstance(random_state, Generator):
        return random_state
    state: RandomState = check_random_state(random_state)
    return state


def draw_categories(proba: FloatArray, rng: Generator | RandomState) -> IntArray:
    """A column drawn from the distribution in each row of ``proba``, (N,)."""
    cumulative = np.cumsum(proba, axis=1)
    # The last sum may miss 1 by rounding, which must not make an impossible column possible.
    bounds = (cumulative / cumulative[:, -1:])[:, :-1]
    return np.asarray((rng.uniform(size=len(proba))[:, None] >= bounds).sum(axis=1))


def draw_dirichlet(concentration: FloatArray, n: int, rng: Generator | RandomState) -> FloatArray:
    """n draws of each row, (n, ..., K), by normalised gamma variables in the log domain.

    A gamma draw with a small shape underflows; its logarithm does not:
    Gamma(a) = Gamma(a + 1) U^(1/a).
    """
    possible = concentration > 0
    shape = (n, *concentration.shape)
    safe = np.where(possible, concentration, 1.0)
    logs = np.log(rng.gamma(np.broadcast_to(safe + 1.0, shape)))
    logs -= rng.exponential(size=shape) / safe
    logs = np.where(possible, logs, -np.inf)
    logs -= logs.max(axis=-1, keepdims=True)
    np.exp(logs, out=logs)
    return np.asarray(logs / logs.sum(axis=-1, keepdims=True))
