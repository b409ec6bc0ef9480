"""How likely given labels are, and what makes them likelier: temperatures, offsets, mixtures.

`temperature` says how sure probabilities may be, `offsets` how large classes are besides,
`mixtures` how much each of several answers counts; `average` weighs all of them together. `overlap`
is what p(s|x) and labels say by themselves, over all that they leave open.
"""
