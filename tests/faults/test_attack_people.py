"""Hostile files and machines, as the command line meets them: see README.md."""

import csv
import errno
import json
import multiprocessing
import os
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from decoupling import SetredClassifier, TransitionPrior, _files, infer, save
from decoupling.cli.running import _beside
from decoupling.fits.ensembles import fit_clone
from decoupling.persistence.archive import packed, unpacked
from decoupling.run.about import read_about
from decoupling.tables.reading import TableError
from decoupling.tables.writing import whole_file, whole_files

QUICK = ("--rounds", 0, "--folds", 2)


@pytest.fixture
def fits(monkeypatch):
    """A place for every classifier that a run fits."""
    begun = []

    def fit(*arguments):
        begun.append(None)
        return fit_clone(*arguments)

    monkeypatch.setattr("decoupling.run.fits_kept.fit_clone", fit)
    return begun


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_d08_what_a_killed_run_leaves_is_in_nobodys_way(table, command, tmp_path):
    """In a container the number of the process is the same every time."""
    table()
    left = tmp_path / f".decoupling-{os.getpid()}.part"
    left.mkdir()
    command("run", "pets.csv", *QUICK, "--out", "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == [left.name, "out", "pets.csv"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left"), r"to write out: [\d.]+ MB are free\. Make room"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (ValueError("It went wrong."), r"It went wrong\."),
    ],
    ids=["full disk", "broken disk", "anything else"],
)
def test_d08_fits_stay_after_an_error_in_writing(
    table, command, refused, tmp_path, monkeypatch, fits, error, words
):
    def fail(*arguments, **options):
        raise error

    table()
    line = ("run", "pets.csv", *QUICK, "--out", "out")
    with monkeypatch.context() as patch:
        patch.setattr("decoupling.persistence.save", fail)
        output = refused(*line)
    assert re.search(words, output)
    assert "2 fits are kept in out.resume: --resume goes on from them." in output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.resume", "pets.csv"]
    fits.clear()
    command(*line, "--resume")
    assert fits == []
    command("run", "pets.csv", *QUICK, "--out", "again")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "again")


def test_d08_fits_stay_after_an_error_of_the_machine(table, command, refused, fits, monkeypatch):
    """A disk or memory that is full while classifiers are fitted: the fits before it are good."""

    def second_fails(*arguments):
        if fits:
            raise OSError(errno.ENOSPC, "No space left on device")
        fits.append(None)
        return fit_clone(*arguments)

    table()
    line = ("run", "pets.csv", *QUICK, "--out", "out")
    with monkeypatch.context() as patch:
        patch.setattr("decoupling.run.fits_kept.fit_clone", second_fails)
        assert "1 fits are kept in out.resume: --resume goes on from them." in refused(*line)
    fits.clear()
    command(*line, "--resume")
    assert len(fits) == 1


def test_d08_fits_without_room_are_counted(table, refused, monkeypatch):
    places = []

    @contextmanager
    def written_whole(path):
        if places and path not in places:
            raise OSError(errno.ENOSPC, "No space left on device")
        places.append(path)
        with _files.written_whole(path) as part:
            yield part

    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    table()
    monkeypatch.setattr("decoupling.run.fits_kept.written_whole", written_whole)
    monkeypatch.setattr("decoupling.persistence.save", fail)
    output = refused("run", "pets.csv", *QUICK, "--out", "out")
    assert "0 fits are kept in out.resume (there is no room for 2 more)" in output


@pytest.mark.parametrize("what", ["table through a pipe", "one file"])
def test_d08_a_full_disk_is_named_wherever_it_is(table, refused, tmp_path, monkeypatch, what):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    if what == "one file":
        path = tmp_path / "classes.csv"
        with pytest.raises(OSError, match=rf"to write {path}: [\d.]+ MB are free"):
            with whole_file(path, force=False):
                full()
        return
    monkeypatch.setattr("decoupling.cli.pipes.shutil.copyfileobj", full)
    assert re.search(r"to write \S+stdin: [\d.]+ MB are free", refused("check", "-"))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that takes no files")
