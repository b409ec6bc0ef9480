"""Reasons to trust an answer less: each function looks at arrays for one thing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from decoupling._text import COLLAPSE, CONVERGENCE, OUT_OF_FOLD, RATES, TOLD_APART, Message, listed
from decoupling._typing import FloatArray, IntArray
from decoupling.diagnostics.record import Reason

# Smallest singular value of p(label | class, labelled) at which labels tell classes apart. For two
# classes with a fifth of wrong labels each it is 0.6, and 0 where they get the same labels.
SINGULAR: Final = 0.1
# A row is where the prior put it if no probability of a class differs by more than this.
AT_PRIOR: Final = 0.02
# Share of such rows above which the light is amber.
_SOME: Final = 0.1
# Share of such rows above which the light is red.
_MOST: Final = 0.5
# A share may exceed what the prior allows by this much, which hardly changes an answer.
_SLACK: Final = 0.01
# Standard errors by which it may exceed that besides: chance does so once in 740 times.
_ERRORS: Final = 3.0
# A fall of the bound by less than this share of its size is rounding.
_ROUNDING: Final = 1e-9
# Stands for 0 in a denominator.
_TINY: Final = 1e-300


def convergence(n_iter: int, stopped_because: str, fall: float, size: float) -> Reason:
    """Whether the inference converged.

    ``fall`` is the largest fall of the bound in an iteration, and ``size`` the size of the bound.
    """
    if fall > _ROUNDING * size:
        return Reason(
            "amber",
            "convergence",
            Message(
                "bound-fell",
                "The bound, which should only rise, fell by {fall:.3g} in one of the {n_iter:,} "
                "iterations: numbers of very different size may have been lost in rounding. Look "
                "for extreme strengths, evidence or weights.",
                fall=fall,
                n_iter=n_iter,
            ),
        )
    if stopped_because == "tolerance":
        text = "The inference converged, in {n_iter:,} iterations."
        return Reason("green", "convergence", Message("converged", text, n_iter=n_iter))
    return Reason(
        "amber",
        "convergence",
        Message(
            "not-converged",
            "The inference had not converged after {n_iter:,} iterations: {why} {guide}.",
            n_iter=n_iter,
            why=stop_in_words(stopped_because),
            guide=CONVERGENCE,
        ),
    )


def stop_in_words(stopped_because: str) -> str:
    """Why the inference ended."""
    return {
        "tolerance": "an iteration raised the bound by less than the tolerance",
        "max_iter": "the limit of iterations was reached",
        "callback": "it was told to stop",
        "line search": "no higher point was found",
    }[stopped_because]


def confusion(classes: Sequence[Hashable], own: IntArray, transitions: ArrayLike) -> Reason | None:
    """Whether classes have changed places, or get nearly the same labels.

    ``own``, (C,), is the column of each class's own label, or -1.
    """
    owners, T = np.flatnonzero(own >= 0), np.asarray(transitions, dtype=np.float64)
    mine = T[:, own[owners]]  # (C, K): how often each class gets the owners' labels
    lost = mine[owners, np.arange(len(owners))] < mine.max(axis=0, initial=0.0)
    if lost.any():
        names = [classes[c] for c in owners[lost].tolist()]
        return Reason(
            "red",
            "identifiability",
            Message(
                "classes-swapped",
                "The label of {classes} is more frequent in another class than in its own: classes "
                "may have changed places. Give {rates, or a TransitionPrior that is surer"
                "|--labelled and --noise if they are known} {guide}.",
                classes=listed(names),
                guide=TOLD_APART,
            ),
        )
    given = mine[owners] / np.maximum(mine[owners].sum(axis=1, keepdims=True), _TINY)
    if len(owners) > 1 and np.linalg.svd(given, compute_uv=False)[-1] < SINGULAR:
        return Reason(
            "amber",
            "identifiability",
            Message(
                "classes-alike",
                "Some classes get nearly the same labels: what tells them apart is mostly the "
                "prior. Merge these classes, or give {rates that are known"
                "|--labelled and --noise if they are known} {guide}.",
                guide=TOLD_APART,
            ),
        )
    return None


def identifiability(
    classes: Sequence[Hashable], own: IntArray, transitions: FloatArray, prior: FloatArray
) -> Reason:
    """Whether labels tell the classes apart.

    Parameters
    ----------
    classes : sequence of length C
        Names of the classes.
    own : array (C,) of int
        Column of each class's own label, or -1.
    transitions : array (C, S)
        T, over the labels that some class can emit.
    prior : array (C, K)
        What the prior says of each class. Where two rows are equal, the two classes may change
        places.
    """
    rows, place = np.unique(prior, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), minlength=len(rows))
    if counts.max() > 1:
        members = np.flatnonzero(place.ravel() == counts.argmax())
        alike = [classes[c] for c in members.tolist()]
        return Reason(
            "amber",
            "identifiability",
            Message(
                "prior-alike",
                "The prior says the same of {classes}: which of them is which is chance. Give them "
                "different rows of p(label | class), or make one class of them {guide}.",
                classes=listed(alike),
                guide=TOLD_APART,
            ),
        )
    found = confusion(classes, own, transitions)
    if found is not None:
        return found
    if separation(transitions) < SINGULAR:
        return Reason(
            "amber",
            "identifiability",
            Message(
                "hardly-told-apart",
                "Labels hardly tell the classes apart: what p(class | x) says beyond them is the "
                "prior's word. Merge classes that get the same labels, or add a label that differs "
                "{guide}.",
                guide=TOLD_APART,
            ),
        )
    message = Message("told-apart", "Labels tell the classes apart.")
    return Reason("green", "identifiability", message)


def separation(transitions: FloatArray) -> float:
    """How far the rows of T are from being mixtures of each other, 0 if some are.

    It is the smallest singular value of T once its columns are scaled to a largest entry of 1: a
    label that is rare in every class may still tell classes apart.

    Examples
    --------
    >>> round(separation(np.array([[0.95, 0.05, 0.0], [0.95, 0.0, 0.05]])), 6)
    1.0
    >>> separation(np.array([[0.95, 0.05], [0.94, 0.06]])) < 0.1
    True
    """
    n_classes, n_labels = transitions.shape
    if n_labels < n_classes:
        return 0.0
    scaled = transitions / np.maximum(transitions.max(axis=0), _TINY)
    return float(np.linalg.svd(scaled, compute_uv=False)[-1])


def top_counts(class_proba: FloatArray) -> IntArray:
    """How many rows have each class as their most probable one, (C,)."""
    return np.bincount(class_proba.argmax(axis=1), minlength=class_proba.shape[1])


def empty_classes(classes: Sequence[Hashable], top: IntArray) -> Message | None:
    """Message about classes that are the most probable one of no row; None if there are none."""
    nobody = [name for name, n in zip(classes, top, strict=True) if n == 0]
    if not nobody:
        return None
    return Message(
        "collapse",
        "No row has {classes} as its most probable class: the inference may have collapsed. Check "
        "{the task and the rates, or give a TransitionPrior"
        "|--task, and give --labelled and --noise if they are known} {guide}.",
        classes=listed(nobody),
        guide=COLLAPSE,
    )


def collapse(classes: Sequence[Hashable], top: IntArray, at_prior: float) -> Reason:
    """Whether every class has rows, and rows differ from the prior.

    ``top`` (C,) counts the rows whose most probable class is each class; ``at_prior`` is the share
    of the rows that are where the prior put them.
    """
    found = empty_classes(classes, top)
    if found is not None:
        return Reason("red", "collapse", found)
    if at_prior > _SOME:
        return Reason(
            "red" if at_prior > _MOST else "amber",
            "collapse",
            Message(
                "rows-at-prior",
                "{share:.0%} of the rows are no further than where the prior put them: p(label | "
                "x) says nothing about these. A classifier that tells more, or a higher evidence, "
                "would move them {guide}.",
                share=at_prior,
                guide=COLLAPSE,
            ),
        )
    text = "Every class is found in some rows, and rows differ from the prior."
    return Reason("green", "collapse", Message("every-class", text))


def unexpected_labels(
    labels: Sequence[Hashable],
    seen: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    n_rows: float,
) -> Reason | None:
    """Whether labels are seen more often, or less often, than the prior allows.

    ``seen`` has the shares of the labels, ``lower`` and ``upper`` their limits, each (S,).

    Whatever the shares of the classes are, a label cannot be rarer than in the class that gets it
    least, nor more frequent than in the class that gets it most.
    """
    spread = seen * np.maximum(1.0 - seen, 0.0)  # a sum of shares may miss 1 by rounding
    slack = _SLACK + _ERRORS * np.sqrt(spread / n_rows)
    beyond = np.maximum(seen - upper, lower - seen) - slack
    s = int(beyond.argmax())
    if beyond[s] <= 0:
        return None
    name = "unlabelled" if labels[s] is None else f"of the label {labels[s]!r}"
    least, limit = ("at most", upper[s]) if seen[s] > upper[s] else ("at least", lower[s])
    return Reason(
        "amber",
        "task",
        Message(
            "unexpected-labels",
            "{share:.1%} of the rows are {name}, and the prior has it that {least} {limit:.1%} of "
            "any class are: this task cannot be the whole story. Correct its rates, or lower its "
            "strength {guide}.",
            share=float(seen[s]),
            name=name,
            least=least,
            limit=float(limit),
            guide=RATES,
        ),
    )


def too_sure(sureness: float, most: float) -> Reason | None:
    """Whether p(label | x) is surer of labels than any class can be, in the mean over the rows."""
    if sureness <= most + _SLACK:
        return None
    return Reason(
        "amber",
        "held out",
        Message(
            "too-sure",
            "p(label | x) is {sureness:.1%} sure of its most probable label, in the mean, and the "
            "prior has it that no class is surer than {most:.1%}: it may have been predicted for "
            "the very rows that a classifier was fitted on. Predict out of fold {guide}.",
            sureness=sureness,
            most=most,
            guide=OUT_OF_FOLD,
        ),
    )
