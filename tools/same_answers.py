"""Fit a fixed set of problems and print a hash of all that is fitted and predicted.

Run it before and after a change that should change no answer, and compare what it prints::

    python tools/same_answers.py --keep before      # on the commit before
    python tools/same_answers.py --against before   # on the commit after

Each line has the name of a problem, a hash of its numbers, and a hash of its words: warnings, the
reasons of the light, messages of errors. ``--against`` adds how far numbers moved, and ends with 1
if any hash differs. Only public names are used, so that the tool runs on both sides of a change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

# The last bits of a product depend on how many threads share it.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.feature_extraction.text import CountVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from decoupling import (  # noqa: E402
    ClassPrior,
    DecouplingClassifier,
    SetredClassifier,
    StreamingInference,
    TransitionPrior,
    agreement_terms,
    expected_log,
    infer,
    load,
    save,
)

Answer = dict[str, Any]
CLASSES = np.array(["ant", "bee", "cat"], dtype=object)
PROBLEMS: dict[str, Callable[[], Answer]] = {}


def problem(name: str) -> Callable[[Callable[[], Answer]], Callable[[], Answer]]:
    """Register a function that fits one problem and returns what it found."""

    def add(function: Callable[[], Answer]) -> Callable[[], Answer]:
        PROBLEMS[name] = function
        return function

    return add


# Rows and labels


def rows(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of three overlapping classes, (n, 2), and their classes, (n,)."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n)
    centres = np.array([[0.0, 1.5], [-1.5, -1.0], [1.5, -1.0]])
    return centres[classes] + rng.standard_normal((n, 2)), classes


def given(kind: str, classes: np.ndarray, seed: int = 1) -> np.ndarray:
    """Labels of a kind, None where there is none."""
    rng = np.random.default_rng(seed)
    n, other = len(classes), (classes + rng.integers(1, 3, len(classes))) % 3
    wrong = np.where(rng.random(n) < 0.2, other, classes)
    hidden = rng.random(n)
    labels = {
        "right": classes,
        "wrong": wrong,
        "by class": np.where((classes == 0) & (rng.random(n) < 0.4), 1, classes),
        "not": other,
    }
    shown = {
        "all": np.ones(n, bool),
        "half": hidden < 0.5,
        "few": hidden < 0.2,
        "one": (classes == 0) & (hidden < 0.7),
        "one, rare": (classes == 0) & (hidden < 0.3),
        "two": (classes < 2) & (hidden < 0.6),
        "two, wrong": (wrong < 2) & (hidden < 0.6),
        "uneven": hidden < np.array([0.7, 0.4, 0.2])[classes],
    }
    said, seen = kind.split(": ")
    return np.where(shown[seen], CLASSES[labels[said]], None)


# Classifiers of three kinds.
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: None,
    "forest": lambda: RandomForestClassifier(8, max_depth=4, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(7),  # takes no weights
}
# Kind of labels and options, by task.
TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "noisy": ("wrong: all", {"task": "noisy"}),
    "noisy, half missing": ("wrong: half", {"task": "noisy"}),
    "auto": ("wrong: half", {}),
    "class-conditional": ("by class: all", {"task": "class-conditional-noise"}),
    "semi-supervised": ("right: few", {"task": "semi-supervised"}),
    "semi-supervised, uneven": (
        "right: uneven",
        {"task": "semi-supervised", "labelled": {"ant": 0.7, "bee": 0.4, "cat": 0.2}},
    ),
    "supervised": ("right: all", {"task": "supervised"}),
    "positive": ("right: one", {"task": "positive-unlabelled"}),
    "positive, rare": ("right: one, rare", {"task": "positive-unlabelled"}),
    "positives": ("right: two", {"task": "multi-positive-unlabelled"}),
    "positives, wrong": (
        "wrong: two, wrong",
        {"task": "multi-positive-unlabelled", "noise": "auto"},
    ),
    "complementary": ("not: all", {"task": "complementary"}),
    "complementary, half": ("not: half", {"task": "complementary"}),
}
# The same, for options that are changed one at a time.
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "noise is known": ("wrong: all", {"noise": 0.2}),
    "labelled is known": ("right: one", {"task": "positive-unlabelled", "labelled": 0.7}),
    "T is held": ("wrong: all", {"learn_transitions": False}),
    "no rounds": ("wrong: all", {"rounds": 0}),
    "one round": ("wrong: half", {"rounds": 1}),
    "not calibrated": ("wrong: half", {"calibrate": False}),
    "in sample": ("wrong: all", {"cv": None}),
    "two folds": ("wrong: all", {"cv": 2}),
    "a splitter": ("wrong: all", {"cv": StratifiedKFold(4)}),
    "two jobs": ("wrong: all", {"n_jobs": 2}),
    "shares are expected": ("wrong: all", {"class_prior": [0.6, 0.2, 0.2]}),
    "gamma is learned": ("wrong: all", {"class_prior": ClassPrior.learned()}),
    "exact": ("wrong: all", {"expected_log": "exact", "evidence": 5.0}),
    "Taylor": ("wrong: all", {"expected_log": "taylor", "order": 3, "evidence": 5.0}),
    "a prior": (
        "wrong: half",
        {"task": TransitionPrior.noisy(["ant", "bee", "cat"], noise=0.2, labelled=0.5)},
    ),
}


def said(clf: DecouplingClassifier, new: Any) -> Answer:
    """Collect what a fitted classifier says."""
    posterior = clf.posterior_
    issues = clf.label_issues(all_rows=True, with_unlabelled=True)
    lower, upper = clf.transition_interval()
    return {
        "classes": clf.classes_,
        "labels": list(clf.labels_),
        "label_proba": clf.label_proba_,
        "class_proba": clf.class_proba_,
        "conditional": clf.label_conditional_proba_,
        "transduction": clf.transduction_,
        "T": clf.transitions_,
        "T interval": np.stack([lower, upper]),
        "balance": np.stack(clf.class_balance_interval()),
        "prior": clf.prior_.mean,
        "strength": clf.prior_.strength,
        "Pi": posterior.class_concentration,
        "Theta": posterior.transition_concentration,
        "bound": posterior.trace.elbo,
        "raw": clf.label_model_.raw,
        "log-likelihood": clf.label_model_.log_likelihood,
        "retrained": clf.retrained_ is not None,
        "issues": issues.row,
        "p(wrong)": issues.p_wrong,
        "draws": clf.draw_classes(2, random_state=0),
        "new": clf.predict_proba(new),
        "new classes": clf.predict(new),
        "words": str(clf.diagnostics),
    }


def fitted(kind: str, options: dict[str, Any], **fit: Any) -> DecouplingClassifier:
    """A classifier of the rows with labels of a kind."""
    X, classes = rows()
    clf = DecouplingClassifier(**({"random_state": 0} | options))
    return clf.fit(X, given(kind, classes), **fit)


def add_classifiers() -> None:
    """Each task with each classifier, and each option once."""
    new = rows(40, seed=9)[0]
    for task, (kind, options) in TASKS.items():
        for name, make in ESTIMATORS.items():
            PROBLEMS[f"{task} / {name}"] = lambda kind=kind, options=options, make=make: said(
                fitted(kind, options | {"estimator": make()}), new
            )
    for name, (kind, options) in OPTIONS.items():
        PROBLEMS[name] = lambda kind=kind, options=options: said(fitted(kind, options), new)


add_classifiers()


@problem("weights")
def weights() -> Answer:
    """Rows that count for more and less, and some for nothing."""
    weight = np.random.default_rng(2).integers(0, 4, 150).astype(float)
    return said(fitted("wrong: half", {}, sample_weight=weight), rows(40, 9)[0])


@problem("weights of positives, rare")
def weights_of_bags() -> Answer:
    """Bags of rows that count for more and less."""
    weight = np.random.default_rng(2).integers(0, 4, 150).astype(float)
    options = {"task": "positive-unlabelled"}
    return said(fitted("right: one, rare", options, sample_weight=weight), rows(40, 9)[0])


@problem("known classes")
def known_classes() -> Answer:
    """Somebody has looked up every tenth row."""
    classes = rows()[1]
    known = np.where(np.arange(150) % 10 == 0, CLASSES[classes], None)
    return said(fitted("wrong: all", {}, known_classes=known), rows(40, 9)[0])


@problem("known classes, semi-supervised")
def known_beside_right_labels() -> Answer:
    """Known classes beside labels that are right."""
    classes = rows()[1]
    known = np.where(np.arange(150) % 10 == 0, CLASSES[classes], None)
    options = {"task": "semi-supervised"}
    return said(fitted("right: few", options, known_classes=known), rows(40, 9)[0])


@problem("prefit")
def prefit() -> Answer:
    """A classifier that was fitted on the labels of other rows."""
    X, classes = rows()
    other, others = rows(80, 5)
    model = LogisticRegression().fit(other, given("wrong: all", others, 6).astype(str))
    clf = DecouplingClassifier(model, cv="prefit", task="noisy")
    return said(clf.fit(X, given("wrong: all", classes)), rows(40, 9)[0])


@problem("prefit on Dask")
def prefit_dask() -> Answer:
    """Rows in chunks."""
    from dask import array

    X, classes = rows()
    other, others = rows(80, 5)
    model = LogisticRegression().fit(other, given("wrong: all", others, 6).astype(str))
    clf = DecouplingClassifier(model, cv="prefit", task="noisy")
    clf.fit(array.from_array(X, chunks=(40, 2)), given("wrong: all", classes))
    return said(clf, rows(40, 9)[0])


@problem("sparse rows")
def sparse_rows() -> Answer:
    """A sparse matrix."""
    X, classes = rows()
    X = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    clf = DecouplingClassifier(random_state=0).fit(X, given("wrong: half", classes))
    return said(clf, X[:40])


@problem("sparse rows, semi-supervised")
def sparse_semi() -> Answer:
    """Neighbours among sparse rows."""
    X, classes = rows()
    X = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    clf = DecouplingClassifier(task="semi-supervised", random_state=0)
    return said(clf.fit(X, given("right: few", classes)), X[:40])


@problem("texts")
def texts() -> Answer:
    """Texts, in a pipeline."""
    X, classes = rows()
    words = [f"x{int(a * 2)} y{int(b * 2)}" for a, b in X]
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    clf = DecouplingClassifier(model, random_state=0).fit(words, given("wrong: all", classes))
    return said(clf, words[:40])


@problem("a dataframe, semi-supervised")
def dataframe() -> Answer:
    """Columns with names, and labels of pandas with an index."""
    import pandas as pd

    X, classes = rows()
    frame = pd.DataFrame(X, columns=["size", "weight"])
    y = pd.Series(given("right: few", classes), index=np.arange(150) + 7)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    clf = DecouplingClassifier(model, task="semi-supervised", random_state=0).fit(frame, y)
    table = clf.label_issues().table()
    return said(clf, frame[:40]) | {"table": json.loads(table.to_json(orient="split"))}


@problem("numbers as labels, -1 is unlabelled")
def numbers() -> Answer:
    """Integers of which one means unlabelled."""
    X, classes = rows()
    y = np.where(np.random.default_rng(3).random(150) < 0.5, classes, -1)
    clf = DecouplingClassifier(task="noisy", unlabelled=-1, random_state=0).fit(X, y)
    return said(clf, X[:40])


@problem("one class is left")
def too_few() -> Answer:
    """Errors and warnings about labels that cannot be learnt from."""
    X, classes = rows()
    y = np.where(classes == 0, "ant", None)
    try:
        DecouplingClassifier(task="noisy").fit(X, y)
    except ValueError as error:
        return {"words": str(error)}
    raise AssertionError("it was not refused")


@problem("a starved class")
def starved() -> Answer:
    """A class of eight rows, and what is warned of."""
    X, classes = rows()
    y = given("wrong: all", classes)
    ants = np.flatnonzero(classes == 0)[8:]
    keep = np.setdiff1d(np.arange(150), ants)
    clf = DecouplingClassifier(random_state=0).fit(X[keep], y[keep])
    return said(clf, X[:40])


@problem("saved and loaded")
def saved() -> Answer:
    """A model from its file."""
    with tempfile.TemporaryDirectory() as folder:
        out: Answer = {}
        for task in ("noisy", "semi-supervised", "positive, rare"):
            kind, options = TASKS[task]
            save(fitted(kind, options | {"rounds": 2}), f"{folder}/a.decoupling")
            again = load(f"{folder}/a.decoupling")
            out |= {f"{task}: {name}": part for name, part in said(again, rows(40, 9)[0]).items()}
    return out


# Without a classifier


def distributions(n: int = 300, seed: int = 0) -> tuple[np.ndarray, TransitionPrior]:
    """p(label | x) drawn from the model, (n, 4), and a prior that is roughly right."""
    rng = np.random.default_rng(seed)
    T = np.array([[0.5, 0.4, 0.05, 0.05], [0.5, 0.05, 0.4, 0.05], [0.6, 0.0, 0.1, 0.3]])
    prior = 0.8 * T + 0.2 * (T > 0) / (T > 0).sum(axis=1, keepdims=True)
    names = {"classes": ["ant", "bee", "cat"], "labels": [None, "ant", "bee", "cat"]}
    return rng.dirichlet(np.full(3, 0.4), n) @ T, TransitionPrior(prior, [20, 20, 20], **names)


def inferred(posterior: Any) -> Answer:
    """Collect what a posterior says."""
    return {
        "Pi": np.asarray(posterior.class_concentration),
        "Theta": posterior.transition_concentration,
        "E[Y]": np.asarray(posterior.class_proba),
        "E[T]": posterior.transitions,
        "gamma": posterior.class_prior,
        "T interval": np.stack(posterior.transition_interval()),
        "balance": np.stack([posterior.class_balance, *posterior.class_balance_interval()]),
        "Y interval": np.stack([np.asarray(end)[:30] for end in posterior.class_interval()]),
        "bound": posterior.trace.elbo,
        "k-hat": posterior.transition_k_hat,
        "W": posterior.label_conditional(np.arange(len(posterior.class_proba)) % 4),
        "new": posterior.predict(distributions(20, 8)[0]).class_proba,
        "draws": posterior.draw(2, random_state=0),
        "words": str(posterior.diagnostics),
    }


# Options of `infer`, by the name of the problem.
INFER: dict[str, dict[str, Any]] = {
    "bound": {},
    "paper": {"expected_log": "taylor", "evidence": 1.0},
    "beta": {"expected_log": "beta", "evidence": 10.0},
    "exact": {"expected_log": "exact", "evidence": 3.0},
    "l-bfgs": {"optimiser": "l-bfgs", "evidence": 10.0},
    "learned gamma": {"class_prior": ClassPrior.learned()},
    "known T": {"learn_transitions": False},
    "small blocks, threads": {"block_size": 37, "n_threads": 2},
    "local steps": {"local_steps": 3},
    "weights": {"sample_weight": np.arange(300) % 5},
    "evidence by row": {"evidence": np.linspace(1, 50, 300)},
    "not converged": {"max_iter": 3},
}


def add_inferences() -> None:
    """Each way to infer."""
    for name, options in INFER.items():

        def solve(options: dict[str, Any] = options) -> Answer:
            label_proba, prior = distributions()
            return inferred(infer(label_proba, prior, **options))

        PROBLEMS[f"infer: {name}"] = solve


add_inferences()


@problem("infer: Dask")
def infer_dask() -> Answer:
    """Rows in chunks."""
    from dask import array

    label_proba, prior = distributions()
    return inferred(infer(array.from_array(label_proba, chunks=(80, 4)), prior))


@problem("infer: from disk")
def infer_disk() -> Answer:
    """Rows of a file, with a checkpoint."""
    label_proba, prior = distributions()
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/p.npy", label_proba)
        found = inferred(
            infer(f"{folder}/p.npy", prior, block_size=64, checkpoint=f"{folder}/kept")
        )
    return found


@problem("infer: integrated")
def integrated() -> Answer:
    """Intervals by importance sampling."""
    label_proba, prior = distributions(120)
    found = infer(label_proba, prior, evidence=2.0).integrated(random_state=0)
    return {
        "E[T]": found.transitions,
        "V[T]": found.transition_variance,
        "balance": np.stack([found.class_balance, found.class_balance_variance]),
        "worth": [found.effective_draws, found.effective_transitions],
        "T interval": np.stack(found.transition_interval()),
    }


@problem("streaming")
def streaming() -> Answer:
    """Blocks that are seen once."""
    label_proba, prior = distributions()
    stream = StreamingInference(prior)
    for block in np.split(label_proba, 6):
        stream.partial_fit(block)
    return inferred(stream.posterior_) | {"seen": stream.n_rows_seen_}


@problem("expected logarithms")
def logarithms() -> Answer:
    """E[ln sum_c Y_c T_cs] by each method."""
    rng = np.random.default_rng(4)
    Pi, Theta = rng.gamma(2.0, 2.0, (5, 3)) + 0.1, rng.gamma(2.0, 2.0, (3, 4)) + 0.1
    found = {m: expected_log(Pi, Theta, m) for m in ("bound", "beta", "taylor", "exact")}
    return {**found, "agreement": agreement_terms(Pi, Theta, 4)}


# Self-training


def add_setred() -> None:
    """SETRED from labels, and from a decoupled posterior."""
    for name, options in {
        "setred: labels": {},
        "setred: decoupling": {"start": DecouplingClassifier(rounds=1, random_state=0)},
        "setred: forest, correcting": {
            "estimator": RandomForestClassifier(8, random_state=0),
            "start": "decoupling",
            "correct_given": True,
            "max_iter": 5,
        },
    }.items():

        def solve(options: dict[str, Any] = options) -> Answer:
            X, classes = rows()
            model = SetredClassifier(**({"random_state": 0, "task": "noisy"} | options))
            model.fit(X, given("wrong: half", classes))
            history = [
                [getattr(entry, name) for name in type(entry).__dataclass_fields__]
                for entry in model.history_
            ]
            return {
                "transduction": model.transduction_,
                "relabelled": model.relabelled_,
                "history": json.loads(json.dumps(history, default=np.asarray(0).item)),
                "why": model.termination_condition_,
                "new": model.predict_proba(rows(40, 9)[0]),
            }

        PROBLEMS[name] = solve


add_setred()


# The command line


def add_commands() -> None:
    """Tables, JSON and the report of `decoupling run`."""
    for task, (kind, options) in TASKS.items():
        if task not in ("noisy, half missing", "semi-supervised", "positive, rare"):
            continue
        PROBLEMS[f"run: {task}"] = lambda kind=kind, task=options["task"]: run_command(kind, task)


def run_command(kind: str, task: str) -> Answer:
    """Output and files of `check` and `run` on a table."""
    from typer.testing import CliRunner

    from decoupling.cli import app

    X, classes = rows()
    labels = given(kind, classes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "insects.csv"
        lines = [
            f"{a:.6f},{b:.6f},{'red' if a > 0 else 'black'},{label or ''}"
            for (a, b), label in zip(X, labels, strict=True)
        ]
        path.write_text("\n".join(["size,weight,colour,label", *lines]) + "\n")
        out = Path(folder) / "out"
        command = [str(path), "--label", "label", "--task", task, "--rounds", "2", "--json"]
        checked = CliRunner().invoke(app, ["check", *command[:-3], "--json"])
        ran = CliRunner().invoke(app, ["run", *command, "--out", str(out), "--format", "csv"])
        report = json.loads((out / "report.json").read_text())
        return {
            **{p.name: p.read_text() for p in sorted(out.glob("*.csv"))},
            "words": "\n".join(
                [
                    checked.output.replace(folder, "FOLDER"),
                    ran.output.replace(folder, "FOLDER"),
                    json.dumps(_without(report, ("version", "versions", "made")), sort_keys=True),
                ]
            ),
        }


def _without(tree: Any, names: tuple[str, ...]) -> Any:
    """A tree without what depends on the day and on the machine."""
    if isinstance(tree, dict):
        return {key: _without(value, names) for key, value in tree.items() if key not in names}
    return [_without(entry, names) for entry in tree] if isinstance(tree, list) else tree


add_commands()


# Hashes


def digest(parts: Any) -> str:
    """The first digits of a SHA-256 of numbers and names, with every bit."""
    found = hashlib.sha256()
    for chunk in _chunks(parts):
        found.update(chunk)
    return found.hexdigest()[:16]


def _chunks(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        for name in value:
            yield name.encode()
            yield from _chunks(value[name])
    elif isinstance(value, list | tuple):
        yield str(len(value)).encode()
        for entry in value:
            yield from _chunks(entry)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield f"{value.dtype.str}{value.shape}".encode() + value.tobytes()
    elif isinstance(value, np.ndarray):
        yield from _chunks(value.tolist())
    else:
        yield repr(value).encode()


def numbers_of(answer: Answer) -> dict[str, np.ndarray]:
    """Arrays of numbers by name."""
    out: dict[str, np.ndarray] = {}
    for name, value in answer.items():
        parts = value if isinstance(value, list | tuple) else [value]
        for place, part in enumerate(parts):
            if isinstance(part, np.ndarray | float | int) and np.asarray(part).dtype.kind in "fiub":
                out[f"{name} {place}"] = np.array(part, dtype=float)
    return out


@contextmanager
def collected() -> Iterator[list[str]]:
    """Warnings given inside, as text."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += [f"{each.category.__name__}: {each.message}" for each in caught]


