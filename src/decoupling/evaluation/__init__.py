"""Folds, scores and bins of calibration for rows of which some have no label.

`labelled` has the folds and the scorer, `bins` confidence beside accuracy.
"""
