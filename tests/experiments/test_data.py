"""Data by name and from files, and what is said of files that will not do."""

import numpy as np
import pytest

from decoupling.experiments.data import load_data

X = np.arange(24.0).reshape(12, 2)
Y = np.array(["cat", "dog", "eel"] * 4)


@pytest.fixture(autouse=True)
def forget():
    load_data.cache_clear()


def write_csv(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_digits():
    data = load_data("digits")
    assert data.X.shape == (1347, 64)
    assert data.X.dtype == np.float32
    assert data.names == tuple("0123456789")
    assert data.smallest == np.bincount(data.classes).min()


def test_npz_with_and_without_a_test_part(tmp_path):
    path = tmp_path / "pets.npz"
    np.savez(path, X=X, y=Y)
    data = load_data(str(path))
    assert data.names == ("cat", "dog", "eel")
    assert (len(data.X), len(data.X_test)) == (9, 3)
    assert sorted(data.X[:, 0].tolist() + data.X_test[:, 0].tolist()) == X[:, 0].tolist()
    names = np.array(data.names)
    np.testing.assert_array_equal(names[data.classes], Y[(data.X[:, 0] / 2).astype(int)])
    np.savez(path, X=X, y=Y, X_test=X[:2], y_test=Y[1:3])
    load_data.cache_clear()
    whole = load_data(str(path))
    np.testing.assert_array_equal(whole.classes_test, [1, 2])
    assert whole.name != data.name, "another content is another name"
    assert whole.name.startswith("pets-")


def test_csv_of_numbers(tmp_path):
    lines = [f"{a},{label},{b}" for (a, b), label in zip(X, Y, strict=True)]
    path = write_csv(tmp_path / "pets.csv", "\n".join(["left,class,right", *lines, ""]))
    data = load_data(path)
    assert data.X.shape == (9, 2)
    assert data.names == ("cat", "dog", "eel")


def test_csv_of_texts_and_the_last_column_as_class(tmp_path):
    lines = [f'"the {label} says, hello {k}",{label}' for k, label in enumerate(Y)]
    path = write_csv(tmp_path / "texts.csv", "\n".join(["text,animal", *lines]))
    data = load_data(path)
    assert data.X.shape[0] == 9
    assert data.X.nnz > 0
    assert data.names == ("cat", "dog", "eel")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"X": X}, r"needs arrays X and y; it has \['X'\]"),
        ({"X": X, "y": Y[:5]}, r"X of shape \(12, 2\)"),
        ({"X": np.where(X == 4, np.nan, X), "y": Y}, "1 rows of X are not finite.* row 2"),
        ({"X": Y[:, None], "y": Y}, "must be numbers"),
        ({"X": X, "y": Y, "X_test": X}, "no y_test"),
        ({"X": X, "y": Y, "X_test": X, "y_test": np.array(["ape"] * 12)}, "12 of its rows"),
        ({"X": X, "y": Y, "X_test": X[:, :1], "y_test": Y}, "has 1 features, X has 2"),
        ({"X": X, "y": np.array(["cat"] * 12)}, "at least 2 classes"),
        ({"X": X, "y": np.array(["cat"] * 11 + ["dog"])}, "the smallest with 1 rows"),
        ({"X": X, "y": np.where(X[:, 0] == 4, np.nan, 1.0)}, "1 rows have no class.* row 2"),
        ({"X": X, "y": np.ones(12), "X_test": X, "y_test": np.ones(12)}, "a single class"),
        ({"X": X, "y": Y.astype(object)}, "without pickled objects"),
    ],
)
def test_npz_that_will_not_do(tmp_path, parts, message):
    path = tmp_path / "bad.npz"
    np.savez(path, **parts)
    with pytest.raises(ValueError, match=message):
        load_data(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the header has 0"),
        ("a,class\n", "needs a header"),
        ("a,class\n1,x\n2\n", "line 3 has 1 fields"),
        ("a,class\n1,x\n\n\n2\n", "line 5 has 1 fields"),
        ("a,class\n1,x\ninf,x\n2,y\n3,y\n", "1 rows of X are not finite"),
        ("a,class\n1,x\n,x\n2,y\n3,y\n", "1 fields are no numbers, the first is '' in line 3"),
        ("a,class\n1,x\n2,\n", "1 rows have no class in column 'class', the first in line 3"),
        ("a,class\n1,x\n2,y\n", "at least 4 rows each"),
        ('a,class\n"' + "x" * 200_000 + '",y\n', "cannot be read as .csv"),
    ],
)
def test_csv_that_will_not_do(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        load_data(write_csv(tmp_path / "bad.csv", text))


def test_neither_a_name_nor_a_file(tmp_path):
    with pytest.raises(ValueError, match='"fashion", "digits", or the path'):
        load_data("mnist")
    with pytest.raises(FileNotFoundError, match=r"none\.csv does not exist"):
        load_data(str(tmp_path / "none.csv"))
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ValueError, match="cannot be read"):
        load_data(str(tmp_path / "text.npz"))


def test_csv_in_another_encoding(tmp_path):
    (tmp_path / "latin.csv").write_bytes("a,class\n1,größe\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.csv cannot be read as \.csv in UTF-8"):
        load_data(str(tmp_path / "latin.csv"))
