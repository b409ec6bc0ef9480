"""Tables and figures of performance against the number of labels, and what they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._typing import FloatArray
from decoupling.experiments import figures
from decoupling.experiments.findings import Shape, markdown_row, value_cell
from decoupling.experiments.labelling_tasks import TASKS
from decoupling.experiments.store import Config, Results, digest

# Curves of the paper's figure, then what goes beyond it; label, score, colour, style.
CURVES: Final = (
    ("label model as it is, test", "label model test {}", figures.BLACK, ":"),
    ("decoupled, train", "train {}", figures.ORANGE, "-"),
    ("decoupled, test", "test {}", figures.BLUE, "-"),
    ("label-conditional, train", "label-conditional {}", figures.GREEN, "-"),
    ("Elkan-Noto, test", "Elkan-Noto test {}", figures.PURPLE, "--"),
)
_CEILING_NAME: Final = "supervised, test"
CEILING: Final = "supervised test {}"
FIGURES: Final = {
    "f1": ("F1", "macro-F1"),
    "log_loss": ("log-loss", "log-loss"),
    "calibration": ("calibration", "calibration error"),
}
# Standard deviations on each side of a curve that its band shows, as in the paper.
_DEVIATIONS: Final = 3
# Share of the ceiling from which on a score is near it.
_NEAR: Final = 0.9


@dataclass(frozen=True, eq=False)
class Summary:
    """Scores of one task: arrays over label counts, with a row for each.

    Attributes
    ----------
    task : str
        Its name.
    counts : list of int
        Labels per class.
    runs : list of int
        How many runs there are of each.
    scores : dict of str to list of arrays (runs,)
        Scores by name, for each count.
    ceiling : dict of str to array (runs,)
        Scores of the network that was trained on the true classes.
    """

    task: str
    counts: list[int]
    runs: list[int]
    scores: dict[str, list[FloatArray]]
    ceiling: dict[str, FloatArray]

    def mean(self, score: str) -> FloatArray:
        """Mean over the runs, for each count."""
        return np.array([values.mean() for values in self.scores[score]])

    def deviation(self, score: str) -> FloatArray:
        """Standard deviation over the runs, for each count; 0 of a single one."""
        return np.array(
            [values.std(ddof=1) if len(values) > 1 else 0.0 for values in self.scores[score]]
        )


def summarise(results: Results, like: Config) -> list[Summary]:
    """Results with the data, network and inference of a configuration, task by task."""
    training = like.training

    def alike(config: Config) -> bool:
        other = config.training
        same = (other.data, other.network, other.options)
        return same == (training.data, training.network, training.options) and (
            other.task == "classes" or config.inference == like.inference
        )

    found: dict[str, dict[int, list[dict[str, float]]]] = {}
    for config, _, scores in results.where(alike):
        by_count = found.setdefault(config.task, {})
        by_count.setdefault(config.training.labels, []).append(scores)
    out = []
    for task in (name for name in TASKS if name in found):
        ceiling = _columns(found[task].pop(0, []))
        counts = sorted(found[task])
        columns = [_columns(found[task][count]) for count in counts]
        names = columns[0] if columns else {}
        by_name = {
            name: [column[name] for column in columns]
            for name in names
            if all(name in column for column in columns)
        }
        runs = [len(found[task][count]) for count in counts]
        out.append(Summary(task, counts, runs, by_name, ceiling))
    return [summary for summary in out if summary.counts]


def _columns(rows: list[dict[str, float]]) -> dict[str, FloatArray]:
    """Scores that all runs have, by name."""
    names = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return {name: np.array([row[name] for row in rows]) for name in names}


# Tables


def table(summaries: list[Summary]) -> str:
    """Table of all tasks and counts in Markdown; deviations over the runs in parentheses."""
    columns = (
        ("label model, test F1", "label model test F1"),
        ("decoupled, train F1", "train F1"),
        ("decoupled, test F1", "test F1"),
        ("label-conditional F1", "label-conditional F1"),
        ("Elkan-Noto, test F1", "Elkan-Noto test F1"),
        ("test log-loss", "test log-loss"),
        ("test calibration", "test calibration"),
        ("error of T", "T"),
        ("positive T in its 90% interval", "T in interval"),
    )
    head = ("task", "labels per class", "runs", *(name for name, _ in columns), "ceiling F1")
    lines = [markdown_row(head), markdown_row(["---"] * len(head))]
    for summary in summaries:
        ceiling = summary.ceiling.get(CEILING.format("F1"))
        last = "" if ceiling is None else f"{ceiling.mean():.3f}"
        for k, count in enumerate(summary.counts):
            cells = [
                value_cell(summary.scores[score][k]) if score in summary.scores else ""
                for _, score in columns
            ]
            title = TASKS[summary.task].title
            lines.append(markdown_row([title, f"{count:,}", str(summary.runs[k]), *cells, last]))
    return "\n".join(lines)


# What the paper found


def shapes(summaries: list[Summary], many: int) -> list[Shape]:
    """The paper's findings that these results can speak of; ``many`` labels are enough for PU."""
    by_task = {summary.task: summary for summary in summaries}
    out = []
    for name in ("pu", "pu3", "pu7"):
        if name in by_task:
            out += _lifted(by_task[name], many)
    for name in ("semi", "noise20"):
        if name in by_task:
            out.append(_labels_help(by_task[name]))
    if "noise50" in by_task:
        out.append(_labels_stop_helping(by_task["noise50"]))
    return out


