"""Tables of what was found, and what it takes to read new rows in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling.classifier import DecouplingClassifier
from decoupling.run.settings import Settings
from decoupling.run.solving import Solved
from decoupling.tables.features import Feature, feature_array
from decoupling.tables.problem import Problem
from decoupling.tables.reading import Table
from decoupling.tables.writing import write_csv, write_parquet


def probability_columns(solved: Solved) -> dict[str, Any]:
    """Rows in their order: name, given label and p(class | label, x)."""
    problem = solved.problem
    return {
        "row": np.arange(len(problem.labels)),
        **({"id": problem.row_names} if problem.row_names else {}),
        "given": problem.labels.tolist(),
        **_p_columns(solved.clf.classes_, solved.class_proba),
    }


def label_columns(solved: Solved) -> dict[str, Any]:
    """All rows, those whose label is most probably wrong first, then the unlabelled ones."""
    issues = solved.clf.label_issues(all_rows=True, with_unlabelled=True)
    order = issues.row[~solved.decided[issues.row]]
    keep = ~solved.decided[issues.row]
    names = solved.problem.row_names
    return {
        "rank": np.arange(1, len(order) + 1),
        "row": order,
        **({"id": [names[row] for row in order]} if names else {}),
        "given": issues.given[keep].tolist(),
        "suggested": issues.suggested[keep].tolist(),
        "p_wrong": issues.p_wrong[keep].round(6),
        **_p_columns(solved.clf.classes_, issues.class_proba[keep].round(6)),
    }


def _p_columns(classes: AnyArray, proba: FloatArray) -> dict[str, FloatArray]:
    return {f"p({name})": proba[:, c] for c, name in enumerate(classes.tolist())}


def transition_columns(clf: DecouplingClassifier, level: float = 0.9) -> dict[str, Any]:
    """T = p(label | class) with its intervals, an entry per row."""
    lower, upper = clf.transition_interval(level)
    pairs = [(c, s) for c in range(len(clf.classes_)) for s in range(len(clf.labels_))]
    names = ["unlabelled" if label is None else label for label in clf.labels_]
    at = tuple(np.array(pairs).T)
    return {
        "class": [clf.classes_.tolist()[c] for c, _ in pairs],
        "label": [names[s] for _, s in pairs],
        "probability": clf.transitions_[at].round(6),
        f"lower_{level:.0%}": lower[at].round(6),
        f"upper_{level:.0%}": upper[at].round(6),
    }


def write_tables(solved: Solved, folder: Path, *, form: str, raw: bool) -> None:
    """Write probabilities, labels and transitions."""
    if form == "parquet":
        write_parquet(folder / "probabilities.parquet", probability_columns(solved))
    else:
        write_csv(folder / "probabilities.csv", probability_columns(solved), raw=raw)
    write_csv(folder / "labels.csv", label_columns(solved), raw=raw)
    write_csv(folder / "transitions.csv", transition_columns(solved.clf), raw=raw)


def about_model(problem: Problem, settings: Settings) -> dict[str, Any]:
    """What has to be known to read new rows as these were read."""
    return {
        "label": problem.label,
        "id": settings.id,
        "row_names": problem.row_names,
        "features": [asdict(feature) for feature in problem.features],
        "label_names": list(problem.label_names),
        "label_proba": settings.label_proba,
    }


def new_rows(table: Table, about: Mapping[str, Any]) -> AnyArray:
    """Features of the rows of another table, (N, D)."""
    if about.get("label_proba"):
        names = [
            about["label_proba"] + ("" if name is None else str(name))
            for name in about["label_names"]
        ]
        names = [
            name if name in table.columns else f"{name}unlabelled" if label is None else name
            for name, label in zip(names, about["label_names"], strict=True)
        ]
        return np.column_stack(
            [np.asarray(table.column(name).to_numpy(), dtype=np.float64) for name in names]
        )
    features = [
        Feature(one["name"], one["kind"], tuple(one["categories"])) for one in about["features"]
    ]
    return feature_array(table, features)


def class_columns(
    clf: DecouplingClassifier, X: AnyArray, table: Table, id_column: str | None
) -> dict[str, Any]:
    """New rows with their most probable class and p(class | x)."""
    proba = clf.predict_proba(X)
    named = id_column is not None and id_column in table.columns
    return {
        "row": np.arange(len(table)),
        **({"id": table.column(id_column).to_pylist()} if named and id_column else {}),
        "class": clf.classes_[proba.argmax(axis=1)].tolist(),
        **_p_columns(clf.classes_, proba.round(6)),
    }
