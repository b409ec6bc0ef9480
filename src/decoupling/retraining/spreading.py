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

from decoupling._typing import BoolArray, FloatArray
from decoupling.fits.shielding import own_rows
from decoupling.neighbours import neighbour_graph

# Weight of labels that come over one more edge. At twice this labels reach much farther, also over
# the borders of classes.
_ALPHA: Final = 0.2
# Steps along edges. What a further step would add is below 0.2 ** 30.
_STEPS: Final = 30
# Neighbours that each row looks for.
_NEIGHBOURS: Final = 10
# Rows beyond which there is no graph: the time of the search grows with the square of the rows.
MOST_ROWS: Final = 100_000
# Indicators of a column that has no numbers, at most; rarer values share one.
_CATEGORIES: Final = 20
# Numbers beyond this have no square in floating point, and so no distance: they become gaps.
_LARGEST: Final = 1e100

_LOG = logging.getLogger(__name__)


class NoDistanceError(ValueError):
    """Rows cannot be turned into numbers, so that there is no distance between them."""


def row_graph(estimator: Any, X: Any, taking_part: BoolArray) -> Any:
    """Neighbours among rows as the classifier sees them, sparse (N, N); None if there is no graph.

    The steps before the classifier in a pipeline turn rows into numbers, without the labels.
    Columns of a dataframe without numbers become indicators, gaps are filled, and all features get
    one scale. There is no graph of too many rows, or of rows that cannot be turned into numbers.
    Rows that take no part have no edges.
    """
    rows = np.flatnonzero(taking_part)
    if len(rows) > MOST_ROWS:
        _LOG.info("neighbours have no part: %d rows are more than %d", len(rows), MOST_ROWS)
        return None
    try:
        space = _numbers(_pipeline_in(estimator), own_rows(X, rows), len(rows))
    except NoDistanceError as error:
        _LOG.info("neighbours have no part: %s", error)
        return None
    graph = neighbour_graph(space, _NEIGHBOURS).tocoo()
    shape = (len(taking_part), len(taking_part))
    return sparse.csr_array((graph.data, (rows[graph.row], rows[graph.col])), shape=shape)


def _pipeline_in(estimator: Any) -> Any:
    """The classifier within searches and calibrations of it."""
    while not isinstance(estimator, Pipeline) and hasattr(estimator, "estimator"):
        estimator = estimator.estimator
    return estimator


def _numbers(estimator: Any, X: Any, n_rows: int) -> Any:
    """Rows as numbers of one scale, dense or sparse (N, D)."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        X = _transformed(clone(estimator[:-1]), X)
    if hasattr(X, "iloc"):
        named = OneHotEncoder(sparse_output=False, max_categories=_CATEGORIES)
        others = make_column_selector(dtype_exclude="number")
        X = _plain(make_column_transformer((named, others), remainder="passthrough"), X)
    if not sparse.issparse(X):
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:  # words and pictures
            raise NoDistanceError(str(error)) from error
        with np.errstate(invalid="ignore"):
            X = np.where(np.abs(X) < _LARGEST, X, np.nan)  # infinite numbers become gaps, too
    if X.ndim != 2 or X.shape[0] != n_rows or not X.shape[1]:
        raise NoDistanceError(f"{n_rows} rows became an array of shape {X.shape}")
    scale = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
    return _plain(make_pipeline(SimpleImputer(keep_empty_features=True), scale), X)


def _transformed(pipeline: Any, X: Any) -> Any:
    """Rows after the user's own steps, which may need labels, or fail in any other way."""
    try:
        with np.errstate(all="ignore"):
            return pipeline.fit_transform(X)
    except Exception as error:
        raise NoDistanceError(f"{type(error).__name__}: {error}") from error


def _plain(transformer: Any, X: Any) -> Any:
    """Transformed rows as an array, whatever scikit-learn was told to return."""
    try:
        with np.errstate(all="ignore"):
            return transformer.set_output(transform="default").fit_transform(X)
    except (TypeError, ValueError) as error:  # cells that cannot be compared or counted
        raise NoDistanceError(str(error)) from error


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
