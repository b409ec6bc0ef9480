"""One iteration of `infer` as a multiple of what no method can do without."""

import warnings

import numpy as np
from scipy.special import psi
from sklearn.exceptions import ConvergenceWarning

from benchmarks.problem import Problem, draw_problem
from benchmarks.table import Measurement
from benchmarks.timing import best_of, progress
from decoupling import Posterior, infer

# Method, the most floors an iteration may take at evidence 1, iterations of the short and the long
# run, and repeats.
METHODS = (
    ("bound", 4.0, (2, 12), 5),
    ("beta", 12.0, (2, 7), 3),
    ("exact", 150.0, (1, 3), 2),
    ("taylor", None, (2, 7), 3),
)


def run(quick: bool) -> list[Measurement]:
    """Every method, at evidence 1 and 100, with all threads and with one."""
    problem = draw_problem(6_000 if quick else 60_000)
    lines = []
    for evidence in (1.0, 100.0):
        floor = floor_seconds(problem, evidence)
        progress(f"iteration: floor at evidence {evidence:g}: {1e3 * floor:.1f} ms")
        for threads in (None, 1):
            for method, target, counts, repeats in METHODS:
                options = {"expected_log": method, "evidence": evidence, "n_threads": threads}
                spent = seconds_per_iteration(problem, counts, repeats, **options)
                progress(f"iteration: {options}: {1e3 * spent:.1f} ms")
                what = _describe(problem, method, evidence, threads)
                aim = target if evidence == 1.0 and threads is None else None
                lines.append(Measurement(what, spent / floor, aim, unit="floors"))
    return lines


def floor_seconds(problem: Problem, evidence: float) -> float:
    """Time one psi over (N, C) and two products with a (C, S) matrix, at the answer's values."""
    concentration = run_for(problem, 10, evidence=evidence).class_concentration
    matrix = np.ascontiguousarray(problem.transition_prior)

    def work() -> None:
        psi(concentration)
        concentration @ matrix
        concentration @ matrix

    return best_of(work, 30)


def seconds_per_iteration(
    problem: Problem, counts: tuple[int, int], repeats: int, **options: object
) -> float:
    """Time a long run less a short one, per iteration in between: checks and set-up drop out."""
    done = [run_for(problem, count, **options).trace.n_iter for count in counts]
    spent = [
        best_of(lambda count=count: run_for(problem, count, **options), repeats) for count in counts
    ]
    return (spent[1] - spent[0]) / (done[1] - done[0])


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


def _describe(problem: Problem, method: str, evidence: float, threads: int | None) -> str:
    name = "taylor, order 2" if method == "taylor" else method
    where = f"N={len(problem.label_proba):,} C=10 S=11, evidence {evidence:g}"
    return f"one iteration, {where}: {name}" + ("" if threads is None else ", one thread")
