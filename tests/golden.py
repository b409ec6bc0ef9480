"""Models of every kind that `save` takes, and what they say: for files that must keep loading.

``tools/golden_files.py`` writes a file of each kind for each schema, and beside it, in JSON, what
the model said when it was written. A file that is there is never written again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from problems import draw_labelled, random_problem

from decoupling import (
    ClassPrior,
    DecouplingClassifier,
    Posterior,
    SetredClassifier,
    TransitionPrior,
    infer,
)
from decoupling.fits.given import GivenProba

FOLDER: Final = Path(__file__).parent / "data"
NEW: Final = np.random.default_rng(7).standard_normal((5, 2))
_NAMES: Final = np.array([None, "ant", "bee", "cat"], dtype=object)


def posterior() -> Posterior:
    """Weighted rows, a learned gamma, and labels of several types."""
    problem = random_problem(0)
    prior = TransitionPrior.from_concentration(
        problem.concentration, classes=["ant", "bee", "cat"], labels=[None, "ant", "bee", 3]
    )
    weight = np.arange(1.0, 41.0)
    return infer(problem.label_proba, prior, class_prior=ClassPrior.learned(), sample_weight=weight)


def classifier() -> DecouplingClassifier:
    """Rounds of retraining, a calibration, and rows without a label."""
    X, codes = draw_labelled(3, 60)
    return DecouplingClassifier(cv=2, rounds=1, task="noisy", random_state=0).fit(X, _NAMES[codes])


def self_trained() -> DecouplingClassifier:
    """Classifiers that count for more and less: by themselves, and by their neighbours."""
    X, codes = draw_labelled(3, 60, labelled=0.3)
    model = DecouplingClassifier(cv=2, rounds=1, task="semi-supervised", random_state=0)
    return model.fit(X, _NAMES[codes])


def one_sided() -> DecouplingClassifier:
    """A rare label, learnt from bags, and what was inferred beside a round."""
    X, codes = draw_labelled(3, 60, labelled=0.4)
    given = np.where(codes == 1, "ant", None)
    model = DecouplingClassifier(cv=2, rounds=1, task="positive-unlabelled", random_state=0)
    return model.fit(X, given)


def given() -> DecouplingClassifier:
    """p(label | x) that is known already, as of `decoupling run --label-proba`."""
    X, codes = draw_labelled(3, 60, labelled=2.0)
    proba = np.random.default_rng(5).dirichlet(np.ones(3), len(X)) * 0.4
    proba[np.arange(len(X)), codes - 1] += 0.6
    model = DecouplingClassifier(GivenProba(["ant", "bee", "cat"]), cv="prefit", task="noisy")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The classifier agrees with 100.0% of the labels")
        return model.fit(proba, _NAMES[codes])


def setred() -> SetredClassifier:
    """Self-training from a decoupled posterior."""
    X, codes = draw_labelled(3, 60, labelled=0.3)
    start = DecouplingClassifier(cv=2, rounds=0)
    model = SetredClassifier(start=start, max_iter=2, theta=0.3, random_state=0)
    return model.fit(X, _NAMES[codes])


KINDS: Final[dict[str, Callable[[], Any]]] = {
    "posterior": posterior,
    "classifier": classifier,
    "self_trained": self_trained,
    "one_sided": one_sided,
    "given": given,
    "setred": setred,
}
# Rows that a kind predicts, if not `NEW`.
ROWS: Final = {"given": np.random.default_rng(7).dirichlet(np.ones(3), 5)}


def path_of(kind: str, schema: int, folder: Path = FOLDER) -> Path:
    """Where the file of a kind of model and a schema is; what it says is beside it, ``.json``."""
    return folder / f"{kind}_schema_{schema}.decoupling"


def said(model: Any, rows: Any = NEW) -> dict[str, Any]:
    """What a model says, in numbers and names that JSON can hold; a classifier, of these rows."""
    if isinstance(model, Posterior):
        lower, upper = model.transition_interval()
        return {
            "classes": list(model.classes),
            "labels": list(model.labels),
            "transitions": model.transitions.tolist(),
            "class_proba": model.class_proba[:5].tolist(),
            "class_prior": model.class_prior.tolist(),
            "elbo": float(model.trace.elbo[-1]),
            "lower": lower.tolist(),
            "upper": upper.tolist(),
        }
    own: dict[str, Any]
    if isinstance(model, DecouplingClassifier):
        own = {
            "transitions": model.transitions_.tolist(),
            "lower": model.transition_interval()[0].tolist(),
            "issues": model.label_issues().row.tolist(),
        }
    else:
        own = {
            "relabelled": np.flatnonzero(model.relabelled_).tolist(),
            "termination_condition": model.termination_condition_,
        }
    return {
        "classes": model.classes_.tolist(),
        "transduction": model.transduction_[:10].tolist(),
        "rows": np.asarray(rows).tolist(),
        "predict_proba": model.predict_proba(np.asarray(rows)).tolist(),
        **own,
    }
