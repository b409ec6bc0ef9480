"""check, run, apply, report, explain, demo and info, from the outside."""

import csv
import errno
import gzip
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from functools import partial
from threading import Thread

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import decoupling
from decoupling import infer
from decoupling.cli import COMMANDS, app
from decoupling.fits.ensembles import fit_clone

RUN = CliRunner()
CLASSES = np.repeat(["ant", "bee"], 60)
QUICK = ("--rounds", 1, "--folds", 3)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call(*arguments, code=0):
    found = RUN.invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code == code, found.output
    return found.output


def write_table(path="insects.csv", seed=0, label="label", names=("ant", "bee"), wrong=15):
    """120 rows of two kinds, 15 of them with a wrong label and 20 without one."""
    rng = np.random.default_rng(seed)
    classes = np.repeat([0, 1], 60)
    x = 3 * classes + rng.normal(size=120)
    labels = classes.copy()
    labels[rng.choice(120, wrong, replace=False)] ^= 1
    hidden = rng.random(120) < 1 / 6
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["who", "size", "colour", label])
        for k in range(120):
            colour = ["red", "black", ""][rng.integers(3)]
            out.writerow([f"i{k}", f"{x[k]:.3f}", colour, "" if hidden[k] else names[labels[k]]])
    return path


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_check_says_what_is_there_and_writes_nothing(tmp_path):
    write_table()
    output = call("check", "insects.csv", "--id", "who")
    assert "insects.csv: 120 rows, 4 columns" in output
    assert "guessed: delimiter ',', label column 'label'" in output
    assert "features: 1 number, 1 category" in output
    assert [path.name for path in tmp_path.iterdir()] == ["insects.csv"]
    found = json.loads(call("check", "insects.csv", "--id", "who", "--json"))
    assert found["rows"] == 120
    assert sum(found["labels"].values()) + found["unlabelled"] == 120


def test_check_says_how_many_classifiers_a_run_fits_at_most():
    write_table()
    options = ("insects.csv", "--id", "who", "--folds", "3", "--rounds", "2", "--task", "noisy")
    found = json.loads(call("check", *options, "--json"))["fits"]
    # Three folds, three fits within them, and two rounds: three folds, six within between them.
    assert found["stages"] == {"p(label | x)": 3, "p(label | x) within folds": 3, "2 rounds": 12}
    assert found["total"] == 18
    assert "classifiers to fit: 18 at most: 3 for p(label | x)" in call("check", *options)


def test_run_writes_all_files(tmp_path):
    write_table()
    output = call("run", "insects.csv", "--id", "who", *QUICK)
    assert "of the labels are wrong" in output
    folder = tmp_path / "insects_labels"
    assert sorted(path.name for path in folder.iterdir()) == [
        "labels.csv", "model.decoupling", "probabilities.parquet", "report.html", "report.json",
        "report.md", "run.toml", "transitions.csv",
    ]  # fmt: skip
    proba = parquet.read_table(folder / "probabilities.parquet").to_pydict()
    assert proba["id"] == [f"i{k}" for k in range(120)]
    total = np.array(proba["p(ant)"]) + np.array(proba["p(bee)"])
    np.testing.assert_allclose(total, 1)
    found = np.where(np.array(proba["p(ant)"]) > 0.5, "ant", "bee")
    assert np.mean(found == CLASSES) > 0.9
    ranked = rows_of(folder / "labels.csv")
    assert len(ranked) == 120
    wrong = [float(row["p_wrong"]) for row in ranked if row["given"]]
    assert wrong == sorted(wrong, reverse=True)
    assert {row["p_wrong"] for row in ranked if not row["given"]} == {""}
    assert [row["rank"] for row in ranked[:2]] == ["1", "2"]
    assert ranked[0]["id"] == f"i{ranked[0]['row']}"
    for row in rows_of(folder / "transitions.csv"):
        assert float(row["lower_90%"]) <= float(row["probability"]) <= float(row["upper_90%"])
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    assert json.loads((folder / "report.json").read_text())["title"] == "insects.csv"
    settings = tomllib.loads((folder / "run.toml").read_text())
    assert settings["settings"]["id"] == "who"
    assert settings["settings"]["label"] == "label"


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_pipes(tmp_path):
    write_table()
    content = (tmp_path / "insects.csv").read_bytes()
    assert "stdin: 120 rows" in RUN.invoke(app, ["check", "-"], input=content).output
    found = RUN.invoke(app, ["run", "-", "--id", "who", *map(str, QUICK), "--json"], input=content)
    assert "stdin_labels/report.html" in json.loads(found.output)["files"]
    assert tomllib.loads((tmp_path / "stdin_labels" / "run.toml").read_text())["file"] == "-"
    call("run", "insects.csv", "--id", "who", *QUICK)
    for name in ("labels.csv", "probabilities.parquet"):
        assert (tmp_path / "stdin_labels" / name).read_bytes() == (
            tmp_path / "insects_labels" / name
        ).read_bytes()
    os.mkfifo("pipe")
    writer = Thread(target=(tmp_path / "pipe").write_bytes, args=(content,))
    writer.start()
    assert json.loads(call("apply", "stdin_labels", "pipe", "--json"))["rows"] == 120
    writer.join()
    assert "is empty" in RUN.invoke(app, ["check", "-"], input=b"").output


