"""Options of `DecouplingClassifier`, as the steps of a fit read them."""

from __future__ import annotations

from typing import Any, Protocol

from decoupling.transitions._rates import is_auto
from decoupling.transitions.prior import TransitionPrior


class Options(Protocol):
    """Options of the estimator; see `DecouplingClassifier`."""

    estimator: Any
    task: str | TransitionPrior
    negative: Any
    noise: Any
    labelled: Any
    class_prior: Any
    evidence: Any
    expected_log: str
    order: int
    learn_transitions: bool
    cv: Any
    calibrate: bool
    rounds: int
    overlap: float | None
    unlabelled: Any
    verbose: int


def is_prefit(cv: Any) -> bool:
    """Whether the classifier is taken as it was fitted elsewhere."""
    return isinstance(cv, str) and cv == "prefit"


def known_noise(noise: Any) -> Any:
    """The noise that was given in numbers, or None."""
    return None if is_auto(noise) else noise
