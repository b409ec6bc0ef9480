"""What is known of the labelling process p(s|y)."""

from decoupling.transitions.prior import TransitionPrior

__all__ = ["TransitionPrior"]
