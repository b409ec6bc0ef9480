"""Who is ahead: settings, ranks, and differences beside their standard errors."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from benchmarks.quality.methods import FAMILIES, INFORMED, METHODS, VARIANTS
from benchmarks.quality.problems import BASES, DATA, FAMILY, GROUPS
from benchmarks.quality.store import Cell

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
    """The default, and methods of others or of the paper that do not see the truth."""
    return {m: v for m, v in methods.items() if m not in (*INFORMED, *VARIANTS)}


def best_of(methods: dict[str, np.ndarray], sign: int) -> str:
    """Name of the method with the best mean."""
    return max(methods, key=lambda m: sign * methods[m].mean())


def ranks(settings: dict[Setting, dict[str, np.ndarray]], sign: int) -> dict[str, list[float]]:
    """Rank of each method in every setting; those that do not take it share the last place.

    A variant of ours has the rank that it would have in place of the default, in the settings that
    it was run in.
    """
    out: dict[str, list[float]] = {m: [] for m in METHODS if m not in INFORMED}
    for methods in settings.values():
        rivals = competing(methods)
        for name, rank in _places(rivals, sign).items():
            out[name].append(rank)
        for name in set(VARIANTS) & set(methods):
            out[name].append(_places(rivals | {OURS: methods[name]}, sign)[OURS])
    return out


def _places(methods: dict[str, np.ndarray], sign: int) -> dict[str, float]:
    names = list(competing(METHODS))
    value = [sign * methods[m].mean() if m in methods else -np.inf for m in names]
    return dict(zip(names, rankdata(-np.array(value)).tolist(), strict=True))


def standard_error(ours: np.ndarray, other: np.ndarray) -> float:
    """Standard error of the mean difference over the seeds, which share their draws."""
    if len(ours) < 2:
        return 0.0
    return float(np.std(ours - other, ddof=1) / np.sqrt(len(ours)))


def chance_behind(n_draws: int) -> float:
    """Probability of seeming behind by more than a standard error of an equal, by Student's t."""
    return float(student.sf(1.0, n_draws - 1)) if n_draws > 1 else 0.5


def parts() -> dict[str, Callable[[Setting], bool]]:
    """What settings are averaged over, by name: groups of data, classifiers, families of tasks."""
    groups = {g: lambda s, g=g: DATA[s[0]].group == g for g in GROUPS}
    bases = {base: lambda s, base=base: s[2] == base for base in BASES}
    both = {
        f"{family}, {base}": lambda s, f=family, b=base: (FAMILY[s[1]], s[2]) == (f, b)
        for family in FAMILIES
        for base in BASES
    }
    return {**groups, **bases, **both, "all": lambda s: True}


def families_and_parts() -> dict[str, Callable[[Setting], bool]]:
    """The same, and before it each family of tasks with both classifiers."""
    return {f: lambda s, f=f: FAMILY[s[1]] == f for f in FAMILIES} | parts()


def level(methods: dict[str, np.ndarray], sign: int) -> bool:
    """Whether ours is the best, or within one standard error of it."""
    rivals = competing(methods)
    best = best_of(rivals, sign)
    behind = sign * (rivals[best].mean() - rivals[OURS].mean())
    return bool(behind <= standard_error(rivals[OURS], rivals[best]))


def lost(results: Results, score: str) -> dict[Setting, dict[str, np.ndarray]]:
    """Settings in which another method is ahead of ours by more than a standard error."""
    settings = by_setting(results, score)
    return {s: methods for s, methods in settings.items() if not level(methods, SIGN[score])}


def missing(results: Results) -> str:
    """Draws that a method lacks where it has others, settings without ours, and what failed."""
    seeds = {cell.seed for cell in results}
    drawn: dict[tuple[Setting, str], set[int]] = defaultdict(set)
    for cell, scores in results.items():
        if "failed" not in scores:
            drawn[(cell.data, cell.task, cell.base), cell.method].add(cell.seed)
    settings = {setting for setting, _ in drawn}
    few: dict[str, list[int]] = defaultdict(list)
    for (_, method), found in drawn.items():
        if len(found) < len(seeds):
            few[method].append(len(found))
    few[OURS] += [0 for setting in settings if (setting, OURS) not in drawn]
    said = [
        f"{method} in {len(counts)} settings ({_counts(counts)})"
        for method, counts in few.items()
        if counts
    ]
    failed = sum("failed" in scores for scores in results.values())
    return " ".join(
        [
            f"Fewer draws: {'; '.join(said)}." if said else "No draw is missing.",
            f"{failed} failed." if failed else "None failed.",
        ]
    )


def _counts(numbers: list[int]) -> str:
    """How often there is each number."""
    return ", ".join(f"{n} in {numbers.count(n)}" for n in sorted(set(numbers)))
