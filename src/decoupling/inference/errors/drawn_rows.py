"""Draws of the classes of each row: integrals over them as smooth functions of T."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.random import Generator

from decoupling._typing import FloatArray
from decoupling.inference.math import dirichlet

# Shares of the draws that come from q(Y) as wide as the labels leave it, from a wider one, and from
# the prior. Without the last two weights have heavy tails where q(Y) is too narrow.
_SHARES: Final = (0.6, 0.25, 0.15)
# How much of what the rows add to gamma is in these three: less of it is wider.
_WIDTHS: Final = (0.8, 0.2, 0.0)
# Numbers of the largest intermediate array at a time: 8 MB.
_ENTRIES: Final = 2**20
# Where labels of two classes are all but the same, they still leave a row at least this sure of its
# classes: otherwise its draws would be those of the prior.
_LEAST_INFORMATION: Final = 0.02
# Draws and mixtures are raised to this, so that they have a logarithm.
_TINY: Final = 1e-290


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Draws of Y for each row, and what they are worth before T is known.

    Attributes
    ----------
    draws : array (n, m, C)
        Draws of Y.
    log_weight : array (n, m)
        Logarithms of p(Y) over the density that they were drawn from.
    weight : array (n, S)
        Evidence times p(s|x).
    counts : array (n,)
        How much each row counts in learning T.
    """

    draws: FloatArray
    log_weight: FloatArray
    weight: FloatArray
    counts: FloatArray

    @cached_property
    def squares(self) -> FloatArray:
        """Squares of the draws, (n, m, C)."""
        return np.asarray(self.draws**2)

    @classmethod
    def of(
        cls,
        weight: FloatArray,
        counts: FloatArray,
        concentration: FloatArray,
        gamma: FloatArray,
        transitions: FloatArray,
        n_draws: int,
        rng: Generator,
    ) -> DrawnRows:
        """Draw from a mixture around q(Y) at this T.

        Parameters
        ----------
        weight : array (n, S)
            Evidence times p(s|x).
        counts : array (n,)
            How much each row counts in learning T.
        concentration : array (n, C)
            q(Y) of the rows.
        gamma : array (C,)
            Dirichlet prior of the classes of a row.
        transitions : array (C, S)
            T.
        n_draws : int
            Draws of each row.
        rng : Generator
            Where they come from.
        """
        information = _information(concentration, transitions)
        numbers = [max(1, round(share * n_draws)) for share in _SHARES]
        parts = [gamma + width * information * (concentration - gamma) for width in _WIDTHS]
        shape = (len(weight), len(gamma))
        gammas = np.concatenate(
            [
                rng.gamma(np.broadcast_to(part[:, None, :], (shape[0], m, shape[1])))
                for part, m in zip(parts, numbers, strict=True)
            ],
            axis=1,
        )
        gammas = np.maximum(gammas, _TINY)
        draws = gammas / gammas.sum(axis=2, keepdims=True)
        logs = np.log(np.maximum(draws, _TINY))
        proposed = np.logaddexp.reduce(
            [
                np.log(m / sum(numbers)) + _log_density(logs, part)
                for part, m in zip(parts, numbers, strict=True)
            ]
        )
        target = _log_density(logs, np.broadcast_to(gamma, concentration.shape))
        return cls(draws, target - proposed, weight, counts)

    def _parts(self, entries: int = 0) -> Iterator[slice]:
        """Slices of rows whose temporaries fit into memory; a draw makes ``entries`` numbers."""
        n_rows, n_draws, n_classes = self.draws.shape
        size = max(1, _ENTRIES // (n_draws * max(n_classes, self.weight.shape[1], entries)))
        return (slice(i, i + size) for i in range(0, n_rows, size))

    def _weighed(
        self, rows: slice, transitions: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mixtures (n, m, S), logarithms of the integrals (n,), and shares of the draws (n, m)."""
        mixture = np.maximum(self.draws[rows] @ transitions, _TINY)
        logs = (np.log(mixture) @ self.weight[rows][:, :, None])[:, :, 0] + self.log_weight[rows]
        most = logs.max(axis=1, keepdims=True)
        share = np.exp(logs - most)
        total = share.sum(axis=1, keepdims=True)
        return mixture, np.log(total[:, 0]) + most[:, 0], share / total

    def value(self, transitions: FloatArray) -> tuple[float, FloatArray]:
        """Sum over the rows, and its slope in ln T, (C, S)."""
        total, by_transitions = 0.0, np.zeros_like(transitions)
        for rows in self._parts():
            mixture, logs, share = self._weighed(rows, transitions)
            total += float(self.counts[rows] @ logs)
            ratio = self.weight[rows][:, None, :] / mixture
            ratio *= (share * self.counts[rows][:, None])[:, :, None]
            drawn = self.draws[rows].reshape(-1, len(transitions))
            by_transitions += drawn.T @ ratio.reshape(-1, transitions.shape[1])
        return total, by_transitions * transitions

    def with_balance(
        self, transitions: FloatArray, share: FloatArray, n_rows: float
    ) -> tuple[float, FloatArray, FloatArray]:
        """Sum over the rows, and the share of each class among ``n_rows``: mean, variance, (C,)."""
        total, mean, variance = 0.0, np.zeros(len(transitions)), np.zeros(len(transitions))
        for rows in self._parts():
            _, logs, weight = self._weighed(rows, transitions)
            own = (weight[:, None, :] @ self.draws[rows])[:, 0]  # (n, C)
            square = (weight[:, None, :] @ self.squares[rows])[:, 0]
            total += float(self.counts[rows] @ logs)
            mean += share[rows] @ own
            # Equal rows share one Y. Which of its classes each of them belongs to is chance, too.
            variance += share[rows] ** 2 @ (square - own**2)
            variance += share[rows] @ (own - square) / n_rows
        return total, mean, variance

    def curvature(self, transitions: FloatArray, share: FloatArray) -> Curvature:
        """Derivatives in ln T; rows have these shares, (n,), of the class balance.

        The second derivative of a row is the mean of that of its draws, and the covariance of their
        slopes.
        """
        n_classes, size = len(transitions), transitions.size
        direct, second = np.zeros((n_classes, *transitions.shape)), np.zeros((size, size))
        by_logs, diagonal = np.zeros((n_classes, size)), np.arange(n_classes)
        found: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for rows in self._parts(size):
            mixture, _, worth = self._weighed(rows, transitions)
            # Shares of each label's classes, (n, m, C, S), and the counts that follow.
            posterior = self.draws[rows][..., None] * transitions / mixture[:, :, None, :]
            own = self.weight[rows][:, None, None, :] * posterior
            mean = np.einsum("nm,nmcs->ncs", worth, own)
            counted = worth * self.counts[rows][:, None]
            direct -= np.einsum("nm,nmcs,nmds->cds", counted, own, posterior, optimize=True)
            direct[diagonal, diagonal] += np.tensordot(self.counts[rows], mean, axes=1)
            off = (own - mean[:, None]).reshape(-1, size)
            second += (off * counted.reshape(-1, 1)).T @ off
            shared = (worth * share[rows][:, None]).reshape(-1, 1)
            by_logs += (self.draws[rows].reshape(-1, n_classes) * shared).T @ off
            slopes = self.counts[rows][:, None] * mean.reshape(-1, size)
            classes = (worth[:, None, :] @ self.draws[rows])[:, 0]
            found.append((slopes, classes, 1.0 / (worth**2).sum(axis=1)))
        labels = np.eye(transitions.shape[1])
        second += np.einsum("cds,st->csdt", direct, labels).reshape(size, size)
        slopes, classes, effective = (np.concatenate(part) for part in zip(*found, strict=True))
        parts = share[:, None] * (classes - share @ classes)
        return Curvature(transitions, second, slopes, by_logs, parts, float(np.median(effective)))


@dataclass(frozen=True, eq=False)
class Curvature:
    """How the sum over rows, and the class balance, change with ln T.

    Attributes
    ----------
    transitions : array (C, S)
        At this T.
    second : array (C S, C S)
        Second derivative of the sum.
    slopes : array (n, C S)
        Slope of each row's part.
    balance_by_logs : array (C, C S)
        Slope of the class balance.
    balance_parts : array (n, C)
        What each row adds to the class balance beyond its mean.
    effective : float
        What the draws of the median row are worth.
    """

    transitions: FloatArray
    second: FloatArray
    slopes: FloatArray
    balance_by_logs: FloatArray
    balance_parts: FloatArray
    effective: float

    def sampling_variance(
        self, moves: FloatArray, left_out: float
    ) -> tuple[FloatArray, FloatArray]:
        """Variance of T, (C, S), and of the balance, (C,), since rows were left out.

        Rows that were left out may pull T elsewhere, and hold other classes, as much as the rows
        at hand differ among themselves.
        ``moves``, (directions, C S), is a root of the covariance of ln T by the curvature.
        """
        pulls = self.slopes - self.slopes.mean(axis=0)
        of_logs = pulls @ moves.T @ moves  # (n, C S): how far each row pulls ln T
        balance = self.balance_parts + of_logs @ self.balance_by_logs.T
        variance = self.transitions**2 * (of_logs**2).sum(axis=0).reshape(self.transitions.shape)
        return left_out * variance, left_out * (balance**2).sum(axis=0)


def _information(concentration: FloatArray, transitions: FloatArray) -> FloatArray:
    """What labels say of a row's classes, as a share of what the classes would say, (n, 1)."""
    if len(transitions) == 1:
        return np.ones((len(concentration), 1))
    mean = dirichlet.mean(concentration)
    mixture = np.maximum(mean @ transitions, _TINY)
    root = np.sqrt(mean)[:, :, None] * transitions / np.sqrt(mixture)[:, None, :]
    shares = np.linalg.eigvalsh(root @ np.swapaxes(root, 1, 2))[:, :-1]
    floor = np.maximum(shares, _LEAST_INFORMATION)
    return np.asarray(np.exp(np.log(floor).mean(axis=1, keepdims=True)))


def _log_density(logs: FloatArray, concentration: FloatArray) -> FloatArray:
    """Log-density of Dir(concentration), (n, C), at draws with these logarithms, (n, m, C)."""
    powers = (logs @ (concentration - 1.0)[:, :, None])[:, :, 0]
    return np.asarray(powers - dirichlet.log_normaliser(concentration)[:, None])
