"""Simulated problems, where the truth behind the labels is known."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.special import softmax
from scipy.stats import multivariate_normal

from decoupling._typing import FloatArray, IntArray

__all__ = ["SimulatedLabels", "four_normals"]

# Means of x in each class, (C, 2). Class 0, the negative one, lies between the three positive ones
# and overlaps them all.
MEANS = np.array([[0.0, 0.0], [0.0, 2.6], [-2.4, -1.4], [2.4, -1.4]])
# Covariances of x in each class, (C, 2, 2).
COVARIANCES = np.array(
    [
        [[1.0, 0.0], [0.0, 1.0]],
        [[1.2, 0.0], [0.0, 0.4]],
        [[0.6, -0.3], [-0.3, 0.8]],
        [[0.6, 0.3], [0.3, 0.8]],
    ]
)
N_CLASSES = len(MEANS)


@dataclass(frozen=True, eq=False)
class SimulatedLabels:
    """Samples, their observed labels, and the truth behind them.

    Parameters
    ----------
    X : (N, 2) array
        The samples.
    classes : (N,) array of int
        The true class y of each sample; 0 is the negative class.
    labels : (N,) array of int
        The observed label s of each sample; 0 is unlabelled.
    transitions : (C, S) array
        The labelling process p(s | y), called T in the paper.
    class_posterior : (N, C) array
        p(y | x), by the densities that the samples were drawn from.
    label_posterior : (N, S) array
        p(s | x), the best that a classifier trained on the labels can do.

    Examples
    --------
    >>> data = four_normals(500, random_state=0)
    >>> data.X.shape, data.transitions.shape
    ((500, 2), (4, 4))
    >>> bool(np.allclose(data.class_posterior @ data.transitions, data.label_posterior))
    True
    """

    X: FloatArray
    classes: IntArray
    labels: IntArray
    transitions: FloatArray
    class_posterior: FloatArray
    label_posterior: FloatArray


def four_normals(
    n_samples: int = 2000,
    *,
    unlabelled: float = 0.7,
    noise: float = 0.05,
    negative_noise: float = 0.0025,
    random_state: int | np.random.Generator | None = None,
) -> SimulatedLabels:
    r"""Draw the simulated example of the paper: four normals, three of them sometimes labelled.

    A sample is drawn from class :math:`y \in \{0, 1, 2, 3\}`, all equally likely, where 0 is the
    negative class, and its label from row y of T:

    .. math::

        x \mid y \sim \mathcal N(\mu_y, \Sigma_y), \qquad
        T = p(s \mid y) = \begin{pmatrix}
            1 - \nu & \nu/3 & \nu/3 & \nu/3 \\
            u & 1 - u - \epsilon & \epsilon/2 & \epsilon/2 \\
            u & \epsilon/2 & 1 - u - \epsilon & \epsilon/2 \\
            u & \epsilon/2 & \epsilon/2 & 1 - u - \epsilon
        \end{pmatrix}

    The label depends on the sample only through its class, so :math:`p(s \mid x) =
    \sum_y p(y \mid x) \, T_{ys}`.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of samples, N.
    unlabelled : float, default=0.7
        Probability u that a sample of a positive class has no label.
    noise : float, default=0.05
        Probability :math:`\epsilon` that a sample of a positive class has the label of another
        positive class, shared evenly between them.
    negative_noise : float, default=0.0025
        Probability :math:`\nu` that a sample of the negative class has a label, shared evenly
        between the positive classes.
    random_state : int, Generator or None, default=None
        Seed of the draws; the same int gives the same samples.

    Returns
    -------
    SimulatedLabels
        The samples, their labels and the truth, C = S = 4.

    Raises
    ------
    ValueError
        If `n_samples` is not a positive integer, a probability is not within 0 and 1, or
        `unlabelled` and `noise` sum to more than 1.

    Examples
    --------
    >>> from decoupling.datasets import four_normals
    >>> data = four_normals(1000, random_state=0)
    >>> data.X.shape
    (1000, 2)
    >>> data.transitions[1]
    array([0.7  , 0.25 , 0.025, 0.025])
    >>> bool((data.labels == 0).mean() > 0.7)
    True
    """
    _check_arguments(n_samples, unlabelled, noise, negative_noise)
    rng = np.random.default_rng(random_state)
    transitions = _transitions(unlabelled, noise, negative_noise)
    classes = rng.integers(N_CLASSES, size=n_samples)
    X = _draw_normals(classes, rng)
    labels = _draw_labels(transitions[classes], rng)
    class_posterior = _class_posterior(X)
    return SimulatedLabels(
        X, classes, labels, transitions, class_posterior, class_posterior @ transitions
    )


def _check_arguments(
    n_samples: int, unlabelled: float, noise: float, negative_noise: float
) -> None:
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}.")
    probabilities = {"unlabelled": unlabelled, "noise": noise, "negative_noise": negative_noise}
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is a probability and must be within 0 and 1, got {value!r}.")
    if unlabelled + noise > 1:
        raise ValueError(
            f"unlabelled + noise must be at most 1, got {unlabelled!r} + {noise!r}: "
            "nothing is left for the right label."
        )


def _transitions(unlabelled: float, noise: float, negative_noise: float) -> FloatArray:
    """Return T = p(s | y), (C, S)."""
    n_positive = N_CLASSES - 1
    transitions = np.full((N_CLASSES, N_CLASSES), noise / (n_positive - 1))
    np.fill_diagonal(transitions, max(1 - unlabelled - noise, 0.0))
    transitions[:, 0] = unlabelled
    transitions[0] = negative_noise / n_positive
    transitions[0, 0] = 1 - negative_noise
    return transitions


def _draw_normals(classes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw x given y, (N, 2)."""
    factors = np.linalg.cholesky(COVARIANCES)  # (C, 2, 2)
    standard = rng.standard_normal((len(classes), 2))
    deviations: FloatArray = np.einsum("nij,nj->ni", factors[classes], standard)
    return MEANS[classes] + deviations


def _draw_labels(probabilities: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one label per row of p(s | y), (N, S), by inverting the distribution function."""
    # The last bound is left out: it is 1 but for rounding, which must not give a label S.
    bounds = probabilities.cumsum(axis=1)[:, :-1]
    uniform = rng.random((len(probabilities), 1))
    labels: IntArray = (uniform >= bounds).sum(axis=1)
    return labels


def _class_posterior(X: FloatArray) -> FloatArray:
    """Return p(y | x), (N, C), of equally likely classes."""
    log_density = [
        np.atleast_1d(multivariate_normal.logpdf(X, mean, covariance))
        for mean, covariance in zip(MEANS, COVARIANCES, strict=True)
    ]
    posterior: FloatArray = softmax(np.stack(log_density, axis=1), axis=1)
    return posterior
