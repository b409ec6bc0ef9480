"""Every script in examples/ runs without a warning, and does what its story says.

Bounds on scores are far from what the scripts print, so that they hold on any platform.
"""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name):
    """Return the ``main`` of a script, which returns scores."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]


def test_every_example_has_a_test():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts
    assert scripts <= tests


def test_every_example_tells_its_story():
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""'), path.name
        assert text.endswith('if __name__ == "__main__":\n    main()\n'), path.name


def test_four_normals(capsys):
    load("four_normals")()
    lines = capsys.readouterr().out.splitlines()
    accuracy = {line.split()[0]: float(line.split()[-2]) for line in lines if "  p(" in line}
    # Of the two lines called "after" the second is kept: p(class | label, x).
    assert accuracy["after"] > accuracy["before"] + 0.1
    assert lines[-1].startswith("Stopped after")


def test_noisy_digits(capsys):
    scores = load("noisy_digits")()
    assert scores["precision"] > 0.9
    assert scores["recall"] > 0.7
    assert scores["corrected"] > scores["labels"] + 0.1
    assert scores["decoupled"] > scores["naive"]
    assert "LabelIssues: " in capsys.readouterr().out


def test_positive_unlabelled_cancer(capsys):
    scores = load("positive_unlabelled_cancer")()
    assert scores["decoupled_recall"] > scores["naive_recall"] + 0.3
    assert scores["decoupled_f1"] > scores["naive_f1"] + 0.3
    assert 0 < scores["lower"] < scores["rate"] < scores["upper"] < 0.5
    assert "task: positive-unlabelled" in capsys.readouterr().out


@pytest.mark.parametrize("library", ["pandas", "numpy"])
def test_multi_positive_wine(library, monkeypatch, capsys):
    if library == "pandas":
        pytest.importorskip("pandas")
        main = load("multi_positive_wine")
    else:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "pandas", None)  # importing it fails
            main = load("multi_positive_wine")
    scores = main()
    assert scores["decoupled"] > scores["naive"] + 0.1
    assert scores["decoupled_f1"] > scores["naive_f1"] + 0.1
    # The table keeps the index of the data.
    assert ("bottle " in capsys.readouterr().out) == (library == "pandas")


def test_semi_supervised_iris(capsys):
    # Right labels leave nothing to mend: as good as the labelled rows alone is what there is.
    scores = load("semi_supervised_iris")()
    assert scores["decoupled"] > 0.8
    assert scores["decoupled"] > scores["naive"] - 0.05
    assert scores["decoupled_loss"] < scores["naive_loss"] + 0.05
    assert "C = 0.1" in capsys.readouterr().out


def test_class_conditional_text(capsys):
    scores = load("class_conditional_text")()
    assert scores["precision"] > 0.9
    assert scores["decoupled"] > scores["naive"]
    assert scores["transition_error"] < 0.1
    assert "Texts on " in capsys.readouterr().out
