"""The posterior of one row explained, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from decoupling._text import name_text
from decoupling._typing import FloatArray
from decoupling.classifier.estimator import DecouplingClassifier


@dataclass(frozen=True, eq=False)
class Explanation:
    """Numbers behind the posterior of one row.

    Attributes
    ----------
    row : int
        Its number.
    id : str or None
        Its id, if rows have ids.
    given : object
        Its label; None if it has none.
    labels, classes : list
        Names of the columns and rows of T.
    label_proba : array (S,)
        p(label | x), what the classifier predicts.
    class_proba : array (C,)
        p(class | x), what is inferred from that; or what the classifier predicts once it has been
        retrained on the classes.
    given_label : array (C,)
        p(given label | class), a column of T.
    result : array (C,)
        p(class | label, x): the product of these two, made to sum to 1.
    shares : array (C,)
        Estimated share of each class among all rows.
    decided : bool
        Whether a person has decided on the class.
    retrained : bool
        Whether the classifier has been retrained.
    """

    row: int
    id: str | None
    given: Any
    labels: list[Any]
    classes: list[Any]
    label_proba: FloatArray
    class_proba: FloatArray
    given_label: FloatArray
    result: FloatArray
    shares: FloatArray
    decided: bool = False
    retrained: bool = False

    def as_dict(self) -> dict[str, Any]:
        """All attributes, with lists for arrays, and the words."""
        values = {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }
        return values | {"words": self.words()}

    def words(self) -> str:
        """The explanation in a few sentences."""
        best = int(self.result.argmax())
        suggested = self.classes[best]
        row = f"Row {self.row}" + ("" if self.id is None else f" (id {self.id!r})")
        given = "no label" if self.given is None else f"the label {self.given!r}"
        seen = int(self.class_proba.argmax())
        lines = [
            f"{row} has {given}.",
            f"By its features alone it is most probably {self.classes[seen]!r} "
            f"({_percent(self.class_proba[seen])}).",
        ]
        if self.decided:
            lines.append(f"A person has decided that it is {suggested!r}.")
        elif self.given is None:
            rate = float(self.given_label @ self.class_proba)
            lines.append(
                f"Rows like it stay unlabelled in {_percent(rate)} of cases; that it has no label "
                f"makes {suggested!r} {_percent(self.result[best])} probable."
            )
        elif self.given in self.classes:
            own = self.classes.index(self.given)
            if suggested == self.given:
                lines.append(
                    f"Of the class {self.given!r}, {_percent(self.given_label[own])} get this "
                    f"label, so that it is right with a probability of "
                    f"{_percent(self.result[own])}."
                )
            else:
                lines.append(
                    f"Of the class {suggested!r}, {_percent(self.given_label[best])} get the label "
                    f"{self.given!r} all the same, so that {suggested!r} stays "
                    f"{_percent(self.result[best])} probable and the label is wrong with a "
                    f"probability of {_percent(1.0 - self.result[own])}."
                )
        if self.retrained:
            lines.append(
                "The classifier was retrained on the classes: p(class | x) is mostly what it says "
                "since, and does not follow from p(label | x) and T alone."
            )
        return "\n".join(lines)


def _percent(p: float) -> str:
    """A probability in per cent; one that is nearly 1 is not called 100%."""
    if 0 < p < 0.0005:
        return "less than 0.1%"
    return "more than 99.9%" if 0.9995 <= p < 1 else f"{p:.1%}"


def row_of_number(text: str, n_rows: int) -> int:
    """Number of a row, from what was typed.

    Examples
    --------
    >>> row_of_number("17", 20)
    17
    """
    digits = text.lstrip("0") or "0"
    # A number of thousands of digits is none of a row, and Python refuses to read it.
    if text.isdecimal() and len(digits) <= len(str(n_rows)) and int(digits) < n_rows:
        return int(digits)
    raise ValueError(
        f"There is no row {name_text(text)!r}: rows are numbered from 0 to {n_rows - 1}."
    )


def row_of_id(text: str, names: Sequence[str]) -> int:
    """Number of the row that has an id."""
    if text in names:
        return names.index(text)
    hint = ""
    if text.isdecimal() and len(text) <= len(str(len(names))) and int(text) < len(names):
        place = int(text)
        hint = f" Row number {place} has the id {names[place]!r}: --row {place} explains that one."
    raise ValueError(f"No row has the id {name_text(text)!r}.{hint}")


def explanation_of(
    clf: DecouplingClassifier, row: int, *, id: str | None = None, decided: bool = False
) -> Explanation:
    """Explain the posterior of a row that a classifier was fitted on; ``id`` is its name."""
    n_rows = len(clf.label_proba_)
    if not 0 <= row < n_rows:
        raise ValueError(f"row must be from 0 to {n_rows - 1}; got {row}.")
    code = int(clf.observed_.codes[row])
    given = None if code < 0 else clf.observed_.values.tolist()[code]
    column = list(clf.labels_).index(given)
    return Explanation(
        row=row,
        id=id,
        given=given,
        labels=list(clf.labels_),
        classes=clf.classes_.tolist(),
        label_proba=clf.label_proba_[row],
        class_proba=clf.class_proba_[row],
        given_label=clf.transitions_[:, column],
        result=clf.label_conditional_proba_[row],
        shares=np.asarray(clf.label_conditional_proba_.mean(axis=0)),
        decided=decided,
        retrained=clf.retrained_ is not None,
    )
