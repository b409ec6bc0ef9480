"""Small problems with a known truth, for comparisons with exact posteriors and for calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from exact_posteriors import Array, Prior, fit_of_labels, log_dirichlet
from numpy.random import Generator

from decoupling import ClassPrior, TransitionPrior
from decoupling.inference.ascent.gamma_posterior import GammaPosterior

# Whole numbers of labels of a row, where the model is taken as it is written.
COUNT = 20
# Distance of neighbouring classes, which are normals on a line, in standard deviations.
APART = 3.0
# Concentration of every class in the Dirichlet distribution that class balances are drawn from.
BALANCE = 10.0

# T of the problems with three classes.
_THREE_CLASSES = np.array([[0.8, 0.15, 0.05], [0.05, 0.8, 0.15], [0.1, 0.1, 0.8]])


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem: what is known of the labelling and of the classes, and the number of rows."""

    name: str
    title: str
    transitions: TransitionPrior
    n_rows: int
    class_prior: ClassPrior | None = None

    @property
    def prior(self) -> Prior:
        """The prior as arrays; a learned gamma begins at concentrations that sum to 1."""
        known = self.transitions.known
        strength = np.where(known, 1.0, self.transitions.strength)
        rows = self.transitions.mean * strength[:, None]
        gamma = np.full(len(rows), 1.0 / len(rows))
        if self.class_prior is None:
            return Prior(rows, known, gamma)
        start = self.class_prior.start(self.transitions.classes)
        assert isinstance(start, GammaPosterior)
        return Prior(rows, known, gamma, start.prior.rate, start.prior.eta)


# Small problems whose exact posterior is sampled, by name.
PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            "noisy",
            "Noisy labels, two classes",
            TransitionPrior.noisy(["a", "b"], 0.2, strength=20),
            200,
        ),
        Problem(
            "positive_unlabelled",
            "Positive-unlabelled",
            TransitionPrior.positive_unlabelled(labelled=0.3, strength=20),
            200,
        ),
        Problem(
            "multi_positive_unlabelled",
            "Two positive classes, unlabelled shared",
            TransitionPrior.multi_positive_unlabelled(["a", "b"], labelled=0.3, strength=20),
            200,
        ),
        Problem(
            "class_conditional",
            "Class-conditional noise, three classes",
            TransitionPrior.class_conditional_noise(["a", "b", "c"], _THREE_CLASSES, strength=20),
            200,
        ),
        Problem(
            "semi_supervised",
            "Semi-supervised, class prior learned",
            TransitionPrior.semi_supervised(["a", "b"], 0.4, strength=20),
            200,
            ClassPrior.learned(eta=10.0),
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Counted:
    """Rows of the model as it is written, each with `COUNT` labels, and the truth."""

    counts: Array
    transitions: Array
    gamma: Array
    balance: Array


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows on a line with one label each, p(x | class), two p(label | x), and the truth.

    Attributes
    ----------
    density : array (N, C)
        p(x | class).
    labels : array (N,) of int
        The labels.
    exact, fitted : arrays (N, S)
        p(label | x) of the truth, and of the T and balance that are most likely given the labels.
    transitions, balance : arrays (C, S) and (C,)
        T, and the share of each class among the rows.
    """

    density: Array
    labels: Array
    exact: Array
    fitted: Array
    transitions: Array
    balance: Array


def draw_counted(problem: Problem, rng: Generator) -> Counted:
    """Draw T from its prior, rows from Dir(gamma), and labels from both; gamma has mass 1."""
    prior = problem.prior
    gamma = prior.gamma
    if prior.rate is not None:
        # The prior of gamma is wide; around its mode the model can be told from its rows.
        gamma = rng.dirichlet(np.full(len(gamma), BALANCE))
    transitions = prior.draw(rng)
    classes = np.exp(log_dirichlet(np.tile(gamma, (problem.n_rows, 1)), rng))
    proba = classes @ transitions
    counts = rng.multinomial(COUNT, proba / proba.sum(axis=1, keepdims=True))
    return Counted(counts, transitions, gamma, _shares(_pick(classes, rng), len(gamma)))


def draw_labelled(problem: Problem, rng: Generator) -> Labelled:
    """Draw T from its prior, the balance, classes, rows on a line, and labels."""
    prior = problem.prior
    n_rows, n_classes = problem.n_rows, len(prior.gamma)
    transitions = prior.draw(rng)
    balance = rng.dirichlet(np.full(n_classes, BALANCE))
    classes = _pick(np.tile(balance, (n_rows, 1)), rng)
    centres = APART * np.arange(n_classes)
    x = centres[classes] + rng.standard_normal(n_rows)
    density = np.exp(-0.5 * (x[:, None] - centres) ** 2) / np.sqrt(2.0 * np.pi)
    labels = _pick(transitions[classes], rng)
    joint = density * balance
    exact = joint / joint.sum(axis=1, keepdims=True) @ transitions
    fitted = fit_of_labels(density, labels, prior, np.full(n_classes, BALANCE))
    shares = _shares(classes, n_classes)
    return Labelled(density, labels, exact, fitted, transitions, shares)


def _pick(proba: Array, rng: Generator) -> Array:
    """A column of each row, (N,)."""
    bounds = np.cumsum(proba, axis=1)[:, :-1]
    return np.asarray((rng.random(len(proba))[:, None] >= bounds).sum(axis=1))


def _shares(classes: Array, n_classes: int) -> Array:
    return np.bincount(classes, minlength=n_classes) / len(classes)
