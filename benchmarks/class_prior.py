"""Whether intervals of a learned class prior hold the truth, on data drawn from the model."""

import warnings
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize
from scipy.special import gammaln, psi

from benchmarks.table import Measurement
from benchmarks.timing import progress
from decoupling import ClassPrior, TransitionPrior, infer
from decoupling.inference.posterior import posterior_parts

# Rows of a simulation.
N_ROWS = 5_000
# Share of the simulations whose 95% interval holds gamma, at least.
COVERAGE = 0.85
# True gamma by the number of classes.
GAMMAS = {2: (0.5, 0.2), 4: (0.7, 0.1, 0.1, 0.3), 10: tuple(np.linspace(0.05, 0.5, 10))}
# Share of wrong labels where T is known.
NOISE = 0.2
# What labels say, how noisy they are, evidence, method, simulations.
SETTINGS = [
    ("labels are classes", 0.0, 20, "bound", 200),
    ("labels are classes", 0.0, 2, "bound", 40),
    ("labels are classes", 0.0, 100, "bound", 40),
    (f"{NOISE:.0%} noise, T known", NOISE, 100, "bound", 40),
    (f"{NOISE:.0%} noise, T known", NOISE, 100, "exact", 40),
]


def run(quick: bool) -> list[Measurement]:
    """Coverage by number of classes, evidence and noise; and which family q(gamma) should be of."""
    n_rows = N_ROWS // 10 if quick else N_ROWS
    lines = []
    for n_classes, (name, noise, evidence, method, simulations) in product(GAMMAS, SETTINGS):
        simulations = simulations // 10 if quick else simulations
        jobs = (
            delayed(simulate)(n_classes, noise, evidence, method, n_rows, seed)
            for seed in range(simulations)
        )
        hits, narrow, error = np.mean(Parallel(n_jobs=-1)(jobs), axis=0)
        method_name = "" if noise == 0.0 else f', "{method}"'
        what = f"gamma in its 95% interval, C={n_classes} N={n_rows:,}, {name}, evidence {evidence}"
        what += f", {simulations} simulations"
        progress(f"class prior: {what}{method_name}: {hits:.3f}, factors alone {narrow:.3f}")
        target = COVERAGE if noise == 0.0 else None
        lines.append(Measurement(what + method_name, hits, target, "at least", unit=""))
        lines.append(Measurement("the same by the factors of q(gamma) alone", narrow, unit=""))
        lines.append(Measurement("mean of ln(found / true)", error, unit=""))
    return lines + families()


def simulate(
    n_classes: int, noise: float, evidence: int, method: str, n_rows: int, seed: int
) -> tuple[float, float, float]:
    """Share of the entries of gamma in their intervals, corrected and not, and the mean error."""
    rng = np.random.default_rng(seed)
    gamma = np.array(GAMMAS[n_classes])
    T = np.full((n_classes, n_classes), noise / (n_classes - 1))
    np.fill_diagonal(T, 1.0 - noise)
    label_proba = rng.multinomial(evidence, rng.dirichlet(gamma, n_rows) @ T) / evidence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = infer(
            label_proba,
            TransitionPrior(T, np.inf),
            class_prior=ClassPrior.learned(),
            evidence=float(evidence),
            expected_log=method,
            n_threads=1,
        )
        low, high = posterior.class_prior_interval(0.95)
    q = posterior_parts(posterior).class_prior
    reach = 1.96 * q.location / np.sqrt(q.shape)
    return (
        float(np.mean((low < gamma) & (gamma < high))),
        float(np.mean(np.abs(q.location - gamma) < reach)),
        float(np.mean(np.log(q.location / gamma))),
    )


def families() -> list[Measurement]:
    """How far the mean of gamma is off, for independent Gamma and log-normal factors, C = 2.

    Both are the factorised distribution closest to the posterior of gamma given the rows, which a
    grid knows; errors are in its standard deviations, the largest over a few problems.
    """
    worst = {"Gamma": 0.0, "log-normal": 0.0}
    for gamma, n_rows in product([(0.5, 0.2), (0.4, 0.8), (3.0, 1.0)], [5.0, 50.0, 500.0]):
        log_sum = n_rows * (psi(gamma) - psi(sum(gamma)))
        start = ClassPrior.learned().start((0, 1))
        q = start.raised(log_sum, n_rows)
        mean, spread = _by_grid(start.prior, log_sum, n_rows)
        normal = _log_normal(start.prior, log_sum, n_rows, np.log(q.mean))
        for name, found in (("Gamma", q.mean), ("log-normal", normal)):
            worst[name] = max(worst[name], float((np.abs(found - mean) / spread).max()))
    return [
        Measurement(f"E[gamma] given the rows, {name} factors: largest error, in deviations", value,
                    unit="")
        for name, value in worst.items()
    ]  # fmt: skip


def _log_posterior(
    prior: object, log_sum: np.ndarray, n_rows: float, logs: np.ndarray
) -> np.ndarray:
    """Logarithm of the density of ln gamma at ``logs`` (..., 2), without its normaliser."""
    gamma = np.exp(logs)
    normaliser = gammaln(gamma).sum(axis=-1) - gammaln(gamma.sum(axis=-1))
    return prior.log_density(gamma) + gamma @ log_sum - n_rows * normaliser + logs.sum(axis=-1)


def _by_grid(prior: object, log_sum: np.ndarray, n_rows: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of gamma, each (2,)."""
    axis = np.linspace(-9.0, 6.0, 1500)
    logs = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    density = _log_posterior(prior, log_sum, n_rows, logs)
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    gamma = np.exp(logs)
    mean = np.einsum("ij,ijk->k", weight, gamma)
    return mean, np.sqrt(np.einsum("ij,ijk->k", weight, (gamma - mean) ** 2))


def _log_normal(prior: object, log_sum: np.ndarray, n_rows: float, start: np.ndarray) -> np.ndarray:
    """Mean of gamma under the best independent log-normal factors, (2,)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1)
    weight = np.outer(weights, weights) / weights.sum() ** 2

    def loss(variables: np.ndarray) -> float:
        middle, log_spread = variables[:2], variables[2:]
        logs = middle + np.exp(log_spread) * grid
        return (
            -float((weight * _log_posterior(prior, log_sum, n_rows, logs)).sum()) - log_spread.sum()
        )

    begin = np.concatenate([start, np.full(2, -0.5 * np.log(n_rows))])
    best = minimize(loss, begin, method="Nelder-Mead",
                    options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000}).x  # fmt: skip
    return np.exp(best[:2] + np.exp(2 * best[2:]) / 2)
