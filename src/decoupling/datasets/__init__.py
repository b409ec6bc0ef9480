"""Data to try things out on: simulated problems, and clean classes turned into labels.

`simulated` has the problem of the paper, `fashion_mnist` pictures, and `corruption` draws labels.
"""

from decoupling.datasets.corruption import give_labels
from decoupling.datasets.fashion_mnist import load_fashion_mnist
from decoupling.datasets.simulated import SimulatedLabels, four_normals

__all__ = ["SimulatedLabels", "four_normals", "give_labels", "load_fashion_mnist"]
