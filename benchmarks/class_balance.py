"""What learning the class prior costs and gives.

`python -m benchmarks.class_balance` compares a symmetric, a learned and a mass-only learned class
prior on digits at several evidences, and estimates the share of positives in Fashion MNIST beside
Elkan and Noto's three estimators. With ``--write`` both tables go into the README here.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import recipe
from benchmarks.table import measured, write_between
from decoupling import ClassPrior, DecouplingClassifier
from decoupling.datasets import load_fashion_mnist
from decoupling.datasets.fashion_mnist import CLASSES

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- class balance: begin -->", "<!-- class balance: end -->"
# Observations that a row counts for.
EVIDENCES = (1.0, 10.0, 100.0)
# Labelled rows of the positive class of Fashion MNIST.
N_LABELLED = 1_000


def priors(n_classes: int) -> dict[str, ClassPrior]:
    """The class priors that compete."""
    return {
        "symmetric": ClassPrior.symmetric(),
        "mass learned": ClassPrior.learned(shares=np.full(n_classes, 1.0 / n_classes)),
        "learned": ClassPrior.learned(),
    }


def hazard(task: str, seed: int) -> dict[tuple[str, float], tuple[float, float, float]]:
    """Macro-F1, log-loss and whether a class was nobody's, by class prior and evidence."""
    problem = recipe.draw(recipe.DATA["digits"], task, seed)
    chosen = recipe.TASK.get(task, "multi-positive-unlabelled")
    known = np.unique(problem.classes)
    scores = {}
    for name, prior in priors(len(known)).items():
        for evidence in EVIDENCES:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                clf = DecouplingClassifier(
                    recipe.base(), task=chosen, negative=recipe.NEGATIVE, rounds=0,
                    class_prior=prior, evidence=evidence, random_state=seed,
                ).fit(problem.X, problem.given)  # fmt: skip
                proba = clf.predict_proba(problem.X_test)
            flagged = any("as its most probable class" in str(w.message) for w in caught)
            loss = log_loss(problem.classes_test, np.clip(proba, 1e-9, 1), labels=known)
            scores[name, evidence] = (
                recipe.f1(problem, problem.classes_test, proba), loss, float(flagged),
            )  # fmt: skip
    return scores


def hazard_table(n_seeds: int) -> str:
    """Mean over tasks and draws, as Markdown."""
    tasks = recipe.tasks_of(recipe.DATA["digits"])
    runs = Parallel(n_jobs=-1)(delayed(hazard)(t, s) for t in tasks for s in range(n_seeds))
    lines = [
        "| class prior | evidence | " + " | ".join(tasks) + " | mean | log-loss | flagged |",
        "|---|---|" + "---|" * (len(tasks) + 3),
    ]
    for key in runs[0]:
        values = np.array([run[key] for run in runs]).reshape(len(tasks), n_seeds, 3)
        cells = [f"{v:.3f}" for v in values[:, :, 0].mean(axis=1)]
        cells += [f"{values[:, :, k].mean():.3f}" for k in (0, 1)]
        cells.append(f"{int(values[:, :, 2].sum())} of {len(runs)}")
        lines.append(f"| {key[0]} | {key[1]:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def share_of(positive: int, X: np.ndarray, y: np.ndarray, seed: int) -> list[str]:
    """One line: the share of a class by every estimator, in percent."""
    rng = np.random.default_rng(seed)
    given = np.full(len(y), None, dtype=object)
    given[rng.choice(np.flatnonzero(y == positive), N_LABELLED, replace=False)] = 1
    labelled = (given != None).astype(int)  # noqa: E711
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    score = cross_val_predict(model, X, labelled, cv=5, method="predict_proba")[:, 1]
    carriers = score[labelled == 1]
    rates = (carriers.mean(), carriers.sum() / score.sum(), score.max())
    cells = [f"{100 * min(labelled.mean() / rate, 1.0):.1f}" for rate in rates]
    for prior in (None, ClassPrior.learned()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = DecouplingClassifier(
                model, task="positive-unlabelled", class_prior=prior, rounds=0, random_state=seed
            ).fit(X, given)
        low, high = clf.class_balance_interval(0.9)
        share = clf.posterior_.class_balance[1]
        cells.append(f"{100 * share:.1f} ({100 * low[1]:.1f} to {100 * high[1]:.1f})")
    return [CLASSES[positive], *cells, f"{100 * np.mean(y == positive):.1f}"]


def share_table(n_seeds: int, n_rows: int | None) -> str:
    """Each class of Fashion MNIST as the positive one, in turn."""
    X, y = load_fashion_mnist()
    X, y = X[:n_rows], y[:n_rows]
    X = PCA(50, random_state=0).fit_transform(X)
    jobs = (delayed(share_of)(c, X, y, s) for c in range(10) for s in range(n_seeds))
    header = ["positive", "e1", "e2", "e3", "class balance", "the same, gamma learned", "truth"]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return "\n".join(lines + ["| " + " | ".join(c) + " |" for c in Parallel(n_jobs=-1)(jobs)])


def main() -> None:
    """Parse the command line, run, print, and write if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.class_balance", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="use so many rows of Fashion MNIST")
    parser.add_argument("--write", action="store_true", help="put the tables into the README here")
    arguments = parser.parse_args()
    tables = [hazard_table(arguments.seeds), share_table(1, arguments.rows)]
    print("\n\n".join(tables))
    if arguments.write:
        command = f"`python -m benchmarks.class_balance --write` {measured()}"
        first = f"{command}:\n\n**Digits, macro-F1 by class prior and evidence.**\n\n{tables[0]}"
        second = f"**Fashion MNIST, share of the positive class in percent.**\n\n{tables[1]}"
        write_between(README, BEGIN, END, f"{first}\n\n{second}")


if __name__ == "__main__":
    main()
