"""Figures are drawn without a window, and closed after each test."""

import matplotlib
import pytest

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
