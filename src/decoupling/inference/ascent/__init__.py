"""The bound and its ascent.

`ascend` is the loop: `row_steps` are the steps of q(Y), `shared_steps` those of q(T) and of gamma,
`lengths` says how long they are, and `monitor` when to stop. `start` is where the loop begins and
`state` what it changes. `elbo` adds up the `terms` of the bound, `class_prior` is what users say of
gamma and `gamma_posterior` what is learned of it. `checkpoint` lets an interrupted run go on, and
`lbfgs` is another ascent, to compare with.
"""
