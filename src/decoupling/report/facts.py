"""Arrays of a fitted classifier that the report is made of."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.classifier.alone import WrongRange, learns_transitions, wrong_range
from decoupling.classifier.issues import label_errors
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.inference.ascent.monitor import Trace
from decoupling.transitions._rates import check_rates
from decoupling.transitions.choice import label_codes
from decoupling.transitions.tasks import Task

if TYPE_CHECKING:
    from decoupling.classifier.estimator import DecouplingClassifier

# Probability that an interval of the report is to hold.
LEVEL: Final = 0.9
# Weight below which rows of a label count as none: a posterior gives rows of weight 0 next to none.
_NOTHING: Final = 1e-50


@dataclass(frozen=True, eq=False)
class Facts:
    """Labels, classes and T of the training rows.

    Attributes
    ----------
    task : Task
        Which labels each class may get.
    codes : array (N,) of int
        Column of T of each row's label.
    weight : array (N,)
        How many equal rows each row stands for.
    class_proba, conditional : arrays (N, C)
        p(class | x) and p(class | label, x).
    p_wrong : array (N,)
        Probability that each label is wrong.
    wrong_range : WrongRange or None
        Between which shares of wrong labels the labels cannot decide; None if T is known.
    doubt : array (N,)
        What rows are ranked by, in `DecouplingClassifier.label_issues` as well.
    transitions, lower, upper : arrays (C, S)
        T and its interval.
    balance_lower, balance_upper : arrays (C,)
        Interval of the share of each class.
    expected : array (C,) or None
        Shares of the classes that the user expects.
    prior_mean : array (C,)
        Class distribution of a row by the prior alone.
    trace : Trace
        How the inference went.
    """

    task: Task
    codes: IntArray
    weight: FloatArray
    class_proba: FloatArray
    conditional: FloatArray
    p_wrong: FloatArray
    wrong_range: WrongRange | None
    doubt: FloatArray
    transitions: FloatArray
    lower: FloatArray
    upper: FloatArray
    balance_lower: FloatArray
    balance_upper: FloatArray
    expected: FloatArray | None
    prior_mean: FloatArray
    trace: Trace

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """Names of the classes."""
        return self.task.classes

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """Names of the labels; None is unlabelled."""
        return self.task.labels

    @property
    def labelled(self) -> BoolArray:
        """Rows with a label, (N,)."""
        return self.codes >= int(self.task.has_unlabelled)

    @property
    def label_counts(self) -> FloatArray:
        """Rows of each label, (S,)."""
        counts = np.bincount(self.codes, self.weight, len(self.labels)).astype(np.float64)
        return np.where(counts > _NOTHING, counts, 0.0)

    @property
    def owned(self) -> BoolArray:
        """Rows whose label is that of a class, so that it can be right or wrong, (N,)."""
        return np.isin(self.codes, self.task.own[self.task.own >= 0])

    @property
    def unnamed(self) -> BoolArray:
        """Rows that no label gives a class: the unlabelled, or all where labels name none, (N,)."""
        return ~self.labelled if self.names_classes else np.ones(len(self.codes), dtype=bool)

    @property
    def kind(self) -> str:
        """Kind of question that the task asks, whatever its name."""
        task = self.task
        if not self.names_classes:
            named = set(self.labels) <= {None, *self.classes}
            return "complementary" if named else "indirect"
        if task.has_unlabelled and not task.complete:
            return "one-sided"
        if not task.clean:
            return "noisy"
        return "semi-supervised" if task.has_unlabelled else "supervised"

    @property
    def named(self) -> IntArray:
        """Class whose own label each row was given, (N,); -1 if it is nobody's."""
        owner = np.full(len(self.labels), -1)
        owners = np.flatnonzero(self.task.own >= 0)
        owner[self.task.own[owners]] = owners
        return np.asarray(owner[self.codes])

    @property
    def suggested(self) -> IntArray:
        """Most probable class of each row, (N,)."""
        return np.asarray(self.conditional.argmax(axis=1))

    @property
    def shares(self) -> FloatArray:
        """Estimated share of each class, (C,)."""
        return np.asarray(self.weight @ self.conditional / self.weight.sum())

    @property
    def names_classes(self) -> bool:
        """Whether any label is that of a class, so that it can be right or wrong."""
        return bool((self.task.own >= 0).any())

    def counts_of(self, rows: BoolArray) -> float:
        """Sum of the weights of these rows."""
        return float(self.weight[rows].sum())

    def expected_counts(self) -> FloatArray:
        """Expected number of rows of each class with each label, (C, S)."""
        counts = np.zeros((len(self.labels), len(self.classes)))
        np.add.at(counts, self.codes, self.weight[:, None] * self.conditional)
        return np.asarray(counts.T)

    def wrong_pairs(self) -> BoolArray:
        """Cells of T in which a class gets a label that is not its own, (C, S)."""
        wrong = np.asarray(self.task.mask.copy())
        wrong[:, ~np.isin(np.arange(len(self.labels)), self.task.own)] = False
        owners = np.flatnonzero(self.task.own >= 0)
        wrong[owners, self.task.own[owners]] = False
        return wrong

    def wrong_share(self) -> tuple[float, float, float]:
        """Share of labels that are wrong, and its interval.

        The variance is that of the rows, each of which may go either way, and of T, class by class:
        the labels' own share of what each class gets.
        """
        owned = self.owned
        n = self.counts_of(owned)
        weight, p = self.weight[owned], self.p_wrong[owned]
        share = float(weight @ p / n)
        owners = np.flatnonzero(self.task.own >= 0)
        own = self.task.own[owners]
        labelled = 1.0 - self.transitions[owners, 0] * self.task.has_unlabelled
        # Standard deviation of p(own label | class, labelled), from the width of its interval.
        width = (self.upper - self.lower)[owners, own] / np.maximum(labelled, 1e-12)
        deviation = width / (2.0 * float(ndtri((1.0 + LEVEL) / 2.0)))
        among = weight @ self.conditional[owned][:, owners] / n  # (K,)
        variance = float(
            (among * deviation) @ (among * deviation) + weight**2 @ (p * (1 - p)) / n**2
        )
        half = float(ndtri((1.0 + LEVEL) / 2.0)) * variance**0.5
        return share, max(share - half, 0.0), min(share + half, 1.0)

    def rows_to_mend(self, share: float) -> int:
        """Number of the worst rows that hold this share of the expected wrong labels."""
        wrong = np.sort(self.weight * self.p_wrong)[::-1]
        total = wrong.sum()
        if total == 0:
            return 0
        return int(np.searchsorted(np.cumsum(wrong), share * total * (1 - 1e-12))) + 1


