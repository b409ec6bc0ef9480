"""Which library a column is of, and tables that go back to it."""

import numpy as np
import pytest

from decoupling.labels.libraries import Library, library_of


def test_a_list_is_of_numpy():
    assert library_of([1]).name == "numpy"


def test_records_of_numpy():
    table = Library().frame({"place": np.array([3, 1]), "label": np.array(["a", "b"])}, {"label"})
    assert table.place.tolist() == [3, 1]
    assert table.label.tolist() == ["a", "b"]


def test_columns_of_labels_take_their_type_if_it_holds_them():
    pd = pytest.importorskip("pandas")
    library = library_of(pd.Series([True, False]))
    columns = {
        "held": np.array([True, False], dtype=object),
        "not held": np.array(["no", True], dtype=object),  # of any string numpy makes True
        "no label": np.array([True, False], dtype=object),
    }
    table = library.frame(columns, {"held", "not held"})
    assert table["held"].dtype == bool
    assert table["not held"].tolist() == ["no", True]
    assert table["no label"].dtype == object


def test_the_index_goes_along():
    pd = pytest.importorskip("pandas")
    library = library_of(pd.Series(["a", "b", "c"], index=[7, 8, 9])).at(np.array([2, 0]))
    assert library.frame({"x": np.array([1, 2])}).index.tolist() == [9, 7]
