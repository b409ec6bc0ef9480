"""Problems with known answers."""

from decoupling.datasets.simulated import SimulatedLabels, four_normals

__all__ = ["SimulatedLabels", "four_normals"]
