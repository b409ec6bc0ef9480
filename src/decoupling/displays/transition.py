"""T as a map, or its most frequent confusions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from decoupling._text import name_text
from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling._validation import check_count, check_flag
from decoupling.displays.arguments import check_kind, check_proba, posterior_of
from decoupling.displays.drawing import (
    BLACK,
    BLUE,
    SKY,
    axes_list,
    bar_axes,
    fitting_size,
    how_many,
    ink_on,
    name_axis,
    new_axes,
    pair_text,
    say,
)
from decoupling.inference.posterior import Posterior
from decoupling.transitions.tasks import custom

# Rows and columns of a map with text in it at most: thirty classes, and unlabelled.
READABLE: Final = 31


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
    >>> import matplotlib.pyplot as plt
    >>> from decoupling import TransitionPrior, infer
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2)
    >>> posterior = infer([[0.8, 0.2], [0.3, 0.7]] * 20, prior)
    >>> display = TransitionDisplay.from_posterior(posterior)
    >>> display.ax_.get_xlabel()
    'label'
    >>> plt.close(display.figure_)
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
        return cls.from_posterior(posterior_of(clf), **options)

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
            to 30 classes, if there is room for them. "pairs": the most frequent labels that are
            not the class's own. "auto": the map up to 30 classes, and the pairs beyond.
        top : int
            How many pairs.
        cmap : str or matplotlib colour map
            Colours of the map, from 0 to 1.
        colorbar : bool
            Whether these are explained beside the map.
        """
        check_kind(kind, "auto", "map", "pairs")
        check_count("top", top)
        check_flag("colorbar", colorbar)
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
        truth = check_proba("true_transitions", self.true_transitions)
        if truth.shape != self.transitions.shape:
            raise ValueError(
                "true_transitions must have a row per class and a column per label, unlabelled "
                f"included, shape {self.transitions.shape}; got {truth.shape}."
            )
        return truth

    def _plot_map(self, ax: Any, cmap: Any, colorbar: bool, truth: FloatArray | None) -> None:
        n_maps = 1 if truth is None else 2
        if ax is None:
            n_classes, n_labels = self.transitions.shape
            ax = new_axes(*_map_size(n_classes, n_labels, n_maps), ncols=n_maps)
        axes = axes_list(ax)
        if len(axes) != n_maps:
            raise ValueError(f"ax must be {n_maps} axes to draw {n_maps} maps; got {len(axes)}.")
        self.ax_ = axes[0]
        self.im_ = _draw_map(self.ax_, self.transitions, self.classes, self.labels, cmap)
        if truth is not None:
            self.true_ax_ = axes[1]
            true_image = _draw_map(self.true_ax_, truth, self.classes, self.labels, cmap)
            self.true_ax_.set_title("in truth", fontsize="medium")
            self.true_ax_.set_ylabel("")
            self.true_ax_.tick_params(labelleft=False)
        if colorbar:
            self.ax_.figure.colorbar(self.im_, ax=axes, fraction=0.05, pad=0.02, aspect=30)
        self.ax_.set_title(f"p(label | class), {self.level:.0%} intervals", fontsize="medium")
        if max(self.transitions.shape) <= READABLE:
            # Lay out, since that decides what can be written in a cell.
            self.ax_.figure.canvas.figure.draw_without_rendering()
        self.text_ = _write_cells(self.im_, self.transitions, self.lower, self.upper)
        if truth is not None:
            _write_cells(true_image, truth, truth, truth)
        if self.text_ is None or not any("\n" in text.get_text() for text in self.text_.flat):
            self.ax_.set_title("p(label | class)", fontsize="medium")

    def _plot_pairs(self, ax: Any, top: int, truth: FloatArray | None) -> None:
        pairs = self._confusions()
        shown = pairs[:top]
        names = [pair_text(self.classes[c], self.labels[s]) for c, s in shown]
        self.ax_ = ax = bar_axes(ax, names)
        if len(shown) == 0:
            say(ax, "no class gets the label of another")
            return
        number = how_many(len(shown), len(pairs), "pair")
        ax.set_title(f"most frequent wrong labels: {number}", fontsize="medium")
        rows, columns = shown.T
        place = np.arange(len(shown))
        value = self.transitions[rows, columns]
        low, high = self.lower[rows, columns], self.upper[rows, columns]
        spread = [value - low, high - value]
        ax.errorbar(value, place, xerr=spread, fmt="o", color=BLUE, ecolor=SKY, elinewidth=3)
        if truth is not None:
            ax.plot(truth[rows, columns], place, "D", mfc="none", color=BLACK)
        ax.set_xlim(left=0.0)
        note = "" if truth is None else "\n(diamonds: in truth)"
        ax.set_xlabel(f"p(label | class), {self.level:.0%} interval{note}")
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
    from matplotlib.colors import Normalize, PowerNorm

    # Where colour alone tells, rare labels should be seen too.
    scale = Normalize(0.0, 1.0) if max(values.shape) <= READABLE else PowerNorm(0.5, 0.0, 1.0)
    image = ax.imshow(values, cmap=cmap, norm=scale, aspect="auto", interpolation="nearest")
    name_axis(ax.xaxis, list(map(name_text, labels)))
    name_axis(ax.yaxis, list(map(name_text, classes)))
    ax.set_xlabel("label")
    ax.set_ylabel("class")
    return image


def _write_cells(
    image: Any, values: FloatArray, lower: FloatArray, upper: FloatArray
) -> AnyArray | None:
    """Value and interval in each cell, or the value alone, or None, by what can be read, (C, S)."""
    if max(values.shape) > READABLE:
        return None
    full, short = (
        np.array([_cell_text(*cell) for cell in zip(values.flat, low.flat, high.flat, strict=True)])
        for low, high in ((lower, upper), (values, values))
    )
    for words in (full, short):
        size = fitting_size(image.axes, max(words, key=len))
        if size is not None:
            break
    else:
        return None
    cells = np.empty(values.shape, dtype=object)
    colours = image.cmap(image.norm(values))  # (C, S, 4)
    style = {"ha": "center", "va": "center", "fontsize": size, "in_layout": False}
    for (c, s), text in zip(np.ndindex(values.shape), words, strict=True):
        cells[c, s] = image.axes.text(s, c, text, color=ink_on(colours[c, s]), **style)
    return cells


def _cell_text(value: float, lower: float, upper: float) -> str:
    number, low, high = (f"{x:.2f}" for x in (value, lower, upper))
    return number if low == high else f"{number}\n{low}–{high}"
