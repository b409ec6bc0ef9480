"""Every script in examples/ runs without a warning, and does what its story says.

Bounds on scores are far from what the scripts print, so that they hold on any platform.
"""

import ast
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


@pytest.fixture
def run(monkeypatch):
    """Return a function that runs a script and returns its ``scores``; no window is opened."""
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)

    def run_script(name):
        scores = runpy.run_path(str(EXAMPLES / f"plot_{name}.py"))["scores"]
        assert plt.get_fignums(), "the script draws no figure"
        return scores

    with plt.rc_context({"backend": "Agg"}):
        yield run_script
    plt.close("all")


def test_every_example_has_a_test():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert SCRIPTS
    assert {path.stem.removeprefix("plot_") for path in SCRIPTS} <= tests


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_example_tells_its_story(path):
    # What the gallery runs begins with "plot_", has a title, and ends with its figure.
    text = path.read_text(encoding="utf-8")
    title, rule = ast.get_docstring(ast.parse(text)).splitlines()[:2]
    assert path.name.startswith("plot_")
    assert rule == "=" * len(title)
    assert text.count("\n# %%\n") >= 2
    assert text.endswith("plt.show()\n")


def test_noisy_digits(run, capsys):
    scores = run("noisy_digits")
    assert scores["precision"] > 0.9
    assert scores["recall"] > 0.7
    assert scores["corrected"] > scores["labels"] + 0.1
    assert scores["decoupled"] > scores["naive"]
    assert "do have a wrong label" in capsys.readouterr().out


def test_class_conditional_text(run):
    scores = run("class_conditional_text")
    assert scores["precision"] > 0.9
    assert scores["decoupled"] > scores["naive"]
    assert scores["transition_error"] < 0.1


def test_positive_unlabelled_cancer(run, capsys):
    scores = run("positive_unlabelled_cancer")
    assert scores["decoupled_recall"] > scores["naive_recall"] + 0.3
    assert scores["decoupled_f1"] > scores["naive_f1"] + 0.3
    assert 0 < scores["lower"] < scores["rate"] < scores["upper"] < 0.5
    assert "task: positive-unlabelled" in capsys.readouterr().out


def test_multi_positive_wine(run):
    pytest.importorskip("pandas")
    scores = run("multi_positive_wine")
    accuracy, f1 = scores["decoupled"]
    naive_accuracy, naive_f1 = scores["unlabelled = other"]
    assert accuracy > naive_accuracy + 0.1
    assert f1 > naive_f1 + 0.1


def test_semi_supervised_iris(run):
    # Right labels leave nothing to mend: as good as the labelled rows alone is what there is.
    scores = run("semi_supervised_iris")
    accuracy, loss = scores["decoupled"]
    naive_accuracy, naive_loss = scores["labelled rows alone"]
    assert accuracy > 0.8
    assert accuracy > naive_accuracy - 0.05
    assert loss < naive_loss + 0.05


def test_complementary_digits(run):
    scores = run("complementary_digits")
    assert scores["most probable class"] > scores["least probable label"] + 0.03
    assert scores["most probable class"] > 0.7


def test_multiple_imputation_wine(run):
    # Mean alcohol is nearer to that of the true classes, and not surer than they are.
    scores = run("multiple_imputation_wine")
    assert scores["imputed_error"] < 0.6 * scores["given_error"]
    assert scores["wider"] > 1
    assert scores["corrected"] > scores["labels"] + 0.1


def test_error_bars(run):
    scores = run("error_bars")
    rates, shares = scores["beta"]
    assert rates >= 14
    assert shares >= 3
    assert scores["bound"] <= (rates, shares)


def test_setred_digits(run):
    scores = run("setred_digits")
    assert scores["decoupling"] > scores["labels"] + 0.1
    assert scores["decoupling"] > 0.9


def test_streaming_parquet(run):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    scores = run("streaming_parquet")
    assert scores["file"] < 0.03
    assert scores["stream"] < 0.03
    assert scores["covered"] > 0.8
