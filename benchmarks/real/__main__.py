"""Run the comparison on labels that people gave, or what is left of it, and write its tables.

`python -m benchmarks.real` takes the folder of files from ``--folder``, or from the variable
DECOUPLING_REAL_DATA, or ../shared/data/real, and says so where there is none. It goes on where an
earlier run stopped. ``--rows`` runs noise that follows the row on data of the large benchmark;
``--write`` puts the tables into place; ``--store`` keeps results of another version elsewhere.
"""

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.quality.problems import classifier
from benchmarks.real import report
from benchmarks.real.methods import METHODS
from benchmarks.real.problems import DRAWN, NOISES, drawn, fingerprint, in_folder
from benchmarks.real.scores import scores
from benchmarks.timing import progress
from decoupling.experiments import json_lines

RESULTS = Path(__file__).with_name("results.jsonl")
# Where the tables of a store go: those of the version before the overlap stay for comparison.
TABLES = {"results": "tables.md", "before": "before.md"}
# Methods on noise that follows the row: the others rank only.
ON_ROWS = ("ours", "arg max", "cleanlab")
BASES = ("logistic", "boosting")
Key = tuple[str, str, str]


def real_classifier() -> object:
    """Of the features of networks: 512 of them for 1,000 rows want a strong penalty."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))


def of_files(folder: Path) -> Iterator[tuple[Key, object]]:
    """Cells of the files, each with the function that scores it."""
    for name, load in in_folder(folder):
        for method in METHODS:
            if name.startswith("labelme") and method in ("cleanlab, margin", "cleanlab, entropy"):
                continue  # these are other orders of the same p(label | x)
            yield (name, "", method), lambda load=load: (load(), real_classifier())


def of_rows(draws: int) -> Iterator[tuple[Key, object]]:
    """Cells of noise by the row."""
    for seed in range(draws):
        for base in BASES:
            for noise in NOISES:
                for name in DRAWN:
                    for method in ON_ROWS:
                        yield (
                            (f"{name}, {noise}, {base}, {seed}", noise, method),
                            lambda a=name, b=noise, c=base, d=seed: _drawn(a, b, c, d),
                        )


def _drawn(name: str, noise: str, base: str, seed: int) -> tuple[object, object]:
    problem = drawn(name, noise, seed)
    return problem, classifier(base, problem.X)


def evaluate(key: Key, make: object) -> dict[str, object]:
    """Scores of one cell."""
    problem, model = make()
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        answer = METHODS[key[2]](problem, model)
    found = scores(problem, answer) | {"seconds": round(time.perf_counter() - start, 2)}
    return {"problem": key[0], "noise": key[1], "method": key[2], "scores": found}


def main() -> None:
    """Parse the command line, run, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("--folder", type=Path, default=None, help="folder of the files")
    parser.add_argument("--rows", type=int, default=0, metavar="DRAWS", help="noise by the row")
    parser.add_argument("--store", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true", help="only make the tables")
    parser.add_argument("--write", action="store_true", help="put the tables into place")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if not chosen.report:
        default = os.environ.get("DECOUPLING_REAL_DATA", "../shared/data/real")
        folder = chosen.folder or Path(default)
        if not folder.is_dir():
            print(f"There is no folder {folder}: set DECOUPLING_REAL_DATA. Nothing is run.")
            return
        for path in sorted(folder.glob("*.npz")):
            progress(f"{fingerprint(path)}  {path.name}")
        done = {
            (each["problem"], each["noise"], each["method"])
            for each in json_lines.read(chosen.store)
        }
        cells = [*of_files(folder), *of_rows(chosen.rows)]
        todo = [(key, make) for key, make in cells if key not in done]
        results = Parallel(n_jobs=chosen.jobs, return_as="generator")(
            delayed(evaluate)(key, make) for key, make in todo
        )
        for k, found in enumerate(results, start=1):
            json_lines.append(chosen.store, found)
            progress(f"{k} of {len(todo)}: {found['problem']}, {found['method']}")
        json_lines.pack(chosen.store)
    text = report.page(list(json_lines.read(chosen.store)))
    print(text)
    if chosen.write:
        chosen.store.with_name(TABLES.get(chosen.store.stem, "tables.md")).write_text(text)


if __name__ == "__main__":
    main()
