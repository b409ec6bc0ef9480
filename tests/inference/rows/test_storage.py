"""Rows that are not in memory: the same answer, wherever they come from."""

import copy
import errno
import gc
import os
import pickle

import numpy as np
import pyarrow as pa
import pytest
from problems import random_problem
from pyarrow import dataset, parquet

from decoupling import ClassPrior, infer
from decoupling.inference.rows import storage

DRAWN = random_problem(0, n_rows=300)
OPTIONS = {"evidence": 20.0, "block_size": 37, "tol": 1e-9}


def in_memory(**options):
    return infer(DRAWN.label_proba, DRAWN.concentration, **(OPTIONS | options))


def sources(folder):
    """The same rows, in every form."""
    proba = DRAWN.label_proba
    np.save(folder / "rows.npy", proba)
    table = pa.table({str(s): column for s, column in enumerate(proba.T)})
    parquet.write_table(table, folder / "rows.parquet", row_group_size=70)
    (folder / "parts").mkdir()
    for k in range(3):
        parquet.write_table(table.slice(100 * k, 100), folder / "parts" / f"{k}.parquet")
    return {
        "memmap": np.load(folder / "rows.npy", mmap_mode="r"),
        "path of npy": folder / "rows.npy",
        "path of Parquet": str(folder / "rows.parquet"),
        "folder of Parquet": folder / "parts",
        "dataset": dataset.dataset(folder / "rows.parquet"),
        "table": table,
        "iterator": (proba[i : i + 90] for i in range(0, 300, 90)),
        "lists": iter([proba[:1].tolist(), proba[1:1], proba[1:]]),
    }


