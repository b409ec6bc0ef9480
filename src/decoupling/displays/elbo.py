"""The bound and its parts by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

from decoupling.displays.arguments import posterior_of
from decoupling.displays.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    axes_list,
    how_many,
    new_axes,
)
from decoupling.inference.ascent.monitor import Trace
from decoupling.inference.posterior import Posterior

# Parts of the bound that change; lines differ in more than colour.
_PARTS: Final = (
    ("likelihood", BLUE, "--"),
    ("prior", ORANGE, "-."),
    ("entropy", GREEN, ":"),
)


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
    >>> import matplotlib.pyplot as plt
    >>> from decoupling import TransitionPrior, infer
    >>> posterior = infer([[0.8, 0.2], [0.3, 0.7]], TransitionPrior.noisy(["cat", "dog"]))
    >>> display = ElboDisplay.from_posterior(posterior)
    >>> display.parts_ax_.get_xlabel()
    'iteration'
    >>> plt.close(display.figure_)
    """

    trace: Trace

    @classmethod
    def from_estimator(cls, clf: Any, *, ax: Any = None) -> Self:
        """Draw the bound of a fitted `DecouplingClassifier`; see `plot`."""
        return cls.from_posterior(posterior_of(clf), ax=ax)

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
        iterations = how_many(trace.n_iter, trace.n_iter, "iteration")
        title = f"{iterations}, ended by {trace.stopped_because}"
        self.ax_.set_title(title, fontsize="medium")
        if self.parts_ax_ is not None:
            self.parts_ax_.plot(trace.elbo - trace.elbo[0], color=BLACK, label="bound")
            for name, colour, style in _PARTS:
                part = getattr(trace, name)
                self.parts_ax_.plot(part - part[0], style, color=colour, label=name)
            self.parts_ax_.set_ylabel("gain since the start")
            self.parts_ax_.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
        axes[-1].set_xlabel("iteration")
        axes[-1].xaxis.get_major_locator().set_params(integer=True)
        for each in axes:
            each.grid(alpha=0.3)
        return self