def solved(name: str) -> tuple[str, str, dict[str, np.ndarray], str]:
    """Hash of the numbers, hash of the words, the numbers and the words of a problem."""
    with collected() as warned, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        answer = PROBLEMS[name]()
    words = [answer[key] for key in answer if key.endswith("words")]
    rest = {key: answer[key] for key in answer if not key.endswith("words")}
    text = "\n".join([*words, *warned])
    return digest(rest), digest(text), numbers_of(rest), text


def moved(numbers: dict[str, np.ndarray], path: Path) -> str:
    """By how much the numbers differ from those of a file, in words."""
    with np.load(path) as before:
        if set(before.files) != set(numbers):
            return "other arrays"
        shapes = [name for name in numbers if before[name].shape != numbers[name].shape]
        if shapes:
            return f"other shapes: {', '.join(shapes)}"
        far = {
            name: float(np.abs(np.nan_to_num(before[name] - numbers[name])).max(initial=0.0))
            for name in numbers
        }
    worst = max(far, key=far.__getitem__, default="")
    different = bool(worst) and far[worst] > 0
    return f"largest difference {far[worst]:.2g} in {worst}" if different else "texts differ"


def main() -> int:
    """Solve, print, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="problems whose name has this in it")
    parser.add_argument("--keep", type=Path, help="folder to keep hashes, numbers and words in")
    parser.add_argument("--against", type=Path, help="folder to compare with")
    parser.add_argument("--jobs", type=int, default=2, help="problems at a time")
    options = parser.parse_args()
    names = [name for name in PROBLEMS if options.only in name]
    from joblib import Parallel, delayed

    found = Parallel(n_jobs=options.jobs, return_as="generator")(delayed(solved)(n) for n in names)
    kept = json.loads((options.against / "hashes.json").read_text()) if options.against else {}
    hashes, changed = {}, 0
    for number, (name, (answer, words, numbers, text)) in enumerate(zip(names, found, strict=True)):
        hashes[name] = [answer, words]
        note = ""
        if options.against and kept.get(name) != hashes[name]:
            changed += 1
            note = "  NEW"
            if name in kept:
                number = list(kept).index(name)
                same = kept[name][0] == answer
                before = options.against / f"{number}.npz"
                note = "  WORDS" if same else "  NUMBERS " + moved(numbers, before)
        print(f"{answer} {words} {name}{note}", flush=True)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            np.savez(options.keep / f"{number}.npz", **numbers)
            (options.keep / f"{number}.txt").write_text(text)
    if options.keep:
        (options.keep / "hashes.json").write_text(json.dumps(hashes, indent=1))
    print(f"{len(hashes)} problems, all of them {digest(hashes)}; {changed} differ")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
