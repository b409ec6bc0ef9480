"""What `decoupling run` adds to the fitting of the classifier, on a table of 200,000 rows.

`python -m benchmarks.command_line` prints, as JSON, the time of each part relative to all fits, and
the peak memory of the process in GB.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.table import Measurement
from benchmarks.timing import progress, seconds
from decoupling.cli.running import report_of, write_files
from decoupling.fits.ensembles import FITTING, fit_clone
from decoupling.run.settings import Settings
from decoupling.run.solving import read_problem, solve_problem
from decoupling.tables.writing import write_csv

CLASSES = np.array(["a", "b", "c", "d", "e"], dtype=object)
COLOURS = np.array(["red", "green", "blue", "grey", "pink"], dtype=object)


def run(quick: bool) -> list[Measurement]:
    """Time beside the fits, and memory, of a process of its own."""
    n_rows = 20_000 if quick else 200_000
    line = [sys.executable, "-m", "benchmarks.command_line", "--rows", str(n_rows)]
    found = json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)
    what = f"decoupling run, CSV of {n_rows:,} x 30"
    peak = found.pop("peak memory")
    return [
        *(Measurement(f"{what}: {part} / fits", value) for part, value in found.items()),
        Measurement(f"{what}: all of these / fits", sum(found.values()), 1.0),
        Measurement(f"{what}: peak memory", peak, 2.0, unit="GB"),
    ]


def write_table(path: Path, n_rows: int) -> None:
    """Write 25 columns of numbers, 4 of categories, and labels: some wrong, some missing."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 5, n_rows)
    numbers = rng.normal(size=(5, 25))[classes] + 1.5 * rng.normal(size=(n_rows, 25))
    wrong = np.where(rng.random(n_rows) < 0.2, rng.integers(0, 5, n_rows), classes)
    labels = np.where(rng.random(n_rows) < 0.2, None, CLASSES[wrong])
    columns = {f"x{k}": numbers[:, k].round(4) for k in range(25)}
    for k in range(4):
        columns[f"colour{k}"] = COLOURS[(classes + rng.integers(0, 3, n_rows)) % 5].tolist()
    write_csv(path, columns | {"label": labels.tolist()})


def main() -> None:
    """Write a table, run it, and print where the time went."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command_line", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    chosen = parser.parse_args()
    settings, found, fits = Settings(), {}, []

    def timed(*arguments):
        start = time.perf_counter()
        model = fit_clone(*arguments)
        fits.append(time.perf_counter() - start)
        return model

    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "table.csv", Path(folder) / "out"
        progress("writing a table")
        write_table(table, chosen.rows)
        progress("reading it")
        read = seconds(lambda: found.update(problem=read_problem(table, settings, Path(folder))[1]))
        progress("fitting and inferring")
        FITTING.set(timed)
        solving = seconds(lambda: found.update(solved=solve_problem(found["problem"], settings)))
        progress("writing the files")

        def write() -> None:
            report = report_of(found["solved"], settings, "", title="", command="")
            write_files(found["solved"], settings, report, "table.csv", "", out, force=False)

        writing = seconds(write)
    fitting = sum(fits)
    parts = {
        "reading": read / fitting,
        "inference, prediction, calibration": (solving - fitting) / fitting,
        "writing": writing / fitting,
        "peak memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(json.dumps(parts))


if __name__ == "__main__":
    main()
