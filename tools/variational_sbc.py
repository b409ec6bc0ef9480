"""Simulation-based calibration of what the library says of T and of the class balance.

T is drawn from the prior that the library is told, rows and labels from T. Where reported
distributions are right, the true T lies uniformly in them: the share of the distribution below the
truth, over many simulations, is uniform. Results are kept as lines of JSON, so that a run can go
on; what is there is not done again. A run that is done packs them.
"""

from __future__ import annotations

import argparse
import warnings
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from reference_posteriors import shown
from reference_problems import COUNT, PROBLEMS, Problem, draw_counted, draw_labelled
from scipy.stats import binom

from decoupling import Posterior, infer
from decoupling._files import written_whole
from decoupling.experiments import json_lines
from decoupling.experiments.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    new_figure,
    save_figure,
)
from decoupling.inference.errors.integrated import Integrated

SETTINGS = ("noisy", "positive_unlabelled", "class_conditional")
SIMULATORS = {
    "as written": "the model itself, bound",
    "as written, exact": "the model itself, exact",
    "as written, integrated": "the model itself, integrated",
    "exact proba": "normals, label model of the truth",
    "fitted proba": "normals, label model fitted",
    "fitted proba, integrated": "normals, label model fitted, integrated",
}
COLOURS = dict(zip(SIMULATORS, (BLUE, PURPLE, BLACK, GREEN, ORANGE, RED), strict=True))
# Levels of the reported quantiles; the last six look at the upper tail.
LEVELS = np.concatenate([np.linspace(0.0125, 0.9875, 40), 1.0 - np.logspace(-2.5, -7, 6)])
# Runs in which k-hat and the exact expected logarithm, which take longer, are computed.
FEWER = 100
# Points at which the distribution of the places is compared with the uniform one.
POINTS = np.linspace(0.0, 1.0, 101)[1:-1]
# Probability that the band holds a uniform distribution at all points together.
SURE = 0.95
# k-hat above which importance weights are too heavy to trust, the limit of its authors.
TOO_HEAVY = 0.7


