"""Rows of p(s|x) in memory, on disk and on Dask, behind two verbs: update and query.

`sources` opens whatever users have, `storage` what need not fit into memory. `block` is some rows,
`blocks` all of them, on threads, and `distributed` all of them, on Dask. `sample` picks rows for
averages, and `lazy` computes rows when they are asked for.
"""
