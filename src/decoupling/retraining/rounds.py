"""Rounds of training on p(y|s,x): classes instead of labels.

After the inference every row has a class distribution given its label and its features. Rows that
can be trusted train the base classifier once more, now on classes; what it predicts, held out,
takes the place of p(y|x), and so on for a few rounds. Each fold does so for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from decoupling._text import Message
from decoupling._typing import FloatArray, IntArray
from decoupling._validation import warn_user
from decoupling.fits.ensembles import Ensemble, Training, out_of_fold
from decoupling.fits.folds import Fold
from decoupling.fits.nested import NestedFold
from decoupling.likelihood.average import AveragedAnswer, average_answers
from decoupling.likelihood.temperature import log_proba
from decoupling.retraining.sizes import calibrate_classes
from decoupling.retraining.trusted_rows import in_expected_shares, training_weights
from decoupling.transitions.conditional import label_conditional
from decoupling.transitions.tasks import Task

# Copies of a row with less than this share of its weight are not worth their time.
_NEGLIGIBLE: Final = 0.01
# What is undone of T leaves every class possible, and what T hardly tells apart as it is.
_UNSURE: Final = 0.01
_WEAKEST: Final = 1e-3
# Warn when fewer of the labelled rows are kept.
_KEPT: Final = 0.6


@dataclass(frozen=True, eq=False)
class Retrained:
    """The classifiers of the rounds.

    Attributes
    ----------
    ensemble : Ensemble
        Classifiers of the folds and rounds, over classes.
    answer : AveragedAnswer
        What becomes of their mean, and of what counts beside it.
    class_proba : array (N, C)
        p(y|x) of the training rows, by the classifiers that were not fitted on a row.
    """

    ensemble: Ensemble
    answer: AveragedAnswer
    class_proba: FloatArray

    @property
    def n_beside(self) -> int:
        """How many p(y|x) beside that of the rounds are parts of the answer."""
        return self.answer.n_parts - 1

    def predict(self, X: Any, beside: Sequence[FloatArray] = ()) -> FloatArray:
        """p(y|x) of new rows, (N, C), of whom ``beside`` are the other p(y|x) of the answer."""
        return self.answer.apply([self.ensemble.predict_proba(X), *beside])


class Rounds(NamedTuple):
    """What the rounds have found.

    Attributes
    ----------
    ensemble : Ensemble
        Their classifiers.
    held_out : array (N, C)
        p(y|x) of the rows that each fold has not seen, mean over the rounds.
    everyone : array (N, C)
        p(y|x) of all classifiers that were not fitted on a row.
    transitions : array (C, S)
        T as it goes with them.
    """

    ensemble: Ensemble
    held_out: FloatArray
    everyone: FloatArray
    transitions: FloatArray

    def answer(
        self, beside: Sequence[FloatArray], codes: IntArray, weight: FloatArray
    ) -> Retrained:
        """What to say of rows: an average of this and of other p(y|x), held out, each (N, C)."""
        emits = self.transitions[:, codes].T  # (N, C)
        answer = average_answers([self.held_out, *beside], emits, weight)
        return Retrained(self.ensemble, answer, answer.apply([self.everyone, *beside]))


def retrain(
    training: Training,
    X: Any,
    codes: IntArray,
    weight: FloatArray,
    nested: Sequence[NestedFold],
    task: Task,
    class_proba: Sequence[FloatArray],
    transitions: FloatArray,
    rounds: int,
    known: IntArray,
    *,
    learn_transitions: bool = True,
) -> Rounds:
    """Train on p(y|s,x), predict p(y|x) out of fold, and again; the answer is the mean.

    Each fold goes its own way. It chooses rows by what it finds held out within them, so that the
    labels of the rows that it predicts have no part in the choice, and errors of the choice are not
    the same in all folds, whose mean is then the better. Where labels may be wrong, the T by which
    rows are chosen follows what is so held out, since one in which confusions of the first
    classifier look like the labeller's leaves out too many. How large a round makes the classes is
    corrected by labels so held out before rows are chosen again: a class that has lost some of its
    rows would else lose more. The rounds end early when they have made these labels less likely, by
    more than a standard error.

    Where labels may be wrong and some rows have none, the first half of the rounds is on labelled
    rows alone, since the first p(y|x) has learnt the wrong labels and would spread them; the answer
    is then the mean over the other half. A mean, since what a flexible classifier learns from its
    own answers makes it surer from round to round, but no better. For the same reason it need not
    be believed alone: see `Rounds.answer`.

    Parameters
    ----------
    training : Training
        The classifier and what its fits are given.
    X, codes, weight
        Rows, the columns of their labels, and their weights.
    nested : sequence of NestedFold
        What is held out from what.
    task : Task
        Says which labels are whose.
    class_proba : sequence of arrays (N, C)
        p(y|x) to begin with, of the rows that each fold may see.
    transitions : array (C, S)
        T to begin with.
    rounds : int
        How often at most; at least 1.
    known : array (N,)
        Class of the rows of which it is known, -1 elsewhere. They train as members of it.
    learn_transitions : bool
        Whether T follows what is held out, where labels may be wrong; not if it is known.
    """
    n_rows, n_classes = class_proba[0].shape
    alone = rounds // 2 if task.has_unlabelled and not task.clean else 0
    outer, views = [view.outer for view in nested], class_proba
    models: list[Any] = []
    total = np.zeros((n_rows, n_classes))  # of what each fold has not seen
    votes = np.zeros_like(total)  # of all classifiers that were not fitted on a row
    likely = np.zeros(n_rows)
    for number in range(rounds):
        lessons = [
            _lesson(
                task, view, transitions, codes, weight, known,
                rows=fold.fit, with_unlabelled=number >= alone,
            )
            for view, fold in zip(views, outer, strict=True)
        ]  # fmt: skip
        trusts = [lesson.trust for lesson in lessons]
        if training.takes_weights:
            trusts = [in_expected_shares(*lesson) for lesson in lessons]
        fitted = _fit_each(training, X, trusts, [(fold,) for fold in outer])
        ensemble = Ensemble(tuple(one.models[0] for one in fitted), n_classes)
        held_out = out_of_fold(ensemble, X, outer, n_rows)
        resized = calibrate_classes(
            task, held_out, transitions, codes, weight,
            learn_transitions=learn_transitions, soften=False,
        )  # fmt: skip
        transitions = resized.transitions
        earlier = likely
        likely = log_proba((resized.apply(held_out) * transitions[:, codes].T).sum(axis=1))
        if number >= alone:
            models.extend(ensemble.models)
            total += held_out
            votes += held_out
        worse = number > alone and _less_likely(earlier, likely, weight)
        if worse or number + 1 == rounds:
            break
        within = _fit_each(training, X, trusts, [view.inner for view in nested])
        found = [
            _held_out_within(inner, X, view, n_rows)
            for inner, view in zip(within, nested, strict=True)
        ]
        views = [
            _resized(task, proba, transitions, codes, weight, fold.fit)
            for proba, fold in zip(found, outer, strict=True)
        ]
        if number >= alone:
            votes += sum(found)
    _warn_if_few_kept(task, [lesson.trust for lesson in lessons], outer, codes, weight)
    mean, everyone = (part / part.sum(axis=1, keepdims=True) for part in (total, votes))
    if learn_transitions and not task.clean:
        transitions = calibrate_classes(task, mean, transitions, codes, weight).transitions
    return Rounds(Ensemble(tuple(models), n_classes), mean, everyone, transitions)


def beside_rounds(
    task: Task, label_proba: FloatArray, transitions: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""p(y|x), each (N, C), that may count beside the rounds, which can make a good answer worse.

    p(s|x) with T undone, :math:`p(s|x) T^+` made positive, and p(s|x) as it is, as if no label were
    wrong: where classes overlap, their confusion is easily taken for mistakes of the labeller, and
    rounds grow sure of it. Every class must have a label of its own.

    Parameters
    ----------
    task : Task
        Says which labels are whose.
    label_proba : array (N, S)
        p(s|x).
    transitions : array (C, S)
        T.

    Examples
    --------
    >>> from decoupling.transitions import tasks
    >>> noise = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> undone, named = beside_rounds(tasks.noisy(["a", "b"]), np.array([[0.65, 0.35]]), noise)
    >>> undone.round(2), named.round(2)
    (array([[0.75, 0.25]]), array([[0.65, 0.35]]))
    """
    undone = np.maximum(label_proba @ np.linalg.pinv(transitions, rcond=_WEAKEST), _UNSURE)
    own = label_proba[:, task.own]
    return undone / undone.sum(axis=1, keepdims=True), own / own.sum(axis=1, keepdims=True)