def test_d08_a_folder_that_takes_no_files_is_refused_before_the_fits(table, refused, fits):
    table()
    assert "/proc cannot be written to" in refused("run", "pets.csv", *QUICK, "--out", "/proc/out")
    assert fits == []


def race(number, folder, barrier, won):
    """Write to each of many folders at the moment when another process does."""
    for place, (kind, wins) in enumerate(zip(("new", "old") * 50, won, strict=True)):
        out = folder / f"{kind}{place}"
        barrier.wait(60)
        try:
            with whole_files(out, ["a.txt", "b.txt"], force=False) as part:
                for name in ("a.txt", "b.txt"):
                    (part / name).write_text(str(number))
                barrier.wait(60)
            with wins.get_lock():
                wins.value += number
        except TableError:
            pass
        barrier.wait(60)


def test_d09_of_two_runs_at_once_one_is_refused(tmp_path):
    """A hundred times: into a folder that is not there, and into one that has another file."""
    for place in range(1, 100, 2):
        (tmp_path / f"old{place}").mkdir()
        (tmp_path / f"old{place}" / "mine.txt").write_text("mine")
    context = multiprocessing.get_context("spawn")
    barrier, won = context.Barrier(2), [context.Value("i", 0) for _ in range(100)]
    runs = [context.Process(target=race, args=(n, tmp_path, barrier, won)) for n in (1, 2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
        assert run.exitcode == 0
    for place, winner in enumerate(won):
        out = tmp_path / f"{('new', 'old')[place % 2]}{place}"
        assert winner.value in (1, 2), "both wrote, or none"
        assert {(out / name).read_text() for name in ("a.txt", "b.txt")} == {str(winner.value)}
    assert not list(tmp_path.rglob(".decoupling*"))


def test_d09_a_single_file_is_not_replaced_either(tmp_path):
    path = tmp_path / "classes.csv"

    def two_at_once():
        with whole_file(path, force=False) as late:
            late.write_text("late")
            with whole_file(path, force=False) as early:
                early.write_text("early")

    with pytest.raises(TableError, match=r"has classes\.csv already"):
        two_at_once()
    assert path.read_text() == "early"
    with whole_file(path, force=True) as part:
        part.write_text("asked for")
    assert files_of(tmp_path) == {"classes.csv": b"asked for"}


def test_d09_probabilities_in_the_other_form_are_not_removed_unasked(table, refused, tmp_path):
    """They may be of another run, or the table itself."""
    table("probabilities.csv")
    before = (tmp_path / "probabilities.csv").read_bytes()
    line = ("run", "probabilities.csv", *QUICK, "--out", tmp_path)
    assert "probabilities.csv is read, and would be replaced" in refused(*line)
    assert "probabilities.csv is read" in refused(*line, "--force")
    (tmp_path / "probabilities.csv").rename(tmp_path / "other.csv")
    (tmp_path / "probabilities.csv").write_text("mine")
    line = ("run", "other.csv", *QUICK, "--out", tmp_path)
    assert "has probabilities.csv already" in refused(*line)
    assert (tmp_path / "probabilities.csv").read_text() == "mine"
    assert (tmp_path / "other.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            ["0,{0},accept,bee", "1,{1},accept,ant", "0,{0},change,cow"],
            "rows 1 and 3: row '0' is decided on twice, as 'bee' and as 'cow'",
        ),
        (["0,{0},change,{other}", "0,{0},reject,"], "rows 1 and 2: row '0' is decided on twice"),
        (
            ["2,,accept,bee", "2,,reject,"],
            "rows 1 and 2: row '2' is decided on twice, as 'bee' and as unlabelled",
        ),
        (["0,{0},reject,{other}"], "row 1: to reject is to keep what was given, 'ant', and"),
        (["2,,reject,bee"], "row 1: to reject is to keep what was given, unlabelled, and"),
    ],
)
def test_d11_decisions_that_contradict_each_other(table, refused, tmp_path, pets, lines, words):
    y = pets[1].tolist()
    y[:3] = ["ant", "bee", None]
    table(labels=y)
    text = "\n".join(["row,given,decision,class", *lines])
    (tmp_path / "d.csv").write_text(text.format(*y, other="bee") + "\n")
    assert f"d.csv, {words}" in refused("check", "pets.csv", "--decisions", "d.csv")


