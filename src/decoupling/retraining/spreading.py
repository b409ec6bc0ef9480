r"""Labels spread to unlabelled rows, along a graph of neighbours.

Few labels tell a classifier little, and all rows together show where the classes part: what is
near is mostly of one class. With W the weights of the edges between neighbours, D their sums over
each row, and Y the weight of each row in the column of its label, rows gather

.. math:: F = \sum_{t=0}^{\infty} (\alpha S)^t Y, \qquad S = D^{-1/2} W D^{-1/2},

the labels of their neighbours, of the neighbours of these, and so on, each step counting
:math:`\alpha` times as much as the one before (Zhou, Bousquet, Lal, Weston and Schölkopf, 2004).
"""

from __future__ import annotations

import logging
from typing import Any, Final

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler, normalize
from sklearn.utils import _safe_indexing

from decoupling._typing import BoolArray, FloatArray
from decoupling.neighbours import neighbour_graph

# What a step counts for beside the one before, and how many there are.
_ALPHA: Final = 0.2
_STEPS: Final = 30
_NEIGHBOURS: Final = 10
# The search for neighbours takes the square of the rows: beyond these it is left.
MOST_ROWS: Final = 100_000
# Indicators of a column that is no number; rarer values are taken together.
_CATEGORIES: Final = 20
# Numbers beyond this have no square, and so no distance.
_LARGEST: Final = 1e100

_LOG = logging.getLogger(__name__)


def row_graph(estimator: Any, X: Any, taking_part: BoolArray) -> Any:
    """Neighbours among rows as the classifier sees them, sparse (N, N); None if there are none.

    What comes before the classifier in a pipeline makes numbers of the rows, and is not told their
    labels; columns of a dataframe that are no numbers become indicators, gaps are filled, and all
    features have one scale. Too many rows have no graph, nor do rows of which no numbers can be
    had. Rows that take no part have no edges.
    """
    rows = np.flatnonzero(taking_part)
    if len(rows) > MOST_ROWS:
        _LOG.info("neighbours have no part: %d rows are more than %d", len(rows), MOST_ROWS)
        return None
    try:
        with np.errstate(all="ignore"):
            space = _numbers(_pipeline_in(estimator), _safe_indexing(X, rows))
        graph = neighbour_graph(space, _NEIGHBOURS).tocoo()
        if graph.shape[0] != len(rows):
            raise ValueError("a step of the pipeline changes the number of rows")
    except Exception as error:  # words, pictures, steps that need labels: whatever others refuse
        _LOG.info("neighbours have no part: %s", error)
        return None
    shape = (len(taking_part), len(taking_part))
    return sparse.csr_array((graph.data, (rows[graph.row], rows[graph.col])), shape=shape)


def _pipeline_in(estimator: Any) -> Any:
    """The classifier within searches and calibrations of it."""
    while not isinstance(estimator, Pipeline) and hasattr(estimator, "estimator"):
        estimator = estimator.estimator
    return estimator


def _numbers(estimator: Any, X: Any) -> Any:
    """Rows as numbers of one scale, dense or sparse (N, D)."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        X = clone(estimator[:-1]).fit_transform(X)
    if hasattr(X, "iloc"):
        named = OneHotEncoder(sparse_output=False, max_categories=_CATEGORIES)
        others = make_column_selector(dtype_exclude="number")
        X = _plain(make_column_transformer((named, others), remainder="passthrough"), X)
    if not sparse.issparse(X):
        X = np.asarray(X, dtype=np.float64)
        X = np.where(np.abs(X) < _LARGEST, X, np.nan)  # gaps, as are those that are infinite
    scale = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
    return _plain(make_pipeline(SimpleImputer(keep_empty_features=True), scale), X)


def _plain(transformer: Any, X: Any) -> Any:
    """Transformed, as an array whatever scikit-learn was told to return."""
    return transformer.set_output(transform="default").fit_transform(X)


def spread(graph: Any, labels: FloatArray) -> FloatArray:
    r"""p(y) of every row by its neighbours' labels, (N, C); 0 where none comes near.

    Parameters
    ----------
    graph : sparse (N, N)
        Weights of the edges W, which is symmetric.
    labels : array (N, C)
        Y, how much of a label of each class a row has; none if it is unlabelled.

    Examples
    --------
    >>> graph = neighbour_graph([[0.0], [1.0], [2.0], [9.0], [10.0]], 1)
    >>> labels = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> spread(graph, labels)
    array([[1., 0.],
           [1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """
    degree = np.asarray(graph.sum(axis=1)).ravel()
    root = np.sqrt(np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0))
    step = _ALPHA * (graph.multiply(root[:, None]).multiply(root[None, :])).tocsr()
    gathered, last = labels.copy(), labels
    for _ in range(_STEPS):
        last = step @ last
        gathered += last
    return np.asarray(normalize(gathered, norm="l1", copy=False))
