r"""Do neighbours have the same label? The cut-edge weight, and a test of it.

Rows are joined to their nearest neighbours by edges of weight :math:`w_{ij} = 1 / (1 + d_{ij})`. An
edge is cut if it joins rows with different labels. If the labels of the neighbours of row i were
drawn from the class frequencies p, whatever its own label :math:`y_i`, the weight of its cut edges

.. math:: J_i = \sum_j w_{ij} [y_j \neq y_i]

would have

.. math::

    E[J_i] = (1 - p(y_i)) \sum_j w_{ij}, \qquad
    Var[J_i] = p(y_i) (1 - p(y_i)) \sum_j w_{ij}^2,

and be nearly normal. A label is believed if so little weight is cut that this is unlikely (Li and
Zhou, 2005, after Muhlenbach, Lallich and Zighed, 2004). Neighbours without a label take no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtr
from sklearn.utils.validation import _num_samples

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling._validation import check_count, needs_extra

UNLABELLED = -1


def neighbour_graph(
    X: Any, n_neighbors: int = 10, *, approximate: bool = False, n_jobs: int | None = None
) -> Any:
    """Weights of the edges of each row to its nearest neighbours, sparse (N, N).

    An edge joins two rows if either is among the nearest of the other. With fewer other rows than
    ``n_neighbors`` all are joined.

    Parameters
    ----------
    X : array-like or sparse matrix (N, D)
        The space of the graph.
    n_neighbors : int
        How many each row looks for; rows that are equal to it, at distance 0, are among them.
    approximate : bool
        Search with pynndescent, which may miss a few and is faster for many rows.
    n_jobs : int, optional
        Threads of the search.

    Examples
    --------
    >>> neighbour_graph([[0.0], [1.0], [3.0]], 1).toarray()
    array([[0.        , 0.5       , 0.        ],
           [0.5       , 0.        , 0.33333333],
           [0.        , 0.33333333, 0.        ]])
    """
    check_count("n_neighbors", n_neighbors)
    n_rows = _num_samples(X)
    k = min(n_neighbors, n_rows - 1)
    if k < 1:
        return sparse.csr_array((n_rows, n_rows))
    if approximate:
        rows, distances = _approximate_neighbours(X, k, n_jobs)
    else:
        from sklearn.neighbors import NearestNeighbors

        # Without X the rows themselves are not their own neighbours, equal ones are.
        distances, rows = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X).kneighbors()
    ends = np.arange(0, k * n_rows + 1, k)
    found = sparse.csr_array(
        (1.0 / (1.0 + distances.ravel()), rows.ravel(), ends), shape=(n_rows, n_rows)
    )
    return found.maximum(found.T).tocsr()


def _approximate_neighbours(X: Any, k: int, n_jobs: int | None) -> tuple[IntArray, FloatArray]:
    with needs_extra("ann", "An approximate neighbour graph"):
        from pynndescent import NNDescent

    rows, distances = NNDescent(X, n_neighbors=k + 1, random_state=0, n_jobs=n_jobs).neighbor_graph
    # A row is its own nearest neighbour, though not always the first of those at distance 0.
    own = rows == np.arange(len(rows))[:, None]
    own[~own.any(axis=1), -1] = True
    return rows[~own].reshape(-1, k), distances[~own].reshape(-1, k)


def check_graph(graph: Any, n_rows: int) -> Any:
    """A graph that was made elsewhere, as a CSR array without loops."""
    if not sparse.issparse(graph):
        raise ValueError(f"graph must be a sparse matrix (N, N); got {type(graph).__name__}.")
    if graph.shape != (n_rows, n_rows):
        raise ValueError(f"graph must be ({n_rows}, {n_rows}), like X; got {graph.shape}.")
    graph = sparse.csr_array(graph, dtype=np.float64, copy=True)
    bad = ~np.isfinite(graph.data) | (graph.data < 0)
    if bad.any():
        raise ValueError(
            f"graph: {int(bad.sum())} weights are negative or not finite. Weights are larger the "
            "nearer two rows are, such as 1 / (1 + distance)."
        )
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    return graph


@dataclass(frozen=True, eq=False)
class CutEdges:
    """Cut-edge weight of some rows, and what it would be by chance.

    Attributes
    ----------
    weight : array (n,)
        J, the weight of the edges to neighbours with another label.
    mean, variance : arrays (n,)
        Of J if the labels of the neighbours were drawn from the class frequencies.
    """

    weight: FloatArray
    mean: FloatArray
    variance: FloatArray

    @property
    def p_value(self) -> FloatArray:
        """Probability that so little weight or less is cut by chance, (n,).

        1 where there is nothing to tell it from chance: no labelled neighbour, or a single class.
        """
        deviation = np.sqrt(self.variance)
        z = np.divide(
            self.weight - self.mean, deviation, out=np.full_like(deviation, np.inf),
            where=deviation > 0,
        )  # fmt: skip
        return np.asarray(ndtr(z))

    def believable(self, theta: float) -> BoolArray:
        """Whether so little weight is cut that chance does it at most in a share ``theta``."""
        return np.asarray(self.p_value <= theta)


def cut_edges(graph: Any, labels: IntArray, rows: IntArray, frequencies: FloatArray) -> CutEdges:
    """Cut-edge weight of ``rows`` under their labels, and its null distribution.

    Parameters
    ----------
    graph : sparse (N, N)
        Weights of the edges.
    labels : int array (N,)
        0 to C - 1, or -1: none.
    rows : int array (n,)
        Rows to judge, all with a label.
    frequencies : array (C,)
        Share of each class.

    Examples
    --------
    >>> graph = neighbour_graph([[0.0], [1.0], [3.0]], 1)
    >>> cut = cut_edges(graph, np.array([0, 0, 1]), np.array([0, 1]), np.array([0.5, 0.5]))
    >>> cut.weight.round(2), cut.mean.round(2)
    (array([0.  , 0.33]), array([0.25, 0.42]))
    """
    n_classes = len(frequencies)
    known = labels != UNLABELLED
    members = sparse.csr_array(
        (np.ones(int(known.sum())), (np.flatnonzero(known), labels[known])),
        shape=(len(labels), n_classes),
    )
    edges = graph[rows]
    by_class = (edges @ members).toarray()  # (n, C)
    total = by_class.sum(axis=1)
    squares = edges.power(2) @ known.astype(np.float64)
    own = labels[rows]
    alike = by_class[np.arange(len(rows)), own]
    p = frequencies[own]
    # Sums of the same weights in another order may differ by rounding.
    cut = np.maximum(total - alike, 0.0)
    return CutEdges(cut, (1.0 - p) * total, p * (1.0 - p) * squares)
