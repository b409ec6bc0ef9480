"""Exact posteriors of T, gamma and the class balance, for problems small enough to have them.

Three posteriors can be meant, and each has its own sampler:

as written
    The model of the library: T_c ~ Dir(A_c), Y_i ~ Dir(gamma), and row i counts for w_is
    observations of label s, each with probability (Y_i T)_s. Where the w_is are whole numbers this
    is a mixture with a class for each observation: given these classes Y and T are Dirichlet again,
    and `gibbs` draws all of them in turn. It is the model of latent Dirichlet allocation.
tempered
    What error bars are reported for if rows count for more than they are worth in learning T:
    p(T) prod_i L_i(T)^share, where L_i is the integral over Y_i, `errors.marginal`,
    and share is transition_evidence / evidence. `metropolis` draws from it.
ordinary
    That of somebody who knows the density of the rows of each class and sees each row with one
    label: p(T) p(balance) prod_i sum_c balance_c p(x_i | c) T_{c s_i}. `gibbs_of_labels`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Prior:
    """p(T) and p(gamma).

    ``known`` rows of T, (C,), are constants; 0 in ``concentration``, (C, S), is impossible. Gamma
    is a constant, (C,), or has the density B(gamma)^-eta exp(-rate gamma) if ``rate`` is given.
    """

    concentration: Array
    known: Array
    gamma: Array
    rate: Array | None = None
    eta: float = 0.0

    @property
    def free(self) -> Array:
        """Rows of T with more than one possible label, (C,)."""
        return ~self.known & (np.count_nonzero(self.concentration, axis=1) > 1)

    def draw(self, rng: Generator, counts: Array | float = 0.0) -> Array:
        """T given ``counts`` of (class, label), (C, S)."""
        total = self.concentration + np.where(self.concentration > 0, counts, 0.0)
        out = self.concentration / self.concentration.sum(axis=1, keepdims=True)
        for c in np.flatnonzero(self.free):
            possible = total[c] > 0
            out[c, possible] = rng.dirichlet(total[c, possible])
        return out


def log_dirichlet(concentration: Array, rng: Generator) -> Array:
    """Logarithms of Dirichlet draws, one of each row; small concentrations do not underflow."""
    logs = (
        np.log(rng.gamma(concentration + 1.0))
        - rng.exponential(size=concentration.shape) / concentration
    )
    return logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True)


def gibbs(
    counts: Array, prior: Prior, n_draws: int, rng: Generator, *, burn_in: int, thin: int
) -> tuple[Array, Array, Array]:
    """One chain over classes of observations, Y, T and gamma; ``counts`` (N, S) are whole."""
    n_rows = len(counts)
    transitions, gamma = prior.draw(rng), prior.gamma.copy()
    classes = log_dirichlet(np.tile(gamma, (n_rows, 1)), rng)
    kept: list[tuple[Array, Array, Array]] = []
    step = 0.3
    for sweep in range(burn_in + n_draws * thin):
        joint = np.exp(classes)[:, None, :] * transitions.T + 1e-300 * (transitions.T > 0)
        pairs = rng.multinomial(counts, joint / joint.sum(axis=2, keepdims=True))  # (N, S, C)
        transitions = prior.draw(rng, pairs.sum(axis=0).T)
        own = pairs.sum(axis=1)  # (N, C)
        if prior.rate is not None:
            gamma, accepted = _move_gamma(gamma, own, prior, step, rng)
            if sweep < burn_in:
                step *= np.exp((accepted - 0.3) / np.sqrt(1.0 + sweep))
        classes = log_dirichlet(gamma + own, rng)
        if sweep >= burn_in and (sweep - burn_in) % thin == 0:
            kept.append((transitions, gamma, _balance(np.exp(classes), rng)))
    first, second, third = zip(*kept, strict=True)
    return np.array(first), np.array(second), np.array(third)


def _move_gamma(
    gamma: Array, own: Array, prior: Prior, step: float, rng: Generator
) -> tuple[Array, float]:
    """Random walks of ln gamma, along each class and along the mass, Y integrated out."""

    def log_density(value: Array) -> float:
        normaliser = gammaln(value).sum() - gammaln(value.sum())
        rows = gammaln(value + own).sum() - gammaln(value.sum() + own.sum(axis=1)).sum()
        rows -= len(own) * normaliser
        assert prior.rate is not None
        return float(rows - prior.eta * normaliser - prior.rate @ value + np.log(value).sum())

    value, accepted = log_density(gamma), 0
    moves = [*np.eye(len(gamma)), np.ones(len(gamma))]
    for direction in moves:
        trial = gamma * np.exp(step * rng.standard_normal() * direction)
        reached = log_density(trial)
        if np.log(rng.random()) < reached - value:
            gamma, value, accepted = trial, reached, accepted + 1
    return gamma, accepted / len(moves)


def _balance(class_proba: Array, rng: Generator) -> Array:
    """Share of each class among rows that are drawn from their distributions, (C,)."""
    bounds = np.cumsum(class_proba, axis=1)[:, :-1]
    drawn = (rng.random(len(class_proba))[:, None] >= bounds).sum(axis=1)
    return np.bincount(drawn, minlength=class_proba.shape[1]) / len(class_proba)


def metropolis(
    log_density: Callable[[Array], float],
    prior: Prior,
    n_draws: int,
    rng: Generator,
    *,
    burn_in: int,
    thin: int,
) -> Array:
    """One chain over T, (n_draws, C, S); ``log_density`` is the likelihood, the prior is added.

    A random walk of log-ratios with a covariance that is learned while it burns in.
    """
    places = [(c, np.flatnonzero(prior.concentration[c])) for c in np.flatnonzero(prior.free)]
    start = prior.draw(rng)

    def unpack(z: Array) -> tuple[Array, float]:
        out, log_prior, first = start.copy(), 0.0, 0
        for c, labels in places:
            own = np.append(z[first : first + len(labels) - 1], 0.0)
            logs = own - np.logaddexp.reduce(own)
            out[c, labels] = np.exp(logs)
            # The Jacobian turns A - 1 into A.
            log_prior += float(prior.concentration[c, labels] @ logs)
            first += len(labels) - 1
        return out, log_prior

    z = np.concatenate([np.log(start[c, s[:-1]] / start[c, s[-1]]) for c, s in places])
    root, scale, seen, kept = 0.3 * np.eye(len(z)), 2.4 / np.sqrt(len(z)), [], []
    present, own = unpack(z)
    value = log_density(present) + own
    for k in range(burn_in + n_draws * thin):
        trial = z + scale * root @ rng.standard_normal(len(z))
        proposed, own = unpack(trial)
        reached = log_density(proposed) + own
        accepted = np.log(rng.random()) < reached - value
        if accepted:
            z, present, value = trial, proposed, reached
        if k < burn_in:
            seen.append(z)
            scale *= np.exp((accepted - 0.3) / np.sqrt(1.0 + k))
            if k in (burn_in // 4, burn_in // 2):
                late = np.array(seen[len(seen) // 2 :])
                root = np.linalg.cholesky(np.atleast_2d(np.cov(late.T)) + 1e-8 * np.eye(len(z)))
                scale = 2.4 / np.sqrt(len(z))
        elif (k - burn_in) % thin == 0:
            kept.append(present)
    return np.array(kept)


def gibbs_of_labels(
    density: Array,
    labels: Array,
    prior: Prior,
    balance_prior: Array,
    n_draws: int,
    rng: Generator,
    *,
    burn_in: int,
    thin: int,
) -> tuple[Array, Array]:
    """One chain over classes of rows, T and balance; ``density`` is p(x_i | c), (N, C).

    The second array is the share of each class among the rows.
    """
    n_classes, n_labels = prior.concentration.shape
    transitions, balance = prior.draw(rng), rng.dirichlet(balance_prior)
    kept: list[tuple[Array, Array]] = []
    for sweep in range(burn_in + n_draws * thin):
        joint = density * balance * transitions[:, labels].T
        bounds = np.cumsum(joint, axis=1)
        classes = (rng.random(len(labels))[:, None] * bounds[:, -1:] >= bounds[:, :-1]).sum(axis=1)
        pairs = np.bincount(classes * n_labels + labels, minlength=n_classes * n_labels)
        pairs = pairs.reshape(n_classes, n_labels)
        transitions = prior.draw(rng, pairs)
        balance = rng.dirichlet(balance_prior + pairs.sum(axis=1))
        if sweep >= burn_in and (sweep - burn_in) % thin == 0:
            kept.append((transitions, pairs.sum(axis=1) / len(labels)))
    first, second = zip(*kept, strict=True)
    return np.array(first), np.array(second)


def fit_of_labels(
    density: Array, labels: Array, prior: Prior, balance_prior: Array, n_iter: int = 500
) -> Array:
    """p(label | x), (N, S), by the most likely T and balance: a label model that is right.

    EM; what the priors add is one observation for each class, spread as they have it.
    """
    n_labels = prior.concentration.shape[1]
    start = prior.concentration / prior.concentration.sum(axis=1, keepdims=True)
    transitions, balance = start.copy(), balance_prior / balance_prior.sum()
    seen = np.eye(n_labels)[labels]
    for _ in range(n_iter):
        joint = density * balance * transitions[:, labels].T
        joint /= joint.sum(axis=1, keepdims=True)
        pairs = joint.T @ seen + start
        transitions = np.where(prior.free[:, None], pairs / pairs.sum(axis=1, keepdims=True), start)
        balance = pairs.sum(axis=1) / pairs.sum()
    classes = density * balance
    return (classes / classes.sum(axis=1, keepdims=True)) @ transitions


def effective_size(chains: Array) -> float:
    """How many independent draws (chains, n) are worth (Geyer's initial sequence)."""
    n = chains.shape[1]
    centred = chains - chains.mean()
    if not centred.any():
        return float(chains.size)
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    spectrum = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, size, axis=1)[:, :n].mean(axis=0) / n
    rho = covariance / covariance[0]
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: stop[0]] if len(stop) else pairs)
    return float(min(chains.size, chains.size / max(2.0 * pairs.sum() - 1.0, 1e-3)))


def mixing(chains: Array) -> float:
    """Split R-hat of draws (chains, n)."""
    n = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :n], chains[:, n : 2 * n]])
    within = halves.var(axis=1, ddof=1).mean()
    if within == 0:
        return 1.0
    between = n * halves.mean(axis=1).var(ddof=1)
    return float(np.sqrt((n - 1) / n + between / (n * within)))
