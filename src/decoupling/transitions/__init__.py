"""The labelling process T = p(s|y), and what is known of it.

`tasks` says which labels a class may get, `choice` which task the labels call for. `prior` is the
`TransitionPrior`. `estimate` finds the first T, `projection` makes it obey its task, `follow` moves
it along with the rounds of retraining, `pooling` brings its rows together as far as their counts
allow. `conditional` is p(y|s,x) under T.
"""

from decoupling.transitions.prior import TransitionPrior

__all__ = ["TransitionPrior"]
