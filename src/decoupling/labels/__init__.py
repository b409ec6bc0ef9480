"""Observed labels: what each row was given, in the type of any library.

`observed` reads and encodes them. `frames` takes columns out of data frames, and `libraries` makes
tables of the same library again. `distinct` looks at their values, `doubts` says which of these may
be mistakes, `lookalikes` which look alike, and `wording` how messages show them.
"""
