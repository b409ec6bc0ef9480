"""The command line, from the outside."""

import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from decoupling.cli import app

RUN = CliRunner()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call(*arguments):
    return RUN.invoke(app, [str(argument) for argument in arguments])


def command(*arguments, **options):
    line = [sys.executable, "-m", "decoupling", *map(str, arguments)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_help_names_the_commands():
    assert "reproduce" in call("--help").output
    text = call("reproduce", "--help").output
    for name in ("simulated", "agreement", "fashion"):
        assert name in text


def test_agreement(tmp_path):
    result = call("reproduce", "agreement", "--out", "here")
    assert result.exit_code == 0
    assert len(list((tmp_path / "here" / "agreement").iterdir())) == 3


def test_simulated(tmp_path):
    result = call("reproduce", "simulated", "--samples", 300, "--seed", 1)
    assert result.exit_code == 0
    assert "decoupled" in result.output
    assert len(list((tmp_path / "results" / "simulated").iterdir())) == 7


DIGITS = ("reproduce", "fashion", "--data", "digits", "--network", "mlp", "--jobs", 1)


def test_fashion_on_digits(tmp_path):
    result = call(*DIGITS, "--tasks", "pu,semi", "--labels", "20,60", "--runs", 1)
    assert result.exit_code == 0, result.output
    assert "6 of 6: run 0, pu, 60 labels" in result.output
    assert "Positive-unlabelled" in result.output
    folder = tmp_path / "results" / "digits"
    assert len((folder / "results.jsonl").read_text().splitlines()) == 6
    assert "Semi-supervised | 60 | 1 |" in (folder / "mlp.md").read_text()
    assert (folder / "mlp" / "f1.png").exists()
    other = call(*DIGITS, "--tasks", "pu", "--labels", "20", "--runs", 1, "--evidence", 1)
    assert other.exit_code == 0, other.output
    assert "1 of 1: run 0, pu, 20 labels" in other.output
    assert (folder / "mlp-evidence=1.0.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tasks", "nonsense"), "tasks must be among"),
        (("--labels", "many"), "--labels must be whole numbers"),
        (("--labels", "5000"), "labels per class must be from 1 to"),
        (("--evidence", "much"), "--evidence must be a number or auto"),
        (("--network", "rnn"), "network among"),
        (("--data", "[red]no[/].csv"), "[red]no[/].csv does not exist"),
    ],
)
def test_bad_arguments_are_answered_in_a_line(arguments, message, tmp_path):
    result = call(*DIGITS, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


def test_without_typer(tmp_path):
    code = (
        "import runpy, sys; sys.modules['typer'] = None; "
        "runpy.run_module('decoupling', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "decoupling[cli]"' in done.stderr


def test_killed_and_resumed_gives_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    whole = (*DIGITS, "--tasks", "pu,noise20", "--labels", "20,60", "--runs", 1)
    assert call(*whole, "--out", "once").exit_code == 0
    process = command(*whole, "--out", "twice")
    path = tmp_path / "twice" / "digits" / "results.jsonl"
    deadline = time.monotonic() + 120
    while not path.exists() or path.read_bytes().count(b"\n") < 3:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.communicate()
    expected = (tmp_path / "once" / "digits" / "results.jsonl").read_bytes()
    kept = path.read_bytes()
    assert expected.startswith(kept)
    assert 3 <= kept.count(b"\n") < expected.count(b"\n")
    assert call(*whole, "--out", "twice").exit_code == 0
    assert path.read_bytes() == expected
    for name in ("mlp.md", "mlp/f1.png"):
        once, twice = (tmp_path / out / "digits" / name for out in ("once", "twice"))
        assert once.read_bytes() == twice.read_bytes()


def test_self_training_goes_on_where_it_stopped(tmp_path):
    arguments = (
        "reproduce", "self-training", "--data", "digits", "--network", "mlp", "--tasks", "semi",
        "--rounds", 2, "--jobs", 1, "--out", "out",
    )  # fmt: skip
    first = call(*arguments, "--runs", 1)
    assert first.exit_code == 0, first.output
    assert "1 of 1: run 0, semi, 21 labels, started from labels" in first.output
    path = tmp_path / "out" / "self_training" / "digits" / "results.jsonl"
    before = path.read_bytes()
    second = call(*arguments, "--runs", 2)
    assert "1 of 1: run 1, semi" in second.output
    assert path.read_bytes().startswith(before)
    assert (path.parent / "mlp" / "semi.png").exists()
    assert "| Semi-supervised | 21 | labels | 2 |" in (path.parent / "mlp.md").read_text()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_interrupted_it_says_how_to_go_on(tmp_path):
    process = command(*DIGITS, "--tasks", "pu", "--runs", 50, start_new_session=True)
    path = tmp_path / "results" / "digits" / "results.jsonl"
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"the same command goes on" in said
    assert b"Traceback" not in said
