"""p(y|s,x) by hand, and where p(y|x) excludes the label."""

import numpy as np

from decoupling.transitions.conditional import label_conditional


def test_label_conditional_by_hand():
    proba = np.array([[0.5, 0.5], [0.9, 0.1], [0.9, 0.1]])
    transitions = np.array([[1.0, 0.0], [0.75, 0.25]])
    found = label_conditional(proba, transitions, np.array([0, 0, 1]))
    np.testing.assert_allclose(found, [[4 / 7, 3 / 7], [12 / 13, 1 / 13], [0, 1]])


def test_where_the_classifier_excludes_the_label_the_label_decides():
    transitions = np.array([[1.0, 0.0], [0.7, 0.3], [0.4, 0.6]])
    found = label_conditional(np.array([[1.0, 0.0, 0.0]]), transitions, np.array([1]))
    np.testing.assert_allclose(found, [[0, 1 / 3, 2 / 3]])
