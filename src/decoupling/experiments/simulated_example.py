"""The paper's simulated example: three positive classes, now and then labelled, and a negative."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.datasets.simulated import COVARIANCES, MEANS, SimulatedLabels, four_normals
from decoupling.experiments import figures
from decoupling.experiments.networks import fit_to_the_end
from decoupling.inference.infer import infer
from decoupling.inference.posterior import Posterior
from decoupling.transitions.prior import TransitionPrior

CLASSES: Final = ("negative", "red", "green", "blue")
LABELS: Final = ("unlabelled", "red", "green", "blue")
# Guess of T by somebody who does not know it; a row for each class.
GUESS: Final = (
    (0.99, 0.01 / 3, 0.01 / 3, 0.01 / 3),
    (0.70, 0.20, 0.05, 0.05),
    (0.70, 0.05, 0.20, 0.05),
    (0.70, 0.05, 0.05, 0.20),
)
# Options of scikit-learn's network. They are part of the configuration of a result.
NETWORK: Final = {"hidden_layer_sizes": (32,), "alpha": 0.03, "max_iter": 1000}
# Colour of each class, white for the negative one: red, green and blue from 0 to 1.
_COLOURS: Final = np.array(
    [[1.0, 1.0, 1.0], [0.84, 0.15, 0.1], [0.1, 0.6, 0.2], [0.12, 0.35, 0.85]]
)
# Points of the background on a side, about one for two pixels.
_GRID: Final = 240


@dataclass(frozen=True)
class SimulatedConfig:
    """Options of the figures, beside the guess of T and the network, which are fixed.

    Attributes
    ----------
    n_samples, seed : int
        How many samples are drawn, and from where.
    strength : float
        How many observations the guess of T counts for, per class.
    evidence : "auto" or float
        How many a sample counts for; 1, as in the paper, since the classes overlap.
    expected_log : str
        "taylor" is the paper.
    """

    n_samples: int = 2000
    seed: int = 0
    strength: float = 50.0
    evidence: Any = 1.0
    expected_log: str = "bound"

    @property
    def digest(self) -> str:
        """Short name of these options together with those that are fixed."""
        text = json.dumps([asdict(self), GUESS, NETWORK])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, eq=False)
class Simulated:
    """The sample, the network trained on its labels, and what was inferred."""

    config: SimulatedConfig
    data: SimulatedLabels
    network: Any
    posterior: Posterior

    @property
    def scores(self) -> dict[str, float]:
        """Share of samples whose class is found, by each way."""
        label_proba = self.network.predict_proba(self.data.X)
        ways = {
            "label model": label_proba,
            "decoupled": self.posterior.class_proba,
            "label-conditional": self.posterior.label_conditional(self.data.labels),
            "true densities": self.data.class_posterior,
        }
        return {
            name: float((proba.argmax(axis=1) == self.data.classes).mean())
            for name, proba in ways.items()
        }


def simulate(config: SimulatedConfig) -> Simulated:
    """Draw, train, infer."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not 0 <= config.seed < 2**32:
        raise ValueError(f"seed must be from 0 to 2 ** 32 - 1; got {config.seed}.")
    data = four_normals(config.n_samples, random_state=config.seed)
    absent = sorted(set(range(len(LABELS))) - set(data.labels.tolist()))
    if absent:
        raise ValueError(
            f"Of {config.n_samples} samples none has the label {LABELS[absent[0]]!r}: draw more."
        )
    network = make_pipeline(StandardScaler(), MLPClassifier(**NETWORK, random_state=config.seed))
    fit_to_the_end(network, data.X, data.labels)
    prior = TransitionPrior(GUESS, config.strength, classes=CLASSES, labels=LABELS)
    posterior = infer(
        network.predict_proba(data.X),
        prior,
        evidence=config.evidence,
        expected_log=config.expected_log,
    )
    return Simulated(config, data, network, posterior)


def draw_simulated(found: Simulated, folder: Path) -> Iterator[Path]:
    """Write the paper's six figures, and T."""
    for name, make in (
        ("1_true_distributions", _true_distributions),
        ("2_label_densities", _label_densities),
        ("3_label_decisions", _label_decisions),
        ("4_class_probabilities", _class_probabilities),
        ("5_elbo", _elbo),
        ("6_likelihood", _likelihood),
        ("7_transitions", _transitions),
    ):
        yield figures.save_figure(make(found), folder / f"{name}.png")


def _figure(found: Simulated, width: float, height: float) -> Any:
    config = found.config
    note = f"decoupling reproduce simulated, seed {config.seed}, configuration {config.digest}"
    return figures.new_figure(width, height, note)


def _plane(found: Simulated) -> tuple[FloatArray, FloatArray, list[float]]:
    """Points of a grid over the sample, as rows (G * G, 2) and as axes; and its extent."""
    low, high = found.data.X.min(axis=0) - 0.5, found.data.X.max(axis=0) + 0.5
    axes = np.linspace(low, high, _GRID)  # (G, 2)
    x, y = np.meshgrid(axes[:, 0], axes[:, 1])
    return np.column_stack([x.ravel(), y.ravel()]), axes, [low[0], high[0], low[1], high[1]]


def _density(points: FloatArray) -> FloatArray:
    """p(x | y), (G, C)."""
    from scipy.stats import multivariate_normal

    return np.column_stack(
        [
            multivariate_normal.pdf(points, mean, covariance)
            for mean, covariance in zip(MEANS, COVARIANCES, strict=True)
        ]
    )