def _lifted(summary: Summary, many: int) -> list[Shape]:
    title = TASKS[summary.task].title
    plain, test = summary.mean("label model test F1"), summary.mean("test F1")
    ceiling = summary.ceiling[CEILING.format("F1")].mean()
    few = plain[0]
    enough = [k for k, count in enumerate(summary.counts) if count >= many]
    out = []
    if summary.counts[0] < many:
        out.append(
            Shape(
                f"{title}: as it is, the label model finds next to no positives if few have labels",
                f"F1 {few:.3f} with {summary.counts[0]:,} labels",
                bool(few < 0.1),
            )
        )
    if enough and ceiling > 0:
        out.append(
            Shape(
                f"{title}: decoupled it has {_NEAR:.0%} of the supervised network's F1, or more, "
                f"from {many:,} labels on",
                f"F1 {test[enough].min():.3f} to {test[enough].max():.3f}, ceiling {ceiling:.3f}",
                bool((test[enough] >= _NEAR * ceiling).all()),
            )
        )
    return out


def _labels_help(summary: Summary) -> Shape:
    gain = summary.mean("label-conditional F1") - summary.mean("train F1")
    return Shape(
        f"{TASKS[summary.task].title}: label-conditional is at least decoupled on train",
        f"F1 {gain.min():+.3f} to {gain.max():+.3f} higher",
        bool(gain.min() >= -0.0005),
    )


def _labels_stop_helping(summary: Summary) -> Shape:
    gain = summary.mean("label-conditional F1") - summary.mean("train F1")
    return Shape(
        "50% noise: the labels of the rows stop helping",
        f"label-conditional F1 {gain.min():+.3f} to {gain.max():+.3f} higher than decoupled",
        bool(gain.max() < 0.03),
    )


# Figures


def draw_curves(summaries: list[Summary], like: Config, folder: Path) -> Iterator[Path]:
    """Write a figure for each kind of score, and one for T."""
    for name, (score, title) in FIGURES.items():
        yield figures.save_figure(_curves(summaries, like, score, title), folder / f"{name}.png")
    yield figures.save_figure(_transitions(summaries, like), folder / "transitions.png")


