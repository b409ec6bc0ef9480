"""The cut-edge weight against enumeration, and its test against chance."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from decoupling.neighbours import neighbour_graph
from decoupling.setred.cut_edges import CutEdges, check_graph, cut_edges


def random_graph(rng, n_rows):
    weights = np.triu(rng.random((n_rows, n_rows)) * (rng.random((n_rows, n_rows)) < 0.6), 1)
    return sparse.csr_array(weights + weights.T)


def slow_weight(graph, labels, i):
    weights = graph.toarray()[i]
    return sum(w for w, y in zip(weights, labels, strict=True) if y not in (-1, labels[i]))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_rows", "n_classes"), [(3, 2), (6, 3), (8, 2)])
def test_null_distribution_against_all_labelings(seed, n_rows, n_classes):
    rng = np.random.default_rng(seed)
    graph, frequencies = random_graph(rng, n_rows), rng.dirichlet(np.ones(n_classes))
    for i, own in product(range(n_rows), range(n_classes)):
        mean = square = 0.0
        for others in product(range(n_classes), repeat=n_rows - 1):
            labels = np.insert(np.array(others), i, own)
            chance = np.prod(frequencies[list(others)])
            weight = slow_weight(graph, labels, i)
            mean += chance * weight
            square += chance * weight**2
        labels = np.full(n_rows, 0)
        labels[i] = own
        found = cut_edges(graph, labels, np.array([i]), frequencies)
        assert found.mean[0] == pytest.approx(mean, abs=1e-12)
        assert found.variance[0] == pytest.approx(square - mean**2, abs=1e-12)


def test_weight_of_neighbours_that_have_labels():
    rng = np.random.default_rng(0)
    graph, labels = random_graph(rng, 20), rng.integers(-1, 3, size=20)
    rows = np.flatnonzero(labels >= 0)
    found = cut_edges(graph, labels, rows, np.full(3, 1 / 3))
    expected = [slow_weight(graph, labels, i) for i in rows]
    np.testing.assert_allclose(found.weight, expected, atol=1e-12)
    total = graph.toarray()[rows][:, labels >= 0].sum(axis=1)
    np.testing.assert_allclose(found.mean, total * 2 / 3)


@pytest.mark.parametrize("theta", [0.05, 0.1, 0.2])
def test_false_positives_under_random_labels(theta):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    graph = neighbour_graph(X, 20)
    frequencies = np.array([0.3, 0.3, 0.4])
    rates = []
    for _ in range(20):
        labels = rng.choice(3, size=3000, p=frequencies)
        found = cut_edges(graph, labels, np.arange(3000), frequencies)
        rates.append(found.believable(theta).mean())
    assert np.mean(rates) == pytest.approx(theta, rel=0.2)


def test_labels_that_agree_are_believed_and_others_are_not():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (50, 2)), rng.normal(8, 1, (50, 2))])
    labels = np.repeat([0, 1], 50)
    labels[[3, 70]] = 1 - labels[[3, 70]]
    found = cut_edges(neighbour_graph(X, 10), labels, np.arange(100), np.array([0.5, 0.5]))
    believed = found.believable(0.1)
    assert not believed[[3, 70]].any()
    assert np.delete(believed, [3, 70]).mean() > 0.95


def test_nothing_to_tell_from_chance():
    """A row without labelled neighbours, and a single class, say nothing."""
    graph = sparse.csr_array(np.array([[0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]]))
    half = np.array([0.5, 0.5])
    assert cut_edges(graph, np.array([0, 0, 0]), np.array([0]), half).p_value[0] == 1.0
    assert cut_edges(graph, np.array([0, 0, -1]), np.array([1]), half).p_value[0] == 1.0
    single = cut_edges(graph, np.zeros(3, int), np.arange(3), np.array([1.0]))
    np.testing.assert_array_equal(single.p_value, 1.0)
    assert not single.believable(0.5).any()


def test_p_value_is_that_of_the_normal_distribution():
    cut = CutEdges(np.array([1.0]), np.array([2.0]), np.array([0.25]))
    assert cut.p_value[0] == pytest.approx(0.0227501319)


def test_graph_made_elsewhere():
    graph = check_graph(sparse.coo_matrix(np.array([[5.0, 1.0], [1.0, 0.0]])), 2)
    np.testing.assert_array_equal(graph.toarray(), [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"graph must be \(3, 3\), like X; got \(2, 2\)"):
        check_graph(graph, 3)
    with pytest.raises(ValueError, match="sparse matrix"):
        check_graph(np.eye(2), 2)
    with pytest.raises(ValueError, match="1 weights are negative or not finite"):
        check_graph(sparse.csr_matrix([[0, -1.0], [1.0, 0]]), 2)
