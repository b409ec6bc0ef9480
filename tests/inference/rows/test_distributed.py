"""Dask: the same answer as in memory, on threads, on workers, and when a worker is lost."""

import operator
import os
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
from problems import random_problem

from decoupling import ClassPrior, TransitionPrior, infer, load, save
from decoupling.classifier.issues import label_issues
from decoupling.inference.rows.distributed import ChunkBlocks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

DRAWN = random_problem(0, n_rows=300)
OPTIONS = {"evidence": 20.0, "tol": 1e-9}


def in_memory(block_size=60, **options):
    options = OPTIONS | options
    return infer(DRAWN.label_proba, DRAWN.concentration, block_size=block_size, **options)


def on_dask(chunks=60, **options):
    rows = da.from_array(DRAWN.label_proba, chunks=(chunks, -1))
    return infer(rows, DRAWN.concentration, **(OPTIONS | options))


def assert_same_bits(found, expected):
    np.testing.assert_array_equal(found.class_concentration, expected.class_concentration)
    np.testing.assert_array_equal(found.transitions, expected.transitions)
    np.testing.assert_array_equal(found.trace.elbo, expected.trace.elbo)
    np.testing.assert_array_equal(found.transition_interval(), expected.transition_interval())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_prior": ClassPrior.learned()},
        {"expected_log": "beta", "tol": 1e-5},
        {"expected_log": "exact", "tol": 1e-3},
        {"learn_transitions": False},
        {"local_steps": 3},
        {"evidence": np.linspace(1.0, 50.0, 300)},
        {"sample_weight": np.linspace(0.0, 3.0, 300)},
    ],
    ids=["bound", "gamma", "beta", "exact", "T known", "local steps", "evidence", "weights"],
)
def test_the_same_bits_as_blocks_in_memory(options):
    assert_same_bits(on_dask(**options), in_memory(**options))


def test_chunks_of_any_size():
    expected = in_memory()
    for chunks in (7, 300, (100, 1, 199)):
        found = on_dask(chunks)
        np.testing.assert_allclose(found.class_proba, expected.class_proba, atol=1e-10)
        np.testing.assert_allclose(found.transitions, expected.transitions, atol=1e-10)


@pytest.mark.parametrize("method", ["bound", "beta"])
def test_chunks_are_worked_on_in_blocks(method):
    options = {"expected_log": method, "class_prior": ClassPrior.learned(), "tol": 1e-6}
    found, expected = on_dask(100, block_size=30, **options), in_memory(30, **options)
    np.testing.assert_allclose(found.class_proba, expected.class_proba, atol=1e-10)
    np.testing.assert_allclose(found.transitions, expected.transitions, atol=1e-10)
    np.testing.assert_allclose(found.trace.elbo, expected.trace.elbo, rtol=1e-10)


def test_class_probabilities_are_lazy():
    found, expected = on_dask(), in_memory()
    codes = np.arange(300) % 4
    assert isinstance(found.class_proba, da.Array)
    assert found.class_proba.chunks == ((60,) * 5, (3,))
    np.testing.assert_array_equal(found.class_proba[70:80], expected.class_proba[70:80])
    for one, other in [
        (found.class_interval(), expected.class_interval()),
        (found.label_conditional(codes), expected.label_conditional(codes)),
    ]:
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(found.class_balance, expected.class_balance, rtol=1e-12)
    np.testing.assert_allclose(
        found.class_balance_interval(), expected.class_balance_interval(), rtol=1e-12
    )


def test_predict_and_write(tmp_path):
    rows = da.from_array(DRAWN.label_proba[:90], chunks=(40, -1))
    expected = in_memory().predict(DRAWN.label_proba[:90])
    found = on_dask().predict(rows)
    np.testing.assert_allclose(found.class_proba, expected.class_proba, rtol=1e-9)
    found.write(tmp_path / "out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected.class_proba, rtol=1e-9)


def test_draws_issues_and_files(tmp_path):
    found, expected = on_dask(), in_memory()
    for one, other in zip(found.draw(2, 0), expected.draw(2, 0), strict=True):
        np.testing.assert_array_equal(one, other)
    codes = np.arange(300) % 3
    for posterior in (found, infer(iter([DRAWN.label_proba]), DRAWN.concentration, **OPTIONS)):
        issues = label_issues(posterior, codes)
        np.testing.assert_array_equal(issues.row, label_issues(expected, codes).row)
    save(found, tmp_path / "posterior.zip")
    assert_same_bits(load(tmp_path / "posterior.zip"), expected)


@pytest.mark.parametrize("chunks", [60, 70])
def test_where_another_run_ended(chunks):
    first = in_memory(max_iter=3, tol=1e-2)
    expected = in_memory(chunks, warm_start=first)
    assert_same_bits(on_dask(chunks, warm_start=first), expected)
    assert_same_bits(on_dask(chunks, warm_start=on_dask(max_iter=3, tol=1e-2)), expected)


def test_unknown_sizes_and_empty_chunks():
    rows = da.from_array(DRAWN.label_proba, chunks=(60, 2))
    picked = rows[da.from_array(np.arange(300) >= 60, chunks=60)]
    assert np.isnan(picked.shape[0])
    expected = infer(DRAWN.label_proba[60:], DRAWN.concentration, block_size=60, **OPTIONS)
    assert_same_bits(infer(picked, DRAWN.concentration, **OPTIONS), expected)


def test_dataframes():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(DRAWN.label_proba, columns=list("abcd"))
    found = infer(dd.from_pandas(frame, npartitions=5), DRAWN.concentration, **OPTIONS)
    assert_same_bits(found, in_memory())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "partition 4: nan at row 250, column 2 is not finite"),
        (0.9, "partition 4: .* at row 250 is the sum of a row that is not 1"),
    ],
)
def test_a_bad_value_is_named_with_its_partition(value, message):
    rows = DRAWN.label_proba.copy()
    rows[250, 2] = value
    with pytest.raises(ValueError, match=message):
        infer(da.from_array(rows, chunks=(60, -1)), DRAWN.concentration)


