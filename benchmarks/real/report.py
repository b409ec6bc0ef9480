"""The tables of the page "On labels that people gave"."""

from collections import defaultdict

import numpy as np

# Columns of the table of real labels: name, score, digits, whether more is better.
COLUMNS = (
    ("rows right", "right", 3),
    ("test accuracy", "test accuracy", 3),
    ("average precision", "AP", 3),
    ("error of T", "error of T", 4),
    ("log-loss of p(wrong)", "log-loss of p(wrong)", 3),
    ("intervals of T that hold", "intervals of T", 2),
    ("light", "light", 0),
    ("seconds", "seconds", 1),
)
# Scores where some labels were changed at random: nobody counted those that were wrong before.
_OF_EVEN = ("AP", "light", "seconds")
_MISSED = "**"  # around what fails, which a page shows in red


def page(results: list[dict]) -> str:
    """All tables, in Markdown."""
    real = [each for each in results if not each["noise"]]
    rows = [each for each in results if each["noise"]]
    parts = ["### Labels that people gave", in_short(real), "", of_files(real)]
    if rows:
        parts += ["", "### Mistakes that follow the row", of_noises(rows), "", of_lights(results)]
    return "\n".join(parts) + "\n"


def _merged(results: list[dict]) -> dict[tuple[str, str], dict]:
    """Scores by file and method, means over the draws of a file."""
    groups: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for each in results:
        if each["problem"].endswith("even"):  # labels that were wrong before are not counted there
            each = each | {"scores": {k: v for k, v in each["scores"].items() if k in _OF_EVEN}}
        name = "labelme" if each["problem"].startswith("labelme") else each["problem"]
        groups[name, each["method"]].append(each["scores"])
    return {key: _mean(scores) for key, scores in groups.items()}


def _mean(scores: list[dict]) -> dict:
    out: dict = {"draws": len(scores)}
    for name in dict.fromkeys(name for each in scores for name in each):
        values = [each[name] for each in scores if name in each]
        if name == "light":
            counts = {light: values.count(light) for light in dict.fromkeys(values)}
            out[name] = ", ".join(
                light if n == len(values) else f"{n} {light}" for light, n in counts.items()
            )
        else:
            out[name] = float(np.mean(values))
    held = [
        each["low"] <= each["wrong"] <= each["high"]
        for each in scores
        if "low" in each and "wrong" in each
    ]
    if held:
        out["held"] = sum(held)
    return out


def of_files(results: list[dict]) -> str:
    """One line for each file and method."""
    merged = _merged(results)
    header = ["labels", "method", "wrong labels", *(name for name, *_ in COLUMNS)]
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    # Those whose truth is known for every row first.
    for (name, method), found in sorted(merged.items(), key=lambda each: "checked" in each[0][0]):
        cells = [name, method, _wrong(found)]
        cells += [_cell(found, score, digits) for _, score, digits in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(found: dict, score: str, digits: int) -> str:
    if score not in found:
        return ""
    return str(found[score]) if score == "light" else f"{found[score]:.{digits}f}"


def _wrong(found: dict) -> str:
    """How many labels are called wrong, the range, and how many are."""
    if "wrong" not in found or "n_wrong" not in found:
        return ""
    share = 100.0 / found["rows"]
    text = f"{found['n_wrong'] * share:.1f}%"
    if "low" in found:
        span = f"{found['low'] * share:.1f} to {found['high'] * share:.1f}%"
        text += f" ({span if found['held'] == found['draws'] else _MISSED + span + _MISSED})"
    return f"{text}; {found['wrong'] * share:.1f}% are"


def in_short(results: list[dict]) -> str:
    """Mean average precision over the files of p(label | x), and where ours is behind."""
    merged = _merged(results)
    names = list(dict.fromkeys(name for name, _ in merged if not name.startswith("labelme")))
    methods = [m for m in dict.fromkeys(m for _, m in merged) if "AP" in merged[names[0], m]]
    lines = [
        "| average precision, p alone | mean | files behind the best of cleanlab's by .005 |",
        "|---|---|---|",
    ]
    peers = [m for m in methods if m.startswith(("cleanlab", "arg max"))]
    for method in methods:
        scores = [merged[name, method]["AP"] for name in names]
        best = [max(merged[name, peer]["AP"] for peer in peers) for name in names]
        behind = sum(own < top - 0.005 for own, top in zip(scores, best, strict=True))
        lines.append(f"| {method} | {np.mean(scores):.4f} | {behind} of {len(names)} |")
    return "\n".join(lines)


def of_noises(results: list[dict]) -> str:
    """One line for each noise, classifier and method: means over data sets and draws."""
    groups: dict[tuple[str, str, str], list[dict]] = defaultdict(list)
    for each in results:
        base = each["problem"].split(", ")[2]
        groups[each["noise"], base, each["method"]].append(each["scores"])
    header = (
        "noise",
        "classifier",
        "method",
        "cells",
        "macro-F1",
        "log-loss",
        "rows right",
        "AP",
        "range holds",
        "log-loss of p(wrong)",
        "of the constant rate",
        "green",
    )
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for (noise, base, method), scores in groups.items():
        found = _mean(scores)
        rates = np.array([each["wrong"] / each["rows"] for each in scores]).clip(1e-6, 1 - 1e-6)
        constant = -(rates * np.log(rates) + (1 - rates) * np.log1p(-rates)).mean()
        cells = [noise, base, method, str(len(scores))]
        cells += [_cell(found, score, 3) for score in ("macro-F1", "log-loss", "right", "AP")]
        cells.append(f"{found['held'] / len(scores):.0%}" if "held" in found else "")
        cells.append(_cell(found, "log-loss of p(wrong)", 3))
        cells.append(f"{constant:.3f}")
        lights = [each.get("light") for each in scores]
        cells.append(f"{lights.count('green')} of {len(lights)}" if any(lights) else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def of_lights(results: list[dict]) -> str:
    """How often a light was green although the range of wrong labels does not hold."""
    counts = defaultdict(lambda: [0, 0])
    for each in results:
        scores = each["scores"]
        if each["method"] == "ours" and "low" in scores and "wrong" in scores:
            counts[scores["light"]][not scores["low"] <= scores["wrong"] <= scores["high"]] += 1
    total = sum(map(sum, counts.values()))
    lines = ["| light | range holds | range does not hold |", "|---|---|---|"]
    for light in ("green", "amber", "red"):
        held, missed = counts[light]
        lines.append(f"| {light} | {held} | {missed} |")
    lines.append(f"\nGreen and wrong: {counts['green'][1] / max(total, 1):.1%} of {total}.")
    return "\n".join(lines)
