"""How often intervals hold the truth, on data whose truth is known: `make study`.

Kinds of rows, each with a class distribution of its own; T drawn from its prior; classes drawn from
the distribution of their row, labels from T; p(label | x) the shares of labels of each kind. So the
model holds where class distributions are drawn from its own prior and a row counts for as many
observations as its kind has labels. Runs go on where they stopped; a line of coverage.jsonl, packed
when all is done, holds what some data sets of one setting add up to.
"""

import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from decoupling import TransitionPrior, infer
from decoupling.experiments import json_lines

FOLDER = Path(__file__).parents[2] / "results" / "calibration"
STORE = FOLDER / "coverage.jsonl"
# Probabilities that intervals are to hold with.
LEVELS = (0.5, 0.8, 0.9, 0.95)
# Data sets of a line of results. With twice as many a stopped run loses twice the work.
BATCH = 50
LIGHTS = ("green", "amber", "red")
# Kinds of rows where the evidence is that of a kind; "auto" is 100, and so many labels a kind has.
KINDS = {200: 8, 2000: 20, 20000: 50}
# Labels of each kind of rows, and the evidence that "auto" stands for.
OBSERVATIONS = 100
# Sum of the concentrations of each row of T. Twice as much draws T nearer to its mean.
STRENGTH = 20.0

