"""Lines of results, and p(label | x) on disk."""

import json
import os

import numpy as np
import pytest

from decoupling.experiments.store import (
    Config,
    NetworkTraining,
    Results,
    cached_proba,
    digest,
)

TRAINING = NetworkTraining("digits", "pu", 20, "mlp", (("hidden", 64), ("alpha", 0.01)))
CONFIG = Config(TRAINING, "pu", (("evidence", 1.0),))


def test_results_are_read_back(tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    results = Results(path)
    assert (CONFIG, 0) not in results
    results.add(CONFIG, 0, {"F1": 0.5})
    results.add(CONFIG, 1, {"F1": 0.25})
    again = Results(path)
    assert (CONFIG, 0) in again
    assert (CONFIG, 2) not in again
    assert list(again.where(lambda config: config == CONFIG)) == [
        (CONFIG, 0, {"F1": 0.5}),
        (CONFIG, 1, {"F1": 0.25}),
    ]
    assert list(again.where(lambda config: config.inference == ())) == []


def test_a_line_that_was_cut_off_is_forgotten(tmp_path):
    path = tmp_path / "results.jsonl"
    Results(path).add(CONFIG, 0, {"F1": 0.5})
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    results = Results(path)
    assert (CONFIG, 0) in results
    assert path.read_bytes() == whole
    results.add(CONFIG, 1, {"F1": 0.1})
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("line", ["nonsense", '{"hash": "a"}', "[]"])
def test_a_line_that_is_no_result_is_not_thrown_away(tmp_path, line):
    path = tmp_path / "results.jsonl"
    Results(path).add(CONFIG, 0, {"F1": 0.5})
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match="line 2 is not a result"):
        Results(path)
    assert line in path.read_text()


def test_every_part_of_a_configuration_counts():
    others = [
        Config(TRAINING, "pu"),
        Config(TRAINING, "pu3", CONFIG.inference),
        Config(
            NetworkTraining("digits", "pu", 20, "mlp", (("hidden", 65),)), "pu", CONFIG.inference
        ),
        Config(
            NetworkTraining("digits", "pu", 21, "mlp", TRAINING.options), "pu", CONFIG.inference
        ),
    ]
    assert len({digest(config) for config in [CONFIG, *others]}) == 5
    record = json.loads(json.dumps({"hash": digest(CONFIG)}))
    assert record["hash"] == digest(CONFIG)


def test_a_network_is_trained_once(tmp_path):
    calls = []

    def fit():
        calls.append(1)
        return np.full((3, 2), 0.5, dtype=np.float32), np.full((2, 2), 0.25, dtype=np.float32)

    first = cached_proba(tmp_path / "cache", TRAINING, 0, fit)
    second = cached_proba(tmp_path / "cache", TRAINING, 0, fit)
    assert len(calls) == 1
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    cached_proba(tmp_path / "cache", TRAINING, 1, fit)
    assert len(calls) == 2
    names = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert names == [f"{digest(TRAINING)}-{run}.npz" for run in (0, 1)]


def test_a_last_line_without_its_end_is_kept(tmp_path):
    path = tmp_path / "results.jsonl"
    Results(path).add(CONFIG, 0, {"F1": 0.5})
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    results = Results(path)
    assert (CONFIG, 0) in results
    results.add(CONFIG, 1, {"F1": 0.5})
    assert len(Results(path).scores) == 2


def test_a_full_disk(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    results = Results(path)
    results.add(CONFIG, 0, {"F1": 0.5})
    whole, write = path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    with pytest.raises(OSError, match="no room for another line"):
        results.add(CONFIG, 1, {"F1": 0.5})
    assert path.read_bytes() == whole
    assert (CONFIG, 1) not in results


@pytest.mark.parametrize("rest", [0, 100])
def test_a_broken_cache_is_trained_again(tmp_path, rest):
    proba = np.full((3, 2), 0.5, dtype=np.float32)
    cached_proba(tmp_path, TRAINING, 0, lambda: (proba, proba))
    path = next(tmp_path.iterdir())
    path.write_bytes(path.read_bytes()[:rest])
    again = cached_proba(tmp_path, TRAINING, 0, lambda: (2 * proba, proba))
    assert again[0][0, 0] == 1.0
    assert cached_proba(tmp_path, TRAINING, 0, lambda: (proba, proba))[0][0, 0] == 1.0
