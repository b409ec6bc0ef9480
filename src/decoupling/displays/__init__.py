"""Figures of what was found, after scikit-learn's convention for displays.

Each display is made by a class method that also draws it, keeps the numbers behind the figure, and
draws it again with ``plot``. Drawing needs matplotlib: ``pip install "decoupling[plot]"``.

There is one in each of `elbo`, `label_issues`, `reliability` and `transition`; `drawing` and
`arguments` help all of them.
"""

from decoupling.displays.elbo import ElboDisplay
from decoupling.displays.label_issues import LabelIssuesDisplay
from decoupling.displays.reliability import ReliabilityDisplay
from decoupling.displays.transition import TransitionDisplay

__all__ = ["ElboDisplay", "LabelIssuesDisplay", "ReliabilityDisplay", "TransitionDisplay"]
