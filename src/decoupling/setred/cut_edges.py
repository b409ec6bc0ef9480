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

from decoupling._typing import BoolArray, FloatArray, IntArray
from decoupling.labels.observed import UNLABELLED


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
        """Whether the cut weight is so small that chance reaches it with ``theta`` at most."""
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
    >>> from decoupling.neighbours import neighbour_graph
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
