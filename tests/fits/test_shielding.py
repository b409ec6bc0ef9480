"""Rows that a model cannot change."""

import numpy as np
import pytest
from scipy import sparse

from decoupling.fits.shielding import own_rows, shielded

KINDS = {
    "array": lambda X: X.copy(),
    "objects": lambda X: X.astype(object),
    "csr": sparse.csr_array,
    "csr matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "pandas": lambda X: pytest.importorskip("pandas").DataFrame(X.copy()),
    "polars": lambda X: pytest.importorskip("polars").DataFrame(X),
    "pyarrow": lambda X: pytest.importorskip("pyarrow").table({"x": X[:, 0]}),
    "list": lambda X: list(map(str, X[:, 0])),
    "tuple": lambda X: tuple(map(str, X[:, 0])),
}
X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_arrive_as_they_are(kind):
    rows = KINDS[kind](X)
    found = shielded(lambda given: given, rows)
    assert type(found) is type(rows)
    np.testing.assert_array_equal(as_array(found), as_array(rows))


@pytest.mark.parametrize("kind", ["array", "csr", "csr matrix", "csc"])
def test_nothing_is_copied_for_those_who_only_read(kind):
    rows = KINDS[kind](X)
    found = shielded(lambda given: given, rows)
    one, other = (getattr(each, "data", each) for each in (rows, found))
    assert np.shares_memory(one, other)
    assert np.asarray(one).flags.writeable
    assert not np.asarray(other).flags.writeable


def test_who_writes_is_called_with_a_copy():
    rows, calls = X.copy(), []

    def move(given):
        calls.append(given)
        given += 1.0
        return given

    np.testing.assert_array_equal(shielded(move, rows), X + 1.0)
    np.testing.assert_array_equal(rows, X)
    assert len(calls) == 2


def test_other_errors_come_at_once_and_as_they_are():
    calls = []

    def fail(given):
        calls.append(given)
        raise KeyError("no such row")

    with pytest.raises(KeyError, match="no such row"):
        shielded(fail, X)
    assert len(calls) == 1


def test_unsorted_indices_of_a_sparse_matrix_stay():
    rows = sparse.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), (1, 3))
    assert shielded(lambda given: (given.sort_indices(), given.indices[0])[1], rows) == 0
    assert rows.indices.tolist() == [2, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0]], ids=["all", "some"])
def test_own_rows(kind, rows):
    given = KINDS[kind](X)
    found = own_rows(given, np.array(rows))
    expected = as_array(given)[rows]
    np.testing.assert_array_equal(as_array(found), expected)
    if kind == "pandas":
        assert not np.shares_memory(found.to_numpy(), given.to_numpy())


def as_array(rows):
    if sparse.issparse(rows):
        return rows.toarray()
    return np.asarray(rows)
