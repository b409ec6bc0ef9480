"""The labels that look wrong: which for which, or row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from decoupling._validation import check_count
from decoupling.classifier.issues import LabelIssues, label_issues
from decoupling.displays.arguments import check_kind, posterior_of
from decoupling.displays.drawing import BLUE, SKY, bar_axes, how_many, pair_text, say
from decoupling.inference.posterior import Posterior
from decoupling.labels.libraries import Library


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
    >>> import matplotlib.pyplot as plt
    >>> from decoupling import TransitionPrior, infer
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2)
    >>> posterior = infer([[0.78, 0.22], [0.21, 0.79], [0.74, 0.26]], prior)
    >>> display = LabelIssuesDisplay.from_posterior(posterior, ["cat", "cat", "dog"])
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['cat → dog', 'dog → cat']
    >>> plt.close(display.figure_)
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
        posterior_of(clf)
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
            most probably wrong first, which shows where to begin. The suggestion is unclear where
            the other classes are more probable together, but none of them alone.
        top : int
            How many pairs or rows.
        """
        check_kind(kind, "pairs", "rows")
        check_count("top", top)
        self.bars_ = None
        draw = self._plot_pairs if kind == "pairs" else self._plot_rows
        draw(ax, top)
        self.figure_ = self.ax_.figure
        self.ax_.set_ylabel("given → suggested")
        if self.bars_ is None:
            say(self.ax_, "no label looks wrong")
        return self

    def _plot_pairs(self, ax: Any, top: int) -> None:
        # As arrays, whatever library the labels came in.
        table = replace(self.issues, _library=Library()).summary()
        shown = table[:top]
        names = zip(shown.given, shown.suggested, strict=True)
        self.ax_ = ax = bar_axes(ax, [_change(*pair) for pair in names])
        if len(shown) == 0:
            return
        ax.set_xlabel("rows\n(light: suspected, dark: expected to be wrong)")
        number = how_many(len(shown), len(table), "pair")
        ax.set_title(f"labels that look wrong: {number}", fontsize="medium")
        place = np.arange(len(shown))
        self.bars_ = ax.barh(place, shown.rows, color=SKY)
        expected = shown.expected_wrong
        ax.barh(place, expected, 0.4, color=BLUE)
        ax.bar_label(self.bars_, [f"{n:,}" for n in shown.rows], padding=3, fontsize="small")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.margins(x=0.1)

    def _plot_rows(self, ax: Any, top: int) -> None:
        issues = self.issues
        n = min(len(issues), top)
        names = zip(issues.row[:n], issues.given[:n], issues.suggested[:n], strict=True)
        self.ax_ = ax = bar_axes(ax, [f"row {row}: {_change(*pair)}" for row, *pair in names])
        if n == 0:
            return
        ax.set_xlabel("p(label is wrong)")
        ax.set_xlim(0, 1.15)
        number = how_many(n, len(issues), "row")
        ax.set_title(f"labels that look wrong: {number}", fontsize="medium")
        self.bars_ = ax.barh(np.arange(n), issues.p_wrong[:n], 0.6, color=BLUE)
        ax.bar_label(self.bars_, fmt="{:.3f}", padding=3, fontsize="small")


def _change(given: object, suggested: object) -> str:
    return pair_text(given, "(unclear)" if suggested == given else suggested)
