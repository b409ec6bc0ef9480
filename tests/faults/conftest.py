"""A small problem with bad labels: for the core, for the classifier and for the command line."""

import csv

import numpy as np
import pytest
from problems import draw_labelled, random_problem
from typer.testing import CliRunner

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.cli import app

NAMES = np.array([None, "ant", "bee", "cow"], dtype=object)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Files of a test are gone with it, also those of commands that name no folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def problem():
    """p(label | x) of 40 rows and a rough prior of T."""
    return random_problem(0)


@pytest.fixture
def pets():
    """Rows and their labels, of which half are missing."""
    X, codes = draw_labelled(n_rows=90)
    return X, NAMES[codes]


@pytest.fixture
def prior():
    """What is known of labels of ants, bees and cows that may be missing or wrong."""
    return TransitionPrior.noisy(["ant", "bee", "cow"], noise=0.1, labelled=0.5)


@pytest.fixture
def make():
    """A quick classifier."""

    def build(estimator=None, **options):
        options = {"cv": 2, "rounds": 0, "random_state": 0, **options}
        return DecouplingClassifier(estimator, **options)

    return build


@pytest.fixture
def table(pets):
    """Write the rows to a file in the empty folder; further columns are lists of cells."""
    X, y = pets

    def write(path="pets.csv", *, labels=y, delimiter=",", **columns):
        with open(path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, delimiter=delimiter)
            out.writerow(["size", "weight", *columns, "label"])
            for k, row in enumerate(X):
                more = [column[k] for column in columns.values()]
                out.writerow([*(f"{x:.3f}" for x in row), *more, labels[k] or ""])
        return path

    return write


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run a command in an empty folder; what it printed, and its exit code is checked."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        found = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert found.exit_code == code, found.output
        assert "Traceback" not in found.output
        return found.output

    return call


@pytest.fixture
def refused(command):
    """A command that is refused in a sentence, with the exit code of bad input."""

    def call(*arguments):
        output = command(*arguments, code=2)
        assert "Error:" in output
        return output

    return call
