"""Accuracy against confidence, where true classes are known."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from sklearn.utils.validation import check_is_fitted

from decoupling._text import name_text
from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import check_count, check_flag
from decoupling.displays.arguments import check_proba
from decoupling.displays.drawing import AS_IS, BLUE, new_axes, write_counts
from decoupling.evaluation.bins import calibration_bins
from decoupling.inference.posterior import Posterior
from decoupling.labels.frames import in_order_of_names
from decoupling.labels.observed import UNLABELLED, encode_labels, read_labels

# Probability that an interval of an accuracy is to hold.
_LEVEL: Final = 0.9
# What the diagonal is called.
_PERFECT: Final = "as often right as said"
# Bins that have their numbers of rows above them at most; more numbers would overlap.
_READABLE: Final = 20


@dataclass(eq=False)
class ReliabilityDisplay:
    """How often the most probable class is right, against how probable it was said to be.

    Made by `from_estimator`, `from_posterior` or `from_predictions`, where true classes are known.
    Rows are put into bins of equal width by the probability of their most probable class.

    Parameters
    ----------
    confidence, accuracy : arrays (n_bins,)
        Mean of that probability, and share of the rows that are right; NaN in empty bins.
    count : array (n_bins,) of int
        Number of rows.
    name : str, optional
        What to call it in the legend.

    Attributes
    ----------
    calibration_error : float
        Mean distance of confidence and accuracy, over the rows.
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn.
    line_ : matplotlib container
        Points with 90% intervals.
    bars_ : matplotlib container or None
        Share of the rows in each bin.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> proba = [[0.9, 0.1], [0.7, 0.3], [0.8, 0.2], [0.1, 0.9]]
    >>> display = ReliabilityDisplay.from_predictions(["a", "a", "b", "b"], proba)
    >>> print(f"{display.calibration_error:.3f}")
    0.325
    >>> plt.close(display.figure_)
    """

    confidence: FloatArray
    accuracy: FloatArray
    count: IntArray
    name: str | None = None

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y_true: Any, **options: Any) -> Self:
        """Draw how reliable the predictions of a fitted classifier are.

        Parameters
        ----------
        clf : classifier
            Fitted, with ``predict_proba``.
        X : array-like (N, D)
            Rows that it was not trained on.
        y_true : array-like (N,)
            Their classes; rows with None, NaN or NA are left out.
        **options
            Those of `from_predictions`.
        """
        check_is_fitted(clf)
        return cls.from_predictions(y_true, clf.predict_proba(X), classes=clf.classes_, **options)

    @classmethod
    def from_posterior(cls, posterior: Posterior, y_true: Any, **options: Any) -> Self:
        """Draw how reliable p(class | x) is as `infer` found it.

        Parameters
        ----------
        posterior : Posterior
            What was inferred.
        y_true : array-like (N,)
            Classes of the rows; those with None, NaN or NA are left out.
        **options
            Those of `from_predictions`.
        """
        return cls.from_predictions(
            y_true, posterior.class_proba, classes=posterior.classes, **options
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: ArrayLike,
        *,
        classes: Sequence[Hashable] | AnyArray | None = None,
        n_bins: int = 10,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw how reliable probabilities are.

        Parameters
        ----------
        y_true : array-like (N,)
            Classes of the rows; those with None, NaN or NA are left out.
        proba : array-like (N, C)
            p(class | x). Columns of a dataframe that have the names of the classes go by these.
        classes : sequence (C,), optional
            Names of the columns; by default the sorted values of ``y_true``.
        n_bins : int
            Number of bins.
        name : str, optional
            What to call it in the legend.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        **options
            Those of `plot`.
        """
        check_count("n_bins", n_bins)
        names, codes = _true_classes(y_true, classes)
        table = check_proba("proba", in_order_of_names(proba, names))
        _check_shape(table, len(names), len(codes), given=classes is not None)
        known = codes != UNLABELLED
        if not known.any():
            raise ValueError("y_true has no true class: all of its rows are unlabelled.")
        table, codes = table[known], codes[known]
        right: BoolArray = table.argmax(axis=1) == codes
        mean, accuracy, count = calibration_bins(table.max(axis=1), right, n_bins)
        return cls(mean, accuracy, count.astype(np.int64), name).plot(ax, **options)

    @property
    def calibration_error(self) -> float:
        """Mean distance of confidence and accuracy, over the rows."""
        gap = np.abs(self.confidence - self.accuracy)
        return float(np.nansum(self.count * gap) / self.count.sum())

    def plot(self, ax: Any = None, *, counts: bool = True, color: Any = BLUE) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure. It may be that of another such display, to
            compare the two.
        counts : bool
            Whether the number of rows in each bin is shown too.
        color : matplotlib colour
            Of the points.
        """
        check_flag("counts", counts)
        self.ax_ = ax = new_axes(5.4, 5.2) if ax is None else ax
        self.figure_ = ax.figure
        self.bars_ = self._draw_counts() if counts else None
        if _PERFECT not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], ":", color="0.4", label=_PERFECT)
        full = self.count > 0
        low, high = _accuracy_interval(self.accuracy[full], self.count[full])
        # Lists, since matplotlib 3.10 asks whether an array of a single bin is finite, as a number.
        spread = [(self.accuracy[full] - low).tolist(), (high - self.accuracy[full]).tolist()]
        self.line_ = ax.errorbar(
            self.confidence[full],
            self.accuracy[full],
            yerr=spread,
            fmt="o-",
            color=color,
            capsize=3,
            label=self._label(),
        )
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        ax.set_xlabel("probability of the most probable class")
        ax.set_ylabel(f"share that is right, {_LEVEL:.0%} interval")
        legend = ax.legend(loc="best", fontsize="small")
        for text in legend.get_texts():
            text.set(**AS_IS)
        return self

    def _draw_counts(self) -> Any:
        n_bins = len(self.count)
        middle = (np.arange(n_bins) + 0.5) / n_bins
        if n_bins <= _READABLE:
            write_counts(self.ax_, middle, self.count)
            self.ax_.set_title("number of rows", fontsize=9, pad=16)
        share = self.count / self.count.sum()
        return self.ax_.bar(middle, share, 0.94 / n_bins, color="0.87", label="share of the rows")

    def _label(self) -> str:
        error = f"calibration error {self.calibration_error:.3f}"
        return error if self.name is None else f"{error}, {name_text(self.name)}"


def _true_classes(
    y_true: Any, classes: Sequence[Hashable] | AnyArray | None
) -> tuple[list[Hashable], IntArray]:
    """Names of the classes, and which of them each row is of, -1 if that is not known, (N,)."""
    if classes is None:
        observed = read_labels(y_true)
        return list(observed.values), observed.codes
    return list(classes), encode_labels(y_true, classes)


def _check_shape(table: FloatArray, n_names: int, n_rows: int, *, given: bool) -> None:
    if n_names != table.shape[1]:
        names = "names in classes" if given else "classes in y_true: pass classes="
        raise ValueError(f"proba has {table.shape[1]} columns, and there are {n_names} {names}.")
    if n_rows != len(table):
        raise ValueError(f"y_true has {n_rows} rows and proba {len(table)}: they must match.")


def _accuracy_interval(accuracy: FloatArray, count: IntArray) -> tuple[FloatArray, FloatArray]:
    """Ends of intervals for a share of ``count`` rows, of Jeffreys' prior."""
    own, other = accuracy * count + 0.5, (1.0 - accuracy) * count + 0.5
    low, high = (betaincinv(own, other, tail) for tail in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2))
    return np.minimum(low, accuracy), np.maximum(high, accuracy)
