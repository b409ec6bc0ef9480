"""Memory and time as rows and classes grow in number.

``python -m benchmarks.scaling N`` prints the extra memory, in bytes, of a run on N rows.
"""

import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.iteration import run_for, seconds_per_iteration
from benchmarks.problem import STRENGTH, Problem, draw_problem, draw_semi_supervised
from benchmarks.table import Measurement
from benchmarks.timing import progress

_ROOT = Path(__file__).resolve().parents[1]


def run(quick: bool) -> list[Measurement]:
    """Extra memory at a million rows; time of four times the rows, and of ten times the classes."""
    most = 100_000 if quick else 1_000_000
    progress(f"scaling: memory at N={most:,}")
    megabytes = extra_memory_of_new_process(most) / 1e6
    few, many = (6_000, 24_000) if quick else (60_000, 240_000)
    progress(f"scaling: time at N={few:,} and N={many:,}")
    problems = draw_problem(few), draw_problem(many)
    # In turns, so that a busy spell of the machine spoils neither.
    times = [[seconds_per_iteration(p, 5, 3) for p in problems] for _ in range(4)]
    best = np.min(times, axis=0)
    return [
        Measurement(
            f"memory beyond input and result, N={most:,} C=10 S=11", megabytes, 200.0, unit="MB"
        ),
        Measurement(f"time of an iteration from N={few:,} to N={many:,}", best[1] / best[0], 4.5),
        *many_classes(quick),
    ]


def many_classes(quick: bool) -> list[Measurement]:
    """Ten times the classes where labels are right, and the cost if they might be wrong."""
    n_rows, fewer = (10_000, 5_000) if quick else (100_000, 20_000)
    progress(f"scaling: semi-supervised, N={n_rows:,}, C=100 and C=1,000")
    more = _iteration_ratio(*(draw_semi_supervised(n_rows, c) for c in (1_000, 100)))
    progress(f"scaling: noisy and semi-supervised, N={fewer:,}, C=200")
    right = draw_semi_supervised(fewer, 200)
    wrong = replace(right, transition_prior=right.transition_prior + STRENGTH / 1_000)
    return [
        Measurement(
            f"semi-supervised, N={n_rows:,}: time of an iteration from C=100 to C=1,000", more, 15.0
        ),
        Measurement(
            f"N={fewer:,} C=200: time of an iteration, every transition possible over"
            " semi-supervised",
            _iteration_ratio(wrong, right),
        ),
    ]


def _iteration_ratio(above: Problem, below: Problem) -> float:
    """Time of an iteration over that of another problem, in turns.

    The first two iterations take plain steps whatever the problem, so that like is compared.
    """
    times = [[seconds_per_iteration(p, 2, 1) for p in (above, below)] for _ in range(4)]
    best = np.min(times, axis=0)
    return float(best[0] / best[1])


def extra_memory_of_new_process(n_rows: int) -> int:
    """Run `extra_memory` where no earlier benchmark has left its mark."""
    command = [sys.executable, "-m", "benchmarks.scaling", str(n_rows)]
    done = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout)


def extra_memory(n_rows: int) -> int:
    """Return the peak of `infer` above what was there before the call, less its result; bytes."""
    problem = draw_problem(n_rows)
    before, _ = resident_memory()
    posterior = run_for(problem, 3)
    _, peak = resident_memory()
    return peak - before - posterior.class_concentration.nbytes


def resident_memory() -> tuple[int, int]:
    """Resident memory of this process now and at its peak, in bytes.

    Linux counts the peak of `getrusage` from before the program was loaded, so that a process
    begins with the peak of the one that started it; what /proc says does not. Elsewhere only the
    peak is at hand, and stands for both.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak *= 1 if sys.platform == "darwin" else 1024
        return peak, peak
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return _kilobytes(fields["VmRSS"]), _kilobytes(fields["VmHWM"])


def _kilobytes(text: str) -> int:
    return int(text.split()[0]) * 1024


if __name__ == "__main__":
    print(extra_memory(int(sys.argv[1])))