# What T is drawn from, by the name of the task.
PRIORS = {
    "noisy, 2 classes": TransitionPrior.noisy(["a", "b"], noise=0.2, strength=STRENGTH),
    "noisy, 4 classes": TransitionPrior.noisy(list("abcd"), noise=0.3, strength=STRENGTH),
    "class-conditional": TransitionPrior.class_conditional_noise(
        list("abc"),
        noise=[[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]],
        strength=STRENGTH,
    ),
    "positive-unlabelled": TransitionPrior.positive_unlabelled(labelled=0.3, strength=STRENGTH),
    "multi-positive-unlabelled": TransitionPrior.multi_positive_unlabelled(
        ["a", "b"], labelled=0.3, strength=STRENGTH
    ),
    "semi-supervised": TransitionPrior.semi_supervised(
        list("abc"), labelled=0.3, strength=STRENGTH
    ),
}
# What is wrong with the model, if anything.
HOLDS, NORMALS, BY_ROW, WRONG_PRIOR = (
    "nothing", "overlapping normals", "noise depends on the row", "T is not where its prior is",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Setting:
    """A task, how many rows, what a row counts for, and what is wrong with the model."""

    wrong: str
    task: str
    n_rows: int
    evidence: str

    @property
    def n_kinds(self) -> int:
        """Kinds of rows."""
        return self.n_rows // OBSERVATIONS if self.evidence == "auto" else KINDS[self.n_rows]


def settings() -> Iterator[Setting]:
    """Those where the model holds, then the others."""
    for n_rows in KINDS:
        for evidence in ("fixed", "auto"):
            for task in PRIORS:
                yield Setting(HOLDS, task, n_rows, evidence)
    for wrong in (NORMALS, BY_ROW, WRONG_PRIOR):
        for task in ("noisy, 2 classes", "positive-unlabelled"):
            yield Setting(wrong, task, 2000, "fixed")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Kinds of rows: how many rows each has, their labels, and the truth."""

    transitions: np.ndarray  # (C, S)
    class_proba: np.ndarray  # (K, C)
    balance: np.ndarray  # (C,)
    labels: np.ndarray  # (K, S)

    @property
    def rows(self) -> np.ndarray:
        """Rows of each kind, (K,)."""
        return self.labels.sum(axis=1)


def draw(setting: Setting, rng: np.random.Generator) -> Drawn:
    """A data set; kinds without rows are left out."""
    prior = PRIORS[setting.task]
    n_classes = len(prior.classes)
    transitions = _draw_transitions(prior, rng)
    if setting.wrong == WRONG_PRIOR:
        transitions = _draw_transitions(_doubled(prior), rng)
    rows = rng.multinomial(setting.n_rows, np.full(setting.n_kinds, 1.0 / setting.n_kinds))
    rows = rows[rows > 0]
    if setting.wrong == NORMALS:
        class_proba = _of_normals(n_classes, len(rows), rng)
    else:
        class_proba = rng.dirichlet(np.full(n_classes, 1.0 / n_classes), len(rows))
    members = np.array([rng.multinomial(n, p) for n, p in zip(rows, class_proba, strict=True)])
    labels = np.zeros((len(rows), len(prior.labels)), dtype=int)
    for k, counts in enumerate(members):
        emits = transitions
        if setting.wrong == BY_ROW:
            # Twice as often wrong, or unlabelled half as often, the less sure a row's class is.
            sure = 2.0 * class_proba[k].max() - 1.0
            emits = sure * transitions + (1.0 - sure) * transitions.mean(axis=0)
        for c, n in enumerate(counts):
            labels[k] += rng.multinomial(n, emits[c] / emits[c].sum())
    return Drawn(transitions, class_proba, members.sum(axis=0) / setting.n_rows, labels)


def _draw_transitions(prior: TransitionPrior, rng: np.random.Generator) -> np.ndarray:
    rows = []
    for mean, strength in zip(prior.mean, prior.strength, strict=True):
        row = mean.copy()
        if np.isfinite(strength):
            row[mean > 0] = rng.dirichlet(strength * mean[mean > 0])
        rows.append(row)
    return np.array(rows)


def _doubled(prior: TransitionPrior) -> TransitionPrior:
    """The same labelling with twice the noise, or twice the rate of labels."""
    if prior.mean.shape == (2, 2) and (prior.mean == 0).any():
        return TransitionPrior.positive_unlabelled(labelled=0.6, strength=200.0)
    return TransitionPrior.noisy(list(prior.classes), noise=0.4, strength=200.0)


def _of_normals(n_classes: int, n_kinds: int, rng: np.random.Generator) -> np.ndarray:
    """p(class | x) at points of normals around a circle, as far apart as four deviations."""
    balance = rng.dirichlet(np.full(n_classes, 5.0))
    angle = 2.0 * np.pi * np.arange(n_classes) / n_classes
    means = 2.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    points = means[rng.choice(n_classes, n_kinds, p=balance)] + rng.normal(size=(n_kinds, 2))
    logs = np.log(balance) - 0.5 * ((points[:, None] - means) ** 2).sum(axis=2)
    proba = np.exp(logs - logs.max(axis=1, keepdims=True))
    return proba / proba.sum(axis=1, keepdims=True)


def coverage(setting: Setting, seed: int) -> dict[str, list[float]]:
    """Shares of intervals that hold the truth at each level, by what they are of; and errors."""
    data = draw(setting, np.random.default_rng([seed, *_digits(setting)]))
    prior, rows = PRIORS[setting.task], data.rows.astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = infer(
            data.labels / rows[:, None],
            prior,
            evidence="auto" if setting.evidence == "auto" else rows,
            sample_weight=rows,
        )
        integrated = posterior.integrated()
        light = posterior.diagnostics.light
    free = np.isfinite(prior.strength)[:, None] & (prior.mean > 0)
    free &= free.sum(axis=1, keepdims=True) > 1
    out: dict[str, list[float]] = {}
    for name, source in (("mean field", posterior), ("integrated", integrated)):
        found = [_held(source.transition_interval(level), data.transitions) for level in LEVELS]
        out[f"T, {name}"] = [float(held[free].mean()) for held in found]
        found = [_held(source.class_balance_interval(level), data.balance) for level in LEVELS]
        out[f"balance, {name}"] = [float(held.mean()) for held in found]
        error = (source.transitions - data.transitions)[free]
        out[f"squared error of T, {name}"] = [float((error**2).mean())]
    found = [_held(posterior.class_interval(level), data.class_proba) for level in LEVELS]
    out["class probabilities"] = [float(rows @ held.mean(axis=1) / rows.sum()) for held in found]
    out["light"] = [float(light == name) for name in LIGHTS]
    return out


def _held(ends: tuple[np.ndarray, np.ndarray], truth: np.ndarray) -> np.ndarray:
    return (ends[0] <= truth) & (truth <= ends[1])


def _digits(setting: Setting) -> list[int]:
    """What tells settings apart, for seeds; data are the same for the same data's sizes."""
    wrongs = [HOLDS, NORMALS, BY_ROW, WRONG_PRIOR]
    return [wrongs.index(setting.wrong), list(PRIORS).index(setting.task), setting.n_kinds]


def batch(setting: Setting, first: int) -> dict[str, dict[str, list[float]]]:
    """Sums, and sums of squares, over `BATCH` data sets."""
    found = [coverage(setting, seed) for seed in range(first, first + BATCH)]
    arrays = {name: np.array([one[name] for one in found]) for name in found[0]}
    return {
        name: {
            "sum": values.sum(axis=0).round(6).tolist(),
            "squares": (values**2).sum(axis=0).round(6).tolist(),
        }
        for name, values in arrays.items()
    }


def load() -> dict[tuple[Setting, int], dict[str, dict[str, list[float]]]]:
    """What is there by setting and first seed."""
    return {
        (Setting(**record["setting"]), record["first"]): record["found"]
        for record in json_lines.read(STORE)
    }


def run(n_sets: int, jobs: int) -> None:
    """All batches that are not there yet, batch by batch over the settings."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = load()
    todo = [
        (setting, first)
        for first in range(0, n_sets, BATCH)
        for setting in settings()
        if (setting, first) not in done
    ]
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(batch, *one): one for one in todo}
        for k, future in enumerate(as_completed(running), 1):
            setting, first = running[future]
            record = {"setting": asdict(setting), "first": first, "found": future.result()}
            json_lines.append(STORE, record)
            print(f"{k} of {len(todo)}: {setting.task}, N = {setting.n_rows}", flush=True)
    json_lines.pack(STORE)
