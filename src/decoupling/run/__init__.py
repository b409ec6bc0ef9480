"""From a table with bad labels to the files that people work with.

`settings` declares the options. `solving` reads the table and fits, `fits_kept` keeps fits of a run
that is interrupted, `decisions` reads what people have decided. `outputs` are the tables that are
written, `about` the facts that go with the model, `explanation` a row in words, and `demo` a
problem whose answer is known.
"""