def test_d11_the_same_decision_twice_is_one(table, command, tmp_path, pets):
    """To reject is to keep the label, also where the class is left empty."""
    y = pets[1].tolist()
    y[:2] = ["ant", "bee"]
    table(labels=y)
    lines = ["0,ant,change,bee", "0,ant,accept,bee", "1,bee,reject,", "1,bee,reject,"]
    (tmp_path / "d.csv").write_text("\n".join(["row,given,decision,class", *lines]) + "\n")
    command("run", "pets.csv", *QUICK, "--decisions", "d.csv", "--out", "out")
    proba = parquet.read_table("out/probabilities.parquet").to_pydict()
    assert (proba["p(bee)"][:2], proba["p(ant)"][:2]) == ([1.0, 1.0], [0.0, 0.0])


@pytest.fixture
def with_ids(table, command):
    """A run whose rows have the ids 1 to 90, but no 42: row 41 has the id 43."""
    ids = [k + 1 + (k >= 41) for k in range(90)]
    table(key=ids)
    command("run", "pets.csv", *QUICK, "--id", "key", "--out", "out")


def test_d12_a_number_that_is_no_id_is_no_row(with_ids, command, refused):
    output = refused("explain", 42, "out")
    assert "No row has the id '42'. Row number 42 has the id '44': --row 42" in output
    by_number = command("explain", "--row", 42, "out")
    assert "Row 42 (id '44') has" in by_number
    assert command("explain", 44, "out") == by_number
    assert json.loads(command("explain", "44", "out", "--json"))["id"] == "44"
    assert "No row has the id 'x'." in refused("explain", "x", "out")
    assert "Give ROW and MODEL, or" in refused("explain", 44, "out", "--row", 1)
    assert "Give ROW and MODEL, or" in refused("explain", "out")
    assert "There is no row '90'" in refused("explain", "--row", 90, "out")


def test_d12_without_ids_a_number_is_a_row(table, command, refused):
    table()
    command("run", "pets.csv", *QUICK, "--out", "out")
    assert "Row 7 has" in command("explain", "007", "out")
    assert command("explain", 7, "out") == command("explain", "--row", 7, "out")
    for text in ("90", "-1", "1.0", "x", "²"):
        assert "rows are numbered from 0 to 89" in refused("explain", "out", "--row", text)


@pytest.fixture
def in_python(pets, make):
    """A classifier that was fitted in Python on a dataframe with the columns of the table."""
    return make().fit(_frame(pets[0][:, ::-1]), pets[1])


def test_d13_a_model_that_was_saved_in_python(table, command, refused, in_python, pets, make):
    table()
    save(in_python, "named", about={"features": 3, "report": "of last week"})
    command("apply", "named", "pets.csv", "--out", "classes.csv")
    # Columns go by name: the table has them the other way round, and with three digits.
    rows = np.round(pets[0][:, ::-1], 3)
    expected = in_python.predict(_frame(rows))
    assert [row["class"] for row in rows_of("classes.csv")] == expected.tolist()
    command("report", "named", "--out", "report.md")
    assert "Row 3 has" in command("explain", 3, "named")
    save(make().fit(*pets), "nameless")
    output = refused("apply", "nameless", "pets.csv", "--out", "x.csv")
    assert "rows without names of columns" in output
    command("explain", 3, "nameless")
    Path("other.csv").write_text("size,label\n1,ant\n")
    assert "'weight'" in refused("apply", "named", "other.csv", "--out", "x.csv")
    Path("other.csv").write_text("size,weight\n1,heavy\n2,light\n")
    assert "of the kind 'number'" in refused("apply", "named", "other.csv", "--out", "x.csv")