def test_kinds_of_columns_can_be_said(tmp_path):
    write_table()
    text = (tmp_path / "insects.csv").read_text()
    lines = [line.split(",") for line in text.splitlines()]
    for line in lines[1:]:
        line[1] += "%"
    text = "\n".join(",".join(line) for line in lines) + "\n"
    (tmp_path / "insects.csv").write_text(text)
    output = call("check", "insects.csv", "--id", "who")
    assert "left out: size, since 120 of its 120 cells look like numbers" in output
    options = ("--numeric", "size", "--categorical", "who", "--exclude", "colour")
    assert "features: 1 category, 1 number" in call("check", "insects.csv", *options)
    options = ("--id", "who", "--numeric", "size", *QUICK)
    call("run", "insects.csv", *options, "--out", "once")
    assert "--numeric size" in (tmp_path / "once" / "report.md").read_text()
    call("run", "insects.csv", "--config", "once/run.toml", "--out", "twice")
    call("apply", "twice", "insects.csv")
    assert np.mean([row["class"] for row in rows_of("classes.csv")] == CLASSES) > 0.9


def test_the_same_again_from_run_toml(tmp_path):
    write_table()
    call("run", "insects.csv", "--id", "who", *QUICK, "--out", "once")
    call("run", "--config", "once/run.toml", "--out", "twice")
    for name in (path.name for path in (tmp_path / "once").iterdir()):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes()
    write_table(seed=1)
    output = call("run", "insects.csv", "--config", "once/run.toml", "--out", "other")
    assert "is not the file that" in output


def test_settings_find_their_table_from_anywhere(tmp_path, monkeypatch):
    write_table()
    call("run", "insects.csv", *QUICK)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    call("run", "--config", "../insects_labels/run.toml", "--out", "deep/again")
    call("run", "--config", "deep/again/run.toml", "--out", "third")
    assert tomllib.loads(pathlib.Path("third/run.toml").read_text())["file"] == "../../insects.csv"
    (tmp_path / "insects.csv").unlink()
    assert "insects.csv does not exist" in call("run", "--config", "third/run.toml", code=2)


def test_settings_and_options_at_once_are_refused():
    write_table()
    call("run", "insects.csv", "--id", "who", *QUICK, "--out", "once")
    output = call("run", "insects.csv", "--config", "once/run.toml", "--label", "size",
                  "--out", "x", code=2)  # fmt: skip
    assert "--config holds all settings: leave out --label" in output


def test_no_input_is_replaced(tmp_path):
    write_table("labels.csv")
    before = (tmp_path / "labels.csv").read_bytes()
    assert "is read, and would be replaced" in call(
        "run", "labels.csv", "--out", ".", "--force", *QUICK, code=2
    )
    assert (tmp_path / "labels.csv").read_bytes() == before


def test_what_should_not_happen_is_told_in_a_line(monkeypatch):
    def fail(*arguments, **options):
        raise KeyError("x")

    monkeypatch.setattr("decoupling.run.solving.pose", fail)
    write_table()
    assert "unexpected KeyError: 'x'" in call("check", "insects.csv", code=2)


