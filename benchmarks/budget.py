"""What the inference and the import add to what scikit-learn takes anyway."""

import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import decoupling.classifier.estimator as shell
from benchmarks.table import Measurement
from benchmarks.timing import progress
from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

# Time of the inference over that of the label model, at most.
SHARE = 0.1
# Seconds that `import decoupling` may take beyond `import sklearn`.
IMPORT_SECONDS = 0.2


def run(quick: bool) -> list[Measurement]:
    """Share of the inference on two data sets and two tasks, and the cost of the import."""
    lines = []
    for name, X, y in data_sets(quick):
        for task, prior in priors(np.unique(y)).items():
            given = give_labels(y, prior, 0)
            lines.append(_share(f"{name}, {task}", task, X, given))
    return [*lines, _import_cost()]


def data_sets(quick: bool) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return digits, and 60,000 rows of 50 generated features in 10 classes."""
    n_rows = 6_000 if quick else 60_000
    X, y = make_classification(
        n_rows, 50, n_informative=30, n_classes=10, class_sep=2.0, random_state=0
    )
    return [("digits", *load_digits(return_X_y=True)), (f"{n_rows:,} x 50", X, y)]


def priors(classes: np.ndarray) -> dict[str, TransitionPrior]:
    """How labels are given, by task."""
    names = classes.tolist()
    return {
        "semi-supervised": TransitionPrior.semi_supervised(names, labelled=0.3),
        "noisy": TransitionPrior.noisy(names, noise=0.2),
        "class-conditional-noise": TransitionPrior.noisy(names, noise=0.2, labelled=0.3),
        "multi-positive-unlabelled": TransitionPrior.multi_positive_unlabelled(
            names[1:], names[0], labelled=0.3
        ),
    }


def _share(name: str, task: str, X: np.ndarray, given: np.ndarray) -> Measurement:
    """Time spent in `infer` over the time spent on the cross-fitted label model."""
    spent: dict[str, list[float]] = {"infer": [], "_fit_label_model": []}
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    kept = shell.infer, DecouplingClassifier._fit_label_model
    shell.infer = _timed(shell.infer, spent["infer"])
    DecouplingClassifier._fit_label_model = _timed(kept[1], spent["_fit_label_model"])
    try:
        for seed in range(3):
            clf = DecouplingClassifier(model, task=task, negative=-1, rounds=0, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                clf.fit(X, given)
    finally:
        shell.infer, DecouplingClassifier._fit_label_model = kept
    seconds = {step: min(times) for step, times in spent.items()}
    progress(f"budget: {name}: {seconds}, {clf.n_iter_} iterations")
    value = seconds["infer"] / seconds["_fit_label_model"]
    return Measurement(f"{name}: inference over label model", value, SHARE)


def _timed(function: object, times: list[float]) -> object:
    def wrapper(*args: object, **kwargs: object) -> object:
        start = time.perf_counter()
        result = function(*args, **kwargs)
        times.append(time.perf_counter() - start)
        return result

    return wrapper


def _import_cost() -> Measurement:
    """Seconds that importing this package takes once scikit-learn is imported, the best of ten."""
    code = "import sklearn, time; start = time.perf_counter(); import decoupling; "
    code += "print(time.perf_counter() - start)"

    def seconds() -> float:
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        return float(done.stdout)

    value = min(seconds() for _ in range(10))
    return Measurement("import decoupling, beyond import sklearn", value, IMPORT_SECONDS, unit="s")
