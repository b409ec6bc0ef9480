"""Pictures and the example report, made anew whenever the library has changed.

They go to `docs/generated`, which is not committed. Everything is seeded.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sphinx.application import Sphinx
from sphinx.util import logging

import decoupling
from decoupling import DecouplingClassifier, TransitionDisplay, TransitionPrior
from decoupling.datasets import SimulatedLabels, four_normals

DOCS: Final = Path(__file__).resolve().parents[1]
GENERATED: Final = DOCS / "generated"
# Of the theme and of nobody else: colours that differ in brightness, too; grey is "no label".
COLOURS: Final = np.array(["#b8bcc2", "#d1495b", "#00798c", "#edae49"])


@cache
def fitted() -> tuple[SimulatedLabels, DecouplingClassifier]:
    """Four normals, of which three have labels now and then; found by a quadratic classifier."""
    data = four_normals(2000, random_state=0)
    given = np.array([None, 1, 2, 3], dtype=object)[data.labels]
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression())
    clf = DecouplingClassifier(
        model, task="multi-positive-unlabelled", negative=0, noise="auto", random_state=0
    )
    return data, clf.fit(data.X, given)


def landing(path: Path) -> None:
    """What there is, what a classifier makes of it, and what decoupling does."""
    data, clf = fitted()
    before, after = clf.label_proba_.argmax(axis=1), clf.predict(data.X).astype(int)
    panels = {
        f"the labels you have\n{np.mean(data.labels > 0):.0%} of the rows": data.labels,
        f"a classifier trained on them\n{np.mean(before == data.classes):.0%} right": before,
        f"the same, decoupled\n{np.mean(after == data.classes):.0%} right": after,
    }
    figure, axes = plt.subplots(
        1, 3, figsize=(8, 2.9), sharex=True, sharey=True, layout="constrained"
    )
    for axis, (title, shown) in zip(axes, panels.items(), strict=True):
        _scatter(axis, data, shown)
        axis.set_title(title, fontsize=10)
    _save(figure, path)


def transitions(path: Path) -> None:
    """T of the same problem, with its intervals."""
    data, clf = fitted()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    TransitionDisplay.from_estimator(clf, ax=axes, true_transitions=data.transitions)
    _save(figure, path)


def priors(path: Path) -> None:
    """The mean of T that each constructor of a prior has."""
    names = ["a", "b", "c"]
    said = {
        "supervised": TransitionPrior.supervised(names),
        "semi_supervised\nlabelled=0.3": TransitionPrior.semi_supervised(names, 0.3),
        "positive_unlabelled\nlabelled=0.25": TransitionPrior.positive_unlabelled(0.25),
        "multi_positive_unlabelled\nlabelled=0.4": TransitionPrior.multi_positive_unlabelled(
            ["a", "b"], labelled=0.4
        ),
        "noisy\nnoise=0.2, labelled=0.5": TransitionPrior.noisy(names, 0.2, 0.5),
        "class_conditional_noise\nb called a, c called b": (
            TransitionPrior.class_conditional_noise(names, [[0, 0, 0], [0.3, 0, 0], [0, 0.1, 0]])
        ),
        "complementary": TransitionPrior.complementary(names),
    }
    figure, axes = plt.subplots(3, 3, figsize=(7.4, 7.4), layout="constrained")
    for axis, (title, prior) in zip(axes.flat, said.items(), strict=False):
        _heat(axis, prior)
        axis.set_title(title, fontsize=9)
    for axis in axes.flat[len(said) :]:
        axis.axis("off")
    axes.flat[-1].text(
        0, 0.5, "rows: the class\ncolumns: the label\nempty: impossible", va="center"
    )
    _save(figure, path)


def report(path: Path) -> None:
    """The report that `decoupling demo` writes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "decoupling", "demo", "--out", folder, "--force"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        shutil.copyfile(Path(folder) / "report.html", path)


def _scatter(axis: Any, data: SimulatedLabels, shown: np.ndarray) -> None:
    order = np.argsort(shown, kind="stable")  # grey below
    axis.scatter(*data.X[order].T, s=5, c=COLOURS[shown[order]], linewidths=0)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)


def _heat(axis: Any, prior: TransitionPrior) -> None:
    shown = np.where(prior.mean > 0, prior.mean, np.nan)
    axis.imshow(shown, cmap="Blues", vmin=0, vmax=1.4)
    for (c, s), value in np.ndenumerate(prior.mean):
        if value > 0:
            axis.text(s, c, f"{value:.2g}", ha="center", va="center", fontsize=9)
    labels = ["none" if label is None else str(label) for label in prior.labels]
    axis.set_xticks(range(len(labels)), labels)
    axis.set_yticks(range(len(prior.classes)), [str(name) for name in prior.classes])
    axis.tick_params(length=0)
    axis.spines[:].set_color("#cccccc")


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


MADE: Final[dict[str, Callable[[Path], None]]] = {
    "landing.png": landing,
    "transitions.png": transitions,
    "priors.png": priors,
    "site/example-report.html": report,
}


def make(app: Sphinx | None = None) -> None:
    """Make what is missing, and what is older than the library or this file."""
    sources = [Path(__file__), *Path(decoupling.__file__).parent.rglob("*.py")]
    changed = max(source.stat().st_mtime for source in sources)
    for name, draw in MADE.items():
        path = GENERATED / name
        if not path.exists() or path.stat().st_mtime < changed:
            logging.getLogger(__name__).info("making %s", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with plt.rc_context({"figure.facecolor": "white"}):
                draw(path)


def setup(app: Sphinx) -> dict[str, bool]:
    # Before anything else looks for them.
    app.connect("config-inited", lambda app, config: make(app), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