def test_apply_explain_and_report_from_the_model(tmp_path):
    write_table()
    call("run", "insects.csv", "--id", "who", *QUICK, "--out", "out")
    write_table("new.csv", seed=5)
    call("apply", "out", "new.csv", "--out", "classes.csv")
    found = rows_of("classes.csv")
    assert np.mean([row["class"] for row in found] == CLASSES) > 0.9
    assert found[7]["id"] == "i7"
    call("apply", "out", "new.csv", "--out", "classes.parquet")
    again = parquet.read_table("classes.parquet").to_pydict()
    assert again["class"] == [row["class"] for row in found]
    text = (tmp_path / "new.csv").read_text()
    (tmp_path / "new.csv").write_text(text.replace("red", "green"))
    output = call("apply", "out", "new.csv", "--out", "classes.csv", "--force")
    assert "cells of categories that were never seen, the first 'green'" in output
    assert "classes.csv already" in call("apply", "out", "new.csv", "--out", "classes.csv", code=2)
    output = call("explain", "i3", "out")
    assert "Row 3 (id 'i3') has" in output
    assert "p(class | label, x)" in output
    known = json.loads(call("explain", "--row", 3, "out/model.decoupling", "--json"))
    assert (known["row"], known["id"]) == (3, "i3")
    assert sum(known["result"]) == pytest.approx(1)
    call("report", "out", "--out", "more.md", "--review", 5)
    assert "insects.csv" in (tmp_path / "more.md").read_text(encoding="utf-8")


def test_decisions_come_back_as_clean_labels(tmp_path):
    write_table()
    call("run", "insects.csv", "--id", "who", *QUICK, "--out", "once")
    first, second, third = rows_of("once/labels.csv")[:3]
    with open("decisions.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["row", "given", "decision", "class"])
        out.writerow([first["id"], first["given"], "accept", first["suggested"]])
        out.writerow([second["id"], second["given"], "reject", second["given"]])
        out.writerow([third["id"], third["given"], "change", third["suggested"]])
    call("run", "insects.csv", "--id", "who", *QUICK, "--out", "twice",
         "--decisions", "decisions.csv")  # fmt: skip
    proba = parquet.read_table("twice/probabilities.parquet").to_pydict()
    for row, name in ((first, first["suggested"]), (second, second["given"])):
        assert proba[f"p({name})"][int(row["row"])] == 1.0
    ranked = {row["id"]: row for row in rows_of("twice/labels.csv")}
    assert len(ranked) == 120
    for row in (first, second, third):
        found = ranked[row["id"]]
        assert found["decided"] == "true"
        assert found["given"] == row["given"], "as it is in the table"
    assert ranked[second["id"]]["p_wrong"] == "0"
    last = [row["id"] for row in rows_of("twice/labels.csv")[-3:]]
    assert set(last) == {row["id"] for row in (first, second, third)}, "nothing left to do there"
    once, twice = (rows_of(f"{out}/transitions.csv") for out in ("once", "twice"))
    for before, after in zip(once, twice, strict=True):
        # How labels came about is not changed by looking at the worst; the classifier knows more.
        assert float(after["probability"]) == pytest.approx(float(before["probability"]), abs=5e-3)
        assert after["label_rows"] == before["label_rows"]
    review = json.loads((tmp_path / "twice" / "report.json").read_text())["review"]["rows"]
    assert not {row["row"] for row in review} & {first["id"], second["id"], third["id"]}
    call("report", "twice", "--out", "again.json")
    again = json.loads((tmp_path / "again.json").read_text())["review"]["rows"]
    assert [row["row"] for row in again] == [row["row"] for row in review]
    assert "A person has decided" in call("explain", second["id"], "twice")
    # The decisions are kept with the run, so that it can be done again.
    call("run", "insects.csv", "--config", "twice/run.toml", "--out", "thrice")
    for name in ("labels.csv", "report.html", "model.decoupling", "decisions.csv"):
        same = [(tmp_path / out / name).read_bytes() for out in ("twice", "thrice")]
        assert same[0] == same[1], name


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("i999,ant,accept,bee", "'i999' is no row"),
        ("i1,{},perhaps,bee", "decision must be one of accept, reject, change"),
        ("i1,{},change,", "no class is given"),
        ("i1,{},change,wasp", "--decisions has unknown labels in 1 row: 'wasp' (1)"),
        ("i1,wasp,accept,bee", "Are these decisions of another table?"),
    ],
)
def test_decisions_that_cannot_be(tmp_path, line, message):
    write_table()
    given = rows_of("insects.csv")[1]["label"]
    line = line.format(given)
    (tmp_path / "decisions.csv").write_text(f"row,given,decision,class\n{line}\n")
    output = call(
        "run", "insects.csv", "--id", "who", *QUICK, "--decisions", "decisions.csv", code=2
    )
    assert message in output
    assert not (tmp_path / "insects_labels").exists()
    options = ("--id", "who", "--decisions", "decisions.csv")
    assert message in call("check", "insects.csv", *options, code=2), "before anything is fitted"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--task", "positive-unlabelled"], "has a single label"),
        (["--estimator", "tree"], "--estimator must be one of"),
        (["--estimator", "nothing:here"], "cannot be had"),
        (["--labelled", "1"], "No class can get the label unlabelled"),
        (["--image", "colour"], "The first image"),
        (["--decisions", "nothing.csv"], "nothing.csv does not exist"),
        (["--label-proba", "who"], "1 columns whose names begin with 'who'"),
    ],
)
def test_check_refuses_what_run_refuses(options, message):
    write_table()
    for command in ("check", "run"):
        assert message in call(command, "insects.csv", "--id", "size", *options, code=2)


