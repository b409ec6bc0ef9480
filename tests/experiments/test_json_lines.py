"""Lines of JSON that grow in one file and are kept small in another."""

import pytest

from decoupling.experiments import json_lines
from decoupling.experiments.store import Config, NetworkTraining, Results

CONFIG = Config(NetworkTraining("digits", "pu", 20, "mlp", (("hidden", 64),)), "pu")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "results.jsonl"


def test_lines_are_read_back_in_order_packed_or_not(path):
    records = [{"run": k, "pit": {"T[0,1]": 0.1 * k}} for k in range(6)]
    assert list(json_lines.read(path)) == []
    for k, record in enumerate(records, start=1):
        json_lines.append(path, record)
        if k in (2, 5):  # a run that goes on after it was packed
            json_lines.pack(path)
            assert not path.exists()
        assert list(json_lines.read(path)) == records[:k]


def test_packing_once_or_twice_gives_the_same_bytes(path):
    for k in range(3):
        json_lines.append(path, {"run": k})
        if k == 1:
            json_lines.pack(path)
    json_lines.pack(path)
    in_turns = json_lines.packed_file(path).read_bytes()
    json_lines.packed_file(path).unlink()
    for k in range(3):
        json_lines.append(path, {"run": k})
    json_lines.pack(path)
    assert json_lines.packed_file(path).read_bytes() == in_turns


def test_without_new_lines_nothing_is_packed(path):
    json_lines.pack(path)
    assert not json_lines.packed_file(path).exists()


def test_a_line_that_was_cut_off_is_left_out(path):
    json_lines.append(path, {"run": 0})
    with path.open("a") as file:
        file.write('{"run": 1')
    assert list(json_lines.read(path)) == [{"run": 0}]
    json_lines.pack(path)
    assert list(json_lines.read(path)) == [{"run": 0}]


def test_results_of_experiments_go_on_after_packing(path):
    Results(path).add(CONFIG, 0, {"F1": 0.5})
    json_lines.pack(path)
    results = Results(path)
    assert (CONFIG, 0) in results
    results.add(CONFIG, 1, {"F1": 0.25})
    assert list(Results(path).where(lambda config: True)) == [
        (CONFIG, 0, {"F1": 0.5}),
        (CONFIG, 1, {"F1": 0.25}),
    ]
