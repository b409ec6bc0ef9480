"""Split, score and calibration bins where some labels are missing."""
