"""Irises with imperfect labels, and a quick classifier, for tests of what people see."""

import numpy as np
from sklearn.datasets import load_iris

from decoupling import DecouplingClassifier

NAMES = np.array(["setosa", "versicolor", "virginica"])
# Names that try to steer a page, a table or a terminal.
HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"'`=1+1 $x_ [red] | \x1b[31m\u202e\u2028\n\t&amp;",
]


def irises(names=NAMES, wrong=0.2):
    """Rows, labels of which some are wrong, and true classes."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    given = np.where(rng.random(150) < wrong, (y + 1) % 3, y)
    names = np.array(names, dtype=object)
    return X, names[given], names[y]


def fit(X, y, **options):
    return DecouplingClassifier(**{"rounds": 1, "cv": 3, "random_state": 0, **options}).fit(X, y)
