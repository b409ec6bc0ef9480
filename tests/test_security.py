"""What SECURITY.md promises, as far as a test can tell."""

import ast
import re
import socket
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from flowers import fit, irises
from problems import random_problem
from typer.testing import CliRunner

import decoupling
from decoupling import infer, load, save
from decoupling.cli import app

SOURCES = sorted(Path(decoupling.__file__).parent.rglob("*.py"))
# Modules that execute, send or unpack, and calls that do.
MODULES = {
    "pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "subprocess", "socket", "ssl",
    "http", "urllib", "urllib3", "requests", "httpx", "ftplib", "smtplib",
}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}

_watched = []


def _watch(event, arguments):
    if _watched and event.startswith("socket.") and event != "socket.gethostname":
        _watched[-1].append(event)


sys.addaudithook(_watch)  # there is no way to take it back


@contextmanager
def watched():
    """All that happens to sockets meanwhile."""
    _watched.append([])
    try:
        yield _watched[-1]
    finally:
        _watched.pop()


def test_sockets_are_seen():
    with watched() as events:
        socket.socket().close()
    assert events


def test_other_machines_are_out_of_reach():
    with pytest.raises(PermissionError, match="no other machine"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(PermissionError, match="no other machine"):
        socket.getaddrinfo("example.org", 80)


def test_no_socket_is_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = random_problem(0)
    X, given, _ = irises()
    with watched() as events:
        posterior = infer(problem.label_proba, problem.concentration)
        posterior.transition_interval()
        clf = fit(X, given)
        clf.predict(X)
        clf.report().save("report.html")
        save(clf, "model.decoupling")
        load("model.decoupling").predict(X)
        rows = np.column_stack([X.astype(str), given])
        lines = ["a,b,c,d,label", *(",".join(row) for row in rows)]
        Path("irises.csv").write_text("\n".join(lines))
        command = ["run", "irises.csv", "--rounds", "0", "--folds", "2"]
        assert CliRunner().invoke(app, command).exit_code == 0
    assert events == []


def offences(tree):
    """What a module imports, calls or allows that it must not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from MODULES & {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            yield from MODULES & {(node.module or "").partition(".")[0]}
        elif isinstance(node, ast.Call):
            yield from CALLS & {ast.unparse(node.func)}
            yield from (
                f"{keyword.arg}={ast.unparse(keyword.value)}"
                for keyword in node.keywords
                if keyword.arg in ("allow_pickle", "shell")
                if ast.unparse(keyword.value) != "False"
            )


def test_nothing_is_executed_or_sent():
    for path in SOURCES:
        assert not list(offences(ast.parse(path.read_text(encoding="utf-8")))), path


@pytest.mark.parametrize(
    "code", ["import pickle", "from http import client", "eval('1')", "f(allow_pickle=True)"]
)
def test_offences_are_seen(code):
    assert list(offences(ast.parse(code)))


# -------------------------------------------------------------------------------- the page itself

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
THREATS = [line for line in PAGE.splitlines() if line.startswith("| ") and "From" not in line]


def test_threats_name_faults_that_have_tests():
    """At most ten lines; each says what holds it, or that nothing does."""
    faults = (ROOT / "tests/faults/README.md").read_text(encoding="utf-8")
    numbers = set(re.findall(r"^\| (D?\d+) \|", faults, flags=re.MULTILINE))
    assert 5 <= len(THREATS) <= 10
    for line in THREATS:
        *_, holds, tests = (cell.strip() for cell in line.strip("|").split("|"))
        named = re.findall(r"\bD?\d+\b", tests)
        assert set(named) <= numbers, line
        assert named or holds.startswith("not held"), line
    for one in ("table", "model file", "decisions file", "shared machine"):
        assert any(one in line.split("|")[1] for line in THREATS)


def test_the_nightly_run_is_what_the_page_says():
    """500 tables are a quarter of its examples, and the race is a test that is there."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    line = re.search(r"^nightly:.*?\n\n", makefile, flags=re.MULTILINE | re.DOTALL)[0]
    tables = (ROOT / "tests/test_any_table.py").read_text(encoding="utf-8")
    share = int(re.search(r"max_examples=max\(EXAMPLES // (\d+),", tables)[1])
    assert "tests/test_any_table.py $(RACE)" in line
    assert int(re.search(r"DECOUPLING_EXAMPLES=(\d+)", line)[1]) // share >= 500
    path, _, name = re.search(r"^RACE +:= (\S+)", makefile, flags=re.MULTILINE)[1].partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")
