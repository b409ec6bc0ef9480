"""Rows 13 to 22 of the table in README.md: labels, names, and the rows they are of."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from decoupling import IdentifiabilityWarning, TransitionPrior, infer
from decoupling.labels.observed import read_labels
from decoupling.report.content import FOLDED, report_content


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "dask.dataframe"])
def test_13_columns_go_by_the_names_of_labels(problem, prior, library):
    pd = pytest.importorskip("pandas")
    module = pytest.importorskip(library)
    by_place = infer(problem.label_proba, prior)
    columns = ["unlabelled", "ant", "bee", "cow"]
    frame = pd.DataFrame(problem.label_proba, columns=columns)[["cow", "ant", "unlabelled", "bee"]]
    shuffled = {
        "pandas": lambda: frame,
        "polars": lambda: module.DataFrame(dict(frame.items())),
        "pyarrow": lambda: module.Table.from_pandas(frame),
        "dask.dataframe": lambda: module.from_pandas(frame, npartitions=1),
    }[library]()
    by_name = infer(shuffled, prior)
    np.testing.assert_array_equal(by_name.transitions, by_place.transitions)
    np.testing.assert_array_equal(
        by_name.predict(shuffled).class_proba, by_place.predict(problem.label_proba).class_proba
    )


def test_13_columns_that_are_no_labels(problem, prior):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(problem.label_proba, columns=["unlabelled", "ant", "wasp", "cow"])
    with pytest.raises(ValueError, match=r"missing: 'bee'; extra: 'wasp'\). Rename them, or pass"):
        infer(frame, prior)
    twice = frame.set_axis(["ant", "ant", "bee", "cow"], axis=1)
    with pytest.raises(ValueError, match="missing: 'unlabelled'; there twice: 'ant'"):
        infer(twice, prior)
    # Columns, or labels, that have no names are taken in their order.
    nameless = infer(pd.DataFrame(problem.label_proba), prior)
    np.testing.assert_array_equal(
        nameless.transitions, infer(problem.label_proba, prior).transitions
    )


def test_13_a_fitted_classifier_of_other_labels(pets, make, table, refused):
    X, y = pets
    fitted = GaussianNB().fit(X, np.where(y == "ant", "wasp", y.astype(str)))
    with pytest.raises(ValueError, match=r"the classifier knows .*'wasp'.* not among the labels"):
        make(fitted, cv="prefit").fit(X, y)
    half = [0.5] * len(y)
    output = refused("check", table(**{"p:ant": half, "p:bee": half}), "--label-proba", "p:")
    assert "has no column of p(label | x) for the labels 'cow'" in output


def test_14_labels_that_were_never_seen(pets, make):
    """The way to leave them out is the one of all rows without a class: None."""
    X, y = pets
    clf = make().fit(X, y)
    strange = np.array(["yak", "emu", *y[2:]], dtype=object)
    match = r"y has unknown labels in 2 rows: 'emu' \(1\), 'yak' \(1\). Known are 'ant', .* None"
    with pytest.raises(ValueError, match=match):
        clf.score(X, strange)
    left_out = np.array([None, None, *y[2:]], dtype=object)
    assert clf.score(X, left_out) == clf.score(X[2:], y[2:])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a", None, "b"], ["a", "b"]),
        ([True, None, False], [False, True]),
        ([2, 1, None], [1, 2]),
        (np.array([2.0, np.nan, 1.0]), [1, 2]),
        (("Int64", [2, None, 1]), [1, 2]),
        (("string[pyarrow]", ["b", None, "a"]), ["a", "b"]),
        (("category", ["b", None, "a"]), ["a", "b"]),
    ],
    ids=["text", "bool", "int", "float", "Int64", "pyarrow", "category"],
)
def test_15_labels_of_every_type(labels, expected):
    if isinstance(labels, tuple):
        pd = pytest.importorskip("pandas")
        labels = pd.Series(labels[1], dtype=labels[0])
    found = read_labels(labels)
    assert found.values.tolist() == expected
    assert found.labelled.sum() == 2


def test_15_levels_of_a_category_that_nobody_has(pets, make):
    pd = pytest.importorskip("pandas")
    y = pd.Series(pd.Categorical(pets[1], categories=["yak", "cow", "bee", "ant"]))
    assert make().fit(pets[0], y).classes_.tolist() == ["ant", "bee", "cow"]


def test_15_blank_labels(pets, make):
    X, y = pets
    blank = np.where(np.arange(len(y)) < 15, "", y)
    with pytest.warns(UserWarning, match='blank string as its label in 15 rows.*unlabelled=""'):
        assert "" in make().fit(X, blank).classes_
    assert "" not in make(unlabelled="").fit(X, blank).classes_


def test_15_the_type_comes_back(pets, make):
    pd = pytest.importorskip("pandas")
    codes = {"ant": 3, "bee": 5, "cow": 7}
    y = pd.Series([codes.get(name) for name in pets[1]], dtype="Int64")
    clf = make(task="noisy").fit(pets[0], y)
    assert clf.classes_.dtype.kind == "i"
    assert clf.label_issues(0.0).table()["suggested"].dtype == "Int64"


def test_16_labels_of_mixed_types():
    with pytest.raises(ValueError, match=r"several types: str, such as '1' \(1 row\); int, such"):
        read_labels(["1", 1, 2])


def test_16_labels_that_are_nearly_equal():
    with pytest.warns(UserWarning, match=r"look alike.* 'cat' \(2 rows, .*'Cat ' \(1 row, "):
        read_labels(["cat", "Cat ", "cat", "dog"])


def test_17_classes_that_the_prior_does_not_tell_apart(problem):
    with pytest.warns(IdentifiabilityWarning, match="The prior says the same of 0, 1, 2"):
        found = infer(problem.label_proba, np.ones((3, 4)))
    assert found.diagnostics.about("identifiability")[0].light == "amber"


def test_17_classes_that_changed_places_or_blur(pets, make, prior):
    """Classes stay in the order of the prior: only users can say which is which."""
    X, y = pets
    names = {"ant": "bee", "bee": "ant"}
    swapped = np.array([names.get(name, name) for name in y], dtype=object)
    weak = TransitionPrior(prior.mean, 0.1, classes=prior.classes, labels=prior.labels)
    assert make(task=weak).fit(X, swapped).classes_.tolist() == ["ant", "bee", "cow"]
    blurred = TransitionPrior.noisy(["ant", "bee", "cow"], noise=0.66, labelled=0.5, strength=1e4)
    with pytest.warns(IdentifiabilityWarning, match="nearly the same labels"):
        make(task=blurred).fit(X, y)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.astype(np.float32),
        lambda p: p.astype(np.float16),
        np.asfortranarray,
        lambda p: np.repeat(p, 2, axis=0)[::2],
        lambda p: np.concatenate([p, p], axis=1)[:, :4],
        np.ndarray.tolist,
    ],
    ids=["float32", "float16", "Fortran", "every second row", "part of the columns", "list"],
)
@pytest.mark.filterwarnings("ignore:label_proba")  # half precision misses 1 by more than rounding
def test_18_arrays_of_any_make(problem, change):
    expected = infer(problem.label_proba, problem.concentration).class_proba
    proba = change(problem.label_proba)
    found = infer(proba, problem.concentration).class_proba
    coarse = getattr(proba, "dtype", None) == np.float16
    np.testing.assert_allclose(found, expected, atol=0.02 if coarse else 1e-4)


def masked_at(array, *places):
    """A masked array of which these entries are masked."""
    array = np.ma.masked_array(array, mask=np.zeros(np.shape(array), dtype=bool))
    for place in places:
        array[place] = np.ma.masked
    return array


def test_18_rows_behind_a_mask(pets, make):
    """Numpy would take the numbers behind it; where nothing is masked, it is as any array."""
    X, y = pets
    expected = make().fit(X, y)
    found = make().fit(masked_at(X), y)
    assert found.class_proba_.tobytes() == expected.class_proba_.tobytes()
    match = r"X: 3 entries are masked, the first at row 2, column 1. Fill them"
    hidden = masked_at(X, (2, 1), 7)
    for use in (lambda: make().fit(hidden, y), lambda: expected.predict(hidden)):
        with pytest.raises(ValueError, match=match):
            use()
    with pytest.raises(ValueError, match="sample_weight: 1 entries are masked, the first at row 4"):
        make().fit(X, y, sample_weight=masked_at(np.ones(len(y)), 4))


def test_18_labels_behind_a_mask(pets, make):
    """They are missing, as those that are None."""
    X, y = pets
    labelled = np.array([name is not None for name in y])
    names = np.ma.masked_array(np.where(labelled, y, "?").astype(str), mask=~labelled)
    found, expected = make().fit(X, names), make().fit(X, y)
    assert found.labels_ == expected.labels_
    assert found.class_proba_.tobytes() == expected.class_proba_.tobytes()


def test_18_probabilities_behind_a_mask(problem):
    proba = problem.label_proba
    found = infer(masked_at(proba), problem.concentration)
    np.testing.assert_array_equal(
        found.class_proba, infer(proba, problem.concentration).class_proba
    )
    match = r"label_proba.*: 4 entries are masked, the first at row 3, column 0"
    for given in (masked_at(proba, 3), iter([masked_at(proba, 3)])):
        with pytest.raises(ValueError, match=match):
            infer(given, problem.concentration)


def test_18_inputs_are_read_only(problem, pets, make, tmp_path):
    for array in (problem.label_proba, problem.concentration, pets[0]):
        array.flags.writeable = False
    infer(problem.label_proba, problem.concentration)
    make().fit(*pets)
    np.save(tmp_path / "p.npy", problem.label_proba)
    before = (tmp_path / "p.npy").read_bytes()
    infer(np.load(tmp_path / "p.npy", mmap_mode="r"), problem.concentration)
    assert (tmp_path / "p.npy").read_bytes() == before


def test_19_more_rows_than_memory(problem):
    endless = np.broadcast_to(problem.label_proba[:1], (10**12, 4))
    match = r"1,000,000,000,000 rows need 22,352 GiB .* this machine has .* memmap.* Dask"
    with pytest.raises(ValueError, match=match):
        infer(endless, problem.concentration)


def test_19_many_classes_are_told_of_by_their_worst_pairs():
    from flowers import fit

    n_classes = FOLDED + 1
    y = np.repeat(np.arange(n_classes), 6)
    X = np.column_stack([y, np.tile(np.arange(6.0) / 10, n_classes)])
    clf = fit(X, y, estimator=GaussianNB(var_smoothing=1e-3), cv=2, rounds=0, task="supervised")
    assert report_content(clf)["transitions"]["mean"] is None


def test_20_two_columns_of_one_name(table, refused, tmp_path, pets):
    path = tmp_path / "twice.csv"
    path.write_text("size,label,label\n1,a,b\n2,b,a\n")
    assert "twice.csv" in (output := refused("check", path))
    assert "label" in output
    assert "Did you mean 'label'?" in refused("check", table(), "--label", "labels")


def test_20_an_index_with_duplicates_is_kept(pets, make):
    pd = pytest.importorskip("pandas")
    index = ["x", "y", "z"] * 30
    y = pd.Series(pets[1], index=index)
    issues = make(task="noisy").fit(pd.DataFrame(pets[0], index=index), y).label_issues(0.0)
    assert issues.table().index.tolist() == [index[row] for row in issues.row]


def test_20_names_of_columns_that_are_no_strings(pets, make):
    pd = pytest.importorskip("pandas")
    clf = make().fit(pd.DataFrame(pets[0], columns=[3, 7]), pets[1])
    assert clf.n_features_in_ == 2
    with pytest.raises(TypeError, match="string"):
        make().fit(pd.DataFrame(pets[0], columns=["a", 7]), pets[1])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_21_files_however_they_are_written(table, command, tmp_path, encoding, delimiter, pets):
    words = [f'"a\nb {k}"' if delimiter == "," else f"café {k % 3}" for k in range(len(pets[1]))]
    path = tmp_path / table(words=words, delimiter=delimiter)
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    assert "90 rows, 4 columns" in command("check", path)


def test_21_decimal_commas(table, command, tmp_path):
    path = tmp_path / table(delimiter=";")
    path.write_text(path.read_text().replace(".", ","))
    assert "features: 2 numbers" in command("check", path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,label\n1,a\n2\n3,b\n", "line 3 has 1"),
        ("x,label\n1,a\n2,\x00b\n", "line 3 has a NUL character"),
        ('x,label\n1,a\n2,"b\n3,c\n4,d\n', "line 3: a quote is opened and never closed"),
        ("x,label\n" + "1" * (40 << 20), "line 2 has more than 16 MB"),
    ],
    ids=["ragged", "NUL", "quote", "endless line"],
)
def test_21_files_that_cannot_be_read(tmp_path, refused, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    assert message in refused("run", path, "--out", tmp_path / "out")
    assert [found.name for found in tmp_path.iterdir()] == ["bad.csv"]


def test_22_a_column_that_is_not_there(table, refused):
    assert "Did you mean 'weight'?" in refused("check", table(), "--exclude", "wieght")
    assert "these are no labels but numbers" in refused("check", table(), "--label", "size")


def test_22_a_feature_that_tells_the_label(table, command, pets):
    species = [f"{name}!" if name else "?" for name in pets[1]]
    output = command("check", table(species=species))
    assert "Column 'species' alone tells the label of 100.0% of the labelled rows" in output
    assert "--exclude" in output


def test_22_a_column_that_numbers_rows(table, command):
    assert "left out: id, since it numbers the rows" in command("check", table(id=range(90)))
