"""Rows 23 to 36 of the table in README.md: what is written and read back, and what may break."""

import csv
import errno
import io
import os
import pickle
import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from threading import active_count

import golden
import numpy as np
import pytest
from flowers import HOSTILE, fit, irises
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

import decoupling
from decoupling import TransitionDisplay, TransitionPrior, infer, load, save
from decoupling.fits.ensembles import fit_clone
from decoupling.inference.ascent import shared_steps
from decoupling.inference.ascent.monitor import Trace
from decoupling.persistence.manifest import OLDEST, SCHEMA
from decoupling.run import fits_kept

QUICK = ("--rounds", 0, "--folds", 2)
FORMULAS = ["=1+1", "+1", "-x", "@x", "\tx", "\rx"]


@pytest.fixture(scope="module")
def hostile():
    """A classifier of classes whose names try to steer whatever shows them."""
    X, given, _ = irises(HOSTILE)
    return fit(X, given, rounds=0, cv=2)


def test_23_formulas_in_csv(table, command, pets, tmp_path):
    """Parquet, and --raw-csv, have cells as they are."""
    names = {"ant": "=1+1", "bee": "@sum", "cow": "cow"}
    table(labels=[names.get(name) for name in pets[1]])
    command("run", "pets.csv", *QUICK, "--out", "out", "--format", "csv")
    command("run", "pets.csv", *QUICK, "--out", "raw", "--raw-csv")
    cells = {}
    for folder in ("out", "raw"):
        with open(tmp_path / folder / "labels.csv", newline="") as file:
            cells[folder] = {row["given"] for row in csv.DictReader(file)}
    assert cells == {"out": {"'=1+1", "'@sum", "cow", ""}, "raw": {"=1+1", "@sum", "cow", ""}}


@pytest.mark.parametrize("text", FORMULAS)
def test_23_every_beginning_of_a_formula(text):
    from decoupling.tables.writing import harmless

    assert harmless(text) == f"'{text}"
    assert harmless(f"x{text}") == f"x{text}"


def test_24_markup_in_names(hostile):
    page = hostile.report(title=HOSTILE[0]).html()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    parser.feed(page)
    assert [tag for tag, _ in tags].count("script") == 2
    assert "img" not in [tag for tag, _ in tags]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert "default-src 'none'" in page


def test_25_formulas_in_figures(hostile):
    pytest.importorskip("matplotlib").use("agg")
    display = TransitionDisplay.from_estimator(hostile)
    display.figure_.savefig(io.BytesIO(), format="png")
    texts = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert len(texts) == 3


def test_26_escapes_on_the_terminal(table, command, pets):
    names = {"ant": "[red]a[/]", "bee": "b\x1b[31m", "cow": "cow"}
    output = command("check", table(labels=[names.get(name) for name in pets[1]]))
    assert "[red]a[/]" in output
    assert r"b\x1b[31m" in output
    assert "\x1b[31m" not in output