def test_check_says_what_would_be_solved(tmp_path):
    write_table(names=("", "bee"), wrong=0)
    (tmp_path / "decisions.csv").write_text("row,given,decision,class\ni0,,accept,ant\n")
    options = ("--id", "who", "--negative", "ant", "--decisions", "decisions.csv")
    output = call("check", "insects.csv", *options)
    assert "task: positive-unlabelled" in output
    assert "decided: 1" in output
    found = json.loads(call("check", "insects.csv", *options, "--json"))
    assert (found["task"], found["decided"]) == ("positive-unlabelled", 1)


def test_probabilities_from_elsewhere(tmp_path):
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    p = np.where(positive, 0.5, 0.02)
    labelled = rng.random(300) < p
    with open("given.csv", "w") as file:
        file.write("p_unlabelled,p_yes,label\n")
        for k in range(300):
            file.write(f"{1 - p[k]},{p[k]},{'yes' if labelled[k] else ''}\n")
    call("run", "given.csv", "--label-proba", "p_", "--task", "positive-unlabelled",
         "--negative", "no", "--out", "out")  # fmt: skip
    proba = parquet.read_table("out/probabilities.parquet").to_pydict()
    assert np.mean((np.array(proba["p(yes)"]) > 0.5) == positive) > 0.9
    call("apply", "out", "given.csv")
    assert len(rows_of("classes.csv")) == 300


