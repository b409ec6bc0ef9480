"""Which rows look wrong, and what they should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from decoupling._text import name_text
from decoupling._typing import AnyArray, FloatArray, IntArray
from decoupling._validation import check_flag
from decoupling.classifier.alone import own_labels_alone
from decoupling.inference.posterior import Posterior
from decoupling.labels.frames import names_array
from decoupling.labels.libraries import Library, library_of
from decoupling.likelihood.overlap import of_label
from decoupling.transitions.choice import encode
from decoupling.transitions.tasks import Task, custom

__all__ = ["LabelIssues", "label_errors", "label_issues"]

# Columns that hold names. They get the type of the given labels.
NAMES: Final = ("given", "suggested")
# Rows that `print` shows; more would not fit on a screen.
SHOWN: Final = 10


@dataclass(frozen=True, eq=False, repr=False)
class LabelIssues:
    """Rows whose labels look wrong, the worst first.

    Made by `label_issues` and by `DecouplingClassifier.label_issues`. Arrays are read-only.

    Attributes
    ----------
    row : array (n,) of int
        Position of the row in the labels.
    given : array (n,)
        Its label; None if it is unlabelled.
    suggested : array (n,)
        Its most probable class. It may be the given one: the others can be more probable together
        although none of them is alone.
    p_wrong : array (n,)
        Probability that the label is not that of the row's class.
    margin : array (n,)
        How much more probable the suggested class is than that of the given label.
    class_proba : array (n, C)
        p(class | label, x).
    classes : array (C,)
        Names of the classes.

    Notes
    -----
    A row without a label, or with a label that says what the row is not, names no class, so that
    its label cannot be wrong: p_wrong is 0, and the margin is the probability of the suggested
    class.

    Examples
    --------
    The last row is called a dog, and looks like a cat:

    >>> from decoupling import TransitionPrior, infer, label_issues
    >>> prior = TransitionPrior.noisy(["cat", "dog"], noise=0.2, strength=100)
    >>> posterior = infer([[0.78, 0.22], [0.21, 0.79], [0.79, 0.21]], prior)
    >>> issues = label_issues(posterior, ["cat", "dog", "dog"])
    >>> issues.row.tolist(), issues.suggested.tolist()
    ([2], ['cat'])
    >>> issues.summary()[["given", "suggested", "rows"]].tolist()
    [('dog', 'cat', 1)]
    """

    row: IntArray
    given: AnyArray
    suggested: AnyArray
    p_wrong: FloatArray
    margin: FloatArray
    class_proba: FloatArray
    classes: AnyArray
    _library: Library

    @property
    def rank(self) -> IntArray:
        """1 for the row that is most probably wrong, and so on, (n,)."""
        return np.arange(1, len(self) + 1)

    def table(self) -> Any:
        """All of it as a table of the library that the labels came in.

        A data frame of pandas, with the index of the labels, or of polars, a table of pyarrow, or
        else a record array. Columns are row, given, suggested, p_wrong, margin, rank, and
        ``p_<class>`` for each class, with an underscore behind where a name is taken.
        """
        columns: dict[str, AnyArray] = {
            name: getattr(self, name)
            for name in ("row", "given", "suggested", "p_wrong", "margin", "rank")
        }
        for c, class_name in enumerate(self.classes.tolist()):
            name = f"p_{class_name}"
            while name in columns:  # of a class called "wrong"
                name += "_"
            columns[name] = self.class_proba[:, c]
        return self._library.frame(columns, NAMES)

    def summary(self) -> Any:
        """Number of rows for each pair of given and suggested, in the same library.

        Columns are given, suggested, rows, and expected_wrong: how many of these rows are expected
        to have a wrong label, the sum of p_wrong. The pair with most of them is first.
        """
        pairs = list(zip(self.given.tolist(), self.suggested.tolist(), strict=True))
        place = {pair: i for i, pair in enumerate(dict.fromkeys(pairs))}
        group = np.array([place[pair] for pair in pairs], dtype=np.int64)  # (n,)
        first = np.unique(group, return_index=True)[1]
        rows = np.bincount(group, minlength=len(place))
        expected = np.bincount(group, self.p_wrong, minlength=len(place))
        order = np.lexsort((-rows, -expected))
        columns = {
            "given": self.given[first][order],
            "suggested": self.suggested[first][order],
            "rows": rows[order],
            "expected_wrong": expected[order],
        }
        return replace(self._library, index=None).frame(columns, NAMES)

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        n = len(self)
        title = f"LabelIssues: {n} {'row' if n == 1 else 'rows'}"
        if n == 0:
            return title
        cells = [("rank", "row", "given", "suggested", "p_wrong", "margin")]
        for i in range(min(n, SHOWN)):
            names = name_text(self.given[i]), name_text(self.suggested[i])
            numbers = f"{self.p_wrong[i]:.3f}", f"{self.margin[i]:.3f}"
            cells.append((str(i + 1), str(self.row[i]), *names, *numbers))
        lines = [f"{title}, {self.p_wrong.sum():.1f} expected to be wrong", *_aligned(cells)]
        return "\n".join(lines + [f"... and {n - SHOWN} more"] * (n > SHOWN))


def _aligned(cells: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines with cells padded to columns; the third and fourth hold names and align left."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = (">", ">", "<", "<", ">", ">")
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [form.format(*line) for line in cells]


def label_issues(
    posterior: Posterior,
    labels: Any,
    *,
    rows: ArrayLike | None = None,
    threshold: float = 0.5,
    all_rows: bool = False,
    with_unlabelled: bool = False,
    like: Any = None,
) -> LabelIssues:
    """Rank the rows whose labels look wrong, and say what they should be.

    Parameters
    ----------
    posterior : Posterior
        What was inferred about the rows. A class's own label is the one of the same name.
    labels : array-like (N,)
        The labels they were given, by name; None, NaN and NA mean unlabelled.
    rows : array-like (N,) of int, optional
        What to call the rows in the column `row`; 0, 1, ... by default.
    threshold : float
        List labelled rows whose label is wrong with at least this probability.
    all_rows : bool
        List every labelled row.
    with_unlabelled : bool
        List the unlabelled rows too, behind the others, the surest suggestion first. Their p_wrong
        is 0, since there is no label to be wrong.
    like : column or data frame of N rows, optional
        The table is of its library and has its index; by default of that of the labels.

    Returns
    -------
    LabelIssues
        The worst row first: by p(class of the label | x), before the label itself counts, where
        every class has its own label and every row has one; else by p_wrong.

    Examples
    --------
    >>> from decoupling import TransitionPrior, infer
    >>> label_proba = [[0.78, 0.22], [0.21, 0.79], [0.74, 0.26]]
    >>> posterior = infer(label_proba, TransitionPrior.noisy(["cat", "dog"], noise=0.2))
    >>> label_issues(posterior, ["cat", "cat", "dog"])
    LabelIssues: 2 rows, 1.6 expected to be wrong
    rank  row  given  suggested  p_wrong  margin
       1    1  cat    dog          0.903   0.805
       2    2  dog    cat          0.681   0.363
    """
    _check_arguments(posterior, labels)
    task = custom(posterior.transitions > 0, posterior.classes, posterior.labels)
    codes = encode(task, labels)
    proba = np.asarray(posterior.label_conditional(codes))
    own_proba = None
    if own_labels_alone(task):
        # Before the label counts, so that cells of T do not put some classes before others.
        own_proba = of_label(np.asarray(posterior.class_proba), codes, task.own)
    library = library_of(labels)
    if like is not None:
        other = library_of(like)
        library = replace(other, dtype=library.dtype if other.name == library.name else None)
    issues = rank_issues(
        task,
        proba,
        codes,
        names_array(task.classes),
        library,
        threshold=threshold,
        all_rows=all_rows,
        with_unlabelled=with_unlabelled,
        own_proba=own_proba,
    )
    return issues if rows is None else replace(issues, row=_renamed(issues.row, rows, len(codes)))


def _check_arguments(posterior: Any, labels: Any) -> None:
    """Refuse arguments that are swapped, or others than those of `label_issues`."""
    if isinstance(labels, Posterior):
        raise TypeError(
            "labels is a Posterior: the arguments are swapped. Call label_issues(posterior, "
            "labels), with the labels that the rows were given."
        )
    if not isinstance(posterior, Posterior):
        raise TypeError(
            f"posterior must be what infer returned, a Posterior; got {type(posterior).__name__}. "
            "From p(label | x), call label_issues(infer(label_proba, prior), labels); a "
            "DecouplingClassifier has a method label_issues of its own."
        )
    shape = tuple(getattr(labels, "shape", ()))
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"labels must be one label per row, by name; got shape {shape}. Were probabilities "
            "passed? They are in the posterior: pass the labels that the rows were given."
        )


def label_errors(
    class_proba: FloatArray, codes: IntArray, own: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Probability that each label is wrong, and the margin of the most probable class, each (N,).

    Parameters
    ----------
    class_proba : array (N, C)
        p(class | label, x), called W in the paper.
    codes : array (N,) of int
        Column of T of the label that each row was given.
    own : array (C,) of int
        Column of each class's own label, -1 if it has none.

    Examples
    --------
    Column 0 is unlabelled:

    >>> W = np.array([[0.25, 0.75], [0.25, 0.75]])
    >>> label_errors(W, np.array([1, 0]), np.array([1, 2]))
    (array([0.75, 0.  ]), array([0.5 , 0.75]))
    """
    right = codes[:, None] == own  # (N, C)
    # The sum of the others, since 1 minus a probability close to 1 has lost its digits.
    wrong = np.minimum(np.where(right, 0.0, class_proba).sum(axis=1), 1.0)
    p_wrong = np.where(right.any(axis=1), wrong, 0.0)
    margin = class_proba.max(axis=1) - np.where(right, class_proba, 0.0).sum(axis=1)
    return p_wrong, margin


