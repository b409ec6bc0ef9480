"""A table with imperfect labels as a problem to solve: labels, features and names of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from decoupling._typing import AnyArray
from decoupling.tables.doubts import refuse_tiny, warn_of_leaks
from decoupling.tables.features import Feature, LeftOut, find_features
from decoupling.tables.images import ImageColumn
from decoupling.tables.label_column import find_labels, guess_label
from decoupling.tables.probabilities import find_label_proba
from decoupling.tables.ranges import with_ranges
from decoupling.tables.reading import Table, TableError
from decoupling.tables.values import feature_array

# An error says why a column is no feature for this many of them; the reader needs an example, and
# a wide table has thousands.
_MOST_REASONS: Final = 5


@dataclass(frozen=True)
class Roles:
    """What the user says of the columns of a table.

    Attributes
    ----------
    label : str, optional
        Column of the labels; by default one that is called so, or the last column.
    id_column : str, optional
        Column that names the rows.
    exclude : sequence of str
        Columns that are no features.
    categorical, numeric : sequence of str
        Features that are categories, or numbers, whatever their cells look like.
    unlabelled : str, optional
        Value that means unlabelled, besides an empty cell.
    label_proba : str, optional
        Prefix of the columns that hold p(label | x). The rest of such a name is the label; nothing
        or "unlabelled" stands for p(unlabelled | x). There are no features then.
    image : str, optional
        Column of images, or of paths of their files.
    folder : path
        Where these paths begin.
    images_anywhere : bool
        Whether images may lie outside ``folder``.
    """

    label: str | None = None
    id_column: str | None = None
    exclude: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    unlabelled: str | None = None
    label_proba: str | None = None
    image: str | None = None
    folder: Path = Path()
    images_anywhere: bool = False

    @property
    def others(self) -> list[str]:
        """Columns that are neither labels nor features."""
        named = (self.id_column, self.image)
        return [*self.exclude, *(name for name in named if name is not None)]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows of a table, and what is known of them.

    Attributes
    ----------
    labels : array (N,) of object
        Given labels; None where there is none.
    label : str
        Name of their column.
    X : array (N, D)
        Features, or p(label | x) where that is known.
    features : tuple of Feature
        Columns of X; none if X is p(label | x).
    label_names : tuple
        Labels that the columns of p(label | x) stand for, None for unlabelled; else none.
    proba_columns : tuple of str
        Names of these columns.
    left_out : tuple of LeftOut
        Columns that are not used.
    row_names : list of str or None
        What rows are called in the column of ids.
    images : ImageColumn or None
        Thumbnails of the rows.
    guesses : dict of str to str
        What was not said and had to be guessed.
    """

    labels: AnyArray
    label: str
    X: AnyArray = field(default_factory=lambda: np.empty((0, 0)))
    features: tuple[Feature, ...] = ()
    label_names: tuple[Any, ...] = ()
    proba_columns: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    row_names: list[str] | None = None
    images: ImageColumn | None = None
    guesses: dict[str, str] = field(default_factory=dict)


def pose(table: Table, roles: Roles | None = None) -> Problem:
    """Find labels, features and names of rows in a table."""
    roles = roles or Roles()
    for name in (*roles.others, *roles.categorical, *roles.numeric):
        table.column(name)  # a name that is not there is a mistake
    guesses = dict(table.guesses)
    label = roles.label
    if label is None:
        label = guess_label(table, roles.others, roles.label_proba)
        guesses["label column"] = label
    if label in roles.others:
        raise TableError(f"The column {label!r} cannot be that of the labels and another one too.")
    _refuse_twice([label, *roles.others], roles.categorical, roles.numeric)
    labels = find_labels(table, label, roles.unlabelled, guesses)
    row_names = None if roles.id_column is None else _row_names(table, roles.id_column)
    images = None if roles.image is None else _images(table, roles.image, roles)
    known = Problem(labels, label, row_names=row_names, images=images, guesses=guesses)
    if roles.label_proba is None:
        return _with_features(known, table, roles)
    X, names, columns = find_label_proba(table, roles.label_proba, labels, [label, *roles.others])
    return replace(known, X=X, label_names=names, proba_columns=columns)


def _images(table: Table, name: str, roles: Roles) -> ImageColumn:
    return ImageColumn(table.column(name), roles.folder, anywhere=roles.images_anywhere)


def _with_features(problem: Problem, table: Table, roles: Roles) -> Problem:
    """A problem with the features of its table."""
    features, left_out = find_features(
        table,
        [problem.label, *roles.others],
        categorical=roles.categorical,
        numeric=roles.numeric,
    )
    if not features:
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in left_out[:_MOST_REASONS])
        told = f" ({reasons}). --numeric or --categorical take one as a feature all the same"
        raise TableError(
            f"{table.name} has no features beside the labels{told if left_out else ''}."
        )
    X = feature_array(table, features)
    refuse_tiny(table, X, features)
    warn_of_leaks(X, features, problem.labels.tolist())
    return replace(problem, X=X, features=with_ranges(features, X), left_out=left_out)


def _refuse_twice(others: Sequence[str], *declared: Sequence[str]) -> None:
    """An error if a column is said to be a feature and something else, or both kinds of one."""
    named = Counter(name for names in (others, *declared) for name in set(names))
    twice = [name for names in declared for name in names if named[name] > 1]
    if twice:
        raise TableError(
            f"The column {twice[0]!r} is said to be two things at once: a feature is either "
            "--categorical or --numeric, and the column of labels or ids is none."
        )


def _row_names(table: Table, name: str) -> list[str]:
    names = ["" if v is None else str(v) for v in table.as_written(name).to_pylist()]
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise TableError(
            f"{table.name}: {len(twice)} names in the column {name!r} are those of several rows, "
            f"the first {twice[0]!r}. Choose another --id, or none."
        )
    return names
