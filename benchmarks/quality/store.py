"""Cells of the comparison, and their results.

Results are lines that a run appends to, and packed when it is done; see `json_lines` for how.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.quality.problems import DATA
from decoupling.experiments import json_lines

FULL = Path(__file__).with_name("results.jsonl")
SETTINGS = Path(__file__).with_name("settings.jsonl")
CAUSES = Path(__file__).with_name("causes.jsonl")
NETWORK = Path(__file__).with_name("network.jsonl")
# When, and with which versions, the last results of FULL were measured.
MEASURED = Path(__file__).with_name("measured.txt")


@dataclass(frozen=True, order=True)
class Cell:
    """One problem, one classifier, one method."""

    data: str
    task: str
    base: str
    seed: int
    method: str


def cells(data: list[str], bases: list[str], methods: list[str], n_seeds: int) -> Iterator[Cell]:
    """All cells, seed by seed, so that an unfinished run is a whole one with fewer seeds."""
    for seed in range(n_seeds):
        for name in data:
            for task in DATA[name].tasks:
                for base in bases:
                    for method in methods:
                        yield Cell(name, task, base, seed, method)


def load(path: Path) -> dict[Cell, dict[str, float]]:
    """Scores of each cell."""
    return {Cell(**record["cell"]): record["scores"] for record in json_lines.read(path)}


def append(path: Path, cell: Cell, scores: dict[str, float]) -> None:
    """Add one line."""
    rounded = {name: round(value, 5) for name, value in scores.items()}
    json_lines.append(path, {"cell": asdict(cell), "scores": rounded})
