"""Pictures of the comparison: every method by task, and ours against the best other one."""

from pathlib import Path

import numpy as np

from benchmarks.quality.methods import INFORMED, METHODS
from benchmarks.quality.problems import BASES, DATA, GROUPS, TASKS
from benchmarks.quality.standing import (
    OURS,
    SIGN,
    Results,
    best_of,
    by_setting,
    competing,
    standard_error,
)
from decoupling.experiments.figures import save_figure

FOLDER = Path(__file__).with_name("figures")
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#9a9a9a")


def draw(results: Results) -> None:
    """Write the figures, as far as there are results of ours."""
    import matplotlib as mpl

    mpl.use("agg")
    for name, figure in (("tasks", by_task(results)), ("margins", margins(results))):
        save_figure(figure, FOLDER / f"{name}.png")


def by_task(results: Results) -> object:
    """Mean test score of each method by task and classifier, if it was run on all the data."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(BASES), len(SIGN), figsize=(11, 9), sharex="col", sharey=True, layout="constrained"
    )
    shown = [m for m in METHODS if m not in INFORMED] + list(INFORMED)
    marks = "osD^v<>PX*hdp"
    colours = plt.get_cmap("tab20").colors
    for column, score in enumerate(SIGN):
        settings = by_setting(results, score)
        for ax, base in zip(axes[:, column], BASES, strict=True):
            for k, method in enumerate(shown):
                mean = [
                    _mean([v for s, v in settings.items() if s[1:] == (task, base)], method)
                    for task in TASKS
                ]
                ours = method == OURS
                ax.plot(
                    mean, range(len(TASKS)), marks[k % len(marks)], label=method,
                    ms=13 if ours else 6, mew=2 if ours else 1,
                    color="black" if ours else colours[k % 20],
                    # Ours is a ring, so that who is level with it is seen within.
                    mfc="none" if ours or method in INFORMED else None, zorder=3 if ours else 2,
                )  # fmt: skip
            ax.set_title(base, fontsize=10)
            ax.grid(alpha=0.3)
        ax.set_xlabel(f"mean test {'macro-F1' if score == 'F1' else score}")
    ax.set_xscale("log")
    ticks = [0.1, 0.2, 0.5, 1, 2]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    for ax in axes[:, 1]:
        ax.minorticks_off()
    axes[0, 0].set_yticks(range(len(TASKS)), TASKS)
    axes[0, 0].invert_yaxis()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def _mean(settings: list[dict[str, np.ndarray]], method: str) -> float:
    """Mean over the settings; NaN if the method lacks one, since means must be of the same."""
    found = [methods[method].mean() for methods in settings if method in methods]
    return float(np.mean(found)) if found and len(found) == len(settings) else np.nan


def margins(results: Results) -> object:
    """Ours less the best other method of each cell, with its standard error, in order."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for ax, (score, sign) in zip(axes, SIGN.items(), strict=True):
        gaps = []
        for setting, methods in by_setting(results, score).items():
            others = {m: v for m, v in competing(methods).items() if m != OURS}
            ours, other = methods[OURS], others[best_of(others, sign)]
            gap = sign * (ours.mean() - other.mean())
            gaps.append((gap, standard_error(ours, other), DATA[setting[0]].group))
        gaps.sort()
        for group, colour in zip(GROUPS, COLOURS, strict=True):
            at = [k for k, gap in enumerate(gaps) if gap[2] == group]
            if not at:
                continue
            ax.errorbar(
                at, [gaps[k][0] for k in at], [gaps[k][1] for k in at],
                fmt="o", ms=4, color=colour, elinewidth=1, label=f"{group} ({len(at)})",
            )  # fmt: skip
        ax.axhline(0.0, color="black", lw=0.8)
        ax.set_yscale("symlog", linthresh=0.1)
        ticks = [-1, -0.3, -0.1, -0.05, 0, 0.05, 0.1, 0.3, 1]
        low, high = ax.get_ylim()
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_ylim(low, high)
        ax.set_xlabel("cell")
        name = "macro-F1: ours less" if sign > 0 else "log-loss saved by ours over"
        ax.set_title(f"{name} the best other method of the cell", fontsize=10)
        ax.grid(alpha=0.3)
    axes[0].legend()
    return figure