KINDS = [
    *("memmap", "path of npy", "path of Parquet", "folder of Parquet", "dataset", "table"),
    *("iterator", "lists"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_wherever_rows_come_from(tmp_path, kind):
    expected = in_memory()
    found = infer(sources(tmp_path)[kind], DRAWN.concentration, **OPTIONS, scratch=tmp_path)
    np.testing.assert_array_equal(found.class_concentration, expected.class_concentration)
    np.testing.assert_array_equal(found.transitions, expected.transitions)
    np.testing.assert_array_equal(found.class_proba, expected.class_proba)
    for one, other in [
        (found.transition_interval(), expected.transition_interval()),
        (found.class_interval(), expected.class_interval()),
        (found.class_balance_interval(), expected.class_balance_interval()),
    ]:
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("method", ["bound", "beta", "exact"])
def test_other_block_sizes(tmp_path, method):
    rows, options = random_problem(1, n_rows=60), {"expected_log": method, "tol": 1e-4}
    np.save(tmp_path / "rows.npy", rows.label_proba)
    whole = infer(rows.label_proba, rows.concentration, class_prior=ClassPrior.learned(), **options)
    for size in (7, 60):
        found = infer(
            tmp_path / "rows.npy",
            rows.concentration,
            class_prior=ClassPrior.learned(),
            block_size=size,
            **options,
        )
        np.testing.assert_allclose(found.class_proba, whole.class_proba, atol=1e-10)
        np.testing.assert_allclose(found.transitions, whole.transitions, atol=1e-10)


def test_rows_of_a_posterior_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_ENTRIES", 128)
    expected, codes = in_memory(), np.arange(300) % 4
    found = infer(sources(tmp_path)["memmap"], DRAWN.concentration, **OPTIONS)
    lazy, eager = found.class_proba, expected.class_proba
    assert lazy.shape == eager.shape
    assert (len(lazy), lazy.size, lazy.ndim, lazy.dtype) == (300, 900, 2, np.float64)
    assert repr(lazy) == "<300 rows of 3, computed when asked for>"
    some = np.array([7, 5, 299])
    mask = np.arange(300) % 2 == 0
    keys = [3, -1, np.int64(3), np.array(3), slice(10, 20), slice(None, None, -1), slice(5, 5)]
    keys += [some, [7, 5], [], mask, mask.tolist(), some[:, None], eager > 0.5, None, ..., ()]
    keys += [(slice(None), 1), (4, 2), (4, [0, 2]), (some, slice(1, 3)), (some, 1), (mask, 1)]
    # Columns are paired with the rows, as they are in an array.
    keys += [(some, [0, 1, 2]), (np.arange(300), codes % 3), np.ix_(some, [0, 2]), (None, 3)]
    for key in keys:
        np.testing.assert_array_equal(lazy[key], eager[key], strict=True)
    for outside in (300, -301, [300]):
        with pytest.raises(IndexError):
            lazy[outside]
    np.testing.assert_array_equal(np.concatenate(list(lazy.blocks())), eager)
    np.testing.assert_array_equal(list(lazy), eager)
    np.testing.assert_allclose(found.class_balance, expected.class_balance, rtol=1e-12)
    conditional = found.label_conditional(codes)
    np.testing.assert_array_equal(conditional, expected.label_conditional(codes))
    np.testing.assert_array_equal(conditional[some], expected.label_conditional(codes)[some])
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(lazy, copy=False)


def test_predictions_of_rows_on_disk(tmp_path):
    posterior = in_memory()
    expected = posterior.predict(DRAWN.label_proba[:50])
    found = posterior.predict(iter([DRAWN.label_proba[:20], DRAWN.label_proba[20:50]]))
    np.testing.assert_allclose(found.class_proba, expected.class_proba, rtol=1e-12)


@pytest.mark.parametrize("kind", ["memmap", "memory"])
def test_class_proba_is_written_in_blocks(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(storage, "_ENTRIES", 128)
    source = sources(tmp_path)["memmap"] if kind == "memmap" else DRAWN.label_proba
    posterior = infer(source, DRAWN.concentration, **OPTIONS)
    posterior.write(tmp_path / "out.npy")
    posterior.write(str(tmp_path / "out.parquet"))
    expected = np.asarray(posterior.class_proba)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["0", "1", "2"]
    np.testing.assert_array_equal(np.column_stack([c.to_numpy() for c in table.columns]), expected)
    with pytest.raises(ValueError, match=r"'out\.csv' must end in \.npy or \.parquet"):
        posterior.write(tmp_path / "out.csv")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(storage, "release", lambda rows: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        posterior.write(tmp_path / "other.npy")
    assert sorted(tmp_path.iterdir()) == before


def test_single_precision_stays_so_on_disk(tmp_path):
    rows = DRAWN.label_proba.astype(np.float32)
    opened = storage.open_label_proba(iter([rows[:9], rows[9:]]), np.ones(4, bool), tmp_path)
    assert opened.dtype == np.float32
    np.testing.assert_array_equal(opened, rows)


def test_blocks_are_not_rounded_to_those_before(tmp_path):
    rows = DRAWN.label_proba
    with pytest.raises(ValueError, match="block 1 is of float64, those before it of float32"):
        infer(iter([rows[:9].astype(np.float32), rows[9:]]), DRAWN.concentration, scratch=tmp_path)


def test_copies_of_a_memmap_are_in_memory(tmp_path):
    rows = sources(tmp_path)["memmap"]
    assert type(infer(rows.copy(), DRAWN.concentration, **OPTIONS).class_proba) is np.ndarray
    found, expected = infer(rows, DRAWN.concentration, **OPTIONS), in_memory()
    again = pickle.loads(pickle.dumps(found))
    for one in (again, copy.deepcopy(found)):
        assert type(one.class_proba) is np.ndarray
        np.testing.assert_array_equal(one.class_proba, expected.class_proba)
        np.testing.assert_array_equal(one.class_interval(), expected.class_interval())


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="not on this system")
def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    """Without room a write to a mapped file would end the process."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="There is no room on the disk to write"):
        infer(sources(tmp_path)["memmap"], DRAWN.concentration)


def test_nothing_stays_behind(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    posterior = infer(iter([DRAWN.label_proba]), DRAWN.concentration, scratch=folder)
    assert list(folder.iterdir()) == []
    open_files = len(os.listdir("/proc/self/fd"))
    del posterior
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= open_files
    rows = DRAWN.label_proba.copy()
    rows[250, 2] = np.nan
    with pytest.raises(ValueError, match="row 250"):
        infer(iter([rows[:200], rows[200:]]), DRAWN.concentration, scratch=folder)
    assert list(folder.iterdir()) == []


def test_given_arrays_are_not_changed(tmp_path):
    np.save(tmp_path / "rows.npy", DRAWN.label_proba)
    for mode in ("r", "r+", "c"):
        rows = np.load(tmp_path / "rows.npy", mmap_mode=mode)
        infer(rows, DRAWN.concentration, **OPTIONS)
        np.testing.assert_array_equal(rows, DRAWN.label_proba)
    private = np.load(tmp_path / "rows.npy", mmap_mode="c")
    private[:] = DRAWN.label_proba[::-1]
    infer(private, DRAWN.concentration, **OPTIONS)
    np.testing.assert_array_equal(private, DRAWN.label_proba[::-1])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"block 1: nan at row 250, column 2 is not finite"),
        (-0.5, r"block 1: -0.5 at row 250, column 2 is outside \[0, 1\]"),
        (0.9, r"block 1: .* at row 250 is the sum of a row that is not 1"),
    ],
)
def test_bad_rows_are_named(value, message):
    rows = DRAWN.label_proba.copy()
    rows[250, 2] = value
    with pytest.raises(ValueError, match=message):
        infer(iter([rows[:200], rows[200:]]), DRAWN.concentration)


def test_bad_rows_of_a_file_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_ENTRIES", 64)
    rows = DRAWN.label_proba.copy()
    rows[250, 2] = np.inf
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(ValueError, match="inf at row 250, column 2"):
        infer(tmp_path / "rows.npy", DRAWN.concentration)
    rows = np.tile([0.5, 0.0, 0.5, 0.0], (100, 1))
    rows[70] = [0.0, 0.5, 0.5, 0.0]
    np.save(tmp_path / "rows.npy", rows)
    prior = [[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 0.0]]
    with pytest.raises(ValueError, match=r"column 1: 0\.5 at row 70 is the probability of a label"):
        infer(tmp_path / "rows.npy", prior)
    with pytest.raises(ValueError, match=r"block 1, column 1: 0\.5 at row 70 is the probability"):
        infer(iter([rows[:50], rows[50:]]), prior)


def test_rows_that_are_almost_right_are_said_so_once(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_ENTRIES", 64)
    rows = DRAWN.label_proba.copy()
    rows[[3, 250]] *= [[1.0001], [1.0005]]
    np.save(tmp_path / "rows.npy", rows)
    with pytest.warns(UserWarning, match="2 rows miss 1 by up to 0.0005 .worst: row 250") as seen:
        infer(tmp_path / "rows.npy", DRAWN.concentration)
    assert len(seen) == 1


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        infer(tmp_path / "none.npy", DRAWN.concentration)
    with pytest.raises(ValueError, match="empty: no block had a row"):
        infer(iter([]), DRAWN.concentration)
    with pytest.raises(ValueError, match="block 0 has 3 columns, transitions has 4 labels"):
        infer(iter([np.full((2, 3), 1 / 3)]), DRAWN.concentration)
    table = pa.table({"a": [0.5], "b": ["x"]})
    with pytest.raises(ValueError, match="its columns are not the labels"):
        infer(table, DRAWN.concentration)
    parquet.write_table(table, tmp_path / "table.parquet")
    with pytest.raises(ValueError, match="its columns are not the labels"):
        infer(tmp_path / "table.parquet", DRAWN.concentration)
    table = pa.table({"0": [0.5], "1": ["x"]})
    parquet.write_table(table, tmp_path / "table.parquet")
    with pytest.raises(ValueError, match=r"2 columns, of which \['1'\] are not numbers; 4 columns"):
        infer(tmp_path / "table.parquet", DRAWN.concentration)
    with pytest.raises(ValueError, match="needs all rows in memory"):
        infer(iter([DRAWN.label_proba]), DRAWN.concentration, optimiser="l-bfgs")
    for name, rows, message in [
        ("one", DRAWN.label_proba[:, 0], "must have 2 axes"),
        ("none", DRAWN.label_proba[:0], "is empty"),
        ("complex", DRAWN.label_proba + 0j, "must be an array of real numbers"),
    ]:
        np.save(tmp_path / f"{name}.npy", rows)
        with pytest.raises(ValueError, match=message):
            infer(tmp_path / f"{name}.npy", DRAWN.concentration)
    gap = pa.table({str(s): [0.25, None if s == 2 else 0.25] for s in range(4)})
    with pytest.raises(ValueError, match="nan at row 1, column 2 is not finite"):
        infer(gap, DRAWN.concentration)


def shortened(path, size):
    """Cut a file to so many bytes; from its end, if the number is negative."""
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: shortened(path, 0), "rows.npy' is empty. Write it again"),
        (lambda path: shortened(path, 40), "rows.npy' is no whole array in NumPy's format"),
        (
            lambda path: shortened(path, -8),
            r"rows.npy' was cut: .* shape \(2, 4\) takes 192 .* 184",
        ),
        (lambda path: path.write_text("a,b\n1,2\n"), "rows.npy' is no whole array"),
        (lambda path: path.write_bytes(pickle.dumps([0.5])), "rows.npy' is no whole array"),
        (lambda path: np.save(path, np.array([[0.5, "x"]], object)), "rows.npy' holds objects of"),
    ],
    ids=["empty", "header", "cut", "text", "pickle", "objects"],
)
def test_an_array_on_disk_that_is_damaged(tmp_path, damage, message):
    path = tmp_path / "rows.npy"
    np.save(path, np.full((2, 4), 0.25))
    damage(path)
    with pytest.raises(ValueError, match=f"label_proba: .*{message}"):
        infer(path, DRAWN.concentration)


@pytest.mark.parametrize("size", [0, -20, -1], ids=["empty", "cut", "by one"])
@pytest.mark.parametrize("name", ["rows.parquet", "folder/b.parquet"])
def test_parquet_that_is_cut(tmp_path, name, size):
    table = pa.table({str(s): [0.25, 0.25] for s in range(4)})
    (tmp_path / "folder").mkdir()
    parquet.write_table(table, tmp_path / "folder" / "a.parquet")
    parquet.write_table(table, tmp_path / name)
    shortened(tmp_path / name, size)
    given = tmp_path / name.split("/")[0]
    with pytest.raises(ValueError, match=f"{name}' cannot be read as Parquet: .* write it again"):
        infer(given, DRAWN.concentration)


def test_parquet_with_damaged_pages(tmp_path):
    """Its footer is whole, so that this comes out when rows are read."""
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({str(s): [0.25] * 99 for s in range(4)}), path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 40 + data[44:])
    with pytest.raises(ValueError, match="parquet' cannot be read as Parquet"):
        infer(path, DRAWN.concentration)
    # What the system refuses is no fault of the file.
    with pytest.raises(OSError, match="No space left"), storage._reading_parquet(path):
        raise OSError(errno.ENOSPC, "No space left on device")
