"""Rows 1 to 12 of the table in README.md: probabilities, priors, and how much data there is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from decoupling import ClassPrior, IdentifiabilityWarning, TransitionPrior, infer
from decoupling.transitions.choice import label_codes

QUICK = ("--rounds", 0, "--folds", 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_01_no_number_in_p_of_the_label(problem, value):
    proba = problem.label_proba.copy()
    proba[[3, 7], 2] = value
    with pytest.raises(ValueError, match=r"at row 3, column 2 is not finite \(2 such entries"):
        infer(proba, problem.concentration)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_01_no_number_in_x(pets, make, value):
    X, y = pets
    X = X.copy()
    X[[5, 8], 1] = value
    match = r"X: 2 entries in 1 of its columns are not finite, the first at row 5, column 1. Impute"
    with pytest.raises(ValueError, match=match):
        make().fit(X, y)
    clf = make().fit(*pets)
    with pytest.raises(ValueError, match=match):
        clf.predict(X)


def test_01_no_number_in_a_named_column(pets, make):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(pets[0], columns=["size", "weight"])
    frame.loc[4, "weight"] = np.nan
    with pytest.raises(ValueError, match=r"1 entries in 1 .* row 4, column 'weight'"):
        make().fit(frame, pets[1])


def test_01_no_number_in_a_table(table, command, pets):
    """A table may have gaps: they are imputed. What is infinite is taken as one, and told of."""
    cells = ["inf", "", *range(88)]
    output = command("check", table(height=cells))
    assert "Column 'height' has 1 infinite cells, which are taken as missing" in output


@pytest.mark.parametrize("cell", ["1e200", "-1e39"])
def test_01_a_number_that_is_too_large_in_a_table(table, command, refused, cell):
    table()
    command("run", "pets.csv", *QUICK, "--out", "out")
    table("huge.csv", height=[*range(5), cell, *range(83), cell])
    message = f"column 'height' has {float(cell):g} in row 5, beyond the 3.4e+38"
    for name in ("check", "run"):
        output = refused(name, "huge.csv")
        assert message in output
        assert "(2 such cells in all)" in output
    lines = Path("pets.csv").read_text().splitlines()
    lines[3] = ",".join([cell, *lines[3].split(",")[1:]])
    Path("new.csv").write_text("\n".join(lines))
    output = refused("apply", "out/model.decoupling", "new.csv", "--out", "classes.csv")
    assert f"column 'size' has {float(cell):g} in row 2" in output


def test_01_numbers_that_are_too_small_in_a_table(table, command, refused, pets):
    """A column that is 0 to a classifier would be lost; among other numbers it is as good as 0."""
    tiny = ["0", *(f"{x:.3f}e-200" for x in pets[0][1:, 0])]
    output = refused("run", table(height=tiny), *QUICK)
    assert "column 'height' has" in output
    assert "in row 1, and none of its 89 cells that are not 0 is larger than" in output
    command("check", table(height=[*tiny[:-1], "0.5"]))
    command("check", table(height=["0"] * 90))


def test_02_rows_that_nearly_sum_to_one(problem):
    proba = problem.label_proba.copy()
    proba[5] *= 1.0005
    with pytest.warns(UserWarning, match=r"1 rows miss 1 by up to 0.0005 \(worst: row 5, sum 1.00"):
        found = infer(proba, problem.concentration)
    np.testing.assert_allclose(
        found.class_proba, infer(problem.label_proba, problem.concentration).class_proba, atol=1e-6
    )


def test_02_rows_that_do_not_sum_to_one(problem):
    """There is no normalize=True: whoever has logits, counts or percentages is told what to do."""
    message = r"0.9 at row 0 is the sum of a row that is not 1 \(40 such .*softmax.*divide by 100"
    with pytest.raises(ValueError, match=message):
        infer(0.9 * problem.label_proba, problem.concentration)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p - 0.5, "outside .0, 1. .* Were logits passed"),
        (lambda p: 100 * p, "Were percentages passed. Divide by 100"),
        (lambda p: 7 * p, "Were logits or counts passed"),
    ],
    ids=["logits", "percentages", "counts"],
)
def test_03_probabilities_that_are_none(problem, change, message):
    with pytest.raises(ValueError, match=message):
        infer(change(problem.label_proba), problem.concentration)


@given(st.lists(st.lists(st.sampled_from([0, 1, 3]), min_size=3, max_size=3), min_size=1))
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_04_zeros_in_p_of_the_label(rows):
    counts = np.array([row if any(row) else [1, 1, 1] for row in rows], dtype=float)
    prior = TransitionPrior([[0.8, 0.2, 0.0], [0.1, 0.2, 0.7]], 1000)
    found = infer(counts / counts.sum(axis=1, keepdims=True), prior)
    assert np.isfinite(found.trace.elbo).all()
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)
    assert found.transitions[0, 2] == 0.0


def test_05_a_label_that_the_classifier_holds_for_impossible(pets, make):
    """Nearest neighbours are often sure; their zeros become 1e-9, and the report counts them."""
    clf = make(KNeighborsClassifier(3), task="noisy").fit(*pets)
    codes = label_codes(clf.task_, clf.observed_)
    n_rows = int(clf.label_model_.contradicted(codes).sum())
    assert n_rows > 0
    assert clf.label_proba_.min() > 0
    np.testing.assert_allclose(clf.label_conditional_proba_.sum(axis=1), 1)
    reasons = clf.report().content["verdict"]["trust"]["reasons"]
    (found,) = [r for r in reasons if f"0 for the labels that {n_rows} rows have" in r["text"]]
    assert found["light"] == "amber"


def test_06_a_prior_with_zeros_keeps_them(problem):
    prior = problem.concentration.copy()
    prior[0, 3] = 0.0
    with_zero = infer(problem.label_proba, prior)
    assert with_zero.transitions[0, 3] == 0.0
    assert with_zero.transition_interval()[1][0, 3] == 0.0
    known = TransitionPrior(problem.transitions, np.inf)
    np.testing.assert_allclose(
        infer(problem.label_proba, known).transitions, problem.transitions, rtol=1e-12
    )


def test_06_labels_that_a_prior_excludes(problem, pets, make, prior):
    nobody = problem.concentration.copy()
    nobody[:, 1] = 0.0
    with pytest.raises(ValueError, match=r"column 1: .* a label that no class can emit \(40 such"):
        infer(problem.label_proba, nobody)
    mean = prior.mean.copy()
    mean[:, 0] += mean[:, 3]
    mean[:, 3] = 0.0
    impossible = TransitionPrior(mean, 10, classes=prior.classes, labels=prior.labels)
    rows = int(np.sum(pets[1] == "cow"))
    with pytest.raises(ValueError, match=f"No class can get the label 'cow', which {rows} rows"):
        make(task=impossible).fit(*pets)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([[np.inf, 1.0], [1.0, 1.0]], "transitions: inf at row 0, column 0 is not finite .* known"),
        ([[1.0, 1.0], [np.nan, 1.0]], "nan at row 1, column 0 is not finite"),
        ([[1.0, -2.0], [1.0, 1.0]], "-2 at row 0, column 1 is negative"),
        ([1.0, 2.0], "must have 2 axes"),
        ([[0.0, 0.0], [1.0, 1.0]], "row 0 is the sum of a row without any possible label"),
        (np.ones((2, 3)), "2 columns, transitions has 3 labels"),
    ],
    ids=["infinite", "NaN", "negative", "axes", "empty row", "shape"],
)
def test_07_a_prior_that_is_none(prior, message):
    with pytest.raises(ValueError, match=message):
        infer([[0.5, 0.5]], prior)


LITTLE_AND_MUCH = [1e-300, 1e-200, 1e-120, 1e120, 1e200, 1e300]


@pytest.mark.parametrize("value", LITTLE_AND_MUCH)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("class_prior", lambda x: {"class_prior": [1.0, x, 1.0]}),
        ("gamma", lambda x: {"class_prior": ClassPrior.known([1.0, x, 1.0])}),
        ("class_prior", lambda x: {"class_prior": ClassPrior.symmetric(x)}),
        ("evidence", lambda x: {"evidence": x}),
        ("transition_evidence", lambda x: {"transition_evidence": x}),
        ("transitions", lambda x: {"transitions": [[x, 1, 1, 1], [1, 1, 1, 1], [1, 1, 2, 1]]}),
    ],
    ids=["class_prior", "known", "symmetric", "evidence", "T's", "transitions"],
)
def test_07_numbers_that_are_too_extreme(problem, name, options, value):
    message = rf"^{name}: .* is too extreme to compute with .* from 1e-100 to 1e\+100"
    with pytest.raises(ValueError, match=message):
        infer(problem.label_proba, **{"transitions": problem.concentration, **options(value)})


def test_07_a_prior_of_next_to_nothing(problem):
    """A strong one is no fault: its rows are known."""
    with pytest.raises(ValueError, match=r"strength: 1e-300 at row 0 is too small .* from 1e-100"):
        TransitionPrior(problem.transitions, 1e-300)
    mean = [[1.0, 1e-200], [0.5, 0.5]]
    with pytest.raises(ValueError, match=r"strength times mean: 1e-200 at row 0, column 1 is too"):
        TransitionPrior(mean, np.inf)
    strong = infer(problem.label_proba, TransitionPrior(problem.transitions, 1e300))
    np.testing.assert_allclose(strong.transitions, problem.transitions)


@pytest.mark.parametrize("value", [1e-90, 1e-50, 1e-20, 1e-14, 1e4, 1e20, 1e50, 1e90])
@pytest.mark.parametrize(
    "options",
    [
        lambda x: {"class_prior": [1.0, x, 1.0]},
        lambda x: {"class_prior": [x] * 3},
        lambda x: {"transitions": [[x, 1.0, 1.0, 1.0], [1, 9, 1, 1], [1, 1, 9, 1]]},
        lambda x: {"transitions": x * np.array([[5.0, 1, 1, 1], [1, 9, 1, 1], [1, 1, 9, 1]])},
        # A class with two labels, one of which has next to all of it.
        lambda x: {"transitions": [[x, 1e-9 * min(x, 1), 0, 0], [1, 9, 1, 1], [1, 1, 9, 1]]},
        lambda x: {"evidence": x},
        lambda x: {"transition_evidence": x},
    ],
    ids=["class_prior", "all of it", "transitions", "all of them", "two", "evidence", "T's"],
)
@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_07_numbers_that_are_not_too_extreme(problem, options, value):
    found = infer(problem.label_proba, **{"transitions": problem.concentration, **options(value)})
    low, high = found.transition_interval()
    assert np.isfinite([low, found.transitions, high]).all()
    np.testing.assert_allclose(found.class_proba.sum(axis=1), 1)
    assert found.transition_k_hat is None or not np.isnan(found.transition_k_hat)


def test_08_a_label_that_nobody_has(pets, make):
    """Its column stays, the prior speaks for it, and table and report say that there are no data.

    On the command line classes are those that the table has, so that this cannot come up.
    """
    from decoupling.run.outputs import transition_columns

    classes = ["ant", "bee", "cow", "yak"]
    prior = TransitionPrior.noisy(classes, noise=0.1, labelled=0.5, strength=50)
    with (
        pytest.warns(UserWarning, match="the inference may have collapsed"),
        pytest.warns(UserWarning, match="No row has the label of 'yak'"),
    ):
        clf = make(task=prior).fit(*pets)
    assert clf.transitions_.shape == (4, 5)
    columns = transition_columns(clf)
    rows = dict(zip(columns["label"], columns["label_rows"], strict=True))
    assert rows["yak"] == 0 < rows["cow"]
    report = clf.report()
    assert report.content["transitions"]["rows"][-1] == 0
    assert "yak</bdi> <small>no data</small>" in report.html()
    assert "yak (no data)" in report.markdown()
    texts = [r["text"] for r in report.content["verdict"]["trust"]["reasons"]]
    assert any(
        text.startswith("No row carries the label “yak”: there are no data") for text in texts
    )


def test_09_a_class_without_any_labels(pets, make):
    X, y = pets
    ants = np.where(y == "ant", y, None)
    assert make(task="positive-unlabelled").fit(X, ants).classes_.tolist() == ["ant", "negative"]
    prior = TransitionPrior.noisy(["ant", "bee"], noise=0.1, labelled=0.5)
    with (
        pytest.warns(UserWarning, match="the inference may have collapsed"),
        pytest.warns(UserWarning, match="No row has the label of 'bee': .* prior's word alone"),
    ):
        make(task=prior).fit(X, ants)


def test_10_no_label_at_all(pets, make, table, refused):
    X, y = pets
    nothing = np.full(len(y), None)
    with pytest.raises(ValueError, match="y has no labelled rows: all 90 of them are unlabelled"):
        make().fit(X, nothing)
    assert "column 'label' has no label in any row" in refused("check", table(labels=nothing))


def test_10_a_single_class(pets, make, table, refused):
    """As in scikit-learn an error; with unlabelled rows beside it the task is another one."""
    X, y = pets
    alike = np.full(len(y), "ant")
    with pytest.raises(ValueError, match=r"y has only 1 class, 'ant'.* mark them with None or NaN"):
        make().fit(X, alike)
    assert "all labels in column 'label' are 'ant'" in refused("check", table(labels=alike))


def test_11_no_rows(problem, pets, make, tmp_path, refused):
    with pytest.raises(ValueError, match=r"label_proba is empty: its shape is \(0, 4\)"):
        infer(problem.label_proba[:0], problem.concentration)
    with pytest.raises(ValueError, match="0 sample"):
        make().fit(pets[0][:0], pets[1][:0])
    path = tmp_path / "empty.csv"
    path.write_text("")
    assert "is empty" in refused("check", path)


def test_11_few_rows(problem, pets, make):
    """They are answered with wide intervals, and an amber light.

    A warning is given only where other labels have enough rows: with few rows of everything every
    number is a guess, and a warning for each class would not say more than the light does.
    """
    one = infer(problem.label_proba[:1], problem.concentration)
    low, high = one.transition_interval()
    many = infer(problem.label_proba, problem.concentration)
    assert np.ptp(low - high) >= 0
    assert (high - low).mean() > np.subtract(*many.transition_interval()[::-1]).mean()
    X, y = pets
    rows = [int(np.flatnonzero(y == name)[0]) for name in ("ant", "bee")] * 3
    clf = make(GaussianNB(var_smoothing=1.0)).fit(X[rows], y[rows])
    trust = clf.report().content["verdict"]["trust"]
    assert trust["light"] != "green"
    assert any("Fewer than 30 rows carry the label" in r["text"] for r in trust["reasons"])


def test_12_more_labels_than_classes_and_fewer(problem):
    """T may be rectangular; where labels are fewer than classes, what tells these apart is said."""
    more = infer(problem.label_proba, problem.concentration)
    assert more.transitions.shape == (3, 4)
    with pytest.warns(IdentifiabilityWarning, match="hardly tell the classes apart"):
        fewer = infer([[0.7, 0.3], [0.2, 0.8]], [[8.0, 1.0], [1.0, 8.0], [4.0, 5.0]])
    np.testing.assert_allclose(fewer.class_proba.sum(axis=1), 1)
