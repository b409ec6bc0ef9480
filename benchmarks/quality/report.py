"""Pages of the comparison: what it says in short in the README, and files of tables beside it."""

from pathlib import Path

import numpy as np

from benchmarks.quality import network, tables
from benchmarks.quality.problems import DATA, GROUPS
from benchmarks.quality.standing import (
    OURS,
    SIGN,
    Results,
    by_setting,
    chance_behind,
    competing,
    level,
    missing,
)
from benchmarks.table import write_between

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- quality: begin -->", "<!-- quality: end -->"
NETWORK_BEGIN, NETWORK_END = "<!-- network: begin -->", "<!-- network: end -->"
FOLDER = Path(__file__).with_name("tables")
# Groups of data in which ours is the best or level in a smaller share of settings are named.
FEW = 0.8


def in_short(results: Results, measured: str) -> str:
    """The block of the README: how often ours is best, what falls short, ranks."""
    seeds = {cell.seed for cell in results}
    return "\n\n".join(
        [
            f"{len(results):,} results of {len(seeds)} draws, measured {measured}. "
            + missing(results),
            "\n".join(findings(results)),
            "Settings in which ours is the best or within a standard error of it, and its mean "
            "rank beside that of the best other method (1 is best). A method that does not take "
            "a task shares the last place there, so that over several families the best other one "
            "is among those that take all.",
            tables.in_short(results),
        ]
    )


def findings(results: Results) -> list[str]:
    """What the results say of all settings, in sentences."""
    shares, most, n_settings = {}, 0, 0
    for score, sign in SIGN.items():
        settings = by_setting(results, score)
        shares[score] = np.mean([level(m, sign) for m in settings.values()])
        most = max(most, *(len(competing(m)) - 1 for m in settings.values()))
        n_settings = len(settings)
    few = {score: below(results, score) for score in SIGN}
    n_draws = max(len(m[OURS]) for m in by_setting(results, "F1").values())
    return [
        f"- Of {n_settings} settings ours is the best, or within a standard error of the best of "
        f"up to {most} other methods picked in hindsight, in {shares['F1']:.0%} in macro-F1 and in "
        f"{shares['log-loss']:.0%} in log-loss. (A method exactly as good as a single rival would "
        f"be in {1 - chance_behind(n_draws):.0%}.)",
        f"- In fewer than {FEW:.0%} of the settings of a group: in macro-F1 {few['F1']}; in "
        f"log-loss {few['log-loss']}.",
        f"- Macro-F1 below that of naive training by more than a standard error: "
        f"{tables.said_of_collapses(results)}",
    ]


def below(results: Results, score: str) -> str:
    """Groups of data in which ours is seldom the best or level, and in how many settings."""
    found = []
    for group in GROUPS:
        own = [m for s, m in by_setting(results, score).items() if DATA[s[0]].group == group]
        share = np.mean([level(m, SIGN[score]) for m in own]) if own else 1.0
        if share < FEW:
            found.append(f"*{group}* ({share:.0%} of {len(own)})")
    return ", ".join(found) or "none"


def pages(
    results: Results, settings: Results, changed: Results, of_network: Results
) -> dict[str, str]:
    """Files of tables by name, each with a title."""
    return {
        "ranks.md": _page(
            "Mean ranks",
            "1 is best; a method that does not take a task shares the last place. SETRED, which is "
            "ours too, is ranked in place of the default, where it was run.",
            tables.overview(results),
            "In how many settings ours is the best or within a standard error of it, and its mean "
            "rank beside that of the best other method: by family of tasks, group of data and "
            "classifier.",
            tables.standing(results),
        ),
        "means.md": _page(
            "Mean scores",
            "By family of tasks; an asterisk marks means over fewer settings.",
            tables.families(results),
            "By group of data and family of tasks, beside the best other method that takes all of "
            "these settings.",
            tables.families_by_group(results),
            "Seconds over those of naive training, median.",
            tables.seconds(results),
        ),
        "rivals.md": _page(
            "Ours beside each other method",
            "On the settings that both take: means, and in how many ours is ahead or behind by "
            "more than a standard error.",
            tables.beside_each(results),
        ),
        "behind.md": _page(
            "Where ours is behind",
            "**Collapse**: macro-F1 below that of naive training by more than a standard error.",
            tables.collapses(results),
            "**The best other method is ahead by more than a standard error.**",
            tables.losses(results),
            "**Why, with boosting**: one thing changed, in the settings above that it was run in, "
            "and on its draws.",
            tables.causes(results, changed),
        ),
        "settings.md": _page(
            "Other settings less the default",
            "With logistic regression on the group *tune*: differences of means by family of "
            "tasks, in how many settings the other one is better, and its time over that of the "
            "default.",
            tables.settings(settings),
        ),
        "network.md": _page("A network's p(label | x)", network.tables(of_network)),
        "every_setting.md": _page(
            "Every setting",
            "Means over the draws, with the standard deviation in brackets.",
            "**Macro-F1 on test rows.**",
            tables.by_cell(results, "F1"),
            "**Log-loss on test rows.**",
            tables.by_cell(results, "log-loss"),
        ),
    }


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def write(short: str, of_network: str, files: dict[str, str]) -> None:
    """Put what is said in short into the README of the benchmarks, and write files of tables."""
    write_between(README, BEGIN, END, short)
    write_between(README, NETWORK_BEGIN, NETWORK_END, of_network)
    FOLDER.mkdir(exist_ok=True)
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
