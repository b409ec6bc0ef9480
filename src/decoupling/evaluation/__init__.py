"""Folds, scores and bins of calibration for rows of which some have no label."""
