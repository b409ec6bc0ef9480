"""Tables of what was found, and what it takes to read new rows in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.run.settings import OPTIONS, Settings
from decoupling.run.solving import Solved
from decoupling.tables.features import Feature
from decoupling.tables.probabilities import proba_array
from decoupling.tables.reading import Table, TableError
from decoupling.tables.values import feature_array
from decoupling.tables.writing import write_csv, write_parquet
from decoupling.transitions.choice import encode, given_labels


def probability_columns(solved: Solved) -> dict[str, Any]:
    """Rows in their order: name, given label and p(class | label, x)."""
    problem = solved.problem
    return {
        "row": np.arange(len(problem.labels)),
        **({"id": problem.row_names} if problem.row_names else {}),
        "given": problem.labels.tolist(),
        **_p_columns(solved.clf.classes_, solved.clf.label_conditional_proba_),
    }


def label_columns(solved: Solved) -> dict[str, Any]:
    """All rows, those whose label is most probably wrong first, then the unlabelled ones.

    Rows that somebody has decided on come last: there is nothing left to do about them.
    """
    issues = solved.clf.label_issues(all_rows=True, with_unlabelled=True)
    problem = solved.problem
    decided = np.isin(issues.row, solved.decided)
    order = np.argsort(decided, kind="stable")
    rows, names = issues.row[order], problem.row_names
    given = problem.labels[rows].tolist()
    return {
        "rank": np.arange(1, len(rows) + 1),
        "row": rows,
        **({"id": [names[row] for row in rows]} if names else {}),
        "given": given,
        "suggested": issues.suggested[order].tolist(),
        # Where there is no label none can be wrong.
        "p_wrong": [
            None if label is None else round(p, 6)
            for label, p in zip(given, issues.p_wrong[order].tolist(), strict=True)
        ],
        **({} if solved.decisions is None else {"decided": decided[order]}),
        **_p_columns(solved.clf.classes_, issues.class_proba[order].round(6)),
    }


def _p_columns(classes: AnyArray, proba: FloatArray) -> dict[str, FloatArray]:
    return {f"p({name})": proba[:, c] for c, name in enumerate(classes.tolist())}


def transition_columns(clf: DecouplingClassifier, level: float = 0.9) -> dict[str, Any]:
    """T = p(label | class) with its intervals, an entry per row."""
    lower, upper = clf.transition_interval(level)
    rows = np.bincount(encode(clf.task_, given_labels(clf.observed_)), minlength=len(clf.labels_))
    pairs = [(c, s) for c in range(len(clf.classes_)) for s in range(len(clf.labels_))]
    at = tuple(np.array(pairs).T)
    return {
        "class": [clf.classes_.tolist()[c] for c, _ in pairs],
        "label": [clf.labels_[s] for _, s in pairs],  # nothing where there is none
        "probability": clf.transitions_[at].round(6),
        f"lower_{level:.0%}": lower[at].round(6),
        f"upper_{level:.0%}": upper[at].round(6),
        "label_rows": rows[at[1]],  # 0: no data, the prior's word alone
    }


def write_tables(solved: Solved, folder: Path, *, form: str, raw: bool) -> None:
    """Write probabilities, labels and transitions."""
    if form == "parquet":
        write_parquet(folder / "probabilities.parquet", probability_columns(solved))
    else:
        write_csv(folder / "probabilities.csv", probability_columns(solved), raw=raw)
    write_csv(folder / "labels.csv", label_columns(solved), raw=raw)
    write_csv(folder / "transitions.csv", transition_columns(solved.clf), raw=raw)


def about_model(solved: Solved, settings: Settings) -> dict[str, Any]:
    """What has to be known to read new rows as these were read, and to tell of these."""
    problem = solved.problem
    return {
        "decided": solved.decided,
        "warnings": [message.told(OPTIONS) for message in solved.warnings],
        "warning_codes": [message.code for message in solved.warnings],
        "label": problem.label,
        "id": settings.id,
        "row_names": problem.row_names,
        "features": [asdict(feature) for feature in problem.features],
        "proba_columns": list(problem.proba_columns),
    }


def new_rows(table: Table, about: Mapping[str, Any]) -> AnyArray:
    """Features of the rows of another table, (N, D)."""
    if about["proba_columns"]:
        _need(table, about["proba_columns"])
        return proba_array(table, about["proba_columns"])
    features = [Feature.from_record(record) for record in about["features"]]
    _need(table, [feature.name for feature in features])
    return feature_array(table, features)


def _need(table: Table, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table]
    if len(missing) > 1:
        raise TableError(
            f"{table.name} lacks {len(missing)} of the {len(names)} columns of the model: "
            f"{', '.join(map(repr, missing[:5]))}. Its columns are: {table.listed_columns()}."
        )


def class_columns(
    clf: DecouplingClassifier, X: AnyArray, table: Table, id_column: str | None
) -> dict[str, Any]:
    """New rows with their most probable class and p(class | x)."""
    proba = clf.predict_proba(X)
    named = id_column is not None and id_column in table
    return {
        "row": np.arange(len(table)),
        **({"id": table.as_written(id_column).to_pylist()} if named and id_column else {}),
        "class": clf.classes_[proba.argmax(axis=1)].tolist(),
        **_p_columns(clf.classes_, proba.round(6)),
    }
