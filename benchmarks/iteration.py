"""One iteration of `infer` as a multiple of what no method can do without."""

import time
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import psi
from sklearn.exceptions import ConvergenceWarning

from benchmarks.problem import Problem, draw_problem
from benchmarks.table import Measurement
from benchmarks.timing import best_of, progress
from decoupling import Posterior, infer

# Turns of all settings; the best time of each counts.
ROUNDS = 3


class Setting(NamedTuple):
    """What is timed: a method, how much a row counts for, and threads (None: all)."""

    method: str
    evidence: float
    threads: int | None

    @property
    def options(self) -> dict[str, object]:
        """Arguments of `infer`."""
        return {
            "expected_log": self.method,
            "evidence": self.evidence,
            "n_threads": self.threads,
        }


# Time of an iteration by method, at most, in floors.
TARGETS = {"bound": 4.0, "beta": 12.0, "exact": 150.0}
# Iterations that are timed, by method; more for the fast ones.
ITERATIONS = {"bound": 10, "beta": 5, "taylor": 5, "exact": 3}
# All that is timed.
SETTINGS = [
    Setting(method, evidence, threads)
    for evidence in (1.0, 100.0)
    for threads in (None, 1)
    for method in ("bound", "beta", "exact", "taylor")
]


def run(quick: bool) -> list[Measurement]:
    """Every method, at evidence 1 and 100, with all threads and with one.

    Settings and floor take turns, so that a busy spell of the machine spoils none of them.
    """
    problem = draw_problem(6_000 if quick else 60_000)
    floors: dict[float, list[float]] = {}
    runs: dict[Setting, list[np.ndarray]] = {}
    for turn in range(ROUNDS):
        progress(f"iteration: round {turn + 1} of {ROUNDS}")
        for setting in SETTINGS:
            floors.setdefault(setting.evidence, []).append(floor_seconds(problem, setting.evidence))
            n_iter = ITERATIONS[setting.method]
            runs.setdefault(setting, []).append(_intervals(problem, n_iter, **setting.options))
    best = {evidence: min(times) for evidence, times in floors.items()}
    progress(f"iteration: floors, seconds by evidence: {best}")
    return [_line(problem, s, _best_mean(runs[s]), best[s.evidence]) for s in SETTINGS]


def _line(problem: Problem, setting: Setting, seconds: float, floor: float) -> Measurement:
    progress(f"iteration: {setting}: {1e3 * seconds:.1f} ms")
    name = "taylor, order 2" if setting.method == "taylor" else setting.method
    where = f"N={len(problem.label_proba):,} C=10 S=11, evidence {setting.evidence:g}"
    suffix = "" if setting.threads is None else f", n_threads={setting.threads}"
    aimed_at = setting.evidence == 1.0 and setting.threads is None
    target = TARGETS.get(setting.method) if aimed_at else None
    return Measurement(
        f"one iteration, {where}: {name}{suffix}", seconds / floor, target, unit="floors"
    )


def floor_seconds(problem: Problem, evidence: float) -> float:
    """Time one psi over (N, C) and two products with a (C, S) matrix, at the answer's values."""
    concentration = run_for(problem, 10, evidence=evidence).class_concentration
    matrix = np.ascontiguousarray(problem.transition_prior)

    def work() -> None:
        psi(concentration)
        concentration @ matrix
        concentration @ matrix

    return best_of(work, 20)


def seconds_per_iteration(problem: Problem, n_iter: int, repeats: int, **options: object) -> float:
    """Time from callback to callback, the best of several runs for each, averaged over a run."""
    return _best_mean([_intervals(problem, n_iter, **options) for _ in range(repeats)])


def _best_mean(runs: list[np.ndarray]) -> float:
    return float(np.min(runs, axis=0).mean())


def _intervals(problem: Problem, n_iter: int, **options: object) -> np.ndarray:
    """Seconds of each of so many iterations of one run, without set-up and closing."""
    ticks: list[float] = []

    def tick(iteration: int, terms: object) -> None:
        ticks.append(time.perf_counter())

    # The last interval is not a whole iteration: the final state takes no further step.
    run_for(problem, n_iter + 1, callback=tick, **options)
    return np.diff(ticks)[:n_iter]


def run_for(problem: Problem, n_iter: int, **options: object) -> Posterior:
    """Run `infer` for this many iterations, or until the bound no longer rises at all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return infer(
            problem.label_proba,
            problem.transition_prior,
            class_prior=problem.class_prior,
            max_iter=n_iter,
            tol=0.0,
            **options,
        )
