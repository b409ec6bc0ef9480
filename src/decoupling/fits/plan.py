"""The plan of all fits: which classifiers a call will fit, and how many at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from decoupling.fits.folds import Fold
from decoupling.fits.nested import NestedFold, shared_fits

# How p(y|x) is learnt once more after the inference.
NOT_AGAIN: Final = "none"  # it is not: the inferred p(y|x) is the answer
IN_ROUNDS: Final = "rounds"  # on p(y|s,x), each fold by itself
ON_RIGHT_LABELS: Final = "right labels"  # self-training, and neighbours
# Stages that always take part, by name.
LABEL_MODEL: Final = "p(label | x)"
WITHIN_FOLDS: Final = "p(label | x) within folds"


@dataclass(frozen=True)
class Stage:
    """A step of a fit, and how many classifiers it fits at most."""

    name: str
    fits: int


@dataclass(frozen=True, eq=False)
class FitPlan:
    """Which classifiers are fitted, stage by stage.

    The numbers are upper limits: rounds may end early, and no classifier is fitted where a fold
    holds a single label. Only a classifier that fails on balanced bags is fitted more often, once
    more per fold.

    Attributes
    ----------
    retraining : {"none", "rounds", "right labels"}
        How p(y|x) is learnt after the inference.
    stages : tuple of Stage
        In their order.
    folds : tuple of Fold
        Rows that are fitted and held out; empty if nothing is fitted.
    nested : tuple of NestedFold
        The same folds with folds within them; empty if there are no rounds.
    """

    retraining: str
    stages: tuple[Stage, ...]
    folds: tuple[Fold, ...] = ()
    nested: tuple[NestedFold, ...] = ()

    @property
    def total(self) -> int:
        """How many classifiers are fitted at most."""
        return sum(stage.fits for stage in self.stages)

    def of(self, name: str) -> int:
        """How many classifiers a stage fits at most; 0 if the plan does not have it."""
        return sum(stage.fits for stage in self.stages if stage.name == name)

    def as_dict(self) -> dict[str, object]:
        """The plan as plain values, for machines."""
        return {
            "total": self.total,
            "retraining": self.retraining,
            "stages": {stage.name: stage.fits for stage in self.stages},
        }

    def __str__(self) -> str:
        parts = [f"{stage.fits:,} for {stage.name}" for stage in self.stages if stage.fits]
        return f"{self.total:,} at most: {', '.join(parts)}" if parts else "none"


def plan_fits(
    folds: Sequence[Fold],
    nested: Sequence[NestedFold],
    retraining: str,
    rounds: int,
    fits_per_fold: tuple[int, int],
) -> FitPlan:
    """Plan the fits of a `DecouplingClassifier`.

    Parameters
    ----------
    folds : sequence of Fold
        Folds of the label model; empty if it was fitted elsewhere.
    nested : sequence of NestedFold
        Folds within them, for rounds of retraining.
    retraining : str
        `NOT_AGAIN`, `IN_ROUNDS` or `ON_RIGHT_LABELS`.
    rounds : int
        Rounds at most.
    fits_per_fold : tuple of int
        Classifiers of the label model per fold: at first, and when it is fitted anew within folds.

    Examples
    --------
    >>> import numpy as np
    >>> from decoupling.fits.folds import make_folds
    >>> from decoupling.fits.nested import nest
    >>> codes = np.arange(100) % 2
    >>> folds = make_folds(None, codes, 5, np.random.RandomState(0))
    >>> plan = plan_fits(folds, nest(folds, codes), IN_ROUNDS, 5, (1, 1))
    >>> print(plan)
    120 at most: 5 for p(label | x), 10 for p(label | x) within folds, 105 for 5 rounds
    """
    n_folds = len(folds)
    first, anew = fits_per_fold
    stages = [Stage(LABEL_MODEL, n_folds * first)]
    if retraining == IN_ROUNDS:
        inner = sum(len(view.inner) for view in nested)
        stages.append(Stage(WITHIN_FOLDS, len(shared_fits(nested)) * anew))
        # The last round has no classifiers within folds: nothing is chosen by them.
        stages.append(Stage(f"{rounds} rounds", rounds * n_folds + (rounds - 1) * inner))
    if retraining == ON_RIGHT_LABELS:
        # The first fit, and a round each; one more learns from the neighbours.
        neighbours = int(rounds > 0)
        name = f"{rounds} rounds of self-training"
        stages.append(Stage(name, n_folds * (1 + rounds + neighbours)))
    return FitPlan(retraining, tuple(stages), tuple(folds), tuple(nested))
