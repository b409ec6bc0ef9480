"""Where the ascent begins: T at its prior mean, and rows of Y that suit it."""

from __future__ import annotations

import math
from functools import partial
from operator import add
from typing import Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.inference.ascent.class_prior import GammaPosterior, KnownGamma
from decoupling.inference.ascent.steps import Problem, State, leap_of
from decoupling.inference.math import dirichlet
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.expected_log import Bound, make_method
from decoupling.inference.math.structure import LabelOwners
from decoupling.inference.rows.blocks import Blocks, nothing
from decoupling.inference.rows.rows import Rows

# Leaps of Y before T first moves, when a row counts for one observation, and one more for each
# factor of ten: the more a row counts for, the slower it settles.
_LEAPS: Final = 2
# Rows that a leap moved by less than this share of their counts, on average, have settled.
_SETTLED: Final = 0.01
# A leap leaves a class this share of what two steps would.
_SHRINK: Final = 0.1
# Below it the weight of a class is as good as 0, but can still be divided by.
_TINY: Final = 1e-200


def first_state(problem: Problem, blocks: Blocks, *, learn_transitions: bool) -> State:
    """A first guess that needs only the problem; fills in the rows of Y."""
    transitions = first_transitions(problem, learn_transitions=learn_transitions)
    first_classes(problem, transitions, blocks, learn_transitions=learn_transitions)
    return State(transitions, problem.class_prior)


def warm_state(
    problem: Problem,
    transitions: DirichletRows,
    class_prior: KnownGamma | GammaPosterior,
    *,
    learn_transitions: bool,
) -> State:
    """Where another run ended; its prior of T may have had other zeros, which are not imposed."""
    cold = first_transitions(problem, learn_transitions=learn_transitions)
    if learn_transitions:
        both = (transitions.parameters > 0) & (cold.parameters > 0) & ~transitions.known[:, None]
        cold = cold.replace(np.where(both, transitions.parameters, cold.parameters))
    return State(cold, problem.class_prior.resumed(class_prior))


def first_transitions(problem: Problem, *, learn_transitions: bool) -> DirichletRows:
    """T at its prior mean.

    If it is to be learned it starts as sure as the data will make it, so that weak priors with tiny
    concentrations do not begin with expected logarithms of minus hundreds.
    """
    prior = problem.transition_prior
    if not learn_transitions:
        return prior
    share = problem.total_evidence / len(prior.parameters)
    factor = np.maximum(1.0, share / prior.total)
    return prior.replace(prior.parameters * factor[:, None])


def first_classes(
    problem: Problem, transitions: DirichletRows, blocks: Blocks, *, learn_transitions: bool
) -> None:
    """Fill in concentrations of Y that suit these transitions.

    If all classes were equally likely a row would have the class distribution p that is the mean
    of p(class | label) over its labels. Most methods begin there. Under the bound the answer is
    sharper: p squared, then where pairs of steps seem to lead, until rows have nearly settled.
    Their T can then be trusted from its first step on, which saves many iterations. With a T that
    stays, rows must not depend on each other, nor does the number of leaps.
    """
    method = make_method(problem.method, transitions, problem.order)
    gamma, mean = problem.class_prior.mean, transitions.mean()
    owners = LabelOwners.of(mean > 0)
    shared = mean[:, owners.shared]
    share = (shared / shared.sum(axis=0)).T  # (S', C): p(class | label) under equal classes
    sharper = isinstance(method, Bound)
    fill = partial(_fill, owners=owners, share=share, gamma=gamma, sharper=sharper)
    blocks.update(fill, nothing)
    if not isinstance(method, Bound):
        return
    for _ in range(_leaps(problem)):
        moved = blocks.update(partial(_leap, method=method, gamma=gamma), add)
        if learn_transitions and moved < _SETTLED * problem.total_evidence:
            break


def _fill(
    rows: Rows, owners: LabelOwners, share: FloatArray, gamma: FloatArray, *, sharper: bool
) -> None:
    """Put a block of rows where it begins."""
    weight = rows.weight()
    counts = weight[:, owners.shared] @ share
    owners.add_owned(counts, weight)
    if sharper:
        total = dirichlet.row_sum(weight)
        counts = _scaled((counts / total[:, None]) ** 2, total)
    np.add(counts, gamma, out=rows.class_concentration)


def _leap(rows: Rows, method: Bound, gamma: FloatArray) -> float:
    """Put a block of rows where pairs of steps seem to lead; how many counts moved."""
    weight, concentration = rows.weight(), rows.class_concentration
    counts = concentration - gamma
    once = _rough_step(method, concentration, weight)
    twice = _rough_step(method, once + gamma, weight)
    way = leap_of(counts, once, twice)
    counts += way
    # The bound does not check these leaps, and a row that overshot into the wrong corner would
    # stay there: no class is left without weight, and none takes the lead by a leap.
    np.maximum(counts, _SHRINK * twice, out=counts)
    lost = counts.argmax(axis=1) != twice.argmax(axis=1)
    counts[lost] = twice[lost]
    np.add(_scaled(counts, dirichlet.row_sum(weight)), gamma, out=concentration)
    distance = dirichlet.row_sum(np.abs(way, out=way)) / 2.0
    return float(rows.repeated(distance).sum())


def _leaps(problem: Problem) -> int:
    return _LEAPS + round(math.log10(max(1.0, problem.total_evidence / problem.n_rows)))


def _rough_step(method: Bound, concentration: FloatArray, weight: FloatArray) -> FloatArray:
    """Expected counts of classes, (n, C), to some 1e-5.

    They do not change when the weights of a row are scaled, so psi(Pi_0) is left out.
    """
    class_weights = np.maximum(rough_exp_digamma(concentration), _TINY)
    ratio = weight[:, method.owners.shared] / (class_weights @ method.transition_weights)
    counts: FloatArray = ratio @ method.transition_weights.T
    counts *= class_weights
    method.owners.add_owned(counts, weight)
    return counts


def rough_exp_digamma(x: FloatArray) -> FloatArray:
    r"""Exponential of the digamma function, to about 1e-5 relative, at 40% of the cost.

    .. math:: e^{\psi(x)} = e^{\psi(x+3)} \exp\Big( -\frac1x - \frac1{x+1} - \frac1{x+2} \Big),
        \qquad e^{\psi(z + 1/2)} \approx z + \frac1{24 z} - \frac{37}{5760 z^3}

    Examples
    --------
    >>> from scipy.special import psi
    >>> bool(abs(rough_exp_digamma(np.array([0.5]))[0] / np.exp(psi(0.5)) - 1) < 1e-5)
    True
    """
    product = x + 2.0
    product *= x
    harmonic = -3.0 * product
    harmonic -= 2.0
    product *= x + 1.0
    harmonic /= product
    np.exp(harmonic, out=harmonic)
    centre = x + 2.5
    inverse = np.reciprocal(centre)
    out = inverse * inverse
    out *= -37.0 / 5760.0
    out += 1.0 / 24.0
    out *= inverse
    out += centre
    out *= harmonic
    return np.asarray(out)


def _scaled(values: FloatArray, total: FloatArray) -> FloatArray:
    """Rows, (n, C), that add up to ``total``."""
    return np.asarray(values * (total / dirichlet.row_sum(values))[:, None])
