"""p(s|x), out of fold and calibrated on the labels themselves."""