def _frame(rows):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rows, columns=["weight", "size"])


def test_d13_dates_are_no_numbers_for_a_model_of_python(refused, in_python):
    """Such a model has learned from numbers, and dates would be taken as days."""
    save(in_python, "model")
    lines = [f"{k % 10},2020-01-{1 + k % 28:02}" for k in range(90)]
    Path("dates.csv").write_text("\n".join(["weight,size", *lines]))
    output = refused("apply", "model", "dates.csv", "--out", "x.csv")
    assert "column 'size' has times, such as" in output


def test_d13_models_of_another_kind(table, refused, pets, tmp_path):
    table()
    prior = TransitionPrior.noisy(["ant", "bee"], noise=0.2)
    save(infer([[0.7, 0.3], [0.2, 0.8]], prior), "posterior")
    X, y = pets
    save(SetredClassifier(max_iter=1, random_state=0).fit(X, y), "setred")
    before = sorted(tmp_path.iterdir())
    for name, kind in (("posterior", "Posterior"), ("setred", "SetredClassifier")):
        for line in (
            ("apply", name, "pets.csv", "--out", "x.csv"),
            ("report", name, "--out", "x.md"),
            ("explain", 0, name),
        ):
            assert f"{name} holds a {kind}, and a DecouplingClassifier is" in refused(*line)
    assert sorted(tmp_path.iterdir()) == before


STRANGE = (None, 3, 1e300, "x", [-1], ["a", 2], [None], {"a": {}}, [[]], [{}])


def test_d13_whatever_a_file_says_of_itself(table, tmp_path):
    """A refusal in our words, or an answer; never an error of Python."""
    from typer.testing import CliRunner

    from decoupling.cli import app

    table(key=list(range(90)))
    run = CliRunner().invoke
    options = [*map(str, QUICK), "--id", "key", "--out", "out"]
    assert run(app, ["run", "pets.csv", *options]).exit_code == 0
    members = unpacked((tmp_path / "out" / "model.decoupling").read_bytes())
    manifest = json.loads(members["manifest.json"])
    about = manifest["about"]
    forged = [about | {name: value} for name in about for value in STRANGE]
    forged += [{key: value for key, value in about.items() if key != name} for name in about]
    one = about["features"][0]
    for name in (*one, "more"):
        forged += [about | {"features": [one | {name: value}]} for value in STRANGE]
    forged += [about | {"report": about["report"] | {"title": value}} for value in STRANGE]
    refusals = 0
    for said in forged:
        try:
            read_about(Path("forged"), said, 90)
        except ValueError as error:
            assert "says of itself what cannot be" in str(error)  # noqa: PT017
            refusals += 1
            if refusals % 50:
                continue
        changed = json.dumps(manifest | {"about": said}).encode()
        (tmp_path / "forged").write_bytes(packed({**members, "manifest.json": changed}))
        for line in (
            ["explain", "--row", "0", "forged"],
            ["report", "forged", "--out", "x.md", "--force"],
            ["apply", "forged", "pets.csv", "--out", "x.csv", "--force"],
        ):
            found = run(app, line)
            assert found.exit_code in (0, 2), (said, found.output)
            assert "unexpected" not in found.output, (line, said, found.output)
    assert refusals > 100


@pytest.mark.parametrize(
    "line",
    ["seed = true", "folds = true", "seed = -1", "noise = nan", "rounds = false", 'raw_csv = "no"'],
)
def test_d14_settings_in_a_file_are_of_their_kind(table, refused, fits, line):
    """To Python true is the number 1: it would be the seed."""
    table()
    Path("run.toml").write_text(f'file = "pets.csv"\n[settings]\n{line}\n')
    assert f"run.toml: {line.split()[0]} cannot be" in refused("run", "--config", "run.toml")
    assert fits == []


