"""Imperfect labels drawn from true classes, as the model says that labels come about."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike

from decoupling._typing import AnyArray
from decoupling.inference.math.draws import as_generator, draw_categories
from decoupling.labels.frames import names_array
from decoupling.labels.observed import encode_labels
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
        Labels, of dtype object if some may be None, which is unlabelled.

    Examples
    --------
    >>> one_in_two = TransitionPrior.semi_supervised(["cat", "dog"], labelled=0.5)
    >>> give_labels(["cat", "dog", "cat", "dog"], one_in_two, random_state=1).tolist()
    [None, 'dog', None, None]
    """
    if not isinstance(transitions, TransitionPrior):
        raise ValueError(
            f"transitions must be a TransitionPrior; got {type(transitions).__name__}. Make one of "
            "T: TransitionPrior(T, 1, classes=..., labels=...)."
        )
    rng = as_generator(random_state)
    codes = encode_labels(classes, transitions.classes)
    if (codes < 0).any():
        raise ValueError(
            f"classes: {int((codes < 0).sum())} samples have no class (first: row "
            f"{int((codes < 0).argmax())}). Every sample has a class; only labels may be missing."
        )
    drawn = draw_categories(transitions.mean[codes], rng)
    return np.asarray(names_array(transitions.labels)[drawn])
