"""Tables of the comparison: ranks, families, every cell, and where a peer was ahead."""

import numpy as np

from benchmarks.quality.methods import CAUSES, FAMILIES, INFORMED, METHODS
from benchmarks.quality.problems import BASES, DATA, FAMILY, GROUPS
from benchmarks.quality.standing import (
    OURS,
    SIGN,
    Results,
    Setting,
    best_of,
    by_setting,
    chance_behind,
    competing,
    families_and_parts,
    level,
    lost,
    parts,
    ranks,
    standard_error,
)

# It has a model of its own; the others are given the classifier.
OWN_MODEL = "label spreading"


def in_short(results: Results) -> str:
    """How often ours is the best in each family of tasks, with each classifier, and in all."""
    return _standing(results, (*FAMILIES, *BASES, "all"))


def standing(results: Results) -> str:
    """How often ours is the best in each part of the settings."""
    return _standing(results, tuple(families_and_parts()))


def _standing(results: Results, names: tuple[str, ...]) -> str:
    """How often ours is the best or level with it, and its mean rank beside the next one's."""
    lines = [
        "| settings | number | best or level: F1 | log-loss | "
        "mean rank: F1 | best other | log-loss | best other |",
        "|---" * 8 + "|",
    ]
    every = families_and_parts()
    rows = [(part, every[part], None) for part in names]
    rows.append((f"all, beside all but {OWN_MODEL}", every["all"], OWN_MODEL))
    for part, holds, without in rows:
        shares, places, number = [], [], 0
        for score, sign in SIGN.items():
            settings = {
                s: {m: v for m, v in methods.items() if m != without}
                for s, methods in by_setting(results, score).items()
                if holds(s)
            }
            number = len(settings)
            if not number:
                break
            shares.append(f"{np.mean([level(m, sign) for m in settings.values()]):.0%}")
            mean = {m: np.mean(v) for m, v in competing(ranks(settings, sign)).items() if v}
            own = mean.pop(OURS)
            mean.pop(without, None)
            following = min(mean, key=lambda m: mean[m])
            places += [f"{own:.2f}", f"{following} {mean[following]:.2f}"]
        if number:
            lines.append(f"| {part} | {number} | " + " | ".join(shares + places) + " |")
    return "\n".join(lines)


