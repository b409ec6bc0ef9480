"""Results as lines of JSON, so that a run goes on where it stopped."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.quality.problems import DATA

FULL = Path(__file__).with_name("results.jsonl")
SETTINGS = Path(__file__).with_name("settings.jsonl")
CAUSES = Path(__file__).with_name("causes.jsonl")
NETWORK = Path(__file__).with_name("network.jsonl")


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
    """Scores of each cell; a line cut off in the middle is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[Cell(**record["cell"])] = record["scores"]
    return found


def append(path: Path, cell: Cell, scores: dict[str, float]) -> None:
    """Add one line."""
    rounded = {name: round(value, 5) for name, value in scores.items()}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"cell": asdict(cell), "scores": rounded}) + "\n")
