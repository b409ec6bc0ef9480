"""Self-training that checks each label it gives by the labels of its neighbours.

`classifier` is the estimator, `search` its rounds, `cut_edges` the test of a label.
"""
