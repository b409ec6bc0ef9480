"""A first T from p(s|x) and the labels.

No true class is needed. Rows that carry a label, or rows of which the classifier is sure, stand in
for the members of a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from decoupling._text import Message
from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.transitions._rates import Rates, check_labelled, check_noise, uniform_noise
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.projection import project
from decoupling.transitions.tasks import Task

# How many times as often a class gets its own label as any other one, at least. A classifier that
# has learnt nothing would otherwise let labels change places. At 2.4 two classes could not have
# more than 29% of their labels wrong.
_OWN_OVER_OTHER: Final = 1.2
# Share of the rows of a class that are counted, the surest ones: where classes overlap, the others
# are often members of another class, whose labels would look like mistakes.
_SUREST: Final = 0.5
# Smallest number of rows to count in a class, where half of its rows would be fewer. With twice as
# many, small classes would count rows that are less sure.
_ENOUGH: Final = 40.0
# Weight of chance in the choice of a bin. At 1 Hoeffding's bound would count in full, and the
# largest bin would nearly always be taken.
_CHANCE: Final = 0.2
# Hoeffding's bound for a share of one row, which holds for two shares nine times in ten.
_BOUND: Final = float(np.sqrt(np.log(40.0) / 2.0))
# Relative error of a mean of scores by rounding, generously.
_ROUNDING: Final = 1e-12


def carried_transitions(
    task: Task, proba: FloatArray, codes: IntArray, weight: FloatArray
) -> FloatArray:
    r"""Sum of p(s|x) over the rows that carry a class's own label, (C, S), unprojected.

    Its rows are proportional to the mean over the carriers,

    .. math:: T_c = \frac1{n_c} \sum_{i: s_i = own(c)} p(s | x_i)

    the first estimator of Elkan and Noto (2008), for all labels at once. Right when no label is
    wrong and classes do not overlap; wrongly labelled rows among the carriers blur it. A class
    without a label of its own has a row of zeros.
    """
    carries = codes == task.own[:, None]  # (C, N)
    total = np.where(carries, weight, 0.0) @ proba
    return np.asarray(total)


def best_bin_rate(score: FloatArray, labelled: BoolArray, weight: FloatArray) -> float:
    r"""p(labelled | class) of a single class, by the rows with the largest scores.

    Of the rows with scores of at least :math:`z`, let :math:`a(z)` be the share among the labelled
    rows, and :math:`b(z)` that among the unlabelled ones. Members of the class are above
    :math:`z` as often as labelled rows, so that at most :math:`b(z) / a(z)` of the unlabelled rows
    are members. A bin that holds no others says how many are,

    .. math:: \pi = b(z) / a(z), \qquad z = \arg\min_z
        \frac{1}{a(z)} \left[ b(z)
        + \gamma \sqrt{\tfrac{\ln 40}{2}} \left( n^{-1/2} + m^{-1/2} \right) \right]

    with :math:`n` labelled and :math:`m` unlabelled rows, :math:`\gamma = 0.2` as the weight of
    chance, and one row more in :math:`b`. The rate is :math:`n / (n + \pi m)`. This is the best bin
    estimate of Garg, Wu, Smola, Balakrishnan and Lipton (2021). The mean over the carriers needs
    classes that do not overlap at all. This estimate needs some rows whose class is certain, and is
    too high by chance if they are few.

    Parameters
    ----------
    score : array (N,)
        The larger the likelier is a label: p(labelled | x), held out.
    labelled : bool array (N,)
        Which rows carry the label; some do.
    weight : array (N,)
        Weights of the rows. Their unit does not matter: a row that stands for many has one score.

    Examples
    --------
    Of the sixty rows with the largest scores half are labelled, of the others none:

    >>> score, labelled = np.repeat([0.9, 0.1], [60, 140]), np.arange(200) < 30
    >>> round(best_bin_rate(score, labelled, np.ones(200)), 2)
    0.49
    """
    carriers, others = weight[labelled].sum(), weight[~labelled].sum()
    n, m = _effective(weight[labelled]), _effective(weight[~labelled]) + 1.0
    points = np.unique(score[labelled & (weight > 0)])
    a = _weight_above(points, score[labelled], weight[labelled]) / carriers
    # One row is added, since no unlabelled row above a score would mean that none is a member.
    above = _weight_above(points, score[~labelled], weight[~labelled]) / others
    b = (above * (m - 1.0) + 1.0) / m
    chance = _CHANCE * _BOUND * (n**-0.5 + m**-0.5)
    best = int(np.argmin((b + chance) / a))
    members = min(float(b[best] / a[best]), 1.0) * others
    return float(carriers / (carriers + members))


def confident_rows(task: Task, raw: FloatArray, codes: IntArray, weight: FloatArray) -> IntArray:
    """Class of each row if the classifier is sure of it, else -1, (N,).

    The classifier is sure if p(own label | x) is at least its mean over the rows that carry that
    label. A row above several of these thresholds goes to the label with the largest p. This is the
    confident joint of Northcutt, Jiang and Chuang (2021). ``raw`` is p(s|x) before calibration,
    since the isotonic map has plateaus.

    Where classes overlap, many of these rows are members of another class, whose labels look like
    mistakes. So if every class has a label of its own, only the surest half of the rows expected in
    a class are taken, or forty if that is more.
    """
    with_own = np.flatnonzero(task.own >= 0)
    if len(with_own) == 0:
        return np.full(len(codes), -1)
    columns = task.own[with_own]
    score = raw[:, columns]  # (N, K)
    threshold = np.array(
        [_mean(score[codes == s, k], weight[codes == s]) for k, s in enumerate(columns)]
    )
    carried = np.bincount(codes, weight, minlength=raw.shape[1])[columns]
    if task.complete and carried.any():
        members = carried * (weight.sum() / carried.sum())  # unlabelled rows included
        most = np.maximum(_SUREST * members, _ENOUGH)
        surest = [_score_of(score[:, k], weight, amount) for k, amount in enumerate(most)]
        threshold = np.maximum(threshold, surest)
    # By rounding the mean of equal scores may lie above them, and no row would be sure.
    score = np.where(score >= threshold * (1 - _ROUNDING), score, -np.inf)
    sure = np.isfinite(score).any(axis=1)
    return np.where(sure, with_own[score.argmax(axis=1)], -1)


def confident_transitions(
    task: Task, raw: FloatArray, codes: IntArray, weight: FloatArray
) -> FloatArray:
    """Counts of the labels among the rows of which the classifier is sure, (C, S)."""
    rows = confident_rows(task, raw, codes, weight)
    counts = np.zeros(task.mask.shape)
    sure = rows >= 0
    np.add.at(counts, (rows[sure], codes[sure]), weight[sure])
    return counts


def estimated_transitions(
    task: Task, proba: FloatArray, raw: FloatArray, codes: IntArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """First T that obeys the task, (C, S), and how many rows stand behind each row of it, (C,).

    Where labels are never wrong it is the mean over the carriers of each label. Elsewhere it is the
    confident counts, since wrongly labelled carriers would overstate the noise. No label that a
    class may get is impossible, and the own label of a class is its likeliest.
    """
    estimate = carried_transitions if task.clean else confident_transitions
    counts = estimate(task, proba if task.clean else raw, codes, weight)
    support = counts.sum(axis=1)
    return never_impossible(task, project(task, counts), support), support


def never_impossible(task: Task, transitions: FloatArray, support: FloatArray) -> FloatArray:
    """T in which every label that a class may get has a share, (C, S).

    One more row per class is shared by its labels, since a zero would say that a label is
    impossible. p(labelled | class) stays, unless it is 0 or 1 where it need not be. The own label
    of a class is its likeliest. ``support`` is how many rows stand behind each row of T, (C,).
    """
    first = int(task.has_unlabelled)
    spread = np.zeros_like(transitions)
    labels = task.mask[:, first:]
    share = 1.0 - transitions[:, :first].sum(axis=1, keepdims=True)
    either = task.mask[:, :first].any(axis=1, keepdims=True) & labels.any(axis=1, keepdims=True)
    share = np.where(either & ((share <= 0) | (share >= 1)), 0.5, share)
    spread[:, :first] = 1.0 - share
    spread[:, first:] = share * labels / np.maximum(labels.sum(axis=1, keepdims=True), 1)
    one = 1.0 / (1.0 + support[:, None])
    return _own_likeliest(task, project(task, (1.0 - one) * transitions + one * spread))


def _own_likeliest(task: Task, transitions: FloatArray) -> FloatArray:
    r"""T in which a class gets its own label 1.2 times as often as any other, or more, (C, S).

    Where it does not, p(s | c, labelled) is mixed with certainty of the own label,
    :math:`(1 - a) p(s | c, labelled) + a [s = own(c)]`, with the smallest a that suffices.
    """
    first = int(task.has_unlabelled)
    out = transitions.copy()
    for c in np.flatnonzero(task.own >= 0):
        labelled = transitions[c, first:].sum()
        if labelled <= 0:
            continue
        given = transitions[c, first:] / labelled
        own = task.own[c] - first
        least = _OWN_OVER_OTHER * np.delete(given, own).max(initial=0.0)
        if given[own] < least:
            mixed = (least - given[own]) / (1.0 - given[own] + least)
            given = (1.0 - mixed) * given
            given[own] += mixed
            out[c, first:] = labelled * given
    return out


def estimated_prior(
    task: Task,
    proba: FloatArray,
    raw: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    *,
    labelled: Rates | None,
    noise: Rates | None,
    by_best_bin: bool = False,
) -> tuple[TransitionPrior, FloatArray]:
    """Prior around the first T, with known rates in it; and the rows behind each row of T, (C,).

    Its strength is the mean number of rows of a class. With ``by_best_bin`` the rate of a single
    label is the geometric mean of two estimates: that of its carriers, which is too low where
    classes overlap, and that of its best bin, which is too high by chance where labels are few.
    """
    mean, support = estimated_transitions(task, proba, raw, codes, weight)
    if by_best_bin and labelled is None:
        (carried,) = mean[task.own == 1, 1]
        labelled = float(np.sqrt(carried * best_bin_rate(raw[:, 1], codes == 1, weight)))
    if task.has_unlabelled and labelled is None and not support.any():
        share = float(weight[codes > 0].sum() / weight.sum())
        # No label stands for a class, but the share of labelled rows is seen.
        labelled = share if 0 < share < 1 else None
    mean = with_rates(task, mean, labelled, noise)
    strength = np.full(len(mean), weight.sum() / len(mean))
    strength[np.count_nonzero(mean, axis=1) == 1] = np.inf
    return TransitionPrior(mean, strength, classes=task.classes, labels=task.labels), support


def with_rates(
    task: Task, transitions: FloatArray, labelled: Rates | None, noise: Rates | None
) -> FloatArray:
    """T with known rates in place of estimated ones, (C, S).

    ``labelled`` is p(labelled | class), ``noise`` p(wrong | class, labelled), each a number, one
    per class or a mapping over the classes that can be labelled; or ``noise`` is the whole of
    p(label | class, labelled), square.
    """
    first = int(task.has_unlabelled)
    can = np.asarray(task.mask[:, first:].any(axis=1))  # classes that can be labelled
    names = tuple(name for name, possible in zip(task.classes, can, strict=True) if possible)
    share = 1.0 - transitions[can, 0] if task.has_unlabelled else np.ones(len(names))
    given = transitions[can, first:]
    given = given / given.sum(axis=1, keepdims=True)  # p(label | class, labelled)
    if labelled is not None:
        share = check_labelled(labelled, names)
        if not task.has_unlabelled and (share < 1).any():
            raise ValueError(
                Message(
                    "nothing-unlabelled",
                    "{@labelled} is below 1, but no row is unlabelled: leave it out, or "
                    "{mark unlabelled rows with None or NaN|leave the cells of unlabelled rows "
                    "empty}.",
                )
            )
    if noise is not None:
        square = not isinstance(noise, Mapping) and np.ndim(noise) == 2
        given = check_noise(noise, len(names)) if square else uniform_noise(noise, names)  # type: ignore[arg-type]
    out = transitions.copy()
    out[can, first:] = share[:, None] * given
    if task.has_unlabelled:
        out[can, 0] = 1.0 - share
    impossible = np.argwhere((out > 0) & ~task.mask)
    if len(impossible):
        c, s = impossible[0]
        raise ValueError(
            Message(
                "excluded-label",
                "{@noise}: class {name!r} would get the label {label!r}, which task {task!r} "
                "excludes ({n} such in all). Leave {@noise} out"
                "{, or give a TransitionPrior as task|}.",
                name=task.classes[c],
                label=task.labels[s],
                task=task.name,
                n=len(impossible),
            )
        )
    return out


def _effective(weight: FloatArray) -> float:
    """Effective number of rows by Kish: how many rows of equal weight would tell as much."""
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share**2).sum())


def _weight_above(points: FloatArray, score: FloatArray, weight: FloatArray) -> FloatArray:
    """Weight of the rows whose score is at least each of some points, (K,)."""
    order = np.argsort(score)
    before = np.concatenate([[0.0], np.cumsum(weight[order])])
    return np.asarray(before[-1] - before[np.searchsorted(score[order], points)])


def _score_of(score: FloatArray, weight: FloatArray, amount: float) -> float:
    """Smallest score among the rows with the largest scores, of this weight in all."""
    order = np.argsort(-score)
    enough = np.searchsorted(np.cumsum(weight[order]), amount * (1.0 - _ROUNDING))
    return float(score[order[min(int(enough), len(order) - 1)]])


def _mean(values: FloatArray, weight: FloatArray) -> float:
    """Weighted mean; infinity if all weights are 0."""
    total = float(weight.sum())
    return float(values @ weight) / total if total > 0 else np.inf
