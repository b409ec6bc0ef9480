"""What labels came in, as plain values."""

import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from decoupling.labels.libraries import Library, library_of
from decoupling.persistence.libraries import library_of_parts, library_parts


@pytest.mark.parametrize(
    "y",
    [
        pd.Series([1, 2]),
        pd.Series([1, None], dtype="Int64", index=["x", "y"], name="label"),
        pd.Series(["a", "b"], index=pd.RangeIndex(5, 9, 2, name="row")),
        pd.Series(["b", "a"], dtype="category", index=pd.to_datetime(["2020-01-01", "2020-01-02"])),
        pd.Series(pd.Categorical(["low"], ["low", "high"], ordered=True), index=[2.5]),
        pl.Series(["a", "b"]),
        pl.Series([1, 2], dtype=pl.Int16),
        pa.array(["a", "b"]),
        pa.array([True, None]),
    ],
)
def test_library_index_and_type_come_back(y):
    library = library_of(y)
    again = library_of_parts(*library_parts(library))
    assert again.name == library.name
    assert again.dtype == library.dtype
    if library.index is None:
        assert again.index is None
    else:
        pd.testing.assert_index_equal(again.index, library.index)


def test_what_words_cannot_say_is_left_out():
    levels = pd.MultiIndex.from_tuples([(1, 2), (3, 4)])
    assert library_parts(library_of(pd.Series([1, 2], index=levels)))[1] is None
    zoned = pd.to_datetime(["2020-01-01"]).tz_localize("UTC")
    assert library_parts(library_of(pd.Series([1], index=zoned)))[1] is None
    listed = library_of(pl.Series(["a"], dtype=pl.Enum(["a", "b"])))
    assert library_parts(listed) == ("polars", None, None)
    assert library_parts(library_of(pa.array(["a"]).dictionary_encode()))[2] is None
    dates = pd.CategoricalDtype([pd.Period("2020")])
    assert library_parts(Library("pandas", None, dates))[2] is None


@pytest.mark.parametrize("name", ["os", "numpy", "../pandas"])
def test_no_other_library_is_imported(name):
    library = library_of_parts(name, None, None)
    assert (library.name, library.index, library.dtype) == ("numpy", None, None)


def test_a_library_that_is_not_installed_is_done_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert library_of_parts("polars", None, "String").name == "numpy"


@pytest.mark.parametrize("text", ["read_csv", "no such type", "", 3])
@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_names_of_other_things_are_no_types(name, text):
    assert library_of_parts(name, None, text).dtype is None