def test_the_first_bad_partition_is_named():
    rows = da.from_array(DRAWN.label_proba, chunks=(10, -1))
    for _ in range(5):
        with pytest.raises(ValueError, match=r"partition 1: .* at row 10"):
            infer(da.concatenate([rows[:10], 2.0 * rows[10:]]), DRAWN.concentration)
    prior = [[1.0, 1.0, 1.0, 0.0], [1.0, 2.0, 1.0, 0.0]]
    with pytest.raises(
        ValueError, match=r"partition 0, column 3: .* a label that no class can emit"
    ):
        infer(rows, prior)


class Wrapped:
    """An array that might wrap one of Dask, and does not."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype)

    def __dask_graph__(self):
        return None


def test_arrays_that_might_be_of_dask():
    found = infer(Wrapped(DRAWN.label_proba), DRAWN.concentration, block_size=60, **OPTIONS)
    assert_same_bits(found, in_memory())


def test_what_is_refused():
    rows = da.from_array(DRAWN.label_proba, chunks=(60, -1))
    for source, options, message in [
        (rows[:, :3], {}, "3 columns, transitions has 4 labels"),
        (rows[:, 0], {}, "must have 2 axes"),
        (dask.delayed(DRAWN.label_proba), {}, "an array or dataframe of Dask; got a Delayed"),
        (rows[:0], {}, "empty"),
        (rows, {"optimiser": "l-bfgs"}, "needs all rows in memory"),
        (rows, {"sample_weight": np.ones(3)}, "one entry per row"),
    ]:
        with pytest.raises(ValueError, match=message):
            infer(source, DRAWN.concentration, **options)
    near = DRAWN.label_proba.copy()
    near[250] *= 1.0005
    with pytest.warns(UserWarning, match="worst: row 250"):
        infer(da.from_array(near, chunks=(60, -1)), DRAWN.concentration)


def test_checkpoints(tmp_path):
    expected = on_dask()

    def stop(iteration, terms):
        if iteration == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_dask(checkpoint=tmp_path / "c", callback=stop)
    assert_same_bits(on_dask(checkpoint=tmp_path / "c"), expected)
    # The blocks of a run in memory are the same if they are as large.
    assert_same_bits(in_memory(checkpoint=tmp_path / "c"), expected)
    with pytest.raises(ValueError, match="is of other rows"):
        on_dask(checkpoint=tmp_path / "c", chunks=50)


def test_a_worker_that_is_killed():
    distributed = pytest.importorskip("distributed")
    prior = TransitionPrior.from_concentration(DRAWN.concentration)
    expected = in_memory(tol=1e-12)
    killed = []

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill(iteration, terms):
            if iteration == 5:
                pids = client.run(os.getpid)
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)
                time.sleep(0.1)

        rows = da.from_array(DRAWN.label_proba, chunks=(60, -1))
        found = infer(rows, prior, **(OPTIONS | {"tol": 1e-12}), callback=kill)
        assert len(killed) == 1
        assert killed[0] not in client.run(os.getpid).values()
        assert_same_bits(found, expected)


def test_workers_that_are_killed_again_and_again():
    """The message names the partition, be it that it cannot be read or not be worked on."""
    distributed = pytest.importorskip("distributed")

    def lost(*key):
        # What the cluster gives up with, without the seconds that it takes to kill workers.
        raise distributed.KilledWorker(key, SimpleNamespace(address="tcp://127.0.0.1:1"), 3)

    def read(block, block_info=None):
        return block if block_info[0]["chunk-location"][0] != 1 else lost("read", 1)

    def step(rows):
        return len(rows) if len(rows) != 140 else lost("step")

    rows = da.from_array(DRAWN.label_proba, chunks=(60, -1))
    message = "partition 1 of label_proba, rows 60 to {}, were killed again .* chunks of fewer rows"
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=message.format(119)):
            infer(rows.map_blocks(read, dtype=float), DRAWN.concentration)
        uneven = rows.rechunk(((60, 140, 100), -1))
        chunks = ChunkBlocks(uneven, np.ones(4, bool), 3, np.ones(()), np.ones(()))
        for work in (chunks.query, chunks.update):
            with pytest.raises(RuntimeError, match=message.format(199)):
                work(step, operator.add)
