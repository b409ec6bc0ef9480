"""The model as written by the No-U-Turn sampler of numpyro, to check our own Gibbs sampler.

For an environment of its own with numpyro and jax, which nothing else needs. Y and T are sampled
together, with the likelihood sum_is counts_is ln (Y T)_is.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, init_to_value

# Concentrations of T of these problems; a row with one label is known.
PRIORS = {
    "noisy": [[16.0, 4.0], [4.0, 16.0]],
    "class_conditional": [[16.0, 3.0, 1.0], [1.0, 16.0, 3.0], [2.0, 2.0, 16.0]],
}


def sample(name: str, counts: np.ndarray, n_draws: int, chains: int) -> dict[str, Any]:
    """Means, standard deviations and effective sample sizes of the entries of T."""
    prior = jnp.array(PRIORS[name])
    gamma = jnp.full(len(prior), 1.0 / len(prior))

    def model() -> None:
        transitions = numpyro.sample("T", dist.Dirichlet(prior).to_event(1))
        with numpyro.plate("rows", len(counts)):
            # Gamma variables in logarithms: shares below 1e-30 are no rounding.
            logs = numpyro.sample("logs", _LogGamma(gamma))
        classes = jax.nn.softmax(logs, axis=1)
        numpyro.factor("labels", jnp.sum(counts * jnp.log(classes @ transitions + 1e-300)))

    # With classes in each other's place the likelihood is the same and only the prior is lower, by
    # many powers of ten: a chain that begins there stays there, so it begins where the prior is.
    mean = prior / prior.sum(axis=1, keepdims=True)
    begin = init_to_value(values={"T": mean, "logs": jnp.zeros((len(counts), len(prior)))})
    sampler = MCMC(
        NUTS(model, target_accept_prob=0.9, init_strategy=begin),
        num_warmup=1000,
        num_samples=n_draws,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(0))
    draws = np.asarray(sampler.get_samples(group_by_chain=True)["T"])
    out = {}
    for c, s in np.ndindex(*draws.shape[2:]):
        own = draws[:, :, c, s]
        out[f"T[{c},{s}]"] = {
            "mean": round(float(own.mean()), 6),
            "sd": round(float(own.std()), 6),
            "effective_size": round(float(effective_sample_size(own))),
        }
    return out


class _LogGamma(dist.Distribution):
    """Logarithms of independent Gamma variables with these shapes, a vector of them."""

    support = dist.constraints.real_vector

    def __init__(self, shape: jax.Array) -> None:
        self.shape_parameter = shape
        super().__init__(event_shape=shape.shape)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        shape = (*sample_shape, *self.event_shape)
        return jax.random.loggamma(key, jnp.broadcast_to(self.shape_parameter, shape))

    def log_prob(self, value: jax.Array) -> jax.Array:
        terms = self.shape_parameter * value - jnp.exp(value)
        return (terms - jax.scipy.special.gammaln(self.shape_parameter)).sum(axis=-1)


def main() -> None:
    """Sample the problems whose priors are here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("results/reference"))
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--chains", type=int, default=2)
    options = parser.parse_args()
    numpyro.enable_x64()
    out = {}
    for name in PRIORS:
        golden = json.loads((options.folder / f"{name}.json").read_text())
        counts = np.array(golden["as_written"]["counts"])
        out[name] = sample(name, counts, options.draws, options.chains)
        print(name, out[name], flush=True)
        (options.folder / "nuts.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
