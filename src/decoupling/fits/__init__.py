"""Fits of any classifier, once per fold.

`folds` deals rows, `nested` those within a fold. `ensembles` fits and predicts out of fold, `plan`
counts the fits beforehand. `given_rows` holds rows with their labels, `estimators` and
`row_weights` know what classifiers take, `shielding` keeps them from changing rows that others
read, and `given` is a classifier of p(label | x) that is known already.
"""
