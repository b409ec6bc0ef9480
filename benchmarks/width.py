"""What `decoupling check` takes for a table of few rows and very many columns, such as genes.

`python -m benchmarks.width FILE` prints the seconds that reading FILE as a problem takes, in a
process that has imported everything.
"""

import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.table import Measurement
from benchmarks.timing import progress, seconds
from decoupling.run.settings import Settings
from decoupling.run.solving import read_problem

# Rows of the wide tables: few, so that columns decide the time.
ROWS = 60


def run(quick: bool) -> list[Measurement]:
    """Time of ten times the columns: of the command as it is typed, and of reading alone."""
    few, many = (1_000, 10_000) if quick else (10_000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{width}.csv" for width in (few, many)]
        for path, width in zip(paths, (few, many), strict=True):
            progress(f"writing {ROWS} x {width:,}")
            write_table(path, width)
        progress("checking them")
        whole = [[seconds(partial(check, path)) for path in paths] for _ in range(2)]
        alone = [[read_in_new_process(path) for path in paths] for _ in range(2)]
    ratios = [float(best[1] / best[0]) for best in (np.min(whole, axis=0), np.min(alone, axis=0))]
    what = f"{ROWS} rows, from {few:,} to {many:,} columns"
    return [
        Measurement(f"decoupling check, {what}", ratios[0], 10.0),
        # Ten is linear; the rest is for memory that is farther away.
        Measurement(f"reading a table alone, {what}", ratios[1], 15.0),
    ]


def write_table(path: Path, n_columns: int) -> None:
    """Write numbers with names like those of genes, and three labels."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write(",".join([*(f"gene {k}" for k in range(n_columns)), "label"]) + "\n")
        for k in range(ROWS):
            cells = ",".join(f"{value:.3f}" for value in rng.normal(size=n_columns))
            file.write(f"{cells},{'abc'[k % 3]}\n")


def check(path: Path) -> None:
    """Run the command in a process of its own."""
    line = [sys.executable, "-m", "decoupling", "check", str(path)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def read_in_new_process(path: Path) -> float:
    """Seconds of reading, where no earlier table has left its mark on memory."""
    line = [sys.executable, "-m", "benchmarks.width", str(path)]
    return float(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    """Read a table, and print how long it took on the processor."""
    path = Path(sys.argv[1])
    start = time.process_time()
    read_problem(path, Settings(), path.parent)
    print(time.process_time() - start)


if __name__ == "__main__":
    main()
