"""What the cut-edge test adds to a round of SETRED on all of Fashion MNIST.

`python -m benchmarks.self_training` prints times relative to the fit of the network, all of one
run, and the peak memory of the process.
"""

import argparse
import resource

import numpy as np

from benchmarks.timing import progress, seconds
from decoupling.experiments.data import load_data
from decoupling.experiments.networks import network
from decoupling.experiments.self_training import NEIGHBOURS, inner_space
from decoupling.labels.observed import UNLABELLED
from decoupling.neighbours import neighbour_graph
from decoupling.setred.cut_edges import cut_edges


def main() -> None:
    """Fit, build the graph and test a round's proposals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.self_training", description=__doc__)
    parser.add_argument("--network", default="cnn")
    chosen = parser.parse_args()
    data = load_data("fashion")
    n_rows, n_classes = len(data.classes), len(data.names)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(n_rows) < 0.5, data.classes, UNLABELLED)
    # A round of ten proposes a tenth of the unlabelled rows.
    rows = rng.choice(np.flatnonzero(labels == UNLABELLED), n_rows // 20, replace=False)
    labels[rows] = data.classes[rows]
    model = network(chosen.network, 0)
    progress("fitting")
    fit = seconds(lambda: model.fit(data.X, data.classes))
    found = {}
    progress("building the graph")
    space = seconds(lambda: found.update(space=inner_space(model, data.X)))
    graph = seconds(lambda: found.update(graph=neighbour_graph(found["space"], NEIGHBOURS)))
    shares = np.bincount(labels[labels != UNLABELLED], minlength=n_classes) / np.sum(labels >= 0)
    progress("testing")
    test = seconds(lambda: cut_edges(found["graph"], labels, rows, shares).believable(0.1))
    print(f"{n_rows:,} rows, {NEIGHBOURS} neighbours, {len(rows):,} proposals")
    print("| part | time, relative to a fit of the network on all rows |\n|---|---|")
    print(f"| cut-edge test, in every round | {test / fit:.4f} |")
    print(f"| representation, once | {space / fit:.2f} |")
    print(f"| neighbour graph, once | {graph / fit:.2f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory {peak:.2f} GB, with the data and PyTorch")


if __name__ == "__main__":
    main()
