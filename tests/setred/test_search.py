"""What a round proposes."""

import numpy as np

from decoupling.setred.search import most_probable


def test_most_probable():
    proba = np.array([[0.7, 0.3], [0.6, 0.4], [0.9, 0.1], [0.1, 0.9]])
    rows, classes = most_probable(proba, np.array([2.0, 3.0]))
    assert rows.tolist() == [2, 0, 3]
    assert classes.tolist() == [0, 0, 1]
    assert most_probable(proba, np.zeros(2))[0].tolist() == []
