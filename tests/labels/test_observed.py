"""Observed labels: every type they come in, what is a gap, and what is refused."""

import dataclasses
import datetime
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from decoupling.labels.observed import ObservedLabels, encode_labels, read_labels


def objects(*values):
    """A (N,) object array, also of tuples."""
    return np.fromiter(values, dtype=object, count=len(values))


def assert_read(y, dtype, values, codes, **options):
    observed = read_labels(y, **options)
    assert observed.values.dtype == dtype
    assert observed.values.tolist() == list(values)
    assert observed.codes.dtype == np.int64
    assert observed.codes.tolist() == list(codes)


def test_the_record():
    observed = read_labels(["b", None, "a", "b"])
    assert isinstance(observed, ObservedLabels)
    np.testing.assert_array_equal(observed.labelled, [True, False, True, True])
    np.testing.assert_array_equal(observed.counts, [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        observed.values[0] = "c"
    with pytest.raises(ValueError, match="read-only"):
        observed.codes[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        observed.codes = None


@pytest.mark.parametrize(
    ("y", "dtype", "values", "codes"),
    [
        (np.array([5, 3, 5]), "int64", [3, 5], [1, 0, 1]),
        (np.array([5, 3, 5], dtype="uint8"), "uint8", [3, 5], [1, 0, 1]),
        (np.array([-5, 3], dtype="int16"), "int16", [-5, 3], [0, 1]),
        (np.array([True, False, True]), "bool", [False, True], [1, 0, 1]),
        (np.array([2.0, np.nan, 1.0, np.nan]), "float64", [1.0, 2.0], [1, -1, 0, -1]),
        (np.array([2.0, np.nan], dtype="float32"), "float64", [2.0], [0, -1]),
        (np.array(["b", "ab", "b"]), "<U2", ["ab", "b"], [1, 0, 1]),
        (np.array([3, 1])[::-1], "int64", [1, 3], [0, 1]),
        (np.ma.masked_equal([3, 1, 9], 9), "int64", [1, 3], [1, 0, -1]),
        (np.ma.array([3, 1], dtype="uint8"), "uint8", [1, 3], [1, 0]),
    ],
)
def test_plain_arrays(y, dtype, values, codes):
    assert_read(y, dtype, values, codes)


@pytest.mark.parametrize(
    ("y", "dtype", "values", "codes"),
    [
        (["b", "a"], "<U1", ["a", "b"], [1, 0]),
        (("b", "a"), "<U1", ["a", "b"], [1, 0]),
        (["b", "a", None], "O", ["a", "b"], [1, 0, -1]),
        (["b", np.nan], "O", ["b"], [0, -1]),
        (["a\0", "b"], "O", ["a\0", "b"], [0, 1]),
        ([np.str_("b"), "a"], "<U1", ["a", "b"], [1, 0]),
        (objects("b", "a"), "O", ["a", "b"], [1, 0]),
        ([2, None, 1], "int64", [1, 2], [1, -1, 0]),
        ([2, np.nan, 1], "int64", [1, 2], [1, -1, 0]),
        (objects(2, None, 1), "int64", [1, 2], [1, -1, 0]),
        ([2, 1.0, 1], "float64", [1.0, 2.0], [1, 0, 0]),
        ([np.int64(2), 1, np.float32(1)], "float64", [1.0, 2.0], [1, 0, 0]),
        ([np.uint8(2), np.uint8(1)], "uint8", [1, 2], [1, 0]),
        ([2**80, -1, 2**80 + 1], "O", [-1, 2**80, 2**80 + 1], [1, 0, 2]),
        ([True, None, np.False_], "bool", [False, True], [1, -1, 0]),
        (range(3), "int64", [0, 1, 2], [0, 1, 2]),
        (objects((1, "b"), (1, "a"), None), "O", [(1, "a"), (1, "b")], [1, 0, -1]),
    ],
)
def test_lists_and_objects(y, dtype, values, codes):
    assert_read(y, dtype, values, codes)


def test_dates():
    days = np.array(["2021-01-02", "NaT", "2021-01-01"], dtype="datetime64[D]")
    expected = [datetime.date(2021, 1, 1), datetime.date(2021, 1, 2)]
    assert_read(days, "datetime64[D]", expected, [1, -1, 0])
    assert_read(days.tolist(), "O", expected, [1, -1, 0])


@pytest.mark.parametrize("gap", [None, np.nan, np.float32("nan"), np.datetime64("NaT")])
def test_gaps(gap):
    assert_read(["a", gap, gap], "O", ["a"], [0, -1, -1])


@pytest.mark.parametrize(
    ("y", "unlabelled", "values", "codes"),
    [
        (np.array([1, -1, 0]), -1, [0, 1], [1, -1, 0]),
        (np.array([1.0, -1.0, np.nan]), -1, [1.0], [0, -1, -1]),
        ([1, -1.0, None], -1, [1], [0, -1, -1]),
        (["a", "?", None], "?", ["a"], [0, -1, -1]),
        (np.array(["a", "?"]), "?", ["a"], [0, -1]),
        (["a", "", " "], "", ["a"], [0, -1, -1]),
        (np.array(["a", "", " "]), "", ["a"], [0, -1, -1]),
        (["a", -1], -1, ["a"], [0, -1]),
        ([True, False], 0, [False, True], [1, 0]),  # equal to False, but another type
        (np.array([True, False]), False, [True], [0, -1]),
        (objects((1, 2), (3, 4)), (1, 2), [(3, 4)], [-1, 0]),
        ([1, 2], "?", [1, 2], [0, 1]),
        ([1, np.nan], np.nan, [1], [0, -1]),
    ],
)
def test_a_value_that_means_unlabelled(y, unlabelled, values, codes):
    observed = read_labels(y, unlabelled=unlabelled)
    assert observed.values.tolist() == values
    assert observed.codes.tolist() == codes
    assert encode_labels(y, observed.values, unlabelled=unlabelled).tolist() == codes


def pandas_columns(pd):
    index = [7, 7, 7]
    yield pd.Series([2, None, 1], dtype="Int64", index=index), "int64", [1, 2]
    yield pd.Series([2.0, None, 1.0]), "float64", [1.0, 2.0]
    yield pd.Series([True, None, False], dtype="boolean"), "bool", [False, True]
    yield pd.Series(["b", None, "a"], dtype="string"), "O", ["a", "b"]
    yield pd.Series(["b", pd.NA, "a"], dtype="object"), "O", ["a", "b"]
    yield pd.Series([2, pd.NaT, 1], dtype="object"), "int64", [1, 2]
    yield pd.Series(["b", None, "a"]), "O", ["a", "b"]
    yield pd.Series(["b", None, "a"], dtype=pd.CategoricalDtype(["c", "b", "a"])), "O", ["a", "b"]
    yield pd.Series([2, None, 1], dtype=pd.CategoricalDtype([1, 2, 3])), "int64", [1, 2]
    yield pd.Categorical([2, None, 1]), "int64", [1, 2]
    yield pd.array([2, None, 1], dtype="Int64"), "int64", [1, 2]
    yield pd.Index([2, None, 1], dtype="Int64"), "int64", [1, 2]
    yield [2, pd.NA, 1], "int64", [1, 2]


def test_pandas():
    pd = pytest.importorskip("pandas")
    for y, dtype, values in pandas_columns(pd):
        assert_read(y, dtype, values, [1, -1, 0])


def test_pandas_without_gaps():
    pd = pytest.importorskip("pandas")
    # The names in an index are attributes of the series, which must not mislead.
    index = ["columns", "null_count"]
    assert_read(pd.Series([2, 1], dtype="Int64", index=index), "int64", [1, 2], [1, 0])
    assert_read(pd.Series([2, 1], dtype="uint8"), "uint8", [1, 2], [1, 0])
    assert_read(pd.Series([True, False], dtype="boolean"), "bool", [False, True], [1, 0])
    assert_read(pd.Series(["b", "a"]), "O", ["a", "b"], [1, 0])
    assert_read(pd.Series(["b", "a"], dtype="category"), "O", ["a", "b"], [1, 0])


def test_pandas_with_pyarrow():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    words = pd.Series(["b", None, "a"], dtype="string[pyarrow]")
    assert_read(words, "O", ["a", "b"], [1, -1, 0])
    numbers = pd.Series([2, None, 1], dtype="int64[pyarrow]")
    assert_read(numbers, "int64", [1, 2], [1, -1, 0])


NULLABLE = [
    ([2, None, 1], "int64", [1, 2]),
    ([True, None, False], "bool", [False, True]),
    ([2.0, None, 1.0], "float64", [1.0, 2.0]),
    (["b", None, "a"], "O", ["a", "b"]),
]


@pytest.mark.parametrize(("y", "dtype", "values"), NULLABLE)
def test_polars(y, dtype, values):
    pl = pytest.importorskip("polars")
    assert_read(pl.Series(y), dtype, values, [1, -1, 0])
    assert_read(pl.Series(y).drop_nulls(), dtype, values, [1, 0])


def test_polars_types():
    pl = pytest.importorskip("polars")
    assert_read(pl.Series([2, 1], dtype=pl.UInt8), "uint8", [1, 2], [1, 0])
    assert_read(pl.Series([2.0, float("nan"), None]), "float64", [2.0], [0, -1, -1])
    enum = pl.Enum(["c", "b", "a"])
    assert_read(pl.Series(["b", None, "a"], dtype=enum), "O", ["a", "b"], [1, -1, 0])


@pytest.mark.parametrize(("y", "dtype", "values"), NULLABLE)
def test_pyarrow(y, dtype, values):
    pa = pytest.importorskip("pyarrow")
    assert_read(pa.array(y), dtype, values, [1, -1, 0])
    assert_read(pa.array(y).drop_null(), dtype, values, [1, 0])
    assert_read(pa.array(y).dictionary_encode(), dtype, values, [1, -1, 0])
    assert_read(pa.chunked_array([y[:1], y[1:]]), dtype, values, [1, -1, 0])


@pytest.mark.parametrize(
    ("y", "values"),
    [(np.array([[2], [1]]), [1, 2]), ([["b"], ["a"]], ["a", "b"]), ([[2], [None]], [2])],
)
def test_a_column_is_flattened_with_a_warning(y, values):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed when a 1d array"):
        assert read_labels(y).values.tolist() == values


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_one_column(library):
    frames = pytest.importorskip(library)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert_read(frames.DataFrame({"label": ["b", None, "a"]}), "O", ["a", "b"], [1, -1, 0])
    with pytest.raises(ValueError, match=r"1d array, got an array of shape \(2, 2\) instead"):
        read_labels(frames.DataFrame({"label": [1, 2], "other": [3, 4]}))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([], "y is empty"),
        (np.zeros((0, 1)), "y is empty"),
        ([None, np.nan], "y has no labelled rows: all 2 of them are unlabelled"),
        (np.full(3, np.nan), "no labelled rows: all 3"),
        (np.zeros((3, 2)), r"y should be a 1d array, got an array of shape \(3, 2\) instead\."),
        ([(1, 2), (3, 4)], r"y should be a 1d array, got an array of shape \(2, 2\) instead\."),
        ("cat", r"y should be a 1d array, got an array of shape \(\) instead\."),
        (3, r"y should be a 1d array, got an array of shape \(\) instead\."),
        (
            [1.0, np.inf, -np.inf, None],
            r"Input contains infinity .*'float64'\)\..* row 1, in 2 rows",
        ),
        (np.array([np.inf]), r"Input contains infinity .*'float64'\)\..* row 0, in 1 row "),
        (np.array([0.5, 1.0, np.nan]), "Unknown label type: continuous"),
        ([0.5, None], "Unknown label type: continuous"),
        (np.linspace(0, 1, 50), "Unknown label type: continuous"),
        (["1", 1, 1, None], r"mixes .* str, such as '1' \(1 row\); int, such as 1 \(2 rows\)\."),
        ([True, 1], r"bool, such as True \(1 row\); int, such as 1 \(1 row\)"),
        ([True, 1.0], r"bool, such as True \(1 row\); float, such as 1.0 \(1 row\)"),
        ([(1, 2), 3], r"tuple, such as \(1, 2\) \(1 row\); int, such as 3 \(1 row\)"),
        (np.array([b"a"]), r"type bytes_, such as b'a', which is not supported\. .*decode"),
        ([b"a", None], r"type bytes, such as b'a', which is not supported"),
        (np.array([1j]), "type complex128, .* not supported"),
        ([[1, 2], [3]], r"y: \[1, 2\] at row 0 cannot be a label, since it is not hashable"),
        ([object(), object()], "labels of type object cannot be sorted"),
    ],
)
def test_refused(y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(y)


def test_only_one_value_means_unlabelled():
    with pytest.raises(ValueError, match=r"unlabelled must be one value; got \['', '\?'\]"):
        read_labels(["a", "b"], unlabelled=["", "?"])


@pytest.mark.parametrize("as_y", [list, np.array, lambda y: objects(*y)])
def test_twins(as_y):
    y = as_y(["cat"] * 40 + ["Cat "] * 2 + ["dog", "DOG", "bird"])
    with pytest.warns(
        UserWarning,
        match=r": 'cat' \(40 rows, first 0\), 'Cat ' \(2 rows, first 40\); 'DOG' \(1 row, first",
    ):
        observed = read_labels(y)
    assert observed.values.tolist() == ["Cat ", "DOG", "bird", "cat", "dog"]


def test_blank_labels():
    with pytest.warns(UserWarning, match=r'blank .* in 3 rows\. .* pass unlabelled=""') as caught:
        observed = read_labels(["a", "", " ", ""])
    assert len(caught) == 1
    assert observed.values.tolist() == ["", " ", "a"]


def test_the_input_is_not_modified():
    for y in ([2.0, np.nan, 1.0], np.array([[3], [1]]), objects("b", None, "a"), np.array(["b"])):
        before = np.array(y, copy=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataConversionWarning)
            observed = read_labels(y)
        np.testing.assert_array_equal(y, before)
        assert not isinstance(y, np.ndarray) or y.flags.writeable
        assert not np.shares_memory(observed.values, y)


@pytest.mark.parametrize(
    ("y", "values", "codes"),
    [
        (["b", None, "a"], np.array(["a", "b", "c"]), [1, -1, 0]),
        (["b", None, "a"], ["b", "a"], [0, -1, 1]),
        (np.array([3, 1]), np.array([1.0, 2.0, 3.0]), [2, 0]),
        (np.array([3.0, np.nan]), [1, 3], [1, -1]),
        (np.array([True]), np.array([False, True]), [1]),
        ([None, None], np.array([1, 2]), [-1, -1]),
        (["positive", None], [None, "positive"], [1, -1]),
        (np.array(["2021-01-01"], dtype="datetime64[D]"), [np.datetime64("2021-01-01")], [0]),
    ],
)
def test_encode(y, values, codes):
    result = encode_labels(y, values)
    assert result.dtype == np.int64
    assert result.tolist() == codes


@pytest.mark.parametrize(
    ("y", "values", "message"),
    [
        (["x", "a", "z", "z"], ["a", "b"], r"3 rows: 'z' \(2\), 'x' \(1\)\. Known are 'a', 'b'\."),
        (["1", None], np.array([1, 2]), r"1 row: '1' \(1\)\. Known are 1, 2\."),
        ([True], np.array([0, 1]), r"True \(1\)\. Known are 0, 1\."),
        (
            np.arange(9),
            range(10, 18),
            r"3 \(1\), 4 \(1\) and 4 more\. Known are 10, .* and 3 more\.",
        ),
        ([], ["a"], "y is empty"),
        (None, ["a"], "the target y is None"),
    ],
)
def test_encode_refuses(y, values, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(y, values)


LABELS = st.one_of(
    *(
        st.lists(st.none() | kind, max_size=30).filter(lambda y: set(y) - {None})
        for kind in (st.text(), st.booleans(), st.integers(), st.integers(-9, 9).map(float))
    )
)


@given(LABELS, st.randoms(use_true_random=False))
def test_codes_decode_to_the_labels_and_follow_the_rows(y, random):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of twins and blanks
        observed = read_labels(y)
        order = random.sample(range(len(y)), len(y))
        permuted = read_labels([y[i] for i in order])
    names = [*observed.values.tolist(), None]  # code -1 is the last
    assert [names[code] for code in observed.codes] == y
    assert names[:-1] == sorted(set(y) - {None})
    assert permuted.values.tolist() == observed.values.tolist()
    np.testing.assert_array_equal(permuted.codes, observed.codes[order])
    np.testing.assert_array_equal(encode_labels(y, observed.values), observed.codes)


@pytest.mark.parametrize(
    ("y", "unlabelled", "shown"),
    [(["a", "-1", "b"], -1, "'-1'"), ([1, -1, 2], "-1", "-1"), ([True, False], "True", "True")],
)
def test_a_label_that_only_looks_like_unlabelled(y, unlabelled, shown):
    with pytest.warns(
        UserWarning, match=f"y has {shown}, which looks like it, .* unlabelled={shown}"
    ):
        assert read_labels(y, unlabelled=unlabelled).labelled.all()
