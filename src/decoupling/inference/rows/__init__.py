"""Rows of p(s|x) in memory, on disk and on Dask, behind two verbs."""
