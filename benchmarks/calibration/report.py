"""The page of the coverage study: tables and a picture of what the study kept."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.calibration.study import (
    HOLDS,
    LEVELS,
    LIGHTS,
    OBSERVATIONS,
    Setting,
    settings,
)
from decoupling.experiments.figures import save_figure

Kept = dict[tuple[Setting, int], dict[str, dict[str, list[float]]]]
# What a 90% interval of T is to hold, where the model holds.
ASKED = (0.85, 0.95)
# Place of the 90% intervals among the levels.
NINETY = LEVELS.index(0.9)
KINDS = ("T, integrated", "T, mean field", "balance, integrated", "balance, mean field",
         "class probabilities")  # fmt: skip


class Summary:
    """Means over the data sets of one setting, and their standard errors."""

    def __init__(self, batches: Iterable[dict[str, dict[str, list[float]]]], batch: int) -> None:
        self._batches = list(batches)
        self.n_sets = batch * len(self._batches)

    def mean(self, name: str) -> np.ndarray:
        """Mean of each number under this name."""
        return np.sum([one[name]["sum"] for one in self._batches], axis=0) / self.n_sets

    def error(self, name: str) -> np.ndarray:
        """Standard error of the mean: entries of one data set are not independent, sets are."""
        squares = np.sum([one[name]["squares"] for one in self._batches], axis=0) / self.n_sets
        return np.sqrt(np.maximum(squares - self.mean(name) ** 2, 0.0) / self.n_sets)


def summaries(kept: Kept, batch: int) -> dict[Setting, Summary]:
    """By setting, in the order of the study; those without a data set are left out."""
    out = {}
    for setting in settings():
        own = [found for (of, _), found in kept.items() if of == setting]
        if own:
            out[setting] = Summary(own, batch)
    return out


def write(kept: Kept, batch: int, folder: Path) -> None:
    """Write README.md and coverage.png."""
    found = summaries(kept, batch)
    _draw(found, folder / "coverage.png")
    (folder / "README.md").write_text(page(found), encoding="utf-8")


def page(found: dict[Setting, Summary]) -> str:
    """The page in Markdown."""
    holds = {s: v for s, v in found.items() if s.wrong == HOLDS}
    wrong = {s: v for s, v in found.items() if s.wrong != HOLDS}
    sets = sorted({v.n_sets for v in found.values()})
    n_sets = f"{sets[0]}" if len(sets) == 1 else f"{sets[0]} to {sets[-1]}"
    parts = [
        "# How often intervals hold\n",
        "Made by `make study`, which goes on where it stopped; `coverage.jsonl.xz` holds what it "
        f"found. {n_sets} simulated data sets of each setting: T is drawn from the prior that the "
        "library is told (strength 20), kinds of rows have class distributions of their own, each "
        "row a class and a label, and p(label | x) is the share of labels of each kind. Evidence "
        "is *fixed* at the number of labels of a kind (25, 100, 400), or *automatic*, which is "
        f"{OBSERVATIONS}, and so many labels each kind has then.\n",
        "**Mean field** are the intervals of `Posterior.transition_interval`, at once and for any "
        "size; **integrated** those of `Posterior.integrated`, which integrates over the classes "
        "of the rows. A table's ± is twice the standard error "
        "over data sets: entries of one T are "
        f"not independent. With {sets[-1]} data sets a single entry with exact 90% intervals "
        f"would show {_band(0.9, sets[-1])} in 19 of 20 studies.\n",
        f"![coverage of nominal levels](coverage.png)\n\n## In short\n\n{_verdict(holds)}",
        "## Where the model holds: T at 90%\n",
        _t_table(holds),
        "## Where the model holds: all levels\n",
        _level_tables(holds),
        "## Where it does not hold\n",
        "Class distributions of *overlapping normals* are not those of the prior; the *noise of a "
        "row* grows as its class is less sure; *T is not where its prior is* but at twice the "
        "noise, or the rate. The light is that of `Posterior.diagnostics`: of these it sees what "
        "changes the label frequencies, and no more.\n",
        _wrong_table(wrong),
        "## What falls short\n",
        _shortfalls(found),
    ]
    return "\n".join(parts)


def _band(level: float, n: int) -> str:
    half = 1.96 * np.sqrt(level * (1 - level) / n)
    return f"{level - half:.0%} to {level + half:.0%}"


def _plus(summary: Summary, name: str, k: int = NINETY) -> str:
    return f"{summary.mean(name)[k]:.1%} ± {2 * summary.error(name)[k]:.1%}"


def _verdict(holds: dict[Setting, Summary]) -> str:
    lines = []
    for name in KINDS:
        values = np.array([v.mean(name)[NINETY] for v in holds.values()])
        inside = ((values >= ASKED[0]) & (values <= ASKED[1])).sum()
        lines.append(
            f"- {name}: 90% intervals hold {values.min():.0%} to {values.max():.0%}, median "
            f"{np.median(values):.0%}; between 85% and 95% in {inside} of {len(values)} settings."
        )
    better = np.array(
        [
            np.sqrt(v.mean("squared error of T, mean field")[0]
                    / v.mean("squared error of T, integrated")[0])
            for v in holds.values()
        ]
    )  # fmt: skip
    lines.append(
        f"- Error of T itself, mean field over integrated: {better.min():.1f} to "
        f"{better.max():.1f}, median {np.median(better):.1f}."
    )
    return "\n".join(lines) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _t_table(holds: dict[Setting, Summary]) -> str:
    rows = []
    for s, v in holds.items():
        errors = [
            np.sqrt(v.mean(f"squared error of T, {of}")[0]) for of in ("integrated", "mean field")
        ]
        held = v.mean("T, integrated")[NINETY]
        mark = "" if ASKED[0] <= held <= ASKED[1] else " **outside**"
        rows.append([
            s.task, f"{s.n_rows:,}", s.evidence, _plus(v, "T, integrated") + mark,
            _plus(v, "T, mean field"), *(f"{error:.3f}" for error in errors),
        ])  # fmt: skip
    head = [
        "task",
        "rows",
        "evidence",
        "integrated",
        "mean field",
        "error, integrated",
        "error, mean field",
    ]
    return _table(head, rows)


def _level_tables(holds: dict[Setting, Summary]) -> str:
    parts = []
    for name in KINDS:
        rows = [
            [s.task, f"{s.n_rows:,}", s.evidence, *(_plus(v, name, k) for k in range(len(LEVELS)))]
            for s, v in holds.items()
        ]
        head = ["task", "rows", "evidence", *(f"{level:.0%}" for level in LEVELS)]
        parts += [f"### {name[0].upper()}{name[1:]}\n", _table(head, rows)]
    return "\n".join(parts)


def _wrong_table(wrong: dict[Setting, Summary]) -> str:
    rows = []
    for s, v in wrong.items():
        light = ", ".join(
            f"{share:.0%} {name}"
            for name, share in zip(LIGHTS, v.mean("light"), strict=True)
            if share > 0
        )
        rows.append([
            s.wrong, s.task, *(_plus(v, name) for name in KINDS[:4]), light,
        ])  # fmt: skip
    return _table(["wrong", "task", *(f"{name}, 90%" for name in KINDS[:4]), "light"], rows)


def _shortfalls(found: dict[Setting, Summary]) -> str:
    out = []
    for s, v in found.items():
        held = v.mean("T, integrated")[NINETY]
        if not ASKED[0] <= held <= ASKED[1]:
            out.append(
                f"- T, integrated, {s.task}, {s.n_rows:,} rows, {s.evidence}: {held:.1%}"
                + ("." if s.wrong == HOLDS else f" ({s.wrong}).")
            )
    out.append(
        "- Mean-field intervals of T lean to one side by an amount that more rows do not lessen, "
        "so that they hold less often the more rows there are."
    )
    out.append(
        "- Intervals of class probabilities take a row for as many observations of its class as it "
        "has labels: they are too short wherever labels leave the class open."
    )
    return "\n".join(out) + "\n"


def _draw(found: dict[Setting, Summary], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    holds = {s: v for s, v in found.items() if s.wrong == HOLDS}
    sizes = sorted({s.n_rows for s in holds})
    colours = ("#228833", "#4477aa", "#ccbb44", "#ee6677", "#aa3377")
    shown = dict(zip(KINDS, colours, strict=True))
    figure, axes = plt.subplots(
        1, len(sizes), figsize=(11, 4), sharey=True, layout="constrained", squeeze=False
    )
    for ax, size in zip(axes[0], sizes, strict=True):
        own = [v for s, v in holds.items() if s.n_rows == size]
        ax.plot([0, 1], [0, 1], color="0.6", lw=1)
        ax.add_patch(plt.Rectangle((0.88, ASKED[0]), 0.04, ASKED[1] - ASKED[0], color="0.85"))
        for k, (name, colour) in enumerate(shown.items()):
            values = np.array([v.mean(name) for v in own])
            place = np.array(LEVELS) + 0.006 * (k - 2)
            ax.vlines(place, values.min(axis=0), values.max(axis=0), color=colour, lw=2)
            ax.plot(place, np.median(values, axis=0), "o", color=colour, ms=5, label=name)
        ax.set(xlim=(0.45, 1), ylim=(0, 1.02), xticks=LEVELS, title=f"{size:,} rows",
               xlabel="nominal level")  # fmt: skip
        ax.tick_params(axis="x", labelsize=8)
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("share of intervals that hold the truth")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    save_figure(figure, path)
    plt.close(figure)
