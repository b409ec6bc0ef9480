"""Which rows are near each other: a graph of nearest neighbours."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from decoupling._threads import ONE_THREAD, one_openmp_thread
from decoupling._typing import FloatArray, IntArray
from decoupling._validation import check_count, needs_extra

# Columns up to which trees are searched. In more dimensions a tree visits most of the rows, and
# brute force is faster.
_FEW_COLUMNS: Final = 6


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
        Threads of the search where it is approximate, or by a tree in up to six dimensions.

    Examples
    --------
    >>> neighbour_graph([[0.0], [1.0], [3.0]], 1).toarray()
    array([[0.        , 0.5       , 0.        ],
           [0.5       , 0.        , 0.33333333],
           [0.        , 0.33333333, 0.        ]])
    """
    check_count("n_neighbors", n_neighbors)
    X = X if sparse.issparse(X) else np.asarray(X)
    n_rows = _num_samples(X)
    k = min(n_neighbors, n_rows - 1)
    if k < 1:
        return sparse.csr_array((n_rows, n_rows))
    if approximate:
        rows, distances = _approximate_neighbours(X, k, n_jobs)
    else:
        from sklearn.neighbors import NearestNeighbors

        way = "auto" if X.shape[1] <= _FEW_COLUMNS else "brute"
        search = NearestNeighbors(n_neighbors=k, algorithm=way, n_jobs=n_jobs).fit(X)
        # Which of equally near rows is found depends on how OpenMP divides the search. The search
        # also limits linear algebra, and would restore what another thread has set for the moment.
        with ONE_THREAD, one_openmp_thread():
            # Called without rows, it leaves out each row itself, but no row that is equal to it.
            distances, rows = search.kneighbors()
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
