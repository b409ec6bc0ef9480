"""What the paper found, on a reduced grid; and a grid that cannot be."""

from functools import partial

import numpy as np
import pytest

from decoupling.experiments.curves import evaluate, grid, label_counts
from decoupling.experiments.curves_report import draw_curves, shapes, summarise, table
from decoupling.experiments.data import load_data
from decoupling.experiments.findings import shape_table
from decoupling.experiments.labelling_tasks import TASKS
from decoupling.experiments.store import Results, run_cells


@pytest.fixture(scope="module")
def found(ten_normals, tmp_path_factory):
    """All tasks with few and with many labels."""
    data = load_data(str(ten_normals))
    folder = tmp_path_factory.mktemp("results")
    cells = grid(data, tasks=list(TASKS), labels=[20, 150], runs=1, network="mlp")
    results = Results(folder / "results.jsonl")
    scores = partial(evaluate, str(ten_normals), folder / "cache")
    assert list(run_cells(scores, cells, results)) == cells
    return cells, results, folder


def test_shapes_of_the_paper(found):
    cells, results, _ = found
    measured = shapes(summarise(results, cells[-1][0]), many=150)
    assert len(measured) == 9
    failed = [shape for shape in measured if not shape.holds]
    assert not failed, failed


def test_scores(found):
    _, results, _ = found
    for config, run, scores in results.where(lambda config: config.training.labels > 0):
        assert run == 0
        for name, value in scores.items():
            assert np.isfinite(value), name
            assert value >= 0, name
            if "loss" not in name:
                assert value <= 1, name
        positive = config.task.startswith("pu")
        assert ("Elkan-Noto test F1" in scores) == positive
        assert {"T", "T in interval", "test calibration", "label-conditional log-loss"} <= set(
            scores
        )


def test_what_is_there_is_not_done_again(found, ten_normals):
    cells, results, folder = found
    before = results.path.read_bytes()
    again = Results(results.path)
    scores = partial(evaluate, str(ten_normals), folder / "nowhere")
    assert list(run_cells(scores, cells, again)) == []
    assert results.path.read_bytes() == before


def test_other_inference_on_the_same_networks(found, ten_normals):
    _, results, folder = found
    networks = {path: path.stat().st_mtime_ns for path in (folder / "cache").iterdir()}
    data = load_data(str(ten_normals))
    other = grid(
        data, tasks=["pu"], labels=[150], runs=1, network="mlp",
        inference=(("evidence", 1.0), ("expected_log", "taylor"), ("calibrate", False)),
    )  # fmt: skip
    assert other[0] in results, "the ceiling needs no inference"
    config, run = other[-1]
    assert (config, run) not in results
    scores = evaluate(str(ten_normals), folder / "cache", config, run)
    ours = next(s for c, _, s in results.where(lambda c: c.training == config.training))
    assert scores["label model test F1"] == ours["label model test F1"]
    assert scores["test log-loss"] != ours["test log-loss"]
    after = {path: path.stat().st_mtime_ns for path in (folder / "cache").iterdir()}
    assert after == networks


def test_table_and_figures(found, tmp_path):
    cells, results, _ = found
    summaries = summarise(results, cells[-1][0])
    assert [summary.task for summary in summaries] == list(TASKS)
    text = table(summaries)
    assert len(text.splitlines()) == 2 + 7 * 2
    assert "| Positive-unlabelled | 150 | 1 |" in text
    assert len(shape_table(shapes(summaries, 150)).splitlines()) == 11
    written = list(draw_curves(summaries, cells[-1][0], tmp_path))
    assert [path.stem for path in written] == ["f1", "log_loss", "calibration", "transitions"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_label_counts():
    data = load_data("digits")
    usual = label_counts(data)
    assert usual == sorted(usual)
    assert usual[-1] < data.smallest
    for bad in ([0], [data.smallest], [5, 6000]):
        with pytest.raises(ValueError, match=f"from 1 to {data.smallest - 1}"):
            label_counts(data, bad)


def test_a_grid_that_cannot_be(tmp_path):
    data = load_data("digits")
    options = {"labels": None, "runs": 1, "network": "mlp"}
    with pytest.raises(ValueError, match=r"tasks must be among .*\['nonsense'\]"):
        grid(data, tasks=["pu", "nonsense"], **options)
    with pytest.raises(ValueError, match="network among"):
        grid(data, tasks=["pu"], **(options | {"network": "rnn"}))
    path = tmp_path / "two.npz"
    np.savez(path, X=np.arange(20.0)[:, None], y=np.arange(20) % 2)
    two = load_data(str(path))
    assert {config.task for config, _ in grid(two, tasks=list(TASKS), **options)} == {
        "semi", "noise20", "noise50", "conditional", "pu",
    }  # fmt: skip
    with pytest.raises(ValueError, match="2 classes, too few for pu3, pu7"):
        grid(two, tasks=["pu3", "pu7"], **options)


def test_a_class_that_no_row_has_the_label_of(tmp_path):
    """With half of two labels wrong, some class is often not seen; it is not known to exist."""
    data = load_data("digits")
    task = TASKS["noise50"]
    run = next(run for run in range(50) if len(np.unique(task.draw(data.classes, 10, 2, run))) < 11)
    (config, _) = grid(data, tasks=["noise50"], labels=[2], runs=1, network="mlp")[-1]
    scores = evaluate("digits", tmp_path, config, run)
    assert "T" not in scores
    assert 0 < scores["test F1"] < 1
    assert scores["test log-loss"] > 0.5


def test_repetitions_are_done_once():
    data = load_data("digits")
    cells = grid(data, tasks=["pu", "semi", "pu"], labels=[30, 20, 30], runs=1, network="mlp")
    assert len(cells) == len(set(cells)) == 2 + 2 * 2
