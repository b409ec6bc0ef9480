"""A fitted classifier in a notebook: the diagram of scikit-learn with T below it."""

from __future__ import annotations

from collections.abc import Hashable
from html import escape
from typing import Any, Final

from decoupling._text import name_text
from decoupling._typing import FloatArray
from decoupling.inference.posterior import Posterior

__all__ = ["ShowsTransitions", "transition_table"]

# Classes and labels that the table shows at most: a larger one would hide the rest of the notebook.
SHOWN: Final = 10
# Probability of the intervals.
LEVEL: Final = 0.9
# Opacity of a cell of probability 1, thin enough for black and for white text.
_DARKEST: Final = 0.4
# Style of a cell: the blue of Okabe and Ito, at some opacity.
_CELL: Final = "text-align: center; background-color: rgba(0, 114, 178, {:.2f})"


class ShowsTransitions:
    """Mixin for an estimator of scikit-learn: a table of ``posterior_`` below its diagram."""

    posterior_: Posterior

    def _repr_html_inner(self) -> str:
        return self._with_table(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._with_table(bundle["text/html"])
        return dict(bundle)

    def _with_table(self, diagram: str) -> str:
        return diagram + (transition_table(self.posterior_) if "posterior_" in vars(self) else "")


def transition_table(posterior: Posterior) -> str:
    """T with 90% intervals as a table in HTML, of at most ten classes and ten labels.

    Examples
    --------
    >>> from decoupling import TransitionPrior, infer
    >>> posterior = infer([[0.7, 0.3], [0.2, 0.8]], TransitionPrior.noisy(["<b>", "dog"]))
    >>> "&lt;b&gt;" in transition_table(posterior)
    True
    """
    lower, upper = posterior.transition_interval(LEVEL)
    T, labels = posterior.transitions, posterior.labels[:SHOWN]
    head = "".join(f'<th scope="col">{_name(label)}</th>' for label in labels)
    rows = "".join(
        f'<tr><th scope="row">{_name(posterior.classes[c])}</th>'
        + "".join(_cell(T[c, s], lower[c, s], upper[c, s]) for s in range(len(labels)))
        + "</tr>"
        for c in range(min(len(posterior.classes), SHOWN))
    )
    caption = f"p(label | class) with {LEVEL:.0%} intervals{_left_out(T)}"
    return (
        f'<div style="overflow-x: auto"><table><caption>{caption}</caption>'
        f"<thead><tr><th>class</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _name(name: Hashable) -> str:
    return escape(name_text(name))


def _cell(value: float, lower: float, upper: float) -> str:
    interval = "" if lower == upper else f"<br><small>{lower:.2f}–{upper:.2f}</small>"
    return f'<td style="{_CELL.format(_DARKEST * value)}">{value:.2f}{interval}</td>'


def _left_out(transitions: FloatArray) -> str:
    sizes = zip(transitions.shape, ("classes", "labels"), strict=True)
    parts = [f"{SHOWN} of {n} {what}" for n, what in sizes if n > SHOWN]
    return f"; {' and '.join(parts)}" if parts else ""