def _note(summaries: list[Summary], like: Config) -> str:
    training = like.training
    runs = sorted({run for summary in summaries for run in summary.runs})
    spread = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    whole = replace(like, training=replace(training, task="all", labels=0), task="all")
    return (
        f"decoupling reproduce fashion --data {training.data} --network {training.network} "
        f"{''.join(f'--{key} {value} '.replace('_', '-') for key, value in like.inference)}"
        f"({spread} run{'s' * (runs[-1] > 1)} from seed 0, configuration {digest(whole)})"
    )


def _panels(summaries: list[Summary], like: Config) -> tuple[Any, Any]:
    columns = min(4, len(summaries))
    rows = -(-len(summaries) // columns)
    width = max(3.5 * columns + 0.5, 9.0)
    figure = figures.new_figure(width, 3.0 * rows + 0.9, _note(summaries, like))
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[len(summaries) :]:
        ax.remove()
    for ax, summary in zip(axes, summaries, strict=False):
        ax.set_title(TASKS[summary.task].title, fontsize=11)
        ax.set_xscale("log")
        shown = summary.counts if len(summary.counts) < 5 else summary.counts[::2]
        ax.set_xticks(shown, [f"{count:,}" for count in shown], fontsize=8)
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    return figure, axes


def _curves(summaries: list[Summary], like: Config, score: str, title: str) -> Any:
    figure, axes = _panels(summaries, like)
    for ax, summary in zip(axes, summaries, strict=False):
        for name, key, colour, style in CURVES:
            if key.format(score) in summary.scores:
                _band(ax, summary, key.format(score), name, colour, style)
        ceiling = summary.ceiling.get(CEILING.format(score))
        if ceiling is not None:
            ax.axhline(ceiling.mean(), color="0.5", lw=1, ls="-.", label=_CEILING_NAME)
        if score == "F1":
            # As in the paper, unless something would be hidden.
            keys = [key.format(score) for _, key, _, _ in CURVES]
            lowest = min(summary.mean(key).min() for key in keys if key in summary.scores)
            ax.set_ylim(0.5 if lowest > 0.5 else -0.03, 1.03)
        else:
            ax.set_ylim(bottom=0.0)
    _finish(figure, axes, summaries, title)
    return figure


def _transitions(summaries: list[Summary], like: Config) -> Any:
    figure, axes = _panels(summaries, like)
    for ax, summary in zip(axes, summaries, strict=False):
        if "T" in summary.scores:
            _band(ax, summary, "T", "error of T", figures.BLUE, "-")
            inside = summary.mean("T in interval")
            name = "share of positive T in its 90% interval"
            ax.plot(summary.counts, inside, "s--", color=figures.RED, ms=3, label=name)
            ax.axhline(0.9, color="0.5", lw=1, ls=":")
        ax.set_ylim(-0.03, 1.03)
    _finish(figure, axes, summaries, "error, share")
    return figure


def _band(ax: Any, summary: Summary, score: str, name: str, colour: str, style: str) -> None:
    mean, spread = summary.mean(score), _DEVIATIONS * summary.deviation(score)
    ax.plot(summary.counts, mean, color=colour, ls=style, marker="o", ms=3, label=name)
    if spread.any():
        ax.fill_between(
            summary.counts, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0
        )


def _finish(figure: Any, axes: Any, summaries: list[Summary], title: str) -> None:
    columns = min(4, len(summaries))
    for k, ax in enumerate(axes[: len(summaries)]):
        if k % columns == 0:
            ax.set_ylabel(title)
        if k + columns >= len(summaries):
            ax.set_xlabel("labels per class")
    seen: dict[str, Any] = {}
    for ax in axes[: len(summaries)]:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            seen.setdefault(name, handle)
    if _CEILING_NAME in seen:
        seen[_CEILING_NAME] = seen.pop(_CEILING_NAME)  # the last
    figure.legend(
        seen.values(), seen.keys(), loc="outside upper center", ncols=min(len(seen), 6),
        frameon=False, fontsize=9,
    )  # fmt: skip
