"""Results as lines of JSON, and p(label | x) of trained networks, so that a run can go on."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from decoupling._files import written_whole
from decoupling._typing import FloatArray
from decoupling.experiments.json_lines import packed_file, packed_lines

Proba = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, order=True)
class NetworkTraining:
    """Data and options that a network was trained with.

    With the number of a run it says which p(label | x) the network gives.

    Attributes
    ----------
    data : str
        Name of the data.
    task : str
        Name of the labelling task, or "classes": the true classes are the labels.
    labels : int
        Samples of each class that have a label; 0 with the true classes.
    network : str
        Name of the network.
    options : tuple of (str, float)
        Options of the network.
    version : int
        Raised when labels are drawn or networks trained in another way.
    """

    data: str
    task: str
    labels: int
    network: str
    options: tuple[tuple[str, float], ...]
    version: int = 1


@dataclass(frozen=True, order=True)
class Config:
    """A network, and what is inferred from it.

    Attributes
    ----------
    training : NetworkTraining
        Says what p(label | x) is.
    task : str
        Name of the labelling task that is scored.
    inference : tuple of (str, value)
        Options other than the defaults of `DecouplingClassifier`, or those of the self-training.
    version : int
        Raised when the same options give other scores.
    """

    training: NetworkTraining
    task: str
    inference: tuple[tuple[str, Any], ...] = ()
    version: int = 1


def digest(config: NetworkTraining | Config) -> str:
    """Short name of a configuration: beginning of the SHA-256 of its JSON."""
    text = json.dumps(asdict(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


Cell = tuple[Config, int]


class Results:
    """Scores by configuration and run, one line of JSON for each.

    A line is on the disk before the next is begun. What a crash of the machine may leave of a last
    line is cut off when the file is opened. Lines that `json_lines.pack` has packed are read, too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scores: dict[tuple[str, int], dict[str, Any]] = {}
        self.configs: dict[str, Config] = {}
        self._keep(packed_lines(path), packed_file(path))
        if path.exists():
            self._read()

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            if _is_json(data[len(whole) :]):
                whole = data + b"\n"  # an editor may leave out the last end of line
                with self.path.open("ab") as file:
                    file.write(b"\n")
            else:
                os.truncate(self.path, len(whole))
        self._keep(whole, self.path)

    def _keep(self, lines: bytes, file: Path) -> None:
        for number, line in enumerate(lines.splitlines(), start=1):
            try:
                record = json.loads(line)
                config = _config(record["config"])
                key = record["hash"], record["run"]
                self.scores[key], self.configs[record["hash"]] = record["scores"], config
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise ValueError(
                    f"{file}, line {number} is not a result: {error!r}. Remove that line, or "
                    "write to another folder."
                ) from error

    def __contains__(self, key: tuple[Config, int]) -> bool:
        return (digest(key[0]), key[1]) in self.scores

    def add(self, config: Config, run: int, scores: dict[str, Any]) -> None:
        """Keep the scores of one run."""
        name = digest(config)
        record = {"hash": name, "run": run, "config": asdict(config), "scores": scores}
        line = (json.dumps(record) + "\n").encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            before = os.fstat(file).st_size
            if os.write(file, line) < len(line):
                os.ftruncate(file, before)
                raise OSError(f"{self.path}: no room for another line of {len(line)} bytes.")
            os.fsync(file)
        finally:
            os.close(file)
        self.scores[name, run], self.configs[name] = scores, config

    def where(self, keep: Callable[[Config], bool]) -> Iterable[tuple[Config, int, dict[str, Any]]]:
        """Configurations that ``keep`` holds for, with their runs and scores."""
        for (name, run), scores in self.scores.items():
            if keep(self.configs[name]):
                yield self.configs[name], run, scores


def _config(record: dict[str, Any]) -> Config:
    training = dict(record["training"])
    training["options"] = tuple((name, value) for name, value in training["options"])
    inference = tuple((name, value) for name, value in record["inference"])
    return Config(NetworkTraining(**training), record["task"], inference, record["version"])


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def run_cells(
    evaluate: Callable[[Config, int], dict[str, Any]],
    cells: Sequence[Cell],
    results: Results,
    *,
    n_jobs: int | None = None,
) -> Iterator[Cell]:
    """Do what ``results`` does not have yet, in this order, and yield each cell when it is kept."""
    todo = [cell for cell in cells if cell not in results]
    scores = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(evaluate)(config, run) for config, run in todo
    )
    for (config, run), found in zip(todo, scores, strict=True):
        results.add(config, run, found)
        yield config, run


def cached_proba(
    folder: Path, training: NetworkTraining, run: int, fit: Callable[[], Proba]
) -> Proba:
    """p(label | x) of training and test rows, from the cache or else by ``fit``.

    A file that cannot be read is as good as none.
    """
    path = folder / f"{digest(training)}-{run}.npz"
    if path.exists():
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
                return parts["train"], parts["test"]
        except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
            pass
    train, test = fit()
    with written_whole(path) as part:
        np.savez(part, train=train, test=test)
    return train, test