def simulate(problem: Problem, simulator: str, run: int) -> dict[str, Any]:
    """One simulation: where the truth lies in what is reported, and k-hat."""
    # The same truth for all that see rows in the same way.
    story = "model" if simulator.startswith("as written") else "normals"
    rng = np.random.default_rng([run, zlib.crc32(f"{problem.name} {story}".encode())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some draws of T are hard
        if story == "model":
            drawn = draw_counted(problem, rng)
            posterior = infer(
                drawn.counts / COUNT,
                problem.transitions,
                evidence=COUNT,
                transition_evidence=COUNT,
                expected_log="exact" if simulator.endswith("exact") else "bound",
            )
        else:
            drawn = draw_labelled(problem, rng)
            proba = drawn.exact if simulator == "exact proba" else drawn.fitted
            posterior = infer(proba, problem.transitions)
        found: dict[str, Any] = {
            "setting": problem.name,
            "simulator": simulator,
            "run": run,
            "pit": places(
                problem,
                posterior.integrated() if simulator.endswith("integrated") else posterior,
                drawn.transitions,
                drawn.balance,
            ),
        }
        if run < FEWER and not simulator.endswith("integrated"):
            k_hat = posterior.transition_k_hat
            assert k_hat is not None
            found["k_hat"] = round(k_hat, 3)
    return found


def places(
    problem: Problem,
    found: Posterior | Integrated,
    transitions: np.ndarray,
    balance: np.ndarray,
) -> dict[str, float]:
    """Share of each reported distribution below the truth, from the ends of its intervals."""
    of_transitions = [found.transition_interval(level) for level in LEVELS]
    of_balance = [found.class_balance_interval(level) for level in LEVELS]
    prior, out = problem.prior, {}
    for c in np.flatnonzero(prior.free):
        for s in np.flatnonzero(prior.concentration[c]):
            ends = [(low[c, s], high[c, s]) for low, high in of_transitions]
            out[f"T[{c},{s}]"] = place(ends, transitions[c, s])
    for c in range(len(balance)):
        out[f"balance[{c}]"] = place([(low[c], high[c]) for low, high in of_balance], balance[c])
    return {name: out[name] for name in shown(out)}


def place(ends: list[tuple[float, float]], value: float) -> float:
    """Share below the value, of a distribution with intervals of these ends."""
    low, high = np.array(ends).T
    quantiles = np.concatenate([low[::-1], high])
    shares = np.concatenate([(1.0 - LEVELS[::-1]) / 2.0, (1.0 + LEVELS) / 2.0])
    return round(float(np.interp(value, quantiles, shares, left=0.0, right=1.0)), 5)


def band(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the ECDF of n uniform draws at `POINTS`, simultaneously sure.

    Each point's interval is binomial, at a level that 2,000 samples of uniform draws set.
    """
    samples = rng.random((2000, n))
    below = np.array([(samples <= point).sum(axis=1) for point in POINTS]).T  # (2000, points)
    left, right = binom.cdf(below, n, POINTS), binom.sf(below - 1, n, POINTS)
    level = float(np.quantile(2.0 * np.minimum(left, right).min(axis=1), 1.0 - SURE))
    return (
        binom.ppf(level / 2.0, n, POINTS) / n,
        binom.ppf(1.0 - level / 2.0, n, POINTS) / n,
    )


class Store:
    """Lines of JSON, and which simulations they hold."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = {
            (record["setting"], record["simulator"], record["run"]): record
            for record in json_lines.read(path)
        }

    def add(self, record: dict[str, Any]) -> None:
        """Keep one simulation."""
        json_lines.append(self.path, record)
        self.lines[record["setting"], record["simulator"], record["run"]] = record

    def of(self, setting: str, simulator: str) -> list[dict[str, Any]]:
        """Simulations of one kind."""
        return [line for key, line in self.lines.items() if key[:2] == (setting, simulator)]


def verdict(pit: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """Say in a few words what the places of the truth mean."""
    ecdf = np.array([(pit <= point).mean() for point in POINTS])
    if ((ecdf >= low) & (ecdf <= high)).all():
        return "uniform"
    words = []
    if abs(pit.mean() - 0.5) > 3.0 / np.sqrt(12.0 * len(pit)):
        words.append("too high" if pit.mean() < 0.5 else "too low")
    # Whether intervals hold as often as they should, to three standard errors.
    half, most = (float(np.mean(np.abs(pit - 0.5) < level / 2.0)) for level in (0.5, 0.9))
    if half < 0.5 - 1.5 / np.sqrt(len(pit)) or most < 0.9 - 0.9 / np.sqrt(len(pit)):
        words.append("intervals miss")
    elif half > 0.5 + 1.5 / np.sqrt(len(pit)):
        words.append("too wide")
    return ", ".join(words) or "not uniform"


def tables(store: Store) -> Iterator[str]:
    """Lines of a table for each setting."""
    rng = np.random.default_rng(0)
    bands: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for setting in SETTINGS:
        yield from ("", f"## {PROBLEMS[setting].title}", "")
        yield (
            "| simulator | simulations | quantity | mean place | spread, 1 if uniform | "
            "inside 50% | inside 90% | verdict |"
        )
        yield "|---|---|---|---|---|---|---|---|"
        for simulator, title in SIMULATORS.items():
            lines = store.of(setting, simulator)
            if not lines:
                continue
            if len(lines) not in bands:
                bands[len(lines)] = band(len(lines), rng)
            for name in lines[0]["pit"]:
                pit = np.array([line["pit"][name] for line in lines])
                yield (
                    f"| {title} | {len(lines)} | {name} | {pit.mean():.2f} | "
                    f"{pit.std() * np.sqrt(12.0):.2f} | {np.mean(np.abs(pit - 0.5) < 0.25):.1%} | "
                    f"{np.mean(np.abs(pit - 0.5) < 0.45):.1%} | "
                    f"{verdict(pit, *bands[len(lines)])} |"
                )


def k_hats(store: Store) -> Iterator[str]:
    """Lines of the table of k-hat, and of what it has to do with intervals that miss."""
    yield (
        "| setting | simulator | simulations | median k-hat | above 0.7 | "
        "90% intervals of T hold, k-hat up to 0.7 | above it |"
    )
    yield "|---|---|---|---|---|---|---|"
    for setting in SETTINGS:
        for simulator, title in SIMULATORS.items():
            lines = [line for line in store.of(setting, simulator) if "k_hat" in line]
            if not lines:
                continue
            k_hat = np.array([line["k_hat"] for line in lines])
            held = np.array(
                [
                    np.mean(
                        [abs(p - 0.5) < 0.45 for key, p in line["pit"].items() if key[0] == "T"]
                    )
                    for line in lines
                ]
            )
            heavy = k_hat > TOO_HEAVY
            cells = [
                f"{held[which].mean():.1%}" if which.any() else "" for which in (~heavy, heavy)
            ]
            yield (
                f"| {PROBLEMS[setting].title} | {title} | {len(lines)} | {np.median(k_hat):.2f} | "
                f"{heavy.mean():.1%} | {cells[0]} | {cells[1]} |"
            )


def draw_ecdfs(store: Store, path: Path) -> None:
    """Differences of ECDFs from the uniform one, with simultaneous bands."""
    figure = new_figure(11.0, 8.5, "tools/variational_sbc.py")
    panels = figure.subplots(len(SETTINGS), 2, sharex=True, squeeze=False)
    rng = np.random.default_rng(0)
    for row, setting in zip(panels, SETTINGS, strict=True):
        for ax, kind in zip(row, ("T", "balance"), strict=True):
            for simulator, colour in COLOURS.items():
                lines = store.of(setting, simulator)
                if not lines:
                    continue
                if simulator == "as written":
                    low, high = band(len(lines), rng)
                    ax.fill_between(POINTS, low - POINTS, high - POINTS, color="0.85", lw=0)
                for name in lines[0]["pit"]:
                    if name.startswith(kind):
                        pit = np.array([line["pit"][name] for line in lines])
                        ecdf = np.array([(pit <= point).mean() for point in POINTS])
                        ax.plot(POINTS, ecdf - POINTS, color=colour, lw=1.1, alpha=0.85)
            ax.axhline(0.0, color=BLACK, lw=0.6)
            what = "T" if kind == "T" else "class balance"
            ax.set_title(f"{PROBLEMS[setting].title}: {what}", fontsize=9)
            ax.set_ylim(-0.55, 0.55)
        row[0].set_ylabel("ECDF less uniform", fontsize=8)
    for ax in panels[-1]:
        ax.set_xlabel("share of the reported distribution below the truth", fontsize=8)
    handles = [
        panels[0, 0].plot([], [], color=COLOURS[name], label=title)[0]
        for name, title in SIMULATORS.items()
    ]
    handles.append(panels[0, 0].fill_between([], [], [], color="0.85", label="95% of uniform"))
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8)
    save_figure(figure, path)


TEXT = """\
# Simulation-based calibration of T and of the class balance

Made by `make sbc`: `tools/variational_sbc.py`. In each simulation T is drawn from the
prior that the library is told, then {rows} rows, and the place of the truth in what the library
reports is noted: the share of the reported distribution below it, by the ends of
`transition_interval` and `class_balance_interval` at many levels. Over the simulations it is
uniform if these distributions are right. Three ways to see the rows:

- **the model itself**: Y_i ~ Dir(gamma) and {count} labels of each row from Y_i T, `evidence` and
  `transition_evidence` both {count}; with `expected_log="bound"`, with `"exact"`, and with
  `Posterior.integrated`, which integrates over the classes of the rows. This is
  simulation-based calibration in the strict sense: data come from the model, and a sampler of its
  posterior would give uniform places.
- **normals, label model of the truth**: classes are normals on a line, 3 standard deviations
  apart, their shares from Dir(10, ..., 10), and p(label | x) is what these densities, the true
  shares and the true T make it. All other settings are the library's own. p(label | x) then has no
  error at all, so that intervals for as many labels as there are rows should be too wide.
- **normals, label model fitted**: the same rows with one label each, and p(label | x) by
  the T and shares that are most likely given these labels, densities known: a label model of
  the right form with the error of so many labels; also with `Posterior.integrated`.

![differences of ECDFs](ecdf.png)

A verdict is "uniform" if the ECDF stays in a band that 95 of 100 uniform samples stay in as a
whole. Else it says where what is reported lies, and whether its intervals hold less often than they
should (intervals miss) or more often (too wide). Intervals always include the mean of the reported
distribution, so that those of the lowest levels are longer than they would be: places near a half
are not told apart, which is the step in the middle of some curves.
"""

K_HAT_TEXT = """
## k-hat

The shape of the tail of importance weights (`Posterior.transition_k_hat`) beside what happens to
the intervals. As a warning it would be of use if intervals held less often above 0.7 than below.
Between kinds of problems it does tell: where T is in the wrong place k-hat is several times 0.7.
But intervals of several entries that are much too wide look the same, since few draws then fall
where the posterior is; and within a kind of problem the values above 0.7, which 500 draws make
now and then, go with intervals that hold about as well as the others, but for one kind where they
are a handful. So it is there to be looked at, and is no reason of the trust light.
"""


def main() -> None:
    """Simulate what is not there yet, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("results/calibration/sbc"))
    parser.add_argument("--runs", type=int, default=500)
    options = parser.parse_args()
    store = Store(options.folder / "results.jsonl")
    # What takes longest comes last.
    slow = ("as written, exact",)
    quick = tuple(name for name in SIMULATORS if name not in slow)
    for simulators, runs in ((quick, options.runs), (slow, min(FEWER, options.runs))):
        for run in range(runs):
            for setting, simulator in product(SETTINGS, simulators):
                if (setting, simulator, run) not in store.lines:
                    store.add(simulate(PROBLEMS[setting], simulator, run))
            if (run + 1) % 50 == 0:
                print(f"{', '.join(simulators)}: {run + 1} of {runs}", flush=True)
    json_lines.pack(store.path)
    draw_ecdfs(store, options.folder / "ecdf.png")
    parts = [
        TEXT.format(rows=PROBLEMS[SETTINGS[0]].n_rows, count=COUNT),
        *tables(store),
        K_HAT_TEXT,
        *k_hats(store),
        "",
    ]
    with written_whole(options.folder / "README.md") as part:
        part.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
