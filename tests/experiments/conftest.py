"""A small problem with ten classes that overlap as those of Fashion MNIST do."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def ten_normals(tmp_path_factory):
    """Path of a .npz file: 3,000 rows to train with and 1,000 to test with."""
    rng = np.random.default_rng(0)
    centres = 0.7 * rng.normal(size=(10, 16))
    parts = {}
    for ending, size in (("", 300), ("_test", 100)):
        classes = np.repeat(np.arange(10), size)
        parts[f"X{ending}"] = centres[classes] + rng.normal(size=(len(classes), 16))
        parts[f"y{ending}"] = classes
    path = tmp_path_factory.mktemp("data") / "normals.npz"
    np.savez(path, **parts)
    return path
