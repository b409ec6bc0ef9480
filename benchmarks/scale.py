"""Rows beyond memory, beyond one process, and seen once: time per row, memory, what is lost.

``python -m benchmarks.scale --write`` measures at full size and puts what it finds into the page on
planning, docs/guide/scale.md. ``python -m benchmarks.scale measure '{"rows": ...}'`` is one run, in
a process of its own, so that none sees what others have left in memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.problem import N_CLASSES, N_LABELS, Problem, draw_problem
from benchmarks.scaling import resident_memory
from benchmarks.table import Measurement, markdown, measured, write_between
from benchmarks.timing import progress
from decoupling import Posterior, StreamingInference, infer
from decoupling.inference.ascent import shared_steps
from decoupling.inference.ascent.ascend import ascend
from decoupling.inference.ascent.gamma_posterior import KnownGamma
from decoupling.inference.ascent.start import start_classes
from decoupling.inference.ascent.state import AscentOptions, AscentProblem, State
from decoupling.inference.math.bound import Bound
from decoupling.inference.posterior import posterior_parts
from decoupling.inference.rows.block import Rows
from decoupling.inference.rows.blocks import RowBlocks

# Iterations of each run, whether or not it has converged.
ITERATIONS = 10
# Rows of a chunk of Dask. A worker holds some of these at a time.
CHUNK = 250_000
_ROOT = Path(__file__).resolve().parents[1]
PAGE = _ROOT / "docs" / "guide" / "scale.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def run(quick: bool) -> list[Measurement]:
    """Parquet against memory, two threads against one, two workers against two threads."""
    return measure_all(quick)[0]


def measure_all(quick: bool) -> tuple[list[Measurement], dict[str, Any]]:
    """All lines of the table, and the single runs behind them."""
    part = 10 if quick else 1
    small, middle, large, shared = (n // part for n in (10**5, 10**6, 10**7, 2 * 10**6))
    runs = {
        "memory, small": best_run(rows=small, source="memory", threads=2),
        "memory, middle": best_run(rows=middle, source="memory", threads=2),
        "one thread": best_run(rows=middle, source="memory", threads=1),
        "memory, large": one_run(rows=large, source="memory", threads=2),
        "Parquet": one_run(rows=large, source="parquet", threads=2),
        "two threads": best_run(rows=shared, source="memory", threads=2),
        "workers": one_run(rows=shared, source="dask", threads=1),
        "workers, own memory": one_run(rows=shared, source="dask", threads=1, keep=False),
        "overhead": one_run(rows=40_000, source="dask", threads=1, chunk=100),
    }
    per_row = {name: found["seconds"] / found["rows"] for name, found in runs.items()}
    lines = [
        Measurement(
            f"Parquet, N={large:,}: extra memory", runs["Parquet"]["extra"] / 1e6, 1000.0, unit="MB"
        ),
        Measurement(
            f"the whole run per row: Parquet, N={large:,}, over memory, N={middle:,}",
            per_row["Parquet"] / per_row["memory, middle"],
            1.5,
        ),
        Measurement(
            f"an iteration per row: Parquet, N={large:,}, over memory, N={middle:,}",
            _iteration(runs["Parquet"]) / _iteration(runs["memory, middle"]),
        ),
        Measurement(
            f"an iteration per row in memory, N={large:,} over N={middle:,}",
            _iteration(runs["memory, large"]) / _iteration(runs["memory, middle"]),
        ),
        Measurement(
            f"an iteration per row in memory, N={small:,} over N={middle:,}",
            _iteration(runs["memory, small"]) / _iteration(runs["memory, middle"]),
        ),
        Measurement(
            f"one thread over two, N={middle:,}",
            _iteration(runs["one thread"]) / _iteration(runs["memory, middle"]),
            1.6,
            "at least",
        ),
        Measurement(
            f"Dask with two workers over two threads, N={shared:,}",
            runs["workers"]["seconds"] / runs["two threads"]["seconds"],
            2.0,
        ),
        Measurement(
            "the same with workers that hand memory back at once, as Dask tells them to",
            runs["workers, own memory"]["seconds"] / runs["two threads"]["seconds"],
        ),
    ]
    return [*lines, *streaming(10_000 if quick else 100_000)], runs


def streaming(n_rows: int) -> list[Measurement]:
    """What one pass over the rows, in many blocks or in few, loses of the bound of the batch."""
    problem = draw_problem(n_rows)
    batch = infer(problem.label_proba, problem.transition_prior)
    best = settled_bound(problem, batch)
    lines = []
    for n_blocks in (100, 10):
        stream = StreamingInference(problem.transition_prior)
        for block in np.array_split(problem.label_proba, n_blocks):
            stream.partial_fit(block)
        loss = (best - settled_bound(problem, stream.posterior_)) / abs(best)
        progress(f"scale: streaming in {n_blocks} blocks: {loss:.2%}")
        what = f"streaming, N={n_rows:,}, {n_blocks} blocks: loss of the bound"
        lines.append(Measurement(what, 100 * loss, 1.0, unit="%"))
    return lines


def settled_bound(problem: Problem, posterior: Posterior) -> float:
    """The bound over all rows once they have settled under the T of a posterior."""
    parts = posterior_parts(posterior)
    transitions, prior = parts.transitions, parts.transition_prior
    labels = np.ones(N_LABELS, dtype=bool)
    classes = np.empty((len(problem.label_proba), N_CLASSES))
    rows = Rows(problem.label_proba, labels, np.array(posterior.evidence), classes)
    gamma = KnownGamma(problem.class_prior)
    whole = AscentProblem(gamma, prior, rows.count, rows.total_evidence)
    state, method = State(transitions, gamma), Bound(transitions)
    with RowBlocks(rows) as blocks:
        start_classes(whole, method, blocks, learn_transitions=False)
        ascend(whole, state, method, blocks, AscentOptions(False, max_iter=500, tol=1e-8))
        return shared_steps.total_terms(whole, state, method, blocks).elbo


def _iteration(found: dict[str, Any]) -> float:
    """Seconds of an iteration per row."""
    return float(found["iteration"] / found["rows"])


def best_run(**settings: Any) -> dict[str, Any]:
    """The fastest of three runs: other work on the machine only adds to the time."""
    return min((one_run(**settings) for _ in range(3)), key=lambda found: found["seconds"])


def one_run(**settings: Any) -> dict[str, Any]:
    """A run in a new process: seconds, seconds of an iteration, extra memory in bytes."""
    command = [sys.executable, "-m", "benchmarks.scale", "measure", json.dumps(settings)]
    done = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = settings | json.loads(done.stdout.splitlines()[-1])
    progress(f"scale: {found}")
    return found


def measure(
    rows: int, source: str, threads: int, chunk: int = CHUNK, keep: bool = True
) -> dict[str, float]:
    """Time `infer` for a number of iterations on rows of the common problem.

    ``keep`` lets the workers of Dask keep memory that was freed, see docs/guide/scale.md.
    """
    prior = draw_problem(1).transition_prior
    with opened(rows, source, chunk, keep) as label_proba:
        before, _ = resident_memory()
        times: list[float] = []
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            posterior = infer(
                label_proba,
                prior,
                max_iter=ITERATIONS,
                tol=0,
                n_threads=threads,
                callback=lambda *_: times.append(time.perf_counter()),
            )
        seconds = time.perf_counter() - start
        _, peak = resident_memory()
        result = 0 if source != "memory" else posterior.class_concentration.nbytes
    # The median: plain steps and extrapolated ones take turns.
    return {
        "seconds": seconds,
        "iteration": float(np.median(np.diff(times))),
        "extra": float(peak - before - result),
    }


@contextmanager
def opened(rows: int, source: str, chunk: int, keep: bool) -> Iterator[Any]:
    """The rows in memory, in a Parquet file, or as chunks on two local workers."""
    if source == "memory":
        yield draw_problem(rows).label_proba
        return
    with tempfile.TemporaryDirectory(dir=_ROOT) as folder, _cluster(source, keep):
        path = Path(folder) / "rows"
        # Written by another process: what it takes is not counted here.
        code = f"from benchmarks import scale; scale.write_rows({rows}, {str(path)!r}, {source!r})"
        subprocess.run([sys.executable, "-c", code], cwd=_ROOT, check=True)
        yield path if source == "parquet" else _chunks(path.with_suffix(".npy"), rows, chunk)


def write_rows(rows: int, path: str, source: str) -> None:
    """Write the rows of the problem, in pieces: a folder of Parquet, or one file for Dask."""
    if source != "parquet":
        np.save(path, draw_problem(rows).label_proba)
        return
    import pyarrow as pa
    from pyarrow import parquet

    Path(path).mkdir()
    piece = 1_000_000
    for k, first in enumerate(range(0, rows, piece)):
        block = draw_problem(min(piece, rows - first), seed=k).label_proba
        columns = {str(s): column for s, column in enumerate(block.T)}
        parquet.write_table(
            pa.table(columns), Path(path) / f"{k:03d}.parquet", row_group_size=100_000
        )


def _cluster(source: str, keep: bool) -> Any:
    if source != "dask":
        return nullcontext()
    import dask
    from distributed import Client

    if keep:
        environment = "distributed.nanny.pre-spawn-environ"
        for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"):
            dask.config.set({f"{environment}.{name}": 2**30})
    return Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)


def _chunks(path: Path, rows: int, chunk: int) -> Any:
    """The file as a dask array whose chunks are read by the workers, and are there."""
    from dask import array, delayed
    from distributed import wait

    parts = [
        array.from_delayed(
            delayed(_read)(str(path), first, min(first + chunk, rows)),
            (min(chunk, rows - first), N_LABELS),
            float,
        )
        for first in range(0, rows, chunk)
    ]
    whole = array.concatenate(parts).persist()
    wait(whole)
    return whole


def _read(path: str, first: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[first:stop])


def page(lines: list[Measurement], runs: dict[str, Any]) -> str:
    """What was measured, and what follows for a cluster."""
    row = _iteration(runs["one thread"])
    tasks = runs["overhead"]["rows"] / runs["overhead"]["chunk"]
    overhead = runs["overhead"]["iteration"] / tasks
    bytes_per_row = 8 * (N_LABELS + 2 * N_CLASSES)
    flops = 6 * N_CLASSES * N_LABELS
    single = {name: runs[name] for name in ("memory, small", "memory, middle", "memory, large")}
    table = "\n".join(
        f"| {found['rows']:,} | {1e9 * _iteration(found):.0f} | {found['seconds']:.1f} |"
        for found in single.values()
    )
    return "\n".join(
        [
            f"`python -m benchmarks.scale --write` {measured()}:",
            "",
            markdown(lines),
            "",
            f"Two threads, C = {N_CLASSES}, S = {N_LABELS}, {ITERATIONS} iterations:",
            "",
            "| rows | nanoseconds per row and iteration | seconds in all |",
            "|---|---|---|",
            table,
            "",
            "The model, of an iteration:",
            "",
            f"- a row moves {bytes_per_row} bytes (p(s\\|x) is read, its class concentrations are "
            f"read and written) and takes {flops} multiplications and additions in matrix products "
            f"beside {N_CLASSES} digamma functions and {N_LABELS} logarithms; one thread needs "
            f"**{1e9 * row:.0f} ns** for it, most of them for the functions;",
            f"- a chunk takes **{1e3 * overhead:.1f} ms** of Dask's scheduler and of the way there "
            "and back, whatever is in it;",
            f"- so a billion rows on 100 workers with 8 threads each, in chunks of a million, take "
            f"{1e9 * row / 800:.1f} s of computing and {1000 * overhead:.1f} s of scheduling: "
            f"**{1e9 * row / 800 + 1000 * overhead:.0f} s an iteration**, "
            f"{(1e9 * row / 800 + 1000 * overhead) * 100 / 60:.0f} minutes for a hundred, and "
            f"{1e9 * bytes_per_row / 100 / 1e9:.1f} GB of memory per worker.",
        ]
    )


def main() -> None:
    """Measure once in this process, or everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["measure"])
    parser.add_argument("settings", nargs="?", type=json.loads)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, to try it out")
    parser.add_argument(
        "--write", action="store_true", help="put the outcome into docs/guide/scale.md"
    )
    arguments = parser.parse_args()
    if arguments.what == "measure":
        print(json.dumps(measure(**arguments.settings)))
        return
    content = page(*measure_all(arguments.quick))
    print(content)
    if arguments.write:
        write_between(PAGE, BEGIN, END, content)


if __name__ == "__main__":
    main()