class Explosive:
    def __reduce__(self):
        return os.mkdir, ("was_executed",)


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(Explosive()), "looks like a pickle"),
        (zipped(**{"manifest.json": b"{}", "../evil": b"1"}), "not a file of decoupling.save"),
        (zipped(**{"manifest.json": b"[" * 10_000}), "JSON"),
        (b"nonsense", "not a whole file"),
    ],
    ids=["pickle", "path traversal", "deep JSON", "no zip"],
)
def test_27_files_that_want_to_do_harm(tmp_path, monkeypatch, content, message):
    """Bombs, forged hashes, shapes and arrays of objects: tests/persistence has them all."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.decoupling"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load(path)
    assert [found.name for found in tmp_path.iterdir()] == ["model.decoupling"]


def test_28_files_of_other_versions(tmp_path, problem):
    """A file of each kind and schema that is read loads: see tests/persistence/test_golden.py."""
    assert load(golden.path_of("posterior", OLDEST)).classes == ("ant", "bee", "cat")
    path = tmp_path / "p.decoupling"
    save(infer(problem.label_proba, problem.concentration), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    newer = re.sub(
        rb'"schema": ?%d' % SCHEMA, b'"schema":%d' % (SCHEMA + 1), members["manifest.json"]
    )
    path.write_bytes(zipped(**(members | {"manifest.json": newer})))
    with pytest.raises(ValueError, match=r"(?i)upgrade"):
        load(path)


def test_29_interrupted_runs(problem, tmp_path):
    """`infer` goes on from a checkpoint to the same bits, and refuses that of other rows."""
    expected = infer(problem.label_proba, problem.concentration)

    def stop(iteration, terms):
        if iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        infer(problem.label_proba, problem.concentration, checkpoint=tmp_path, callback=stop)
    with pytest.raises(ValueError, match="other rows"):
        infer(problem.label_proba[::-1], problem.concentration, checkpoint=tmp_path)
    found = infer(problem.label_proba, problem.concentration, checkpoint=tmp_path)
    assert found.class_proba.tobytes() == expected.class_proba.tobytes()


def test_29_interrupted_commands(table, command, refused, pets, tmp_path, monkeypatch):
    """The finished fits are kept, those of other data or settings refused (also in tests/cli)."""
    line = ("run", "pets.csv", "--rounds", 1, "--folds", 2)
    table()
    command(*line, "--out", "whole")

    def stop(*arguments):
        if len(list(tmp_path.glob("part.resume/*.fit"))) == 2:
            raise KeyboardInterrupt
        return fit_clone(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(fits_kept, "_SHARE", 1e9)  # each is written as soon as it is there
        patch.setattr(fits_kept, "fit_clone", stop)
        assert "with --resume" in command(*line, "--out", "part", code=130)
    assert not (tmp_path / "part").exists()
    assert "--seed was 0 and is 1" in refused(*line, "--out", "part", "--seed", 1, "--resume")
    table(labels=pets[1][::-1])
    assert "table has other content" in refused(*line, "--out", "part", "--resume")
    table()
    assert "Going on from 2 fits" in command(*line, "--out", "part", "--resume")
    assert not (tmp_path / "part.resume").exists()
    names = [path.name for path in (tmp_path / "whole").iterdir()]
    for name in names:
        assert (tmp_path / "part" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert "model.decoupling" in names


def test_30_no_room_or_no_right_to_write(table, command, refused, tmp_path, monkeypatch):
    table()
    command("run", "pets.csv", *QUICK)
    before = (tmp_path / "pets_labels" / "labels.csv").read_bytes()
    assert "--force" in refused("run", "pets.csv", *QUICK)

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("decoupling.persistence.save", full)
    line = ("run", "pets.csv", *QUICK, "--force", "--task", "noisy")
    output = refused(*line)
    assert re.search(r"no room on the disk to write pets_labels: [\d.]+ MB are free", output)
    assert (tmp_path / "pets_labels" / "labels.csv").read_bytes() == before
    left = ["pets.csv", "pets_labels", "pets_labels.resume"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left, (
        "the fits need not be made anew"
    )
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert "Going on from 2 fits" in command(*line, "--resume")
    assert sorted(path.name for path in tmp_path.iterdir()) == left[:2]


def test_30_links_that_lead_nowhere(table, command, refused, tmp_path):
    """Told of before anything is computed; the link stays, as does what is beside it."""
    table()
    command("run", "pets.csv", *QUICK, "--out", "whole")
    links = [tmp_path / name for name in ("out", "new.csv", "new.html")]
    for link in links:
        link.symlink_to(tmp_path / "nowhere" / link.name)
    before = sorted(tmp_path.iterdir())
    model = Path("whole") / "model.decoupling"
    for line in (
        ("run", "pets.csv", *QUICK, "--out", "out"),
        ("run", "pets.csv", *QUICK, "--out", "out/below", "--force"),
        ("apply", model, "pets.csv", "--out", "new.csv", "--force"),
        ("report", model, "--out", "new.html"),
    ):
        output = refused(*line)
        assert "is a link to" in output
        assert "which is not there" in output
    assert sorted(tmp_path.iterdir()) == before
    assert all(link.is_symlink() for link in links)
    (tmp_path / "nowhere" / "out").mkdir(parents=True)
    command("run", "pets.csv", *QUICK, "--out", "out")
    assert (tmp_path / "nowhere" / "out" / "model.decoupling").is_file()


def test_31_a_partition_that_fails(problem):
    """A worker that is killed is another test, of tests/inference: its rows are computed again."""
    da = pytest.importorskip("dask.array")
    rows = np.tile(problem.label_proba, (3, 1))
    rows[50, 1] = np.nan
    with pytest.raises(ValueError, match="partition 1: nan at row 50, column 1 is not finite"):
        infer(da.from_array(rows, chunks=(40, -1)), problem.concentration)


def test_32_jobs_blocks_and_threads(problem, pets, make):
    """Bits are equal for equal blocks; other blocks add the same numbers in another order."""
    expected = infer(problem.label_proba, problem.concentration, block_size=7, n_threads=1)
    threads = infer(problem.label_proba, problem.concentration, block_size=7, n_threads=4)
    assert threads.class_proba.tobytes() == expected.class_proba.tobytes()
    blocks = infer(problem.label_proba, problem.concentration, block_size=40)
    np.testing.assert_allclose(blocks.class_proba, expected.class_proba, atol=1e-10)
    one, two = (make(n_jobs=n).fit(*pets).predict_proba(pets[0]) for n in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_33_threads_are_not_multiplied(problem):
    """Blocks run on threads, and linear algebra within each of them on one."""
    from threadpoolctl import threadpool_info

    before, most = active_count(), []

    def watch(iteration, terms):
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        most.append((active_count() - before, max(pools, default=1)))

    infer(problem.label_proba, problem.concentration, block_size=5, n_threads=2, callback=watch)
    threads, pools = np.max(most, axis=0)
    assert threads <= 2
    assert pools == 1
    assert active_count() == before


def test_34_iterations_that_run_out(problem):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .* raised the bound by [\d.]+ \(tole"):
        found = infer(problem.label_proba, problem.concentration, max_iter=2)
    assert found.diagnostics.about("convergence")[0].light == "amber"
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)


def test_34_a_bound_that_falls_is_on_record():
    """That it never does is asserted at every step by tests/inference; here it is made to."""
    terms = np.zeros(3)
    trace = Trace("tolerance", np.array([-9.0, -5.0, -6.0]), terms, terms, terms, terms)
    assert trace.fall == 1.0
    assert "fell by 1 in one of the 2 iterations" in trace.convergence.text


def test_34_a_nan_in_mid_run(problem, monkeypatch):
    """It stops at once, and says how to get the last good state; a checkpoint keeps that, too."""
    step = shared_steps.global_step

    def broken(*args):
        method = step(*args)
        state = args[1]
        state.transitions = state.transitions.replace(state.transitions.parameters * np.nan)
        return method

    monkeypatch.setattr(shared_steps, "global_step", broken)
    message = "no number for T or gamma after iteration 1, .* max_iter=0 gives the last good answer"
    with pytest.raises(FloatingPointError, match=message):
        infer(problem.label_proba, problem.concentration)


def run_python(code, **environment):
    """Run in a bare environment: no home, no terminal, no other locale."""
    source = str(Path(decoupling.__file__).parents[1])
    env = {"PYTHONPATH": source, "PATH": os.environ["PATH"], "LC_ALL": "C", **environment}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def test_35_no_home_no_terminal_another_locale(table):
    path = table(labels=["café", "thé", *["café", None, "thé", "mâté"] * 22])
    argv = ["decoupling", "check", path]
    code = f"import sys; sys.argv = {argv}; from decoupling.__main__ import main; main()"
    found = run_python(code)
    assert found.returncode == 0, found.stderr
    assert "90 rows" in found.stdout


def test_35_extras_that_are_not_installed():
    code = """