def test_names_as_long_as_books(tmp_path):
    write_table(names=("ant" * 50_000, "bee" * 50_000))
    call("run", "insects.csv", "--id", "who", *QUICK, "--out", "once")
    for name in ("report.html", "report.json", "report.md"):
        assert (tmp_path / "once" / name).stat().st_size < 500_000
    (row, *_) = json.loads((tmp_path / "once" / "report.json").read_text())["review"]["rows"]
    with open("decisions.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["row", "given", "decision", "class"])
        out.writerow([row["row"], row["given"], "accept", row["suggested"]])
    output = call("check", "insects.csv", "--id", "who", "--decisions", "decisions.csv")
    assert "decided: 1" in output
    assert len(output) < 1000


def test_decisions_for_the_class_that_is_never_labelled():
    write_table(names=("", "bee"), wrong=0)
    options = ("--task", "positive-unlabelled", "--negative", "ant", "--id", "who", *QUICK)
    with open("decisions.csv", "w") as file:
        file.write("row,given,decision,class\ni0,,accept,ant\ni2,,change,bee\ni1,,reject,\n")
    call("run", "insects.csv", *options, "--out", "out", "--decisions", "decisions.csv")
    proba = parquet.read_table("out/probabilities.parquet").to_pydict()
    assert proba["p(ant)"][0] == 1.0
    assert proba["p(bee)"][2] == 1.0


def test_exit_codes_json_and_force(tmp_path):
    write_table()
    found = json.loads(call("run", "insects.csv", *QUICK, "--out", "out", "--json"))
    assert found["converged"] is True
    assert len(found["files"]) == 8
    assert "already" in call("run", "insects.csv", *QUICK, "--out", "out", code=2)
    (tmp_path / "out" / "mine.txt").write_text("mine")
    call("run", "insects.csv", *QUICK, "--out", "out", "--force", "--format", "csv")
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"
    assert "p(ant)" in rows_of("out/probabilities.csv")[0]
    text = (tmp_path / "insects.csv").read_text().replace("label\n", "label,leak\n", 1)
    lines = text.splitlines()
    leaky = [lines[0]] + [f"{line},{int(k >= 60)}" for k, line in enumerate(lines[1:])]
    clean = [line.replace("bee", "ant") if k < 60 else line for k, line in enumerate(leaky[1:])]
    clean = [line.replace("ant", "bee") if k >= 60 else line for k, line in enumerate(clean)]
    (tmp_path / "leaky.csv").write_text("\n".join([leaky[0], *clean]) + "\n")
    output = call("run", "leaky.csv", "--label", "label", *QUICK, "--strict", code=1)
    assert "Column 'leak' alone tells the label" in output


def test_not_converged(monkeypatch):
    monkeypatch.setattr("decoupling.classifier.fit_steps.infer", partial(infer, max_iter=1))
    # Once more after a round it begins near its end.
    monkeypatch.setattr("decoupling.classifier.fit_steps._TOLERANCE", 1e-15)
    write_table()
    output = call("run", "insects.csv", *QUICK, "--out", "out", "--strict", code=3)
    assert "Stopped after 1 iterations, not converged" in output
    assert "wrote out/report.html" in output, "what there is may still be of use"
    found = json.loads(call("run", "insects.csv", *QUICK, "--out", "again", "--json", code=3))
    assert found["converged"] is False


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("a.train.csv", "a.train_labels"),
        ("a.test.csv", "a.test_labels"),
        ("b.csv.gz", "b_labels"),
        ("c.TSV", "c_labels"),
        ("d.2024", "d.2024_labels"),
        ("e", "e_labels"),
    ],
)
def test_a_folder_of_its_own_for_each_table(tmp_path, name, folder):
    write_table()
    content = (tmp_path / "insects.csv").read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    found = json.loads(call("run", name, "--rounds", 0, "--folds", 2, "--json"))
    assert f"{folder}/report.html" in found["files"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing.csv"], "nothing.csv does not exist"),
        (["run", "insects.csv", "--label", "lable"], "Did you mean 'label'"),
        (["report", "insects.csv", "--out", "x.pdf"], "a whole model.decoupling of a run"),
        (["run", "insects.csv", "--estimator", "tree"], "estimator must be one of"),
        (["run", "insects.csv", "--task", "guess"], "--task must be one of auto"),
        (
            ["run", "insects.csv", "--task", "supervised"],
            "The column of labels has 18 unlabelled rows, which a supervised task does not have. "
            "Use --task semi-supervised.",
        ),
        (["run", "insects.csv", "--label", "size"], "these are no labels but numbers or names"),
        (["run", "insects.csv", "--label", "who"], "these are no labels but numbers or names"),
        (["run", "insects.csv", "--image", "colour"], "The first image"),
        (["run", "insects.csv", "--id", "colour"], "are those of several rows"),
        (["run", "insects.csv", "--out", "insects.csv/sub"], "is a file, and no folder"),
        (
            ["apply", "insects.csv", "insects.csv", "--out", "insects.csv", "--force"],
            "is read, and",
        ),
        (["run", "insects.csv", "--format", "xls"], "--format must be parquet or csv"),
        (["run", "insects.csv", "--config", "insects.csv"], "is no TOML file"),
        (["run"], "There is no table"),
        (["apply", "nothing", "insects.csv"], "does not exist. Give the folder of a run"),
        (["apply", "insects.csv", "insects.csv"], "insects.csv"),
        (["explain", "0", "insects.csv"], "insects.csv"),
        (["apply", "nothing", "insects.csv", "--out", "x.xls"], "must end in .csv or .parquet"),
    ],
)
def test_bad_input_is_answered_in_a_line(tmp_path, arguments, message):
    write_table()
    output = call(*arguments, code=2)
    assert "\nError:" in f"\n{output}"
    assert message in output
    assert "Traceback" not in output
    assert [path.name for path in tmp_path.iterdir()] == ["insects.csv"]


def test_names_cannot_steer_the_terminal_or_a_spreadsheet(tmp_path):
    names = ("=cmd|' /C calc'!A0", "[red]\x1b[31m</script>")
    write_table("a.csv", names=names)
    output = call("run", "a.csv", "--out", "out", "--id", "who", *QUICK)
    assert "\x1b[31m" not in output
    cells = {row["given"] for row in rows_of("out/labels.csv")}
    assert cells == {"'" + names[0], names[1], ""}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "[red]\x1b" not in page
    assert page.count("</script>") <= page.count("<script")


