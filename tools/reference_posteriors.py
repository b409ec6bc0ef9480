"""Exact posteriors of five small problems as golden files, and the library's answers beside them.

Golden files that are there are not made again without --anew; the page and the figure are.
"""

from __future__ import annotations

import argparse
import json
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from exact_posteriors import (
    Array,
    Prior,
    effective_size,
    gibbs,
    gibbs_of_labels,
    metropolis,
    mixing,
)
from reference_problems import BALANCE, COUNT, PROBLEMS, Problem, draw_counted, draw_labelled
from scipy.stats import beta

from decoupling import Posterior, infer
from decoupling._files import written_whole
from decoupling.experiments.figures import BLACK, BLUE, GREEN, ORANGE, new_figure, save_figure
from decoupling.inference.errors.integrated import Integrated
from decoupling.inference.errors.marginal import log_marginal, simplex_nodes

# Seed of data and draws; another one gives other golden files.
SEED = 20
# Chains of each sampler, whose agreement says whether they have mixed.
CHAINS = 4
# Probability that an interval is to hold.
LEVEL = 0.9
# Quantiles that are kept of every entry, by name.
QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
# Observations that a row counts for, which is the default of the library.
EVIDENCE = 100.0
# Nodes for each axis of the simplex, by the number of classes. Rows count for so much that the
# polynomials are long.
NODES = {2: 64, 3: 24}
METHODS = ("bound", "exact", "integrated")
EXPECTED_LOG = {"bound": "bound", "exact": "exact", "integrated": "bound"}
COLOURS = dict(zip(METHODS, (BLUE, ORANGE, GREEN), strict=True))
READINGS = {"as_written": "as written", "tempered": "tempered", "ordinary": "ordinary"}


# Exact posteriors


def make_golden(problem: Problem) -> dict[str, Any]:
    """Make what is kept of a problem: its data, and summaries of its three posteriors."""
    rng = np.random.default_rng([SEED, zlib.crc32(problem.name.encode())])
    counted, labelled = draw_counted(problem, rng), draw_labelled(problem, rng)
    # What is kept is what was used.
    proba = np.round(labelled.fitted, 5)
    proba /= proba.sum(axis=1, keepdims=True)
    return {
        "problem": problem.title,
        "seed": SEED,
        "as_written": {
            "counts": counted.counts.tolist(),
            "true_transitions": counted.transitions.round(6).tolist(),
            **as_written(problem, counted.counts, rng),
        },
        "by_default": {
            "label_proba": np.round(labelled.fitted, 5).tolist(),
            "true_transitions": labelled.transitions.round(6).tolist(),
            "tempered": tempered(problem, proba, rng),
            "ordinary": ordinary(problem, labelled.density, labelled.labels, rng),
        },
    }


