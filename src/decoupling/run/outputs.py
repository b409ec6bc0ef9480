"""Tables of what was found; and rows of other tables, read as those of the run were."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import check_label_proba
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.run.about import About
from decoupling.run.solving import Solved
from decoupling.tables.features import Feature
from decoupling.tables.probabilities import proba_array
from decoupling.tables.reading import Table, TableError
from decoupling.tables.units import NUMBER
from decoupling.tables.values import feature_array
from decoupling.tables.writing import write_csv, write_parquet
from decoupling.transitions.choice import label_codes


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
    """Columns of labels.csv: labels that are most probably wrong first, unlabelled rows last.

    Rows that somebody has decided on come behind all of them: nothing is left to do there.
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
    rows = np.bincount(label_codes(clf.task_, clf.observed_), minlength=len(clf.labels_))
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


def new_rows(table: Table, about: About, clf: DecouplingClassifier) -> Any:
    """Rows of another table as the model has them, (N, D)."""
    if not about.of_a_run:
        return _rows_by_name(table, clf)
    names = about.proba_columns or [feature.name for feature in about.features]
    _need(table, names)
    if about.proba_columns:
        proba = proba_array(table, about.proba_columns)
        check_label_proba(proba)
        return proba
    return feature_array(table, about.features)


def _rows_by_name(table: Table, clf: DecouplingClassifier) -> Any:
    """Rows for a model that was fitted in Python on a dataframe; its columns must be numbers."""
    names = getattr(clf, "feature_names_in_", None)
    if names is None:
        raise TableError(
            "The model was saved in Python, and was fitted on rows without names of columns: which "
            "columns of a table they are is not known. Fit on a dataframe, or predict in Python: "
            "decoupling.load(path).predict_proba(rows)."
        )
    features = [Feature(str(name), "number", unit=NUMBER) for name in names]
    _need(table, [feature.name for feature in features])
    rows = feature_array(table, features)
    if find_spec("pandas") is None:
        return rows
    return import_module("pandas").DataFrame(rows, columns=names)


def _need(table: Table, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table]
    if len(missing) > 1:
        raise TableError(
            f"{table.name} lacks {len(missing)} of the {len(names)} columns of the model: "
            f"{', '.join(map(repr, missing[:5]))}. Its columns are: {table.listed_columns()}."
        )


def class_columns(
    clf: DecouplingClassifier, X: Any, table: Table, id_column: str | None
) -> dict[str, Any]:
    """New rows with their most probable class and p(class | x)."""
    try:
        proba = clf.predict_proba(X)
    except (ValueError, ModuleNotFoundError):
        raise
    except Exception as error:  # a classifier of somebody else, in a file that may be altered
        raise ValueError(f"The model cannot predict these rows: {error!r}.") from error
    named = id_column is not None and id_column in table
    return {
        "row": np.arange(len(table)),
        **({"id": table.as_written(id_column).to_pylist()} if named and id_column else {}),
        "class": clf.classes_[proba.argmax(axis=1)].tolist(),
        **_p_columns(clf.classes_, proba.round(6)),
    }