def test_forests_are_applied_only_if_trusted():
    write_table()
    pathlib.Path("small.py").write_text(
        "from sklearn.ensemble import RandomForestClassifier\n"
        "forest = RandomForestClassifier(20, random_state=0)\n"
    )
    call("run", "insects.csv", "--id", "who", "--estimator", "small:forest", "--out", "out",
         "--rounds", 0, "--folds", 2)  # fmt: skip
    call("explain", "i1", "out")
    assert "--trust" in call("apply", "out", "insects.csv", code=2)
    call("apply", "out", "insects.csv", "--trust")
    assert np.mean([row["class"] for row in rows_of("classes.csv")] == CLASSES) > 0.9


def test_demo(tmp_path):
    output = call("demo")
    assert "accuracy of the labels" in output
    assert (tmp_path / "demo" / "report.html").exists()
    assert "already" in call("demo", code=2)


def test_info_and_version():
    output = call("info")
    assert "Python" in output
    assert "scikit-learn" in output
    found = json.loads(call("info", "--json"))
    assert found["packages"]["decoupling"]
    assert call("--version") == f"decoupling {decoupling.__version__}\n"


def test_json_of_the_other_commands():
    made = json.loads(call("demo", "--json"))
    assert made["accuracy_before"] < 0.7 < made["accuracy_after"]
    assert "demo/report.html" in made["files"]
    applied = json.loads(call("apply", "demo", "demo/digits.csv", "--json"))
    assert (applied["rows"], applied["files"]) == (1797, ["classes.csv"])
    assert applied["guesses"] == {"delimiter": ","}
    told = json.loads(call("report", "demo", "--out", "again.md", "--json"))
    assert told["files"] == ["again.md"]
    assert "of the labels are wrong" in told["verdict"]["headline"]


def test_the_examples_of_the_help_work():
    """In the order of the commands, each on what those before it have written."""
    for command in COMMANDS:
        name = command.__name__
        examples = [line.strip() for line in command.__doc__.splitlines() if "decoupling " in line]
        assert examples, f"{name} has no example"
        assert examples[0].split()[1] == name
        assert f"decoupling {name}" in call(name, "--help")
        for example in examples:
            call(*shlex.split(example)[1:])


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def interrupt_after(monkeypatch, n_fits):
    """Interrupt at the next fit but so many; the list has a place for each that was begun."""
    begun = []

    def fit(*arguments):
        begun.append(None)
        if len(begun) > n_fits:
            raise KeyboardInterrupt
        return fit_clone(*arguments)

    monkeypatch.setattr("decoupling.run.fits_kept.fit_clone", fit)
    return begun


@pytest.mark.parametrize(
    "made",
    [
        "linear_model:LogisticRegression(max_iter=3)",  # warns of its own in every fit
        "neural_network:MLPClassifier((3,), random_state=0, max_iter=5)",
        "ensemble:RandomForestClassifier(5, random_state=0)",
        "ensemble:HistGradientBoostingClassifier(max_iter=3, random_state=0)",
        "calibration:CalibratedClassifierCV()",
    ],
)
def test_an_interrupted_run_goes_on_to_the_same_files(tmp_path, monkeypatch, made):
    write_table()
    package, _, call_of_it = made.partition(":")
    name = call_of_it.partition("(")[0]
    (tmp_path / f"own_{name}.py").write_text(
        f"from sklearn.{package} import {name}\nmodel = {call_of_it}\n"
    )
    line = ("run", "insects.csv", "--id", "who", *QUICK, "--estimator", f"own_{name}:model")
    call(*line, "--out", "b/whole")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 4)  # 3 of labels, 1 within the folds
        output = call(*line, "--out", "a/b", code=130)
    assert "4 fits are kept in a/b.resume" in output
    assert "run the same command with --resume" in output
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.resume"]
    begun = interrupt_after(monkeypatch, 5)  # 2 more within them, 3 of classes
    assert "Going on from 4 fits in a/b.resume" in call(*line, "--out", "a/b", "--resume")
    assert len(begun) == 5
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert files_of(tmp_path / "a" / "b") == files_of(tmp_path / "b" / "whole")


