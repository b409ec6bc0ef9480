"""Distributions, expected logarithms and intervals: functions on arrays.

`dirichlet`, `gamma` and `conjugate` are distributions, `draws` and `intervals` are for all of them.
`expected_log` lists the ways to find E[ln X]. `method` says what each must offer, and `structure`
leaves out what needs no sum over classes. `bound` is the default, `agreement_series` serves the
paper's series, and `exact_log` is exact, by `exact_nodes`, `exact_tables` and `beta_laplace`.
"""
