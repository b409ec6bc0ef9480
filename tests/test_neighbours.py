"""Graphs of nearest neighbours: symmetric, of any rows, and the same whatever the threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_info, threadpool_limits

from decoupling.neighbours import neighbour_graph


def test_graph_of_equal_rows_and_of_few():
    X = np.zeros((4, 2))
    graph = neighbour_graph(X, 2)
    assert graph.diagonal().sum() == 0
    assert set(graph.data) == {1.0}
    assert (np.diff(graph.indptr) >= 2).all()
    everyone = neighbour_graph(np.arange(3.0)[:, None], 10).toarray()
    np.testing.assert_allclose(everyone, [[0, 1 / 2, 1 / 3], [1 / 2, 0, 1 / 2], [1 / 3, 1 / 2, 0]])
    assert neighbour_graph(np.zeros((1, 2)), 5).nnz == 0
    with pytest.raises(ValueError, match="n_neighbors must be an integer"):
        neighbour_graph(X, 0)


def test_graph_is_symmetric_and_takes_sparse_rows():
    X = np.random.default_rng(0).random((60, 5))
    graph = neighbour_graph(X, 4)
    np.testing.assert_array_equal(graph.toarray(), graph.toarray().T)
    from_sparse = neighbour_graph(sparse.csr_matrix(X), 4)
    np.testing.assert_allclose(from_sparse.toarray(), graph.toarray(), atol=1e-6)


def test_approximate_graph():
    pytest.importorskip("pynndescent")
    X = np.random.default_rng(0).random((500, 5))
    exact, near = neighbour_graph(X, 10), neighbour_graph(X, 10, approximate=True)
    shared = exact.multiply(near != 0).sum() / exact.sum()
    assert shared > 0.9
    assert near.diagonal().sum() == 0


def test_approximate_graph_without_pynndescent(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pynndescent", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "decoupling\[ann\]"'):
        neighbour_graph(np.zeros((5, 2)), 2, approximate=True)


def test_graph_is_the_same_whatever_the_threads():
    """Of rows that are equally near some are found, always the same ones."""
    X = np.random.default_rng(0).integers(0, 2, (600, 20)).astype(float)
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(limits=threads):
            found.append(neighbour_graph(X, 5))
    for other in found[1:]:
        np.testing.assert_array_equal(other.indices, found[0].indices)
        np.testing.assert_array_equal(other.data, found[0].data)


@pytest.mark.parametrize("columns", [3, 20], ids=["by a tree", "one by one"])
def test_threads_at_once_leave_the_limits_of_others_alone(columns):
    X = np.random.default_rng(0).random((400, columns))
    before = threadpool_info()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: neighbour_graph(X, 5), range(16)))
    assert threadpool_info() == before
    for other in found[1:]:
        np.testing.assert_array_equal(other.toarray(), found[0].toarray())


def test_trees_and_plain_search_find_the_same():
    X = np.random.default_rng(0).random((200, 7))
    wide = neighbour_graph(X, 5)
    expected = NearestNeighbors(n_neighbors=5, algorithm="kd_tree").fit(X).kneighbors()[1]
    for row in range(200):
        assert set(expected[row]) <= set(wide[[row]].indices)
