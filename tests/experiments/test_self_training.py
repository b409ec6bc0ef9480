"""SETRED from both starts: what a cell gives, its table and figures; and cells that cannot be."""

import json
from functools import partial

import numpy as np
import pytest

from decoupling.experiments.data import load_data
from decoupling.experiments.findings import shape_table
from decoupling.experiments.networks import network
from decoupling.experiments.self_training import inner_space, self_train, self_training_cells
from decoupling.experiments.self_training_report import (
    TaskRuns,
    draw_rounds,
    rounds_like,
    rounds_shapes,
    rounds_table,
)
from decoupling.experiments.store import Results, digest, run_cells

TASKS = ["semi", "pu"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    data = load_data("digits")
    cells = self_training_cells(data, tasks=TASKS, labels=None, runs=1, name="mlp", rounds=8)
    results = Results(tmp_path_factory.mktemp("results") / "results.jsonl")
    done = run_cells(partial(self_train, "digits"), cells, results)
    assert list(done) == cells
    return results, [config for config, _ in cells]


def test_what_each_round_did(found):
    results, configs = found
    assert len(configs) == 3, "semi-supervised from the labels only"
    for config, _, scores in Results(results.path).where(lambda config: True):
        assert scores["unlabelled"] == {"semi": 1131, "pu": 1280}[config.task]
        assert len(scores["F1"]) == len(scores["relabelled"]) == len(scores["rejected"])
        assert (np.diff(scores["relabelled"]) >= 0).all()
        assert scores["relabelled"][-1] <= scores["unlabelled"]
        for name in ("all unlabelled F1", "test F1"):
            assert 0 <= scores[name] <= 1
        begun = dict(config.inference)["start"] == "decoupling"
        assert (scores["relabelled"][0] > 0) == begun


def test_findings_table_and_figures(found, tmp_path):
    results, configs = found
    rounds = rounds_like(results, configs)
    shapes = {shape.claim: shape for shape in rounds_shapes(rounds)}
    assert len(shapes) == 4
    for claim, shape in shapes.items():
        if "same round" not in claim:  # plain, a few rows that are easy come first
            assert shape.holds, shape
    assert rounds_table(rounds).count("\n") == 1 + len(rounds)
    assert shape_table(list(shapes.values())).count("\n") == 5
    written = list(draw_rounds(rounds, tmp_path))
    assert [path.name for path in written] == ["semi.png", "pu.png"]
    assert all(path.stat().st_size > 10_000 for path in written)


def test_runs_of_unequal_length():
    one = TaskRuns(None, [{"F1": [0.0, 0.5, 0.7]}, {"F1": [0.0, 0.9]}])
    np.testing.assert_array_equal(one.by_round("F1"), [[0, 0.5, 0.7], [0, 0.9, 0.9]])
    assert one.by_round("F1", 5).shape == (2, 5)


def test_the_same_again(found):
    results, configs = found
    scores = self_train("digits", configs[-1], 0)
    assert json.loads(json.dumps(scores)) == results.scores[digest(configs[-1]), 0]


def test_space_of_the_graph():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(300, 12)), np.repeat([0, 1, 2], 100)
    model = network("mlp", 0).fit(X, codes)
    space = inner_space(model, X)
    assert space.shape == (300, 50)
    # Principal components keep what distances there are.
    inner = model.represent(X)
    apart = np.linalg.norm(inner[:100] - inner[100:200], axis=1)
    np.testing.assert_allclose(
        np.linalg.norm(space[:100] - space[100:200], axis=1), apart, rtol=0.05
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": ["noise20"]}, "tasks must be among"),
        ({"name": "rnn"}, "network among"),
        ({"labels": 300}, "from 1 to 299"),
    ],
)
def test_cells_that_cannot_be(ten_normals, options, message):
    data = load_data(str(ten_normals))
    usual = {"tasks": TASKS, "labels": None, "runs": 1, "name": "mlp", "rounds": 5}
    with pytest.raises(ValueError, match=message):
        self_training_cells(data, **(usual | options))
