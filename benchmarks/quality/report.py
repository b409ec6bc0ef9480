"""Tables of the comparison: ranks, families, every cell, and where a peer was ahead."""

from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from benchmarks.quality.methods import FAMILIES, INFORMED, METHODS
from benchmarks.quality.problems import DATA, FAMILY
from benchmarks.quality.store import Cell
from benchmarks.table import environment, write_between

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- quality: begin -->", "<!-- quality: end -->"
OURS = "decoupling"
# Which way is up.
SIGN = {"F1": 1, "log-loss": -1}
Setting = tuple[str, str, str]
Results = dict[Cell, dict[str, float]]


def by_setting(
    results: Results, score: str, ours: str = OURS
) -> dict[Setting, dict[str, np.ndarray]]:
    """Scores by data set, task and base, and by method: of the seeds that ours has, in order.

    A method that lacks one of them, because it failed or was not run, is left out, as are settings
    without ours.
    """
    found: dict[Setting, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for cell, scores in results.items():
        if score in scores:
            found[cell.data, cell.task, cell.base][cell.method][cell.seed] = scores[score]
    out = {}
    for setting, methods in sorted(found.items()):
        seeds = sorted(methods.get(ours, ()))
        if seeds:
            out[setting] = {
                name: np.array([values[seed] for seed in seeds])
                for name, values in methods.items()
                if set(seeds) <= set(values)
            }
    return out


def competing(methods: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Methods that do not see the truth."""
    return {m: v for m, v in methods.items() if m not in INFORMED}


def best_of(methods: dict[str, np.ndarray], sign: int) -> str:
    """Name of the method with the best mean."""
    return max(methods, key=lambda m: sign * methods[m].mean())


def ranks(settings: dict[Setting, dict[str, np.ndarray]], sign: int) -> dict[str, list[float]]:
    """Rank of each method in every setting; those that do not take it share the last place."""
    out: dict[str, list[float]] = defaultdict(list)
    names = [m for m in METHODS if m not in INFORMED]
    for methods in settings.values():
        rivals = competing(methods)
        value = [sign * rivals[m].mean() if m in rivals else -np.inf for m in names]
        for name, rank in zip(names, rankdata(-np.array(value)), strict=True):
            out[name].append(float(rank))
    return out


def standard_error(ours: np.ndarray, other: np.ndarray) -> float:
    """Standard error of the mean difference over the seeds, which share their draws."""
    if len(ours) < 2:
        return 0.0
    return float(np.std(ours - other, ddof=1) / np.sqrt(len(ours)))


def overview(results: Results) -> str:
    """Mean ranks, and how often ours is the best or within a standard error of it."""
    lines = [
        "| group | score | "
        + " | ".join(m for m in METHODS if m not in INFORMED)
        + " | best or level |"
    ]
    lines.append("|---|---|" + "---|" * (len(METHODS) - len(INFORMED) + 1))
    for group in ("tune", "confirm", "fresh", "all"):
        for score, sign in SIGN.items():
            settings = {
                s: m for s, m in by_setting(results, score).items()
                if group in ("all", DATA[s[0]].group)
            }  # fmt: skip
            if not settings:
                continue
            cells = [f"{np.mean(v):.2f}" for v in ranks(settings, sign).values()]
            level = [_level(methods, sign) for methods in settings.values()]
            cells.append(f"{np.mean(level):.0%} of {len(level)}")
            lines.append(f"| {group} | {score} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _level(methods: dict[str, np.ndarray], sign: int) -> bool:
    """Whether ours is the best, or within one standard error of it."""
    rivals = competing(methods)
    best = best_of(rivals, sign)
    behind = sign * (rivals[best].mean() - rivals[OURS].mean())
    return bool(behind <= standard_error(rivals[OURS], rivals[best]))


def families(results: Results) -> str:
    """Mean scores by family of tasks, over the settings that a method takes."""
    names = list(METHODS)
    lines = ["| family | score | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for family in FAMILIES:
        for score in ("F1", "log-loss", "Brier", "calibration", "T"):
            settings = by_setting(results, score)
            rows = [m for s, m in settings.items() if FAMILY[s[1]] == family]
            cells = []
            for name in names:
                values = [m[name].mean() for m in rows if name in m]
                star = "" if len(values) == len(rows) else "*"
                cells.append(f"{np.mean(values):.3f}{star}" if values else "")
            lines.append(f"| {family} | {score} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def by_cell(results: Results, score: str = "F1") -> str:
    """Every setting: mean and standard deviation of each method."""
    names = list(METHODS)
    lines = [
        "| data | task | base | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for (data, task, base), methods in sorted(by_setting(results, score).items()):
        cells = [
            f"{methods[m].mean():.3f} ({methods[m].std():.3f})" if m in methods else ""
            for m in names
        ]
        lines.append(f"| {data} | {task} | {base} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def losses(results: Results) -> str:
    """Settings in which a peer, or naive training, is ahead by more than a standard error."""
    lines = [
        "| score | data | task | base | ahead | ours | by | standard error |",
        "|---" * 8 + "|",
    ]
    for score, sign in SIGN.items():
        for (data, task, base), methods in sorted(by_setting(results, score).items()):
            rivals = competing(methods)
            if _level(methods, sign):
                continue
            best = best_of(rivals, sign)
            gap = sign * (rivals[best].mean() - rivals[OURS].mean())
            error = standard_error(rivals[OURS], rivals[best])
            lines.append(
                f"| {score} | {data} | {task} | {base} | {best} {rivals[best].mean():.3f} | "
                f"{rivals[OURS].mean():.3f} | {gap:.3f} | {error:.3f} |"
            )
    return "\n".join(lines)


def seconds(results: Results) -> str:
    """Time of each method over that of naive training: the median over the cells."""
    settings = by_setting(results, "seconds")
    lines = ["| " + " | ".join(METHODS) + " |", "|---" * len(METHODS) + "|"]
    cells = []
    for name in METHODS:
        ratio = [
            m[name].mean() / m["naive"].mean()
            for m in settings.values()
            if {name, "naive"} <= set(m)
        ]
        cells.append(f"{np.median(ratio):.1f}" if ratio else "")
    return "\n".join([*lines, "| " + " | ".join(cells) + " |"])


def settings(results: Results) -> str:
    """Each setting less the default: means by family, and how often it is better."""
    names = list(dict.fromkeys(cell.method for cell in results if cell.method != "default"))
    lines = [
        "| setting | "
        + " | ".join(f"{score}, {family}" for family in FAMILIES for score in SIGN)
        + " | F1 better | log-loss better | seconds |",
        "|---" * (2 * len(FAMILIES) + 4) + "|",
    ]
    found = {score: by_setting(results, score, "default") for score in (*SIGN, "seconds")}
    for name in names:
        change = {
            score: {s: m[name].mean() - m["default"].mean() for s, m in cells.items() if name in m}
            for score, cells in found.items()
        }
        cells = [
            f"{np.mean([v for s, v in change[score].items() if FAMILY[s[1]] == family]):+.3f}"
            for family in FAMILIES
            for score in SIGN
        ]
        for score, sign in SIGN.items():
            wins = [sign * value > 0 for value in change[score].values()]
            cells.append(f"{sum(wins)} of {len(wins)}")
        times = [m[name].mean() / m["default"].mean() for m in found["seconds"].values()]
        lines.append(f"| {name} | " + " | ".join([*cells, f"{np.median(times):.2f} x"]) + " |")
    return "\n".join(lines)


def report(results: Results, other_settings: Results | None = None) -> str:
    """All tables."""
    seeds = sorted({cell.seed for cell in results})
    tables = []
    if other_settings:
        title = "**Other settings less the default**, with logistic regression on the group `tune`."
        tables = [title, settings(other_settings)]
    return "\n\n".join(
        [
            f"{len(results)} results of {len(seeds)} seeds, with {environment()}.",
            "**Mean rank** (1 is best; a method that does not take a task shares the last place), "
            "and how often ours is the best or within a standard error of it.",
            overview(results),
            "**Means by family of tasks**; an asterisk marks means over fewer settings.",
            families(results),
            "**Where another method is ahead by more than a standard error.**",
            losses(results),
            "**Macro-F1 on test rows, every setting.**",
            by_cell(results),
            "**Seconds over those of naive training**, median.",
            seconds(results),
            *tables,
        ]
    )


def write(text: str) -> None:
    """Put the tables into the README of the benchmarks."""
    write_between(README, BEGIN, END, text)