def as_written(problem: Problem, counts: Array, rng: np.random.Generator) -> dict[str, Any]:
    """Posterior of the model as it is written, and the same T in another way as a check."""
    prior = problem.prior
    chains = [
        gibbs(counts, prior, 5000, rng, burn_in=2000, thin=5) for _ in range(CHAINS)
    ]  # (T, gamma, balance) of each
    found = summary(prior, *(np.array(part) for part in zip(*chains, strict=True)))
    if prior.rate is not None:
        return {"exact": found}
    nodes = simplex_nodes(prior.gamma, COUNT // 2 + 1)  # exact: a polynomial of degree COUNT

    def log_density(transitions: Array) -> float:
        return float(log_marginal(transitions[None], counts, np.ones(len(counts)), nodes)[0])

    walks = [metropolis(log_density, prior, 5000, rng, burn_in=2000, thin=2) for _ in range(CHAINS)]
    check = {"metropolis": summary(prior, np.array(walks))}
    if np.count_nonzero(prior.concentration[prior.free]) == 2:
        check["quadrature"] = quadrature(prior, log_density)
    return {"exact": found, "check": check}


def quadrature(prior: Prior, log_density: Callable[[Array], float]) -> dict[str, float]:
    """Mean and standard deviation of the only free entry of T, the last, by the trapezoid rule."""
    c = int(np.flatnonzero(prior.free)[0])
    first, last = np.flatnonzero(prior.concentration[c])
    grid = np.linspace(0.0, 1.0, 2002)[1:-1]
    transitions = prior.concentration / prior.concentration.sum(axis=1, keepdims=True)
    logs = np.empty_like(grid)
    for k, value in enumerate(grid):
        transitions[c, first], transitions[c, last] = 1.0 - value, value
        logs[k] = log_density(transitions)
    a, b = prior.concentration[c, [last, first]]
    weights = np.exp(logs - logs.max()) * beta.pdf(grid, a, b)
    weights /= weights.sum()
    mean = float(weights @ grid)
    return {"mean": mean, "sd": float(np.sqrt(weights @ (grid - mean) ** 2))}


def tempered(problem: Problem, proba: Array, rng: np.random.Generator) -> dict[str, Any]:
    """Posterior that error bars are reported for by default.

    A learned gamma is held where the library has it: gamma is not tempered, so that no joint
    density has both.
    """
    prior = problem.prior
    gamma = library(problem, proba, "bound").class_prior
    nodes = simplex_nodes(gamma, NODES[len(gamma)])
    weight, share = EVIDENCE * proba, np.full(len(proba), 1.0 / EVIDENCE)

    def log_density(transitions: Array) -> float:
        return float(log_marginal(transitions[None], weight, share, nodes)[0])

    walks = [metropolis(log_density, prior, 1500, rng, burn_in=600, thin=2) for _ in range(CHAINS)]
    return summary(prior, np.array(walks))


def ordinary(
    problem: Problem, density: Array, labels: Array, rng: np.random.Generator
) -> dict[str, Any]:
    """Posterior of somebody who knows the densities."""
    prior = problem.prior
    concentration = np.full(len(prior.gamma), BALANCE)
    chains = [
        gibbs_of_labels(density, labels, prior, concentration, 5000, rng, burn_in=1000, thin=4)
        for _ in range(CHAINS)
    ]
    transitions, balance = (np.array(part) for part in zip(*chains, strict=True))
    return summary(prior, transitions, balance=balance)


def summary(
    prior: Prior, transitions: Array, gamma: Array | None = None, balance: Array | None = None
) -> dict[str, Any]:
    """Summaries of what varies, by its name."""
    out = {}
    for c in np.flatnonzero(prior.free):
        for s in np.flatnonzero(prior.concentration[c]):
            out[f"T[{c},{s}]"] = of_draws(transitions[:, :, c, s])
    for name, draws in (("gamma", gamma), ("balance", balance)):
        if draws is not None and not (name == "gamma" and prior.rate is None):
            for c in range(draws.shape[2]):
                out[f"{name}[{c}]"] = of_draws(draws[:, :, c])
    return out


def of_draws(chains: Array) -> dict[str, float]:
    """Summary of draws (chains, n)."""
    quantiles = np.quantile(chains, list(QUANTILES.values()))
    found = {
        "mean": chains.mean(),
        "sd": chains.std(),
        **dict(zip(QUANTILES, quantiles, strict=True)),
        "effective_size": round(effective_size(chains)),
        "r_hat": mixing(chains),
    }
    return {name: float(f"{value:.6g}") for name, value in found.items()}


# The library's answers


def library(
    problem: Problem, proba: Array, method: str, evidence: float | None = None
) -> Posterior:
    """Answer of `infer`, with rows that count for ``evidence`` everywhere, or as by default."""
    options = {} if evidence is None else {"evidence": evidence, "transition_evidence": evidence}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some problems are meant to be hard
        return infer(
            proba,
            problem.transitions,
            class_prior=problem.class_prior,
            expected_log=method,
            **options,
        )


def answers(found: Posterior | Integrated) -> dict[str, dict[str, float]]:
    """Mean and ends of intervals by name, those of q(T) also as mean field alone has them."""
    parts = {
        "T": (found.transitions, *found.transition_interval(LEVEL)),
        "balance": (found.class_balance, *found.class_balance_interval(LEVEL)),
    }
    if isinstance(found, Posterior):
        parts["gamma"] = (found.class_prior, *found.class_prior_interval(LEVEL))
    out = {
        f"{name}[{','.join(map(str, place))}]": {
            "mean": float(value), "low": float(low[place]), "high": float(high[place]),
        }
        for name, (mean, low, high) in parts.items()
        for place, value in np.ndenumerate(mean)
    }  # fmt: skip
    if isinstance(found, Posterior):
        rows, tails = found.transition_concentration, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        for (c, s), mean in np.ndenumerate(found.transitions):
            if 0 < mean < 1 and np.isfinite(rows[c, s]):
                own = beta.ppf(tails, rows[c, s], rows[c].sum() - rows[c, s])
                out[f"T[{c},{s}]"] |= {"mean_field_low": own[0], "mean_field_high": own[1]}
    return out


def compared(
    problem: Problem, golden: dict[str, Any], methods: tuple[str, ...] = METHODS
) -> Iterator[dict[str, Any]]:
    """Each quantity of each reading and method: the exact posterior beside the answer."""
    counts = np.array(golden["as_written"]["counts"])
    proba = np.array(golden["by_default"]["label_proba"])
    proba /= proba.sum(axis=1, keepdims=True)
    for method in methods:
        written, default = (
            answers(found.integrated() if method == "integrated" else found)
            for found in (
                library(problem, counts / COUNT, EXPECTED_LOG[method], COUNT),
                library(problem, proba, EXPECTED_LOG[method]),
            )
        )
        for reading, ours, exact in (
            ("as_written", written, golden["as_written"]["exact"]),
            ("tempered", default, golden["by_default"]["tempered"]),
            ("ordinary", default, golden["by_default"]["ordinary"]),
        ):
            for name in (name for name in shown(exact) if name in ours):
                yield {
                    "problem": problem.name,
                    "reading": reading,
                    "method": method,
                    "name": name,
                    "exact": exact[name],
                    "ours": ours[name],
                    **scores(exact[name], ours[name]),
                }


def shown(exact: dict[str, Any]) -> list[str]:
    """Names of quantities, without those that are 1 less another."""
    groups: dict[str, list[str]] = {}
    for name in exact:
        groups.setdefault(name.split(",")[0] if name.startswith("T") else name[:5], []).append(name)
    return [
        name
        for key, names in groups.items()
        for name in (names[1:] if len(names) == 2 and key != "gamma" else names)
    ]


def scores(exact: dict[str, float], ours: dict[str, float]) -> dict[str, float]:
    """Bias in exact standard deviations, and widths of intervals over that of the exact one."""
    width = exact["q95"] - exact["q05"]
    out = {
        "bias": (ours["mean"] - exact["mean"]) / exact["sd"],
        "width": (ours["high"] - ours["low"]) / width,
    }
    if "mean_field_low" in ours:
        out["mean_field_width"] = (ours["mean_field_high"] - ours["mean_field_low"]) / width
    return out


# The page


def medians(found: list[dict[str, Any]]) -> Iterator[str]:
    """Lines of the table of medians over the quantities."""
    yield (
        "| posterior | method | of | quantities | median size of bias, in sd | largest | "
        "median width | least | most | median width, mean field |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for reading, title in READINGS.items():
        for method in METHODS:
            for kind in ("T", "balance", "gamma"):
                some = [
                    row
                    for row in found
                    if (row["reading"], row["method"]) == (reading, method)
                    and row["name"].startswith(kind)
                ]
                if not some:
                    continue
                bias = np.abs([row["bias"] for row in some])
                width = np.array([row["width"] for row in some])
                plain = [row["mean_field_width"] for row in some if "mean_field_width" in row]
                own = f"{np.median(plain):.2f}" if plain else ""
                yield (
                    f"| {title} | {method} | {kind} | {len(some)} | {np.median(bias):.2f} | "
                    f"{bias.max():.2f} | {np.median(width):.2f} | {width.min():.2f} | "
                    f"{width.max():.2f} | {own} |"
                )


def by_quantity(found: list[dict[str, Any]], problem: Problem) -> Iterator[str]:
    """Lines of the table of one problem."""
    yield (
        "| posterior | quantity | exact mean ± sd | "
        + " | ".join(f"{method}: mean ± sd | bias, in sd | width" for method in METHODS)
        + " |"
    )
    yield "|---" * (3 + 3 * len(METHODS)) + "|"
    rows: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in found:
        if row["problem"] == problem.name:
            rows.setdefault((row["reading"], row["name"]), {})[row["method"]] = row
    for (reading, name), methods in rows.items():
        exact = methods["bound"]["exact"]
        cells = [READINGS[reading], name, f"{exact['mean']:.3f} ± {exact['sd']:.3f}"]
        for method in METHODS:
            if method not in methods:
                cells += [""] * 3
                continue
            row = methods[method]
            ours = row["ours"]
            # Of an interval as wide as that of a normal.
            sd = (ours["high"] - ours["low"]) / 3.29
            cells += [
                f"{ours['mean']:.3f} ± {sd:.3f}", f"{row['bias']:+.2f}", f"{row['width']:.2f}",
            ]  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def checks(golden: dict[str, dict[str, Any]], folder: Path) -> Iterator[str]:
    """Lines of the table of exact answers that were found in several ways."""
    nuts = folder / "nuts.json"
    other = json.loads(nuts.read_text()) if nuts.exists() else {}
    yield "| problem | quantity | Gibbs | another way | which |"
    yield "|---|---|---|---|---|"
    for name, record in golden.items():
        exact = record["as_written"]["exact"]
        check = record["as_written"].get("check", {})
        ways = [("Metropolis over T, rows integrated", check.get("metropolis", {}))]
        if "quadrature" in check:
            (last,) = shown({key: 0 for key in exact if key.startswith("T")})
            ways.append(("quadrature", {last: check["quadrature"]}))
        ways.append(("NUTS over Y and T", other.get(name, {})))
        for which, found in ways:
            for key in shown({key: 0 for key in exact}):
                if key in found:
                    yield (
                        f"| {PROBLEMS[name].title} | {key} | {exact[key]['mean']:.4f} ± "
                        f"{exact[key]['sd']:.4f} | {found[key]['mean']:.4f} ± "
                        f"{found[key]['sd']:.4f} | {which} |"
                    )


def page(golden: dict[str, dict[str, Any]], found: list[dict[str, Any]], folder: Path) -> str:
    """Write the whole README."""
    summaries = [
        value
        for record in golden.values()
        for exact in (
            record["as_written"]["exact"],
            record["by_default"]["tempered"],
            record["by_default"]["ordinary"],
        )
        for value in exact.values()
    ]
    least = min(value["effective_size"] for value in summaries)
    worst = max(value["r_hat"] for value in summaries)
    parts = [
        TEXT.format(count=COUNT, evidence=EVIDENCE, least=f"{least:,.0f}", worst=f"{worst:.3f}"),
        *medians(found),
        "",
        "![the library's intervals beside exact ones](intervals.png)",
    ]
    for problem in PROBLEMS.values():
        if problem.name in golden:
            parts += ["", f"## {problem.title}", "", *by_quantity(found, problem)]
    parts += ["", "## The exact answers in other ways", "", CHECKS, "", *checks(golden, folder), ""]
    return "\n".join(parts)


TEXT = """\
# Exact posteriors of five small problems

Made by `make reference`: `tools/reference_posteriors.py`. Beside each problem's exact posterior
stand the library's answers, with `expected_log="bound"`, the default, with `"exact"`, and those of
`Posterior.integrated`, which says nothing of gamma. Three posteriors can be meant:

- **as written**: the model itself. T ~ Dir(A), Y_i ~ Dir(gamma), and a row is {count} labels drawn
  from Y_i T. The data are drawn in this way, and the library is told so, with `evidence` and
  `transition_evidence` both {count}. The powers of the likelihood are whole numbers, so that a
  Gibbs sampler over the class of each of these labels is exact.
- **tempered**: what the library reports error bars for by default. A row counts for `evidence` =
  {evidence:.0f} observations in finding its classes, for `transition_evidence` = 1 in learning T:
  p(T) prod_i L_i(T)^(1/{evidence:.0f}), where L_i is the integral over Y_i. The rows are normals on
  a line with one label each, and p(label | x) is that of the most likely T and class balance for
  known densities: a label model that is right, with the errors of so many labels. A learned gamma
  is held where the library has it.
- **ordinary**: the posterior of somebody who knows these densities and sees the labels:
  p(T) prod_i sum_c balance_c p(x_i | c) T_(c, s_i). The library does not know the densities, and is
  not told the labels, only the same p(label | x) as before. What it says cannot be as sharp, and
  should be no sharper.

Widths are those of 90% intervals over the exact one's, those of the library as
`transition_interval` and `class_balance_interval` have them; "mean field" is q(T) alone, without
what the rows would do if T moved. The balance is the share of each class among the rows. Of exact
summaries the least effective sample size is {least}, and the worst R-hat {worst}.
"""

CHECKS = """\
Mean ± standard deviation of the model as written. Metropolis walks over T alone, with Y integrated
out by Gauss-Jacobi nodes, which are exact for these polynomials; where one entry is free the same
density was also summed over a grid. NUTS ran once, with numpyro: `tools/reference_nuts.py`."""


def draw_intervals(found: list[dict[str, Any]], path: Path) -> None:
    """The library's intervals, in units of the exact ones."""
    figure = new_figure(11.0, 9.5, "make reference")
    panels = figure.subplots(1, 3)
    for ax, (reading, title) in zip(panels, READINGS.items(), strict=True):
        names = list(
            dict.fromkeys((r["problem"], r["name"]) for r in found if r["reading"] == reading)
        )
        place = {key: k for k, key in enumerate(names)}
        ax.axvspan(-1.645, 1.645, color="0.9", lw=0)
        ax.axvline(0.0, color=BLACK, lw=0.8)
        for row in found:
            if row["reading"] != reading:
                continue
            exact, ours = row["exact"], row["ours"]
            up = place[row["problem"], row["name"]] + 0.25 * (METHODS.index(row["method"]) - 1)
            colour = COLOURS[row["method"]]
            mean, low, high = (
                (ours[end] - exact["mean"]) / exact["sd"] for end in ("mean", "low", "high")
            )
            ax.plot([low, high], [up, up], color=colour, lw=1.6)
            ax.plot([mean], [up], "o", color=colour, ms=3.5)
            if "mean_field_low" in ours:
                ends = [
                    (ours[f"mean_field_{end}"] - exact["mean"]) / exact["sd"]
                    for end in ("low", "high")
                ]
                ax.plot(ends, [up, up], "|", color=colour, ms=6)
        ax.set_yticks(
            range(len(names)), [f"{problem.replace('_', ' ')}  {name}" for problem, name in names],
            fontsize=7,
        )  # fmt: skip
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_xlim(-9.0, 9.0)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("from the exact mean, in exact sd", fontsize=8)
    handles = [
        *(
            panels[0].plot([], [], "o-", color=colour, ms=3.5, label=method)[0]
            for method, colour in COLOURS.items()
        ),
        panels[0].plot([], [], "|", color=BLACK, label="ends of mean field alone")[0],
        panels[0].fill_between([], [], [], color="0.9", label="exact 90% interval (if normal)"),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=5, fontsize=8)
    save_figure(figure, path)


def main() -> None:
    """Make what is not there, then the page and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("results/reference"))
    parser.add_argument("--anew", action="store_true", help="make golden files again")
    options = parser.parse_args()
    golden = {}
    for name, problem in PROBLEMS.items():
        path = options.folder / f"{name}.json"
        if options.anew or not path.exists():
            record = make_golden(problem)
            with written_whole(path) as part:
                part.write_text(json.dumps(record) + "\n")
            print(f"wrote {path}", flush=True)
        golden[name] = json.loads(path.read_text())
    found = [row for name in golden for row in compared(PROBLEMS[name], golden[name])]
    draw_intervals(found, options.folder / "intervals.png")
    with written_whole(options.folder / "README.md") as part:
        part.write_text(page(golden, found, options.folder))
    print("\n".join(medians(found)))


if __name__ == "__main__":
    main()