class _Lesson(NamedTuple):
    """What a fold trains on.

    Attributes
    ----------
    trust : array (N, C)
        How much each row counts as a member of each class; 0 where the fold may not see it.
    expected : array (C,)
        How many rows of each class there are, as far as is known.
    """

    trust: FloatArray
    expected: FloatArray


def _lesson(
    task: Task,
    class_proba: FloatArray,
    transitions: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    known: IntArray,
    *,
    rows: IntArray,
    with_unlabelled: bool,
) -> _Lesson:
    """What can be trusted of the rows that a fold may see."""
    trust = np.zeros_like(class_proba)
    conditional = label_conditional(class_proba[rows], transitions, codes[rows])
    trust[rows] = training_weights(
        task, conditional, codes[rows], weight[rows], with_unlabelled=with_unlabelled
    )
    certain = known[rows] >= 0
    conditional[certain] = np.eye(len(transitions))[known[rows[certain]]]
    trust[rows[certain]] = weight[rows[certain], None] * conditional[certain]
    return _Lesson(trust, conditional.T @ weight[rows])


def _fit_each(
    training: Training, X: Any, trusts: Sequence[FloatArray], folds: Sequence[Sequence[Fold]]
) -> list[Ensemble]:
    """What each fold learns from the rows that it trusts, itself or held out within them."""
    one_by_one = Training(training.estimator, training.fit_params)
    return list(
        Parallel(n_jobs=training.n_jobs)(
            delayed(fit_classes)(one_by_one, X, trust, some)
            for trust, some in zip(trusts, folds, strict=True)
        )
    )


