"""Variational inference of class distributions and transitions from label distributions.

`infer` is the call, `posterior` its answer, `streaming` the same for rows that are seen once, and
`checks` and `moments` their small helpers. Below them `ascent` climbs the bound, `errors` finds the
error bars, `rows` holds the rows in memory, on disk or on Dask, and `math` has the distributions.
"""