def read_facts(clf: DecouplingClassifier) -> Facts:
    """Take what is needed from a fitted classifier."""
    check_is_fitted(clf)
    task: Task = clf.task_
    codes = label_codes(task, clf.observed_)
    conditional = clf.label_conditional_proba_
    lower, upper = clf.transition_interval(LEVEL)
    weight = clf.posterior_.row_counts
    # Retraining may have moved the shares: the interval covers both answers, each with its spread.
    moved = weight @ conditional / weight.sum() - clf.posterior_.class_balance  # (C,)
    balance_lower, balance_upper = clf.class_balance_interval(LEVEL)
    gamma = clf.posterior_.class_prior
    p_wrong, own_proba = label_errors(conditional, codes, task.own)[0], clf.proba_of_labels()
    expected = None
    if clf.class_prior is not None and not isinstance(clf.class_prior, ClassPrior):
        expected = check_rates("class_prior", clf.class_prior, task.classes)
    return Facts(
        task=task,
        codes=codes,
        weight=weight,
        class_proba=clf.class_proba_,
        conditional=conditional,
        p_wrong=p_wrong,
        wrong_range=_wrong_range(clf, codes, weight),
        doubt=p_wrong if own_proba is None else -own_proba,
        transitions=clf.transitions_,
        lower=lower,
        upper=upper,
        balance_lower=np.maximum(balance_lower + np.minimum(moved, 0.0), 0.0),
        balance_upper=np.minimum(balance_upper + np.maximum(moved, 0.0), 1.0),
        expected=expected,
        prior_mean=gamma / gamma.sum(),
        trace=clf.posterior_.trace,
    )


def _wrong_range(
    clf: DecouplingClassifier, codes: IntArray, weight: FloatArray
) -> WrongRange | None:
    """Range of the share of wrong labels; None if they are right, or if the user said how many."""
    if clf.task_.clean or not learns_transitions(clf) or clf.overlap is not None:
        return None
    return wrong_range(clf.task_, clf.label_proba_, codes, weight)
