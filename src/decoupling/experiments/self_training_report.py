"""Table and figures of self-training, round by round, and what they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.experiments import figures
from decoupling.experiments.findings import Shape, markdown_row, value_cell
from decoupling.experiments.labelling_tasks import TASKS
from decoupling.experiments.store import Config, Results, digest

# Start, what it is called, colour: as in the paper.
STARTS: Final = (
    ("labels", "from the labels", figures.BLUE),
    ("decoupling", "from the decoupled posterior", figures.GREEN),
)
# F1 from which on a task counts as solved; of positive-unlabelled the paper has about .80.
_SOLVED: Final = 0.8


@dataclass(frozen=True, eq=False)
class TaskRuns:
    """Runs of one task from one start.

    Attributes
    ----------
    config : Config
        What was done.
    scores : list of dict
        As `self_train` gives them, run by run.
    """

    config: Config
    scores: list[dict[str, Any]]

    @property
    def start(self) -> str:
        """Source of the first labels: "labels" or "decoupling"."""
        return str(dict(self.config.inference)["start"])

    def by_round(self, name: str, length: int | None = None) -> FloatArray:
        """A score of each round, (runs, rounds); a run that has ended stays as it was."""
        length = length or max(len(scores[name]) for scores in self.scores)
        return np.array(
            [
                scores[name] + [scores[name][-1]] * (length - len(scores[name]))
                for scores in self.scores
            ]
        )

    def of_each_run(self, name: str) -> FloatArray:
        """A score of each run, (runs,)."""
        return np.array([scores[name] for scores in self.scores])


def rounds_like(results: Results, configs: list[Config]) -> list[TaskRuns]:
    """Results of these configurations, each once."""
    by_config: dict[Config, dict[int, dict[str, Any]]] = {config: {} for config in configs}
    for config, run, scores in results.where(lambda config: config in by_config):
        by_config[config][run] = scores
    return [
        TaskRuns(config, [scores for _, scores in sorted(runs.items())])
        for config, runs in by_config.items()
        if runs
    ]


def rounds_table(found: list[TaskRuns]) -> str:
    """Table of all tasks and starts in Markdown: means, with standard deviations in parentheses."""
    head = (
        "task", "labels per class", "start", "runs", "rounds", "relabelled", "F1 of the relabelled",
        "F1 of all unlabelled", "F1 on test", "ended", "configuration",
    )  # fmt: skip
    lines = [markdown_row(head), markdown_row(["---"] * len(head))]
    for one in found:
        ended = Counter(scores["ended"] for scores in one.scores)
        share = one.by_round("relabelled")[:, -1] / one.of_each_run("unlabelled")
        lines.append(
            markdown_row(
                [
                    TASKS[one.config.task].title,
                    f"{one.config.training.labels:,}",
                    one.start,
                    str(len(one.scores)),
                    f"{np.mean([len(scores['F1']) - 1 for scores in one.scores]):.0f}",
                    f"{share.mean():.1%}",
                    value_cell(one.by_round("F1")[:, -1]),
                    value_cell(one.of_each_run("all unlabelled F1")),
                    value_cell(one.of_each_run("test F1")),
                    ", ".join(f"{name} {number}" for name, number in ended.items()),
                    digest(one.config),
                ]
            )
        )
    return "\n".join(lines)


def rounds_shapes(found: list[TaskRuns]) -> list[Shape]:
    """Check the findings of the paper for which these results have the runs."""
    by_key = {(one.config.task, one.start): one for one in found}
    out = []
    for (task, start), one in by_key.items():
        plain = by_key.get((task, "labels"))
        if start == "labels" and task != "semi":
            continue
        title, last = TASKS[task].title, one.by_round("F1")[:, -1]
        whence = "from the labels alone" if start == "labels" else "from the decoupled posterior"
        out.append(
            Shape(
                f"{title}: {whence} F1 is {_SOLVED} or more at the end",
                f"{last.min():.3f} to {last.max():.3f}",
                bool(last.min() >= _SOLVED),
            )
        )
        if start == "decoupling" and plain is not None:
            out += _better_start(title, one, plain)
    return out


def _better_start(title: str, decoupled: TaskRuns, plain: TaskRuns) -> list[Shape]:
    """Compare the two starts: after equally many rounds, and after equally many new labels."""
    length = max(one.by_round("F1").shape[1] for one in (decoupled, plain))
    rounds = zip(decoupled.by_round("F1", length), plain.by_round("F1", length), strict=False)
    gain = np.concatenate([ours[2:] - other[2:] for ours, other in rounds])
    level = np.concatenate(
        [
            np.array(ours["F1"][2:])
            - np.interp(ours["relabelled"][2:], other["relabelled"], other["F1"])
            for ours, other in zip(decoupled.scores, plain.scores, strict=False)
        ]
    )
    return [
        Shape(
            f"{title}: the decoupled start is better {where}, in every round after the first",
            f"in {int((found > 0).sum())} of {found.size} rounds, F1 {found.min():+.3f} to "
            f"{found.max():+.3f} higher",
            bool((found > 0).all()),
        )
        for where, found in (("at the same round", gain), ("at as many relabelled rows", level))
        if found.size
    ]


def draw_rounds(found: list[TaskRuns], folder: Path) -> Iterator[Path]:
    """Write a figure for each task: F1 solid, number relabelled dashed."""
    for task in dict.fromkeys(one.config.task for one in found):
        mine = [one for one in found if one.config.task == task]
        yield figures.save_figure(_figure(mine), folder / f"{task}.png")


def _figure(found: list[TaskRuns]) -> Any:
    config, runs = found[0].config, max(len(one.scores) for one in found)
    training = config.training
    figure = figures.new_figure(
        7.5,
        4.6,
        f"decoupling reproduce self-training --data {training.data} --network {training.network} "
        f"--tasks {config.task} ({runs} run{'s' * (runs > 1)} from seed 0, configuration "
        f"{', '.join(digest(one.config) for one in found)})",
    )
    ax = figure.subplots()
    number = ax.twinx()
    for start, name, colour in STARTS:
        for one in found:
            if one.start == start:
                _lines(ax, number, one, name, colour)
    most = max(int(one.of_each_run("unlabelled").max()) for one in found)
    number.axhline(most, color="0.6", lw=1, ls=":")
    ax.set(ylim=(-0.03, 1.03), xlabel="round", ylabel="macro-F1 of the relabelled (solid)")
    number.set(ylim=(-0.03 * most, 1.03 * most), ylabel="relabelled (dashed); dotted: unlabelled")
    number.yaxis.set_major_formatter("{x:,.0f}")
    ax.grid(alpha=0.3)
    ax.set_title(f"{TASKS[config.task].title}, {training.labels:,} labels per class", fontsize=11)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=2,
                  frameon=False, fontsize=9)  # fmt: skip
    return figure


def _lines(ax: Any, number: Any, one: TaskRuns, name: str, colour: str) -> None:
    """Every run thin, and their mean; before any row is relabelled there is no F1."""
    f1, relabelled = one.by_round("F1"), one.by_round("relabelled")
    shown = np.where(relabelled > 0, f1, np.nan)
    for run_f1, run_relabelled in zip(shown, relabelled, strict=True):
        ax.plot(run_f1, color=colour, lw=0.6, alpha=0.5)
        number.plot(run_relabelled, color=colour, lw=0.6, alpha=0.5, ls="--")
    ax.plot(shown.mean(axis=0), color=colour, lw=2, label=f"SETRED {name}")
    number.plot(relabelled.mean(axis=0), color=colour, lw=1.5, ls="--")
