"""Clean classes turned into imperfect labels: the generative story of the model."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from decoupling._typing import AnyArray
from decoupling.labels import encode_labels
from decoupling.transitions.prior import TransitionPrior


def give_labels(
    classes: ArrayLike,
    transitions: TransitionPrior,
    random_state: int | RandomState | Generator | None = None,
) -> AnyArray:
    """Give each sample a label, drawn from the row of its class in T.

    Parameters
    ----------
    classes : array-like (N,)
        True class of each sample.
    transitions : TransitionPrior
        T is its mean; every class that occurs must have a row.
    random_state : int, RandomState, Generator or None
        Source of the draws.

    Returns
    -------
    array (N,)
        Labels, of dtype object if some are None, which is unlabelled.

    Examples
    --------
    >>> one_in_two = TransitionPrior.semi_supervised(["cat", "dog"], labelled=0.5)
    >>> give_labels(["cat", "dog", "cat", "dog"], one_in_two, random_state=1).tolist()
    [None, 'dog', None, None]
    """
    rng = random_state if isinstance(random_state, Generator) else check_random_state(random_state)
    codes = encode_labels(classes, transitions.classes)
    if (codes < 0).any():
        raise ValueError(
            f"classes: {int((codes < 0).sum())} samples have no class (first: row "
            f"{int((codes < 0).argmax())}). Every sample has a class; only labels may be missing."
        )
    cumulative = np.cumsum(transitions.mean, axis=1)[codes]  # (N, S)
    # The last sum may miss 1 by rounding.
    drawn = (rng.uniform(size=len(codes))[:, None] >= cumulative[:, :-1]).sum(axis=1)
    labels = np.empty(len(transitions.labels), dtype=object)
    labels[:] = transitions.labels
    given = labels[drawn]
    return given if None in transitions.labels else np.array(given.tolist())