import sys
for name in ("matplotlib", "jinja2", "pyarrow", "pandas", "polars", "dask", "typer", "rich"):
    sys.modules[name] = None
import decoupling
posterior = decoupling.infer([[0.7, 0.3], [0.2, 0.8]], [[9.0, 1.0], [1.0, 9.0]])
try:
    decoupling.TransitionDisplay.from_posterior(posterior)
except ModuleNotFoundError as error:
    print(error)
from decoupling.__main__ import main
main()
"""
    found = run_python(code)
    assert found.stdout.strip().endswith('pip install "decoupling[plot]".')
    assert found.stderr.strip().endswith('pip install "decoupling[cli]".')


def test_36_labels_that_the_classifier_saw(pets, make):
    X, y = pets
    tree = DecisionTreeClassifier(random_state=0)
    with pytest.warns(UserWarning, match="agrees with 100.0% of the labels .* out of fold .* cv=5"):
        make(tree, cv=None, task="noisy").fit(X, y)
    labelled = np.array([name is not None for name in y])
    fitted = DecisionTreeClassifier(random_state=0).fit(X[labelled], y[labelled].astype(str))
    with pytest.warns(UserWarning, match="agrees with 100.0% of the labels .* cv=5"):
        make(fitted, cv="prefit", task="noisy").fit(X[labelled], y[labelled].astype(str))
    sure = TransitionPrior.noisy(["a", "b"], noise=0.3, strength=500)
    found = infer([[1.0, 0.0], [0.0, 1.0]] * 20, sure).diagnostics
    assert "Predict out of fold" in found.about("held out")[0].text