def rank_issues(
    task: Task,
    class_proba: FloatArray,
    codes: IntArray,
    classes: AnyArray,
    library: Library,
    *,
    threshold: float,
    all_rows: bool,
    with_unlabelled: bool,
    own_proba: FloatArray | None = None,
) -> LabelIssues:
    """`label_issues` from arrays: W and the columns of T as in `label_errors`.

    ``classes`` (C,) are names in the type to suggest them in, ``library`` is what tables are made
    of. ``own_proba`` (N,), p(class of the label | x) before the label counts, puts rows in
    order in place of p_wrong.
    """
    n_rows = len(codes)
    if not isinstance(threshold, Real) or not 0 <= float(threshold) <= 1:
        raise ValueError(f"threshold must be a probability in [0, 1]; got {threshold!r}.")
    if library.index is not None and len(library.index) != n_rows:
        raise ValueError(f"like must have one row per label, {n_rows}; got {len(library.index)}.")
    check_flag("all_rows", all_rows)
    check_flag("with_unlabelled", with_unlabelled)
    p_wrong, margin = label_errors(class_proba, codes, task.own)
    unlabelled = codes == 0 if task.has_unlabelled else np.zeros(n_rows, dtype=bool)
    # A label that is nobody's own is not listed even if the threshold is 0.
    doubtful = np.isin(codes, task.own) & (p_wrong >= threshold)
    listed = np.where(unlabelled, bool(with_unlabelled), doubtful | bool(all_rows))
    worst_first = -p_wrong if own_proba is None else own_proba
    order = np.lexsort((-margin, worst_first, unlabelled))  # stable: then by row
    order = order[listed[order]]
    arrays = (
        order,
        _given(task, codes[order], classes.dtype),
        classes[class_proba[order].argmax(axis=1)],
        p_wrong[order],
        margin[order],
        class_proba[order],
        classes.copy(),
    )
    for array in arrays:
        array.flags.writeable = False
    return LabelIssues(*arrays, library.at(order))


def _given(task: Task, codes: IntArray, dtype: np.dtype[Any]) -> AnyArray:
    """Names of the labels, in the type of the classes if it is of the same kind, (n,)."""
    names = task.labels
    if task.has_unlabelled and (codes > 0).all():
        names, codes = names[1:], codes - 1
    array = names_array(names)
    return (array.astype(dtype) if array.dtype.kind == dtype.kind in "biuf" else array)[codes]


def _renamed(positions: IntArray, rows: ArrayLike, n_rows: int) -> IntArray:
    numbers = np.asarray(rows)
    if numbers.dtype.kind not in "iu" or numbers.shape != (n_rows,):
        raise ValueError(
            f"rows must be one integer per label, shape ({n_rows},); got shape {numbers.shape} of "
            f"{numbers.dtype}."
        )
    renamed = numbers[positions].astype(np.int64)
    renamed.flags.writeable = False
    return renamed
