"""Figures of what was found, after scikit-learn's convention for displays.

Each display is made by a class method that also draws it, keeps the numbers behind the figure, and
draws it again with ``plot``. Drawing needs matplotlib: ``pip install "decoupling[plot]"``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from sklearn.utils.validation import check_is_fitted

from decoupling._plotting import (
    AS_IS,
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    axes_list,
    fit_text,
    ink_on,
    name_axis,
    name_texts,
    new_axes,
    pair_text,
)
from decoupling._text import name_text
from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import as_float, check_count, first_offence
from decoupling.dataframes import Library
from decoupling.inference.optimise import Trace
from decoupling.inference.posterior import Posterior
from decoupling.label_issues import LabelIssues, label_issues
from decoupling.labels import UNLABELLED, encode_labels
from decoupling.transitions.tasks import custom

__all__ = ["ElboDisplay", "LabelIssuesDisplay", "ReliabilityDisplay", "TransitionDisplay"]

# With more classes or labels than this, numbers in the cells of a map would be too small to read.
READABLE: Final = 30
# Level of the intervals of an accuracy.
_LEVEL: Final = 0.9


@dataclass(eq=False)
class TransitionDisplay:
    """The labelling process T = p(label | class) as a map, or its most frequent confusions.

    Made by `from_estimator` or `from_posterior`.

    Parameters
    ----------
    transitions : array (C, S)
        p(label | class).
    lower, upper : arrays (C, S)
        Ends of its intervals; equal where it is known.
    classes, labels : sequences
        Names of the rows and of the columns; None is unlabelled.
    level : float
        Probability that an interval holds.
    true_transitions : array (C, S), optional
        What T is in truth, to be shown beside it.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where T was drawn.
    im_ : matplotlib image or None
        The map.
    text_ : array (C, S) of matplotlib text or None
        What is written in its cells.
    true_ax_ : matplotlib axes or None
        Where the true T was drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from decoupling import TransitionPrior, infer
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2)
    >>> posterior = infer([[0.8, 0.2], [0.3, 0.7]] * 20, prior)
    >>> display = TransitionDisplay.from_posterior(posterior)
    >>> display.ax_.get_xlabel()
    'label'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    transitions: FloatArray
    lower: FloatArray
    upper: FloatArray
    classes: Sequence[Hashable]
    labels: Sequence[Hashable]
    level: float = 0.9
    true_transitions: ArrayLike | None = None

    @classmethod
    def from_estimator(cls, clf: Any, **options: Any) -> Self:
        """Draw T as a fitted `DecouplingClassifier` found it.

        Parameters
        ----------
        clf : DecouplingClassifier
            Fitted.
        **options
            Those of `from_posterior`.
        """
        return cls.from_posterior(_posterior(clf), **options)

    @classmethod
    def from_posterior(
        cls,
        posterior: Posterior,
        *,
        level: float = 0.9,
        true_transitions: ArrayLike | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw T as `infer` found it.

        Parameters
        ----------
        posterior : Posterior
            What was inferred.
        level : float
            Probability that an interval holds.
        true_transitions : array-like (C, S), optional
            What T is in truth, to be shown beside it.
        ax : matplotlib axes, or two of them, optional
            Where to draw; see `plot`.
        **options
            Those of `plot`.
        """
        lower, upper = posterior.transition_interval(level)
        T, classes, labels = posterior.transitions, posterior.classes, posterior.labels
        return cls(T, lower, upper, classes, labels, level, true_transitions).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: Literal["auto", "map", "pairs"] = "auto",
        top: int = 20,
        cmap: Any = "Blues",
        colorbar: bool = True,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure. A map beside that of the true T needs two.
        kind : {"auto", "map", "pairs"}
            "map": a row per class and a column per label, with value and interval in each cell up
            to 30 classes and labels. "pairs": the most frequent labels that are not the class's
            own. "auto" is the map as long as there is text in it.
        top : int
            How many pairs.
        cmap : str or matplotlib colour map
            Colours of the map, from 0 to 1.
        colorbar : bool
            Whether these are explained beside the map.
        """
        _check_kind(kind, ("auto", "map", "pairs"))
        check_count("top", top)
        truth = self._truth()
        if kind == "auto":
            kind = "map" if max(self.transitions.shape) <= READABLE else "pairs"
        self.im_, self.text_, self.true_ax_ = None, None, None
        if kind == "pairs":
            self._plot_pairs(ax, top, truth)
        else:
            self._plot_map(ax, cmap, colorbar, truth)
        self.figure_ = self.ax_.figure
        return self

    def _truth(self) -> FloatArray | None:
        if self.true_transitions is None:
            return None
        name, shape = "true_transitions", self.transitions.shape
        truth = as_float(name, self.true_transitions, ndim=2)
        if truth.shape != shape:
            raise ValueError(
                f"{name} must have a row per class and a column per label, unlabelled included, "
                f"shape {shape}; got {truth.shape}."
            )
        inside = (truth >= 0) & (truth <= 1)  # false for NaN
        first_offence(name, truth, ~inside, "no probability", "Rows are p(label | class).")
        return truth

    def _plot_map(self, ax: Any, cmap: Any, colorbar: bool, truth: FloatArray | None) -> None:
        n_maps = 1 if truth is None else 2
        if ax is None:
            ax = new_axes(*_map_size(*self.transitions.shape, n_maps), ncols=n_maps)
        axes = axes_list(ax)
        if len(axes) != n_maps:
            raise ValueError(f"ax must be {n_maps} axes to draw {n_maps} maps; got {len(axes)}.")
        self.ax_ = axes[0]
        self.im_ = _draw_map(self.ax_, self.transitions, self.classes, self.labels, cmap)
        self.text_ = _write_cells(self.im_, self.transitions, self.lower, self.upper)
        self.ax_.set_title(f"p(label | class), {self.level:.0%} intervals", fontsize="medium")
        if truth is not None:
            self.true_ax_ = axes[1]
            image = _draw_map(self.true_ax_, truth, self.classes, self.labels, cmap)
            _write_cells(image, truth, truth, truth)
            self.true_ax_.set_title("in truth", fontsize="medium")
            self.true_ax_.set_ylabel("")
            self.true_ax_.tick_params(labelleft=False)
        if colorbar:
            self.ax_.figure.colorbar(self.im_, ax=axes)
        for each in axes:
            if each.texts:
                fit_text(each, each.texts)

    def _plot_pairs(self, ax: Any, top: int, truth: FloatArray | None) -> None:
        pairs = self._confusions()
        shown = pairs[:top]
        self.ax_ = ax = _one_axes(ax, 6.5, len(shown))
        title = f"p(label | class), the {_of(len(shown), len(pairs), 'wrong label')}"
        ax.set_title(title, fontsize="medium")
        if len(shown) == 0:
            _say(ax, "no class gets the label of another")
            return
        rows, columns = shown.T
        place = np.arange(len(shown))
        value = self.transitions[rows, columns]
        low, high = self.lower[rows, columns], self.upper[rows, columns]
        spread = [value - low, high - value]
        ax.errorbar(value, place, xerr=spread, fmt="o", color=BLUE, ecolor=SKY, elinewidth=3)
        if truth is not None:
            ax.plot(truth[rows, columns], place, "D", mfc="none", color=BLACK, label="in truth")
            ax.legend()
        _name_bars(ax, [pair_text(self.classes[c], self.labels[s]) for c, s in shown])
        ax.set_xlim(left=0.0)
        ax.set_xlabel(f"p(label | class) with {self.level:.0%} interval")
        ax.set_ylabel("class → label")
        ax.grid(axis="x", alpha=0.3)

    def _confusions(self) -> IntArray:
        """Class and label of each possible confusion, the most frequent first, (n, 2)."""
        task = custom(self.transitions > 0, self.classes, self.labels)
        wrong = task.mask.copy()
        owners = np.flatnonzero(task.own >= 0)
        wrong[owners, task.own[owners]] = False
        wrong[:, [label is None for label in self.labels]] = False
        pairs = np.argwhere(wrong)
        return np.asarray(pairs[np.argsort(-self.transitions[wrong], kind="stable")])


@dataclass(eq=False)
class ElboDisplay:
    """The bound that the inference raised, and its parts, by iteration.

    Made by `from_estimator` or `from_posterior`. The bound itself is drawn on one axes; what each
    of its parts gained since the start on another.

    Parameters
    ----------
    trace : Trace
        The bound at every iteration.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where the bound was drawn.
    parts_ax_ : matplotlib axes or None
        Where its parts were drawn.
    line_ : matplotlib line
        The bound.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from decoupling import TransitionPrior, infer
    >>> posterior = infer([[0.8, 0.2], [0.3, 0.7]], TransitionPrior.noisy(["cat", "dog"]))
    >>> display = ElboDisplay.from_posterior(posterior)
    >>> display.parts_ax_.get_xlabel()
    'iteration'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    trace: Trace

    @classmethod
    def from_estimator(cls, clf: Any, *, ax: Any = None) -> Self:
        """Draw the bound of a fitted `DecouplingClassifier`; see `plot`."""
        return cls.from_posterior(_posterior(clf), ax=ax)

    @classmethod
    def from_posterior(cls, posterior: Posterior, *, ax: Any = None) -> Self:
        """Draw the bound that `infer` raised; see `plot`."""
        return cls(posterior.trace).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, or two of them, optional
            Where to draw the bound, and where its parts, which are left out if there is only one;
            by default both in a new figure.
        """
        if ax is None:
            ax = new_axes(6.4, 5.4, nrows=2, sharex=True)
        axes = axes_list(ax)
        if len(axes) > 2:
            raise ValueError(f"ax must be one axes or two; got {len(axes)}.")
        self.ax_, self.parts_ax_ = axes[0], axes[1] if len(axes) == 2 else None
        self.figure_ = self.ax_.figure
        trace = self.trace
        mark = "." if trace.n_iter <= 50 else ""
        (self.line_,) = self.ax_.plot(trace.elbo, color=BLACK, marker=mark)
        self.ax_.set_ylabel("bound (ELBO)")
        self.ax_.ticklabel_format(axis="y", useOffset=False, style="plain")
        self.ax_.set_title(
            f"{trace.n_iter} iterations, ended by {trace.stopped_because}", fontsize="medium"
        )
        if self.parts_ax_ is not None:
            self.parts_ax_.plot(trace.elbo - trace.elbo[0], color=BLACK, label="bound")
            for name, colour, style in _PARTS:
                part = getattr(trace, name)
                self.parts_ax_.plot(part - part[0], style, color=colour, label=name)
            self.parts_ax_.set_ylabel("gain since the start")
            self.parts_ax_.legend(fontsize="small")
        axes[-1].set_xlabel("iteration")
        axes[-1].xaxis.get_major_locator().set_params(integer=True)
        for each in axes:
            each.grid(alpha=0.3)
        return self


# Parts of the bound; lines differ in more than colour.
_PARTS: Final = (
    ("likelihood", BLUE, "--"),
    ("prior", ORANGE, "-."),
    ("entropy", GREEN, ":"),
    ("constant", PURPLE, "-"),
)


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
    bars_ : matplotlib container
        Share of the rows in each bin.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> proba = [[0.9, 0.1], [0.7, 0.3], [0.8, 0.2], [0.1, 0.9]]
    >>> display = ReliabilityDisplay.from_predictions(["a", "a", "b", "b"], proba)
    >>> print(f"{display.calibration_error:.3f}")
    0.325
    >>> matplotlib.pyplot.close(display.figure_)
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
    ) -> Self:
        """Draw how reliable probabilities are.

        Parameters
        ----------
        y_true : array-like (N,)
            Classes of the rows; those with None, NaN or NA are left out.
        proba : array-like (N, C)
            p(class | x).
        classes : sequence (C,), optional
            Names of the columns; by default the sorted values of ``y_true``.
        n_bins : int
            Number of bins.
        name : str, optional
            What to call it in the legend.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        """
        check_count("n_bins", n_bins)
        table = _check_proba(proba)
        codes = _true_columns(y_true, classes, *table.shape)
        known = codes != UNLABELLED
        if not known.any():
            raise ValueError("y_true has no true class: all of its rows are unlabelled.")
        table, codes = table[known], codes[known]
        right: BoolArray = table.argmax(axis=1) == codes
        return cls(*_binned(table.max(axis=1), right, n_bins), name).plot(ax)

    @property
    def calibration_error(self) -> float:
        """Mean distance of confidence and accuracy, over the rows."""
        gap = np.abs(self.confidence - self.accuracy)
        return float(np.nansum(self.count * gap) / self.count.sum())

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        """
        self.ax_ = ax = new_axes(5.4, 5.2) if ax is None else ax
        self.figure_ = ax.figure
        n_bins, full = len(self.count), self.count > 0
        middle = (np.arange(n_bins) + 0.5) / n_bins
        share = self.count / self.count.sum()
        self.bars_ = ax.bar(middle, share, 0.94 / n_bins, color="0.87", label="share of the rows")
        ax.plot([0, 1], [0, 1], ":", color="0.4", label="as often right as said")
        low, high = _accuracy_interval(self.accuracy[full], self.count[full])
        spread = [self.accuracy[full] - low, high - self.accuracy[full]]
        self.line_ = ax.errorbar(
            self.confidence[full],
            self.accuracy[full],
            yerr=spread,
            fmt="o-",
            color=BLUE,
            capsize=3,
            label=self._label(),
        )
        _write_counts(ax, middle, self.count)
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        ax.set_xlabel("probability of the most probable class")
        ax.set_ylabel(f"share that is right, {_LEVEL:.0%} interval")
        legend = ax.legend(loc="upper left", fontsize="small")
        for text in legend.get_texts():
            text.set(**AS_IS)
        return self

    def _label(self) -> str:
        error = f"calibration error {self.calibration_error:.3f}"
        return error if self.name is None else f"{error}, {name_text(self.name)}"


@dataclass(eq=False)
class LabelIssuesDisplay:
    """The labels that look wrong: which are given for which, or the rows to fix first.

    Made by `from_estimator`, `from_posterior`, or from what ``label_issues`` returned.

    Parameters
    ----------
    issues : LabelIssues
        Rows whose labels look wrong.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn.
    bars_ : matplotlib container or None
        The bars, from above; None if no label looks wrong.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from decoupling import TransitionPrior, infer
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2)
    >>> posterior = infer([[0.78, 0.22], [0.21, 0.79], [0.74, 0.26]], prior)
    >>> display = LabelIssuesDisplay.from_posterior(posterior, ["cat", "cat", "dog"])
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['cat → dog', 'dog → cat']
    >>> matplotlib.pyplot.close(display.figure_)
    """

    issues: LabelIssues

    @classmethod
    def from_estimator(
        cls, clf: Any, *, threshold: float = 0.5, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the labels that look wrong to a fitted `DecouplingClassifier`.

        Parameters
        ----------
        clf : DecouplingClassifier
            Fitted.
        threshold : float
            Leave out rows whose label is wrong with less than this probability.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        **options
            Those of `plot`.
        """
        _posterior(clf)
        return cls(clf.label_issues(threshold)).plot(ax, **options)

    @classmethod
    def from_posterior(
        cls,
        posterior: Posterior,
        labels: Any,
        *,
        threshold: float = 0.5,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the labels that look wrong after `infer`.

        Parameters
        ----------
        posterior : Posterior
            What was inferred about the rows.
        labels : array-like (N,)
            The labels they were given, by name; None, NaN and NA mean unlabelled.
        threshold : float
            Leave out rows whose label is wrong with less than this probability.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        **options
            Those of `plot`.
        """
        return cls(label_issues(posterior, labels, threshold=threshold)).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, kind: Literal["pairs", "rows"] = "pairs", top: int = 20
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        kind : {"pairs", "rows"}
            "pairs": number of rows for each pair of given and suggested, most errors first, which
            shows what goes wrong. "rows": the probability that its label is wrong for each row, the
            most probably wrong first, which shows where to begin.
        top : int
            How many pairs or rows.
        """
        _check_kind(kind, ("pairs", "rows"))
        check_count("top", top)
        self.bars_ = None
        draw = self._plot_pairs if kind == "pairs" else self._plot_rows
        draw(ax, top)
        self.ax_.set_ylabel("given → suggested")
        self.figure_ = self.ax_.figure
        if len(self.issues) == 0:
            _say(self.ax_, "no label looks wrong")
        return self

    def _plot_pairs(self, ax: Any, top: int) -> None:
        # As arrays, whatever library the labels came in.
        table = replace(self.issues, _library=Library()).summary()
        shown = table[:top]
        self.ax_ = ax = _one_axes(ax, 6.8, len(shown))
        ax.set_title(f"the {_of(len(shown), len(table), 'pair')}", fontsize="medium")
        ax.set_xlabel("rows")
        if len(shown) == 0:
            return
        place = np.arange(len(shown))
        self.bars_ = ax.barh(place, shown.rows, color=SKY, label="suspected")
        expected = shown.expected_wrong
        ax.barh(place, expected, 0.4, color=BLUE, label="expected to be wrong")
        ax.bar_label(self.bars_, [f"{n:,}" for n in shown.rows], padding=3, fontsize="small")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.margins(x=0.1)
        _name_bars(
            ax, [pair_text(*pair) for pair in zip(shown.given, shown.suggested, strict=True)]
        )
        ax.legend(loc="lower right", fontsize="small")

    def _plot_rows(self, ax: Any, top: int) -> None:
        issues = self.issues
        n = min(len(issues), top)
        self.ax_ = ax = _one_axes(ax, 6.8, n)
        ax.set_title(f"the {_of(n, len(issues), 'row')}", fontsize="medium")
        ax.set_xlabel("p(label is wrong)")
        ax.set_xlim(0, 1.12)
        if n == 0:
            return
        self.bars_ = ax.barh(np.arange(n), issues.p_wrong[:n], color=RED)
        ax.bar_label(self.bars_, fmt="{:.3f}", padding=3, fontsize="small")
        names = zip(issues.row[:n], issues.given[:n], issues.suggested[:n], strict=True)
        _name_bars(ax, [f"row {row}: {pair_text(*pair)}" for row, *pair in names])


# What they share.


def _posterior(clf: Any) -> Posterior:
    check_is_fitted(clf)
    posterior = getattr(clf, "posterior_", None)
    if not isinstance(posterior, Posterior):
        raise TypeError(
            f"clf must be a fitted DecouplingClassifier; got {type(clf).__name__}. Of a pipeline "
            "or a search pass the classifier inside."
        )
    return posterior


def _check_kind(kind: str, known: tuple[str, ...]) -> None:
    if kind not in known:
        raise ValueError(f"kind must be one of {', '.join(map(repr, known))}; got {kind!r}.")


def _one_axes(ax: Any, width: float, n_bars: int) -> Any:
    if ax is None:
        return new_axes(width, 1.3 + 0.28 * max(n_bars, 4))
    return ax


def _name_bars(ax: Any, texts: Sequence[str]) -> None:
    """Names of horizontal bars, the first one above."""
    name_axis(ax.yaxis, texts)
    ax.set_ylim(len(texts) - 0.4, -0.6)


def _say(ax: Any, text: str) -> None:
    """A sentence where there is nothing to draw."""
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    ax.set_yticks([])


def _of(shown: int, in_all: int, what: str) -> str:
    """How many of what are shown, such as "20 worst of 57 pairs"."""
    plural = what if in_all == 1 else f"{what}s"
    return f"{in_all} {plural}" if shown == in_all else f"first {shown} of {in_all} {plural}"


# Maps of T.


def _map_size(n_classes: int, n_labels: int, n_maps: int) -> tuple[float, float]:
    """Inches, so that text fits into cells."""
    if max(n_classes, n_labels) > READABLE:
        return min(4.0 + 0.1 * n_labels, 12.0) * n_maps, min(3.5 + 0.1 * n_classes, 11.0)
    return 2.6 + 0.68 * n_labels * n_maps, 1.7 + 0.45 * n_classes


def _draw_map(
    ax: Any,
    values: FloatArray,
    classes: Sequence[Hashable],
    labels: Sequence[Hashable],
    cmap: Any,
) -> Any:
    image = ax.imshow(values, cmap=cmap, vmin=0.0, vmax=1.0, aspect="auto", interpolation="nearest")
    name_axis(ax.xaxis, name_texts(labels))
    name_axis(ax.yaxis, name_texts(classes))
    ax.set_xlabel("label")
    ax.set_ylabel("class")
    return image


def _write_cells(
    image: Any, values: FloatArray, lower: FloatArray, upper: FloatArray
) -> AnyArray | None:
    """Value and interval in each cell, (C, S); None if there are too many to read."""
    if max(values.shape) > READABLE:
        return None
    texts = np.empty(values.shape, dtype=object)
    for cell, value in np.ndenumerate(values):
        text = _cell_text(value, lower[cell], upper[cell])
        ink = ink_on(image.cmap(image.norm(value)))
        texts[cell] = image.axes.text(*cell[::-1], text, ha="center", va="center", color=ink)
    return texts


def _cell_text(value: float, lower: float, upper: float) -> str:
    number, low, high = (f"{x:.2f}" for x in (value, lower, upper))
    return number if low == high else f"{number}\n{low}–{high}"


# Reliability.


def _check_proba(proba: ArrayLike) -> FloatArray:
    table = as_float("proba", proba, ndim=2)
    inside = (table >= 0) & (table <= 1)  # false for NaN
    first_offence("proba", table, ~inside, "no probability", "Rows are p(class | x).")
    return table


def _true_columns(
    y_true: Any, classes: Sequence[Hashable] | AnyArray | None, n_rows: int, n_classes: int
) -> IntArray:
    """Column of proba of each row's true class, -1 if that is not known, (N,)."""
    if classes is None:
        from decoupling.labels import read_labels

        observed = read_labels(y_true)
        names, codes = observed.values, observed.codes
    else:
        names = np.asarray(classes, dtype=object)
        codes = encode_labels(y_true, names.tolist())
    if len(names) != n_classes:
        where = "y_true: name them all with classes=" if classes is None else "classes"
        raise ValueError(f"proba has {n_classes} columns, and there are {len(names)} in {where}.")
    if len(codes) != n_rows:
        raise ValueError(f"y_true has {len(codes)} rows and proba {n_rows}: they must match.")
    return codes


def _binned(
    confidence: FloatArray, right: BoolArray, n_bins: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Mean confidence, accuracy and number of rows in bins of equal width, each (n_bins,)."""
    bins = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    count = np.bincount(bins, minlength=n_bins)
    rows = np.where(count > 0, count, np.nan)
    mean = np.bincount(bins, confidence, minlength=n_bins) / rows
    return mean, np.bincount(bins, right, minlength=n_bins) / rows, count


def _accuracy_interval(accuracy: FloatArray, count: IntArray) -> tuple[FloatArray, FloatArray]:
    """Ends of intervals for a share of ``count`` rows, of Jeffreys' prior."""
    own, other = accuracy * count + 0.5, (1.0 - accuracy) * count + 0.5
    low, high = (betaincinv(own, other, tail) for tail in ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2))
    return np.minimum(low, accuracy), np.maximum(high, accuracy)


def _write_counts(ax: Any, middle: FloatArray, count: IntArray) -> None:
    """Number of rows above each bin."""
    if len(count) > READABLE:
        return
    texts = [
        ax.text(x, 1.01, f"{n:,}", ha="center", transform=ax.get_xaxis_transform(), fontsize=8)
        for x, n in zip(middle, count, strict=True)
    ]
    ax.set_title("number of rows", fontsize=9, pad=6 + texts[0].get_fontsize())
