"""Tables out: harmless to spreadsheets, and whole or not at all."""

import csv
import stat

import numpy as np
import pytest
from pyarrow import parquet

from decoupling.tables.reading import TableError
from decoupling.tables.writing import as_written, harmless, whole_files, write_csv, write_parquet

HOSTILE = ["=1+1", "+cmd", "-2", "@x", "\tx", "\rx", "'=1"]
COLUMNS = {
    "=name": [*HOSTILE, "plain", None],
    "number": np.linspace(-1, 1, 9),
    "mixed": [1, "a", 2] * 3,
}


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_formulas_are_made_harmless(tmp_path):
    write_csv(tmp_path / "a.csv", COLUMNS)
    head, *rows = rows_of(tmp_path / "a.csv")
    assert head == ["'=name", "number", "mixed"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in HOSTILE), "plain", ""]
    assert float(rows[0][1]) == -1
    assert [row[2] for row in rows[:2]] == ["1", "a"]
    assert [as_written(row[0]) for row in rows[:-1]] == [*HOSTILE, "plain"]


def test_raw(tmp_path):
    write_csv(tmp_path / "a.csv", COLUMNS, raw=True)
    head, *rows = rows_of(tmp_path / "a.csv")
    assert head[0] == "=name"
    assert [row[0] for row in rows[:-1]] == [*HOSTILE, "plain"]


def test_parquet_is_as_it_is(tmp_path):
    write_parquet(tmp_path / "a.parquet", COLUMNS)
    back = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert back["=name"] == COLUMNS["=name"]
    assert back["number"] == COLUMNS["number"].tolist()


def test_numbers_are_no_formulas(tmp_path):
    write_csv(tmp_path / "a.csv", {"x": [-1, 2]})
    assert rows_of(tmp_path / "a.csv") == [["x"], ["-1"], ["2"]]
    assert harmless("x=1") == "x=1"


def test_whole_or_nothing(tmp_path):
    out = tmp_path / "out"

    def write(text):
        with whole_files(out, ["a.txt"], force=True) as folder:
            (folder / "a.txt").write_text(text)
            if text == "bad":
                raise RuntimeError

    with pytest.raises(RuntimeError):
        write("bad")
    assert list(tmp_path.iterdir()) == []
    write("first")
    assert stat.S_IMODE(out.stat().st_mode) & 0o500 == 0o500
    (out / "mine.txt").write_text("mine")
    with pytest.raises(RuntimeError):
        write("bad")
    assert (out / "a.txt").read_text() == "first"
    write("second")
    assert (out / "a.txt").read_text() == "second"
    assert (out / "mine.txt").read_text() == "mine", "what is not ours stays"
    assert sorted(path.name for path in out.iterdir()) == ["a.txt", "mine.txt"]


def test_folders_that_were_made_go_with_what_failed(tmp_path):
    with pytest.raises(RuntimeError):
        with whole_files(tmp_path / "a" / "b" / "out", ["a.txt"], force=False):
            raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_replaced_unasked(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(TableError, match=r"has a.txt already. .* --force"):
        with whole_files(tmp_path, ["a.txt", "b.txt"], force=False):
            raise AssertionError
    with pytest.raises(TableError, match="is a file, and no folder to write to"):
        with whole_files(tmp_path / "a.txt", ["b.txt"], force=True):
            raise AssertionError
    (tmp_path / "c.txt").mkdir()
    with pytest.raises(TableError, match=r"c.txt is a folder, where a file is to be written"):
        with whole_files(tmp_path, ["c.txt"], force=True):
            raise AssertionError
    with whole_files(tmp_path, ["b.txt"], force=False) as folder:
        (folder / "b.txt").write_text("new")
    assert (tmp_path / "a.txt").read_text() == "old"