def test_a_run_of_other_data_or_settings_does_not_go_on(tmp_path, monkeypatch):
    write_table()
    label = rows_of("insects.csv")[0]["label"]
    (tmp_path / "decisions.csv").write_text(f"row,given,decision,class\ni0,{label},change,bee\n")
    line = ("run", "insects.csv", "--out", "out", "--decisions", "decisions.csv")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        call(*line, *QUICK, "--id", "who", code=130)
    before = files_of(tmp_path / "out.resume")
    output = call(*line, "--rounds", 1, "--folds", 4, "--seed", 3, "--resume", code=2)
    assert 'out.resume is of another run: --id was "who" and is not given, --folds' in output
    assert "--folds was 3 and is 4, --seed was 0 and is 3. " in output
    content = (tmp_path / "decisions.csv").read_bytes()
    (tmp_path / "decisions.csv").write_bytes(content.replace(b"bee\n", b"ant\n"))
    output = call(*line, *QUICK, "--id", "who", "--resume", code=2)
    assert "another run: --decisions has other content. " in output
    (tmp_path / "decisions.csv").write_bytes(content)
    write_table(seed=1)
    output = call(*line, *QUICK, "--id", "who", "--resume", code=2)
    assert "another run: table has other content. " in output
    assert files_of(tmp_path / "out.resume") == before
    output = call(*line, *QUICK, "--id", "who")
    assert "The fits of an interrupted run in out.resume are removed" in output
    assert not (tmp_path / "out.resume").exists()


def test_nothing_to_go_on_from(tmp_path, monkeypatch):
    write_table()
    line = ("run", "insects.csv", "--id", "who", *QUICK, "--resume")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 0)
        assert "Interrupted. Nothing was written." in call(*line, code=130)
    assert [path.name for path in tmp_path.iterdir()] == ["insects.csv"]
    output = call(*line)
    assert "There is nothing in insects_labels.resume to go on from" in output


def test_fits_that_cannot_be_kept(tmp_path, monkeypatch):
    """Of a class that is not known, or where there is no room: the run does without."""
    write_table()
    (tmp_path / "unheard_of.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "class Model(LogisticRegression):\n    pass\n"
    )
    line = ("run", "insects.csv", "--id", "who", *QUICK)
    own = ("--estimator", "unheard_of:Model")

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    for options in (own, ()):
        with monkeypatch.context() as patch:
            interrupt_after(patch, 2)
            if options is not own:
                patch.setattr("decoupling.run.fits_kept.written_whole", full)
            assert "Interrupted. Nothing was written." in call(*line, *options, code=130)
        assert not (tmp_path / "insects_labels.resume").exists()
    call(*line, *own)


def test_a_run_that_fails_leaves_no_fits(tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise ValueError("It went wrong.")

    monkeypatch.setattr("decoupling.classifier.fit_steps.infer", fail)
    write_table()
    output = call("run", "insects.csv", "--id", "who", *QUICK, "--out", "a/b", code=2)
    assert "It went wrong." in output
    assert [path.name for path in tmp_path.iterdir()] == ["insects.csv"]


def test_interrupted_while_writing_it_need_not_fit_again(tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    write_table()
    line = ("run", "insects.csv", "--id", "who", *QUICK, "--out", "a/b")
    with monkeypatch.context() as patch:
        patch.setattr("decoupling.persistence.save", interrupt)
        assert "9 fits are kept" in call(*line, code=130)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_dir()) == ["a", "b.resume"]
    interrupt_after(monkeypatch, 0)
    call(*line, "--resume")


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_whoever_reads_may_stop_reading():
    write_table()
    for options in ((), ("--json",)):
        line = [sys.executable, "-m", "decoupling", "check", "insects.csv", *options]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        assert process.wait(60) == 1
        assert process.stderr.read() == b""
        process.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_the_finished_fits(tmp_path, number):
    write_table()
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "model = LogisticRegression()\n"
        "fit = LogisticRegression.fit\n"
        "def slow(self, *arguments, **options):\n"
        "    time.sleep(0.5)\n"
        "    return fit(self, *arguments, **options)\n"
        "LogisticRegression.fit = slow\n"
    )
    line = [sys.executable, "-m", "decoupling", "run", "insects.csv", "--id", "who",
            "--estimator", "slow:model"]  # fmt: skip
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not (tmp_path / "insects_labels.resume").exists():
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert b"run the same command with --resume" in said
    kept = sorted(path.suffix for path in (tmp_path / "insects_labels.resume").iterdir())
    assert kept[-1] == ".json"
    assert set(kept[:-1]) == {".fit"}
    assert not (tmp_path / "insects_labels").exists()
