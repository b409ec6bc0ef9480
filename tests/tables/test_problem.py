"""Labels, features and names of rows in a table."""

import numpy as np
import pyarrow as pa
import pytest

from decoupling.tables.problem import Roles, pose
from decoupling.tables.reading import Table, TableError


def table_of(**columns):
    return Table(pa.table(columns), "table.csv", {"delimiter": ","})


X = [0.5, 1.5, 2.5, 2.5]


def test_all_is_found():
    problem = pose(table_of(name=["p", "q", "r", None], x=X, Label=["a", "b", None, "a"]))
    assert problem.label == "Label"
    assert problem.labels.tolist() == ["a", "b", None, "a"]
    assert [feature.name for feature in problem.features] == ["x"]
    assert [column.name for column in problem.left_out] == ["name"]
    assert problem.guesses == {"delimiter": ",", "label column": "Label"}
    np.testing.assert_array_equal(problem.X[:, 0], X)
    assert problem.row_names is None


def test_all_is_given():
    table = table_of(x=X, z=X, who=[7, 8, 9, 10], label=X, given=["a", "b", "?", "a"])
    problem = pose(
        table, Roles(label="given", id_column="who", exclude=["label", "z"], unlabelled="?")
    )
    assert problem.labels.tolist() == ["a", "b", None, "a"]
    assert problem.row_names == ["7", "8", "9", "10"]
    assert [feature.name for feature in problem.features] == ["x"]
    assert "label column" not in problem.guesses


@pytest.mark.parametrize("typed", ["-1", "-1.0"])
def test_numbers_that_mean_unlabelled(typed):
    problem = pose(table_of(x=X, label=[-1, 1, 2, -1]), Roles(unlabelled=typed))
    assert problem.labels.tolist() == [None, 1, 2, None]


def test_the_last_column_is_the_label_if_none_is_called_so():
    assert pose(table_of(x=X, kind=["a", "b", "a", "b"])).label == "kind"


def test_labels_of_any_type_of_parquet():
    days = pa.array([1, 2, 1, None], pa.date32())
    assert pose(table_of(x=X, label=days)).labels.tolist() == [
        "1970-01-02", "1970-01-03", "1970-01-02", None,
    ]  # fmt: skip
    assert pose(table_of(x=X, label=[1.0, 2.0, np.nan, 1.0])).labels.tolist() == [1, 2, None, 1]
    assert pose(table_of(x=X, label=[1.5, 2.0, 1.5, 2.0])).labels.tolist() == ["1.5", "2.0"] * 2
    assert pose(table_of(x=X, label=[True, False, None, True])).labels.tolist()[:2] == [True, False]


def test_images_are_no_features(tmp_path):
    (tmp_path / "p").write_bytes(b"")
    table = table_of(x=X, path=["p", "q", "p", "q"], label=["a", "b"] * 2)
    problem = pose(table, Roles(image="path", folder=tmp_path))
    assert [feature.name for feature in problem.features] == ["x"]
    assert len(problem.images) == 4


def test_the_guess_leaves_other_columns_alone():
    columns = {"x": X, "kind": ["a", "b"] * 2, "label": ["u", "v"] * 2, "who": ["p", "q", "r", "s"]}
    assert pose(table_of(**columns), Roles(id_column="who", exclude=["label"])).label == "kind"


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"x": X, "kind": ["a", "b"] * 2}, {"label": "kind", "id_column": "kind"},
         "cannot be that of the labels and another one too"),
        ({"x": X, "kind": ["a", "b"] * 2, "who": ["p", "p", "q", "r"]},
         {"label": "kind", "id_column": "who"}, "1 names in the column 'who' are those of several"),
        ({"x": X, "kind": ["a", "b"] * 2}, {"unlabelled": "c"}, "no label in column 'kind' is 'c'"),
        ({"x": X, "kind": [[1], [2]] * 2}, {"label": "kind"}, "Cells of type list are no labels"),
        ({"x": X, "kind": ["a"] * 4}, {}, "all labels in column 'kind' are 'a'"),
        ({"x": X, "kind": pa.nulls(4, pa.float64())}, {}, "no label in any row. --label says"),
        ({"x": X, "kind": ["a", "b"] * 2}, {"label": "kin"}, "Did you mean 'kind'"),
        ({"x": X, "kind": ["a", "b"] * 2}, {"exclude": ["y"]}, "has no column 'y'"),
        ({"x": X, "kind": ["a", "b"] * 2}, {"numeric": ["y"]}, "has no column 'y'"),
        ({"x": X, "kind": ["a", "b"] * 2}, {"numeric": ["kind"]}, "'kind' is said to be two"),
        ({"x": X, "kind": ["a", "b"] * 2}, {"numeric": ["x"], "categorical": ["x"]},
         "'x' is said to be two things"),
        ({"x": [1] * 4, "kind": ["a", "b"] * 2}, {}, r"no features .*are alike.*--numeric"),
        ({"x": X, "kind": ["a", "b"] * 2}, {"label_proba": "p_"}, "has 0 columns whose names"),
        ({"p_a": X, "p_c": X, "kind": ["a", "b"] * 2}, {"label_proba": "p_"},
         "no column of p.label . x. for the labels 'b': expected p_b"),
        ({"p_a": X, "p_b": ["x"] * 4, "kind": ["a", "b"] * 2}, {"label_proba": "p_"},
         "must be numbers"),
        ({"p_a": [0.1] * 4, "p_b": [0.8] * 4, "p_c": [0.1] * 4, "kind": ["a", "b"] * 2},
         {"label_proba": "p_"}, "is given in 'p_c', and no row has such a label"),
        ({"p_a": [10.0] * 4, "p_b": [90.0] * 4, "kind": ["a", "b"] * 2}, {"label_proba": "p_"},
         "Were percentages passed"),
        ({"p_a": [0.1, None] * 2, "p_b": [0.9] * 4, "kind": ["a", "b"] * 2},
         {"label_proba": "p_"}, "nan at row 1, column 0 is not finite"),
    ],
)  # fmt: skip
def test_what_is_missing(columns, options, message):
    with pytest.raises(ValueError, match=message):
        pose(table_of(**columns), Roles(**options))


def test_a_label_that_cannot_be_guessed():
    with pytest.raises(TableError, match=r"more than 100 different ones. Say which column"):
        pose(table_of(x=np.arange(200.0), z=np.arange(200.0)))


def test_probabilities_of_labels():
    columns = {"p_2": [0.1, 0.2, 0], "p_": [0.5, 0.4, 0.6], "p_1": [0.4, 0.4, 0.4]}
    problem = pose(table_of(**columns, label=[1, None, 2]), Roles(label_proba="p_"))
    assert problem.label_names == (None, 2, 1)
    np.testing.assert_array_equal(problem.X[:2], [[0.5, 0.1, 0.4], [0.4, 0.2, 0.4]])
    assert problem.features == ()