def _picture(ax: Any, values: FloatArray, extent: list[float], strength: float = 0.45) -> None:
    """A background of mixed colours, (G * G, 4), paler than the samples."""
    colours = 1.0 - strength * (1.0 - values @ _COLOURS)
    ax.imshow(
        colours.reshape(_GRID, _GRID, 3), origin="lower", extent=extent, aspect="equal",
        interpolation="bilinear",
    )  # fmt: skip
    ax.set(xticks=[], yticks=[])


def _true_distributions(found: Simulated) -> Any:
    figure = _figure(found, 6, 5)
    ax = figure.subplots()
    points, axes, extent = _plane(found)
    density = _density(points)
    _picture(ax, np.eye(4)[density.argmax(axis=1)], extent)
    for k in range(4):
        colour = _COLOURS[k] if k else "0.45"
        levels = density[:, k].max() * np.array([0.05, 0.25, 0.6])
        ax.contour(
            axes[:, 0], axes[:, 1], density[:, k].reshape(_GRID, _GRID), levels, colors=[colour]
        )
        ax.text(*MEANS[k], CLASSES[k], ha="center", va="center", fontsize=11, weight="bold")
    ax.set_title("True distributions and their decision boundaries")
    return figure


def _markers(ax: Any, found: Simulated) -> None:
    """Samples by their labels: right, wrong or none."""
    X, labels, classes = found.data.X, found.data.labels, found.data.classes
    none, right = labels == 0, (labels == classes) & (labels > 0)
    wrong = (labels != classes) & (labels > 0)
    for rows, marker, size, name in (
        (none, "o", 7, "unlabelled"),
        (right, "*", 55, "right label"),
        (wrong, "s", 34, "wrong label"),
    ):
        ax.scatter(
            *X[rows].T, s=size, marker=marker, c=_COLOURS[labels[rows]], label=name,
            edgecolors="0.35" if marker == "o" else "black", linewidths=0.4,
        )  # fmt: skip
    ax.legend(loc="upper right", fontsize=8)


def _label_densities(found: Simulated) -> Any:
    figure = _figure(found, 6, 5)
    ax = figure.subplots()
    points, _, extent = _plane(found)
    _picture(ax, found.network.predict_proba(points), extent, strength=0.9)
    _markers(ax, found)
    ax.set_title("The sample, and p(label | x) of the network")
    return figure


def _label_decisions(found: Simulated) -> Any:
    figure = _figure(found, 6, 5)
    ax = figure.subplots()
    points, _, extent = _plane(found)
    _picture(ax, np.eye(4)[found.network.predict_proba(points).argmax(axis=1)], extent)
    guess = found.network.predict_proba(found.data.X).argmax(axis=1)
    ax.scatter(*found.data.X.T, s=9, c=_COLOURS[guess], edgecolors="0.35", linewidths=0.4)
    share = np.mean(guess == 0)
    ax.set_title(f"The network's most probable label: {share:.1%} unlabelled")
    return figure


def _class_probabilities(found: Simulated) -> Any:
    figure = _figure(found, 6, 5)
    ax = figure.subplots()
    points, _, extent = _plane(found)
    _picture(ax, np.eye(4)[_density(points).argmax(axis=1)], extent, strength=0.2)
    colours = np.clip(found.posterior.class_proba @ _COLOURS, 0, 1)
    ax.scatter(*found.data.X.T, s=12, c=colours, edgecolors="0.35", linewidths=0.4)
    ax.set_title("Inferred p(class | x), over the true decision regions")
    return figure


def _elbo(found: Simulated) -> Any:
    figure = _figure(found, 6, 4)
    ax = figure.subplots()
    trace = found.posterior.trace
    for name, values, colour in (
        ("bound", trace.elbo, figures.BLACK), ("likelihood", trace.likelihood, figures.BLUE),
        ("prior", trace.prior, figures.RED), ("entropy", trace.entropy, figures.GREEN),
    ):  # fmt: skip
        ax.plot(values - values.mean(), color=colour, label=name)
    ax.set(xlabel="iteration", ylabel="less its mean", title="Components of the bound")
    ax.legend(frameon=False)
    return figure


def _likelihood(found: Simulated) -> Any:
    figure = _figure(found, 6, 4)
    ax = figure.subplots()
    values = found.posterior.trace.likelihood
    ax.plot(values, color=figures.BLUE)
    late = values[max(1, len(values) // 10) :]
    margin = 0.1 * max(np.ptp(late), 1e-9)
    ax.set(
        ylim=(late.min() - margin, late.max() + margin), xlabel="iteration", ylabel="likelihood",
        title="The likelihood, seen closely",
    )  # fmt: skip
    return figure


def _transitions(found: Simulated) -> Any:
    figure = _figure(found, 9, 3.4)
    axes = figure.subplots(1, 4, sharey=True)
    lower, upper = found.posterior.transition_interval(0.9)
    middle, truth = found.posterior.transitions, found.data.transitions
    places = np.arange(4)
    for c, ax in enumerate(axes):
        reach = np.maximum([middle[c] - lower[c], upper[c] - middle[c]], 0.0)
        ax.errorbar(
            places + 0.12, middle[c], reach, fmt="o", ms=4, color=figures.BLUE, capsize=3,
            label="inferred, 90% interval",
        )  # fmt: skip
        ax.plot(places - 0.12, truth[c], "_", ms=14, mew=2.5, color=figures.BLACK, label="true")
        ax.plot(places - 0.12, GUESS[c], "x", ms=5, color=figures.ORANGE, label="guess (prior)")
        ax.set_title(f"class {CLASSES[c]}", fontsize=10)
        ax.set_xticks(places, LABELS, rotation=35, ha="right", fontsize=8)
        ax.grid(axis="y", alpha=0.3)
    axes[0].set(ylabel="p(label | class)", ylim=(-0.03, 1.03))
    axes[-1].legend(fontsize=8, loc="upper right")
    return figure
