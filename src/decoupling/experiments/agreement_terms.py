"""Agreement terms, as the paper's appendix shows them, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.stats import beta

from decoupling._typing import FloatArray
from decoupling.experiments import figures
from decoupling.inference.moments import agreement_terms

# Concentration of T in the paper's example, a row for each of two classes.
TRANSITIONS: Final = ((10.0, 1.0), (4.0, 4.0))
# Concentrations of the class of a sample, of which more or less is known, in the same example.
SAMPLES: Final = {
    "sample 1": (10.0, 1.0),
    "sample 2": (1.0, 10.0),
    "uniform": (1.0, 1.0),
    "centred": (4.0, 4.0),
    "centred narrow": (25.0, 25.0),
    "multimodal": (0.35, 0.35),
}
# Highest order of the paper's figure.
ORDERS: Final = 8
_COLOURS: Final = (
    figures.BLUE, figures.RED, figures.BLACK, figures.GREEN, figures.ORANGE, figures.PURPLE,
)  # fmt: skip
# Classes for which costs are compared, as many as Fashion MNIST has.
_CLASSES: Final = 10
# Highest order for which they are; one more costs ten times as much where all terms are summed.
_HIGHEST: Final = 12


def sample_agreement() -> FloatArray:
    """Agreement of each sample with label 1, for orders 1 to 8, (8, 6)."""
    concentration = np.array(list(SAMPLES.values()))
    return agreement_terms(concentration, TRANSITIONS, ORDERS)[:, :, 0]


def costs(n_classes: int, highest: int) -> dict[str, FloatArray]:
    """Cost of one agreement term, for orders 1 to ``highest``.

    A sum over all sequences of classes, over all that are distinct (the paper), and
    multiplications of ours, which gives all lower orders besides.
    """
    orders = range(1, highest + 1)
    return {
        "all terms": np.array([float(n_classes) ** p for p in orders]),
        "distinct terms (the paper)": np.array([float(comb(n_classes + p - 1, p)) for p in orders]),
        # sum of (Pi ** d) @ c_kd over d <= k <= p, then two series of p (p + 1) / 2 products
        "multiplications, all orders up to it (ours)": np.array(
            [(n_classes + 2.0) * p * (p + 1) / 2 for p in orders]
        ),
    }


def draw_agreement(folder: Path) -> Iterator[Path]:
    """Write the three figures."""
    yield figures.save_figure(_densities(), folder / "1_class_densities.png")
    yield figures.save_figure(_curves(), folder / "2_agreement.png")
    yield figures.save_figure(_complexity(), folder / "3_terms.png")


def _densities() -> Any:
    figure = figures.new_figure(7, 4, "decoupling reproduce agreement")
    ax = figure.subplots()
    x = np.linspace(0.001, 0.999, 999)
    for (name, (a, b)), colour in zip(SAMPLES.items(), _COLOURS, strict=True):
        ax.plot(x, beta.pdf(x, a, b), color=colour, label=f"{name} ({a:g}, {b:g})")
    ax.set(
        xlabel="probability of class 1", ylabel="density", ylim=(0, 8), xlim=(0, 1),
        title="What is known of each sample's class",
    )  # fmt: skip
    ax.legend(frameon=False)
    return figure


def _curves() -> Any:
    figure = figures.new_figure(7, 4, "decoupling reproduce agreement")
    ax = figure.subplots()
    orders = np.arange(1, ORDERS + 1)
    for name, values, colour in zip(SAMPLES, sample_agreement().T, _COLOURS, strict=True):
        ax.plot(orders, values, "o-", ms=4, color=colour, label=name)
    ax.set(xlabel="order", ylabel="agreement term", ylim=(0, 1), title="Agreement with label 1")
    ax.legend(frameon=False)
    return figure


def _complexity() -> Any:
    figure = figures.new_figure(10, 4, "decoupling reproduce agreement")
    left, right = figure.subplots(1, 2)
    orders = np.arange(1, _HIGHEST + 1)
    found = costs(_CLASSES, _HIGHEST)
    colours = (figures.BLACK, figures.RED, figures.BLUE)
    for (name, values), colour in zip(found.items(), colours, strict=True):
        left.plot(orders, values, "o-", ms=4, color=colour, label=name)
    left.set(
        yscale="log", xlabel="order", ylabel="number",
        title=f"One agreement term, {_CLASSES} classes",
    )  # fmt: skip
    left.legend(frameon=False)
    every, distinct, ours = found.values()
    right.plot(orders, every / distinct, "o-", ms=4, color=colours[1], label="all / distinct")
    right.plot(orders, distinct / ours, "s-", ms=4, color=colours[2], label="distinct / ours")
    right.set(yscale="log", xlabel="order", ylabel="ratio", title="Saved")
    right.legend(frameon=False)
    return figure
