"""Run the comparison, or what is left of it, and write its tables.

`python -m benchmarks.quality` runs a reduced version in a few minutes and prints what it says;
``--full`` runs everything, goes on where an earlier run stopped and keeps results.jsonl.xz;
``--settings`` compares defaults with other settings on the data they were chosen with, and resumes
too, as do ``--causes``, which changes one thing where ours is behind with boosting, and
``--network``, with what `make reproduce ARGS=fashion` keeps of its networks;
``--report`` only makes tables and figures of what is there; ``--write`` puts them in place.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from joblib import Parallel, delayed

from benchmarks.quality import figures, network, report, standing, store, tables
from benchmarks.quality.methods import CAUSES, METHODS, SETTINGS, UnsuitedError
from benchmarks.quality.problems import BASES, DATA, classifier, draw
from benchmarks.quality.scores import scores
from benchmarks.table import measured
from benchmarks.timing import progress
from decoupling.experiments import json_lines

Scored = Callable[[store.Cell], dict[str, float] | None]


def evaluate(cell: store.Cell) -> dict[str, float] | None:
    """Scores of one cell; None where the method does not take the problem."""
    problem = draw(cell.data, cell.task, cell.seed)
    model = classifier(cell.base, problem.X)
    start = time.perf_counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            answer = (METHODS | SETTINGS | CAUSES)[cell.method](problem, model, cell.seed)
        except UnsuitedError:
            return None
        except Exception as error:  # a peer that fails is a result, too
            progress(f"{cell}: {type(error).__name__}: {error}")
            return {"failed": 1.0}
    return {**scores(problem, answer), "seconds": time.perf_counter() - start}


def run(todo: list[store.Cell], path: Path, n_jobs: int, scored: Scored = evaluate) -> int:
    """Evaluate cells, append what they score, and return how many have scores."""
    kept = 0
    results = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(scored)(c) for c in todo)
    for k, (cell, found) in enumerate(zip(todo, results, strict=True), start=1):
        if found is not None:
            store.append(path, cell, found)
            kept += 1
        if k % 20 == 0 or k == len(todo):
            progress(f"{k} of {len(todo)}")
    return kept


def main() -> None:
    """Parse the command line, run, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--full", action="store_true", help="all of it; resumes")
    parser.add_argument("--settings", action="store_true", help="other settings; resumes")
    parser.add_argument(
        "--causes", action="store_true", help="why ours is behind with boosting; resumes"
    )
    parser.add_argument(
        "--network", type=Path, nargs="?", const=network.CACHE, metavar="CACHE",
        help="methods on p(label | x) of the reproduction's networks; resumes",
    )  # fmt: skip
    parser.add_argument("--report", action="store_true", help="only make the tables")
    parser.add_argument("--write", action="store_true", help="write the tables and the README")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="+", choices=list(DATA), help="of these data sets alone")
    parser.add_argument("--bases", nargs="+", choices=BASES, default=list(BASES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--jobs", type=int, default=-1)
    chosen = parser.parse_args()
    if not (chosen.full or chosen.settings or chosen.causes or chosen.network or chosen.report):
        if chosen.write:
            parser.error("--write is for what is kept: with --report, or what --help lists above")
        reduced(chosen)
        return
    run_chosen(chosen)
    results = store.load(store.FULL)
    of_network = store.load(store.NETWORK)
    text = report.in_short(results, store.MEASURED.read_text(encoding="utf-8").strip())
    network_text = network.in_short(of_network)
    print(text, network_text, sep="\n\n")
    if chosen.write:
        others = map(store.load, (store.SETTINGS, store.CAUSES))
        report.write(text, network_text, report.pages(results, *others, of_network))
        figures.draw(results)


def reduced(chosen: argparse.Namespace) -> None:
    """Some of the comparison, anew, and what it says; nothing is kept."""
    data = chosen.data or [name for name in DATA if not DATA[name].package]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        run(list(store.cells(data, ["logistic"], chosen.methods, 2)), path, chosen.jobs)
        results = store.load(path)
    print(report.in_short(results, measured()), tables.by_cell(results), sep="\n\n")


def run_chosen(chosen: argparse.Namespace) -> None:
    """Run what was asked for and is not kept yet."""
    every = list(DATA) if chosen.data is None else chosen.data
    if chosen.settings:
        tuned = [name for name, data in DATA.items() if data.group == "tune"]
        resume(store.cells(tuned, ["logistic"], list(SETTINGS), 3), store.SETTINGS, chosen.jobs)
    if chosen.full:
        wanted = store.cells(every, chosen.bases, chosen.methods, chosen.seeds)
        if resume(wanted, store.FULL, chosen.jobs):
            store.MEASURED.write_text(f"{measured()}\n", encoding="utf-8")
    if chosen.causes:
        resume(lost_cells(every), store.CAUSES, chosen.jobs)
    if chosen.network:
        wanted = network.cells(chosen.network, chosen.seeds)
        scored = partial(network.evaluate, cache=chosen.network)
        resume(wanted, store.NETWORK, chosen.jobs, scored)


def resume(wanted: Iterable[store.Cell], path: Path, n_jobs: int, scored: Scored = evaluate) -> int:
    """Run the cells that a file does not have yet, pack it, and return how many have scores."""
    done = store.load(path)
    kept = run([cell for cell in wanted if cell not in done], path, n_jobs, scored)
    json_lines.pack(path)
    return kept


def lost_cells(data: list[str]) -> list[store.Cell]:
    """Ours with one thing changed, in the settings with boosting in which it is behind."""
    results = store.load(store.FULL)
    lost = dict.fromkeys(s for score in standing.SIGN for s in standing.lost(results, score))
    return [
        store.Cell(*setting, seed, method)
        for seed in range(2)
        for setting in lost
        if setting[0] in data and setting[2] == "boosting"
        for method in CAUSES
    ]


if __name__ == "__main__":
    main()
