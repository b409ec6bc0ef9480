"""p(s|x): any classifier, predicted out of fold and calibrated on the labels.

`model` fits and chooses between the `forms`: one classifier, two, or the `bags` of a rare label.
`calibration` makes p(s|x) agree with how often labels occur.
"""