@pytest.mark.parametrize("sign", ["comma", "", ";"])
def test_d14_other_decimal_signs(table, refused, sign):
    """Any of them was taken as a point."""
    table()
    output = refused("check", "pets.csv", "--decimal", sign)
    assert f"--decimal must be . or ,; got {sign!r}." in output


def test_d15_the_folder_where_one_is(table, command, tmp_path, monkeypatch):
    table("work.csv")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    command("run", "../work.csv", *QUICK, "--out", ".")
    assert (folder / "labels.csv").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "work.csv"]

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    line = ("run", "../work.csv", *QUICK, "--out", ".", "--force")
    with monkeypatch.context() as patch:
        patch.setattr("decoupling.persistence.save", interrupt)
        assert "2 fits are kept in " in command(*line, code=130)
    assert (tmp_path / "here.resume").is_dir()
    assert "Going on from 2 fits" in command(*line, "--resume")
    assert not (tmp_path / "here.resume").exists()


def test_d15_folders_without_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _beside(Path("a/b")) == Path("a/b.resume")
    assert _beside(Path("/")).parent == Path("/")
    assert _beside(Path()) == tmp_path.with_name(f"{tmp_path.name}.resume")
    assert _beside(Path("..")) == tmp_path.parent.with_name(f"{tmp_path.parent.name}.resume")


def test_d20_probabilities_that_do_not_sum_to_1(table, command, refused, pets, tmp_path):
    labels = np.where(pets[1] == None, "ant", pets[1])  # noqa: E711
    p = np.random.default_rng(0).dirichlet(np.ones(3), len(labels)).round(6)
    p[:, 2] = 1 - p[:, :2].sum(axis=1)
    columns = {f"p {name}": p[:, k].round(6) for k, name in enumerate(("ant", "bee", "cow"))}
    table(labels=labels, **columns)
    command("run", "pets.csv", "--label-proba", "p ", "--out", "out")
    columns["p cow"][5] += 0.3
    table("bad.csv", labels=labels, **columns)
    output = refused("apply", "out", "bad.csv", "--out", "x.csv")
    assert "1.3 at row 5 is the sum of a row that is not 1" in output
    assert not (tmp_path / "x.csv").exists()


def test_d20_errors_of_the_system(table, refused):
    """What it is and of which file, without the number that the system gives it."""
    table()
    assert "nowhere.toml: No such file or directory." in refused("run", "--config", "nowhere.toml")
    assert ".: Is a directory." in refused("run", "--config", ".")
    output = refused("run", "pets.csv", *QUICK, "--out", "n" * 300)
    assert f"Error: {'n' * 300}: File name too long." in output


def test_d20_a_number_of_five_thousand_digits(with_ids, refused):
    for line in (("explain", "9" * 5000, "out"), ("explain", "--row", "9" * 5000, "out")):
        output = refused(*line)
        assert "Exceeds the limit" not in output
        assert len(output) < 300


def test_d20_folders_that_are_not_in_utf_8(table, command, refused, tmp_path, fits):
    """They work; but a table whose path run.toml cannot hold is refused before the fits."""
    odd = tmp_path / os.fsdecode(b"\xff")
    try:
        odd.mkdir()
    except OSError:
        pytest.skip("the file system has names in UTF-8 alone")
    table()
    command("run", "pets.csv", *QUICK, "--out", odd / "out")
    command("run", "pets.csv", *QUICK, "--out", odd / "csv", "--format", "csv")
    command("apply", odd / "out", "pets.csv", "--out", odd / "classes.csv")
    command("report", odd / "out", "--out", odd / "report.html")
    fits.clear()
    (odd / "pets.csv").write_bytes((tmp_path / "pets.csv").read_bytes())
    (tmp_path / "pets.csv").rename(tmp_path / os.fsdecode(b"\xfe.csv"))
    for file, out in ((odd / "pets.csv", "out"), (os.fsdecode(b"\xfe.csv"), odd / "more")):
        assert "is not in UTF-8, and run.toml cannot" in refused("run", file, "--out", out)
    assert fits == []