def overview(results: Results) -> str:
    """Mean ranks of all methods."""
    names = [m for m in METHODS if m not in INFORMED]
    lines = [
        "| settings | score | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for part, holds in parts().items():
        for score, sign in SIGN.items():
            settings = {s: m for s, m in by_setting(results, score).items() if holds(s)}
            if not settings:
                continue
            cells = [f"{np.mean(v):.2f}" if v else "" for v in ranks(settings, sign).values()]
            lines.append(f"| {part} | {score} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def families(results: Results) -> str:
    """Mean scores by family of tasks, over the settings that a method takes."""
    names = list(METHODS)
    lines = [
        "| family | base | score | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for family in FAMILIES:
        for bases in (*((base,) for base in BASES), BASES):
            for score in (*SIGN, "Brier", "calibration", "T") if bases == BASES else SIGN:
                settings = by_setting(results, score)
                rows = [m for s, m in settings.items() if FAMILY[s[1]] == family and s[2] in bases]
                cells = []
                for name in names:
                    values = [m[name].mean() for m in rows if name in m]
                    star = "" if len(values) == len(rows) else "*"
                    cells.append(f"{np.mean(values):.3f}{star}" if values else "")
                if rows:
                    lines.append(
                        f"| {family} | {' and '.join(bases)} | {score} | "
                        + " | ".join(cells)
                        + " |"
                    )
    return "\n".join(lines)


def families_by_group(results: Results) -> str:
    """Mean scores of ours and of the best other method that takes all the settings."""
    lines = [
        "| data | family | settings | "
        + " | ".join(f"{score}: ours | best other" for score in SIGN)
        + " |",
        "|---" * (3 + 2 * len(SIGN)) + "|",
    ]
    found = {score: by_setting(results, score) for score in SIGN}
    for group in GROUPS:
        for family in FAMILIES:
            cells = []
            for score, sign in SIGN.items():
                rows = [
                    competing(m) for s, m in found[score].items()
                    if (DATA[s[0]].group, FAMILY[s[1]]) == (group, family)
                ]  # fmt: skip
                if not rows:
                    break
                takers = set.intersection(*map(set, rows))
                mean = {m: float(np.mean([row[m].mean() for row in rows])) for m in takers}
                own = mean.pop(OURS)
                best = max(mean, key=lambda m: sign * mean[m], default="")
                cells += [f"{own:.3f}", f"{best} {mean[best]:.3f}" if best else ""]
            if cells:
                lines.append(f"| {group} | {family} | {len(rows)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def beside_each(results: Results) -> str:
    """Ours beside every other method, each on the settings that both take."""
    lines = [
        "| family | other | settings | "
        + " | ".join(f"{score}: ours, other | ahead, behind" for score in SIGN)
        + " |",
        "|---" * (3 + 2 * len(SIGN)) + "|",
    ]
    found = {score: by_setting(results, score) for score in SIGN}
    for family in FAMILIES:
        for name in METHODS:
            if name in (OURS, *INFORMED):
                continue
            cells = []
            for score, sign in SIGN.items():
                pairs = [
                    (m[OURS], m[name]) for s, m in found[score].items()
                    if FAMILY[s[1]] == family and name in m
                ]  # fmt: skip
                if not pairs:
                    break
                mean = np.mean([[values.mean() for values in pair] for pair in pairs], axis=0)
                gaps = [(sign * (a - b).mean(), standard_error(a, b)) for a, b in pairs]
                ahead = sum(gap > error for gap, error in gaps)
                behind = sum(-gap > error for gap, error in gaps)
                cells += [f"{mean[0]:.3f}, {mean[1]:.3f}", f"{ahead}, {behind}"]
            if cells:
                lines.append(f"| {family} | {name} | {len(pairs)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def collapses(results: Results) -> str:
    """Settings in which ours finds classes less well than naive training, beyond the error."""
    lines = ["| data | task | base | naive | ours | standard error | errors behind |"]
    lines.append("|---" * 7 + "|")
    for (data, task, base), (plain, ours) in collapsed(results).items():
        error, gap = standard_error(ours, plain), plain.mean() - ours.mean()
        errors = f"{gap / error:.1f}" if error else ""
        lines.append(
            f"| {data} | {task} | {base} | {plain.mean():.3f} | {ours.mean():.3f} | "
            f"{error:.3f} | {errors} |"
        )
    return "\n".join([said_of_collapses(results), "", *lines]) if len(lines) > 2 else "None."


def collapsed(results: Results) -> dict[Setting, tuple[np.ndarray, np.ndarray]]:
    """Macro-F1 of naive training and of ours where ours is behind by more than the error."""
    found = {}
    for setting, methods in by_setting(results, "F1").items():
        if "naive" in methods:  # not in a run that is not finished
            plain, ours = methods["naive"], methods[OURS]
            if plain.mean() - ours.mean() > standard_error(ours, plain):
                found[setting] = plain, ours
    return found


def said_of_collapses(results: Results) -> str:
    """How many settings collapse, and how many would seem to by chance."""
    there = [m[OURS] for m in by_setting(results, "F1").values() if "naive" in m]
    by_chance = sum(chance_behind(len(ours)) for ours in there)
    return (
        f"{len(collapsed(results))} of {len(there)} settings; were both equally good everywhere, "
        f"some {by_chance:.0f} would be here by chance."
    )


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
        for (data, task, base), methods in lost(results, score).items():
            rivals = competing(methods)
            best = best_of(rivals, sign)
            gap = sign * (rivals[best].mean() - rivals[OURS].mean())
            error = standard_error(rivals[OURS], rivals[best])
            lines.append(
                f"| {score} | {data} | {task} | {base} | {best} {rivals[best].mean():.3f} | "
                f"{rivals[OURS].mean():.3f} | {gap:.3f} | {error:.3f} |"
            )
    return "\n".join(lines)


def causes(results: Results, changed: Results) -> str:
    """Ours with one thing changed, where it is behind: on the draws that all of these have."""
    tried = [name for name in CAUSES if any(cell.method == name for cell in changed)]
    lines = [
        "| score | data | task | draws | ahead | ours | " + " | ".join(tried) + " |",
        "|---" * (6 + len(tried)) + "|",
    ]
    for score, sign in SIGN.items():
        variants = by_setting(changed, score, "no retraining")
        for setting, methods in lost(results, score).items():
            if setting not in variants:
                continue
            found = variants[setting]
            draws = len(found["no retraining"])  # the first ones, of both
            best = best_of(competing(methods), sign)
            cells = [f"{best} {methods[best][:draws].mean():.3f}"]
            cells += [f"{methods[OURS][:draws].mean():.3f}"]
            cells += [f"{found[m].mean():.3f}" if m in found else "" for m in tried]
            lines.append(
                f"| {score} | {setting[0]} | {setting[1]} | {draws} | " + " | ".join(cells) + " |"
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