def _held_out_within(ensemble: Ensemble, X: Any, view: NestedFold, n_rows: int) -> FloatArray:
    """p(y|x) of the rows that a fold may see, held out within them; 0 elsewhere, (N, C)."""
    rows = view.outer.fit
    found = out_of_fold(ensemble, X, view.inner, n_rows)
    out = np.zeros_like(found)
    out[rows] = found[rows]
    return out


def _resized(
    task: Task,
    class_proba: FloatArray,
    transitions: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    rows: IntArray,
) -> FloatArray:
    """p(y|x) with classes as large as the labels of these rows have them, (N, C)."""
    own = calibrate_classes(
        task, class_proba[rows], transitions, codes[rows], weight[rows],
        learn_transitions=False, soften=False,
    )  # fmt: skip
    return own.apply(class_proba)


def _less_likely(before: FloatArray, after: FloatArray, weight: FloatArray) -> bool:
    """Whether the mean has fallen by more than its standard error."""
    change = after - before
    mean = np.average(change, weights=weight)
    variance = np.average((change - mean) ** 2, weights=weight)
    return bool(mean < -np.sqrt(variance / weight.sum()))


def fit_classes(training: Training, X: Any, trust: FloatArray, folds: Sequence[Fold]) -> Ensemble:
    """Classifiers of the folds, fitted on every row as a member of each class that it may have."""
    n_rows, n_classes = trust.shape
    if training.takes_weights:
        rows, classes = np.nonzero(trust > _NEGLIGIBLE * trust.sum(axis=1, keepdims=True))
        weight: FloatArray | None = trust[rows, classes]
    else:
        rows = np.flatnonzero(trust.sum(axis=1) > 0.5)
        classes, weight = trust[rows].argmax(axis=1), None
    copies = [Fold(np.flatnonzero(np.isin(rows, fold.fit)), fold.predict) for fold in folds]
    spread = Training(training.estimator, training.params_of(rows, n_rows), training.n_jobs)
    return spread.ensemble(_safe_indexing(X, rows), classes, weight, copies, n_classes)


def _warn_if_few_kept(
    task: Task,
    trusts: Sequence[FloatArray],
    folds: Sequence[Fold],
    codes: IntArray,
    weight: FloatArray,
) -> None:
    if not (task.own >= 0).any():
        return  # complementary labels name no class: there is nothing to keep
    labelled = codes >= int(task.has_unlabelled)
    kept = sum(float(trust[labelled].sum()) for trust in trusts)
    share = kept / sum(float(weight[fold.fit] @ labelled[fold.fit]) for fold in folds)
    if share < _KEPT:
        warn_user(
            Message(
                "few-kept",
                "Only {share:.0%} of the labelled rows were kept for retraining: so many labels "
                "look wrong that little is left to learn from. Compare with {@rounds:=0}.",
                share=share,
            )
        )
