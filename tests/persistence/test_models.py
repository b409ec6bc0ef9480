"""Save a model in one file, and load it again."""

import hashlib
import json
import pickle
import sys
import zipfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import draw_labelled, random_problem
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import decoupling
from decoupling import (
    ClassPrior,
    DecouplingClassifier,
    SetredClassifier,
    TransitionPrior,
    infer,
    label_issues,
    load,
    save,
)
from decoupling.persistence import describe
from decoupling.persistence.archive import array_bytes, packed, unpacked
from decoupling.persistence.manifest import SCHEMA

NEW = np.random.default_rng(7).standard_normal((20, 2))
NAMES = np.array([None, "ant", "bee", "cat"], dtype=object)


def drawn(labelled=0.5, n_rows=60):
    """Rows, and names of their labels."""
    X, codes = draw_labelled(3, n_rows, labelled)
    return X, NAMES[codes]


def assert_same(a, b):
    """Equal bit by bit, all the way down to arrays; classifiers of others are left out."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.flags.c_contiguous == b.flags.c_contiguous
        np.testing.assert_array_equal(a, b)
    elif is_dataclass(a):
        for part in fields(a):
            assert_same(getattr(a, part.name), getattr(b, part.name))
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif isinstance(a, DecouplingClassifier | SetredClassifier):
        assert vars(a).keys() == vars(b).keys()
        for name in vars(a):
            assert_same(vars(a)[name], vars(b)[name])
    elif isinstance(a, str | int | float | type(None)):
        assert a == b


def resaved(model, path, **options):
    save(model, path)
    return load(path, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.decoupling"


@pytest.fixture(scope="module")
def classifier():
    X, y = drawn()
    return DecouplingClassifier(cv=2, rounds=1, task="noisy", random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("options", "labelled"),
    [
        ({"task": "noisy", "rounds": 2}, 0.5),
        ({"task": "noisy", "rounds": 0}, 1.0),
        ({"task": "semi-supervised", "rounds": 1}, 0.5),
        ({"task": "class-conditional-noise", "noise": np.full((3, 3), 0.1) + 0.7 * np.eye(3)}, 0.5),
        ({"task": TransitionPrior.noisy(["ant", "bee", "cat"], 0.1, 0.5), "calibrate": False}, 0.5),
        ({"class_prior": ClassPrior.learned(), "rounds": 0}, 0.5),
        ({"cv": StratifiedKFold(2), "random_state": np.random.RandomState(1)}, 0.5),
        ({"estimator": make_pipeline(StandardScaler(), GaussianNB()), "evidence": 2.0}, 0.5),
    ],
    ids=[
        "noisy",
        "no rounds",
        "semi-supervised",
        "noise known",
        "prior known",
        "gamma learned",
        "splitter",
        "pipeline",
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_classifier_comes_back_bit_by_bit(options, labelled, path):
    X, y = drawn(labelled)
    model = DecouplingClassifier(**{"cv": 2, "rounds": 1, "random_state": 0} | options).fit(X, y)
    again = resaved(model, path)
    assert_same(again, model)
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    for interval in ("transition_interval", "class_balance_interval"):
        assert_same(getattr(again, interval)(0.8), getattr(model, interval)(0.8))
    assert_same(again.posterior_.class_interval(), model.posterior_.class_interval())
    assert_same(again.label_issues(0.1), model.label_issues(0.1))
    assert_same(again.draw_classes(3, 0), model.draw_classes(3, 0))
    assert repr(again.set_params(random_state=0)) == repr(model.set_params(random_state=0))


@pytest.mark.filterwarnings("ignore::UserWarning")  # these labels have nothing to do with X
@pytest.mark.parametrize(
    "y",
    [
        np.array([np.nan, 1.0, 2.0, 2.0] * 15),
        np.array([0, 1, 2, 2] * 15, dtype=np.int8),
        np.array([True, False, True] * 20),
        np.array(["2020-01-01", "2021-01-01", "NaT"] * 20, dtype="M8[D]"),
        ["a", "b", None] * 20,
        pd.Series(["a", "b", None] * 20, index=[f"row {i}" for i in range(60)], dtype="category"),
        pd.Series([1, 2, None] * 20, dtype="Int64"),
        pl.Series(["a", "b", None] * 20),
    ],
    ids=["float", "int8", "bool", "dates", "list", "category", "Int64", "polars"],
)
def test_labels_of_any_type_come_back(y, path):
    X = drawn()[0]
    model = DecouplingClassifier(cv=2, rounds=0, task="noisy", random_state=0).fit(X, y)
    again = resaved(model, path)
    assert_same(again.classes_, model.classes_)
    assert again.labels_ == model.labels_
    table, before = again.label_issues(0.0).table(), model.label_issues(0.0).table()
    assert len(before) > 0
    if isinstance(y, pd.Series):
        pd.testing.assert_frame_equal(table, before)
    elif isinstance(y, pl.Series):
        assert table.equals(before)
        assert table.schema == before.schema
    else:
        assert table.dtype == before.dtype
        assert table.tolist() == before.tolist()


def test_names_of_columns_come_back(path):
    X, y = drawn()
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = DecouplingClassifier(cv=2, rounds=0, task="noisy", random_state=0).fit(frame, y)
    again = resaved(model, path)
    assert again.feature_names_in_.tolist() == ["width", "height"]
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame[["width"]])


def test_a_weighted_posterior_and_that_of_new_rows_come_back(path):
    problem = random_problem(0)
    prior = TransitionPrior.from_concentration(problem.concentration)
    weight = np.arange(1.0, 41.0)
    gamma = ClassPrior.learned()
    posterior = infer(problem.label_proba, prior, class_prior=gamma, sample_weight=weight)
    again = resaved(posterior, path)
    assert_same(again, posterior)
    assert_same(again.class_prior_interval(), posterior.class_prior_interval())
    assert_same(again.transition_interval(), posterior.transition_interval())
    codes = np.arange(40) % 4
    assert_same(again.label_conditional(codes), posterior.label_conditional(codes))
    assert_same(label_issues(again, codes), label_issues(posterior, codes))
    new = posterior.predict(problem.label_proba[:5])
    assert_same(resaved(new, path), new)
    assert_same(again.predict(problem.label_proba[:5]).class_proba, new.class_proba)
    assert_same(resaved(new, path).transition_interval(), posterior.transition_interval())
    assert not again.class_concentration.flags.writeable


def test_setred_comes_back(path):
    X, y = drawn(0.3)
    start = DecouplingClassifier(cv=2, rounds=0)
    model = SetredClassifier(start=start, max_iter=2, theta=0.3, random_state=0).fit(X, y)
    again = resaved(model, path)
    assert_same(again, model)
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    other = GaussianNB().fit(X[y != None], y[y != None].astype(str))  # noqa: E711
    swapped = load(path, estimator=other)
    np.testing.assert_allclose(swapped.predict_proba(NEW), other.predict_proba(NEW))


def test_the_same_model_has_the_same_bytes(classifier, path):
    save(classifier, path, about={"columns": ["x", "y"]})
    first = path.read_bytes()
    save(load(path), path, about={"columns": ["x", "y"]})
    assert path.read_bytes() == first


def test_describe_says_what_a_file_holds(classifier, path):
    about = {"columns": ["b", "a"], "nested": {"n": 1, "none": None}}
    save(classifier, path, about=about)
    manifest = describe(path)
    assert manifest["format"] == "decoupling model"
    assert manifest["schema"] == SCHEMA
    assert manifest["library_version"] == decoupling.__version__
    assert manifest["holds"] == "DecouplingClassifier"
    assert manifest["about"] == about
    assert list(manifest["about"]) == list(about)
    arrays = [entry for entry in manifest["members"].values() if "dtype" in entry]
    assert {"sha256", "size", "dtype", "shape"} == set(arrays[0])
    assert [60, 3] in [entry["shape"] for entry in arrays]
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(archive.namelist())


def test_describe_builds_nothing(classifier, path, monkeypatch):
    save(classifier, path)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setattr("decoupling.persistence.models.Reader", None)
    assert describe(path)["about"] == {}


@pytest.mark.parametrize("about", [{"x": np.eye(2)}, {"x": float("nan")}, {("a",): 1}, ["x"], 3])
def test_about_must_be_json(classifier, path, about):
    with pytest.raises(ValueError, match="about must be a mapping of what JSON can say"):
        save(classifier, path, about=about)
    assert not path.exists()


def test_other_things_are_not_saved(path):
    with pytest.raises(TypeError, match=r"LogisticRegression cannot be saved: it must be"):
        save(LogisticRegression(), path)
    with pytest.raises(NotFittedError):
        save(DecouplingClassifier(), path)

    class Mine(DecouplingClassifier):
        """Of whose state nothing is known."""

    with pytest.raises(TypeError, match="Mine cannot be saved"):
        save(Mine(), path)
    assert not path.exists()


def test_a_failure_leaves_the_old_file(classifier, path, monkeypatch):
    path.write_text("old")

    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        save(classifier, path)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        load(path)


def without_skops(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)


def test_without_skops_all_but_the_classifiers_is_kept(classifier, path, monkeypatch):
    without_skops(monkeypatch)
    with pytest.warns(UserWarning, match=r'pip install "decoupling\[skops\]"'):
        save(classifier, path)
    again = load(path)
    assert_same(again.transition_interval(), classifier.transition_interval())
    assert_same(again.label_issues(), classifier.label_issues())
    assert_same(again.posterior_, classifier.posterior_)
    with pytest.raises(ValueError, match="New rows cannot be predicted"):
        again.predict(NEW)


def test_a_posterior_needs_no_skops(path, monkeypatch):
    without_skops(monkeypatch)
    posterior = infer([[0.7, 0.3]], TransitionPrior.noisy(["a", "b"]))
    assert_same(resaved(posterior, path), posterior)


def test_a_file_with_classifiers_needs_skops_or_another_one(classifier, path, monkeypatch):
    save(classifier, path)
    without_skops(monkeypatch)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "decoupling\[skops\]"'):
        load(path)
    X, y = drawn()
    seen = y != None  # noqa: E711
    other = LogisticRegression(max_iter=1000).fit(X[seen], y[seen].astype(str))
    assert load(path, estimator=other).predict(X).shape == (60,)


def test_classifiers_that_skops_cannot_write(path):
    X, y = drawn()
    odd = make_pipeline(FunctionTransformer(lambda X: X), GaussianNB())
    model = DecouplingClassifier(odd, cv=2, rounds=1, task="noisy", random_state=1).fit(X, y)
    with pytest.warns(
        UserWarning, match=r"does not hold sklearn\.pipeline\.Pipeline: skops cannot"
    ):
        save(model, path)
    again = load(path)
    assert_same(again.label_conditional_proba_, model.label_conditional_proba_)
    with pytest.raises(ValueError, match=r"no fitted sklearn\.pipeline\.Pipeline"):
        again.predict_proba(NEW)


def test_another_classifier_predicts_as_one_that_was_fitted_before(path):
    X, y = drawn()
    seen = y != None  # noqa: E711
    other = LogisticRegression(max_iter=1000).fit(X[seen], y[seen].astype(str))
    model = DecouplingClassifier(other, cv="prefit", task="noisy").fit(X, y)
    again = resaved(model, path, estimator=other)
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    as_it_was = load(path)
    (member,) = as_it_was.label_model_.form.label.models
    assert member.model is as_it_was.estimator
    np.testing.assert_array_equal(as_it_was.predict_proba(NEW), model.predict_proba(NEW))


def test_another_classifier_must_know_the_labels(classifier, path):
    save(classifier, path)
    X, _ = drawn()
    wrong = GaussianNB().fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="not among the labels"):
        load(path, estimator=wrong)
    with pytest.raises(NotFittedError):
        load(path, estimator=GaussianNB())
    save(classifier.posterior_, path)
    with pytest.raises(ValueError, match="A Posterior has no classifier"):
        load(path, estimator=wrong)


def test_untrusted_types_are_named(path):
    from sklearn.tree import DecisionTreeClassifier

    X, y = drawn()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = DecouplingClassifier(tree, cv=2, rounds=0, task="noisy", random_state=0).fit(X, y)
    save(model, path)
    with pytest.raises(ValueError, match=r"cannot be loaded. It holds 1 types.*_tree\.Tree"):
        load(path)
    for trusted in ("sklearn.tree._tree.Tree", ["sklearn.tree._tree.Tree"]):
        again = load(path, trusted=trusted)
        np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


# Files that are refused


def forged(path, change):
    """The same file with members altered, and a manifest that agrees with them."""
    members = unpacked(path.read_bytes())
    manifest = json.loads(members.pop("manifest.json"))
    members["manifest.json"] = manifest
    change(members)
    manifest = members.pop("manifest.json")
    for name, data in members.items():
        if manifest and name in manifest["members"]:
            manifest["members"][name].update(
                sha256=hashlib.sha256(data).hexdigest(), size=len(data)
            )
    path.write_bytes(packed({"manifest.json": json.dumps(manifest).encode(), **members}))


def of_manifest(**changes):
    return lambda members: members["manifest.json"].update(changes)


def renamed(new):
    def change(members):
        members[new] = members.pop("arrays/000000.npy")
        listed = members["manifest.json"]["members"]
        listed[new] = listed.pop("arrays/000000.npy")

    return change


def of_state(old, new):
    def change(members):
        assert old in members["state.json"]
        members["state.json"] = members["state.json"].replace(old, new)

    return change


REFUSED = {
    "another format": (of_manifest(format="zip of mine"), "not a file of decoupling.save"),
    "a newer schema": (
        of_manifest(schema=SCHEMA + 1, library_version="3.1"),
        rf"schema is {SCHEMA + 1}, and this version reads up to {SCHEMA}: upgrade to "
        r"decoupling >= 3\.1",
    ),
    "no schema": (of_manifest(schema="1"), "which version wrote it"),
    "a bad version": (of_manifest(library_version="\x1b[31m"), "which version wrote it"),
    "a list": (of_manifest(holds=[]), "does not have 'holds'"),
    "something else": (of_manifest(holds="Popen"), "holds none of Posterior"),
    "a wrong kind": (of_manifest(holds="DecouplingClassifier"), "not describe a Decoupling"),
    "no about": (of_manifest(about=None), "does not have 'about'"),
    "no members": (of_manifest(members=[]), "does not have 'members'"),
    "no manifest": (
        lambda members: members.update({"manifest.json": None}),
        "not a file of decoupling.save",
    ),
    "path traversal": (renamed("../arrays/000000.npy"), "Nothing is known of the member"),
    "an absolute path": (renamed("/etc/passwd"), "Nothing is known of the member"),
    "a pickle inside": (renamed("model.pkl"), "Nothing is known of the member"),
    "another member": (
        lambda members: members.update({"x": b""}),
        r"differ in the members \['x'\]",
    ),
    "a missing member": (
        lambda members: members.pop("arrays/000000.npy"),
        r"differ in the members \['arrays/000000.npy'\]",
    ),
    "another shape": (
        lambda members: members.update({"arrays/000000.npy": array_bytes(np.eye(7))}),
        "arrays/000000.npy is not what manifest.json says",
    ),
    "no JSON": (lambda members: members.update({"state.json": b"{"}), "state.json is not JSON"),
    "deep JSON": (
        lambda members: members.update({"state.json": b"[" * 200_000}),
        "state.json is not JSON",
    ),
    "another record": (of_state(b'"Trace"', b'"Fold"'), "does not describe a Posterior"),
    "an unknown record": (of_state(b'"Trace"', b'"Popen"'), "does not describe a Posterior"),
    "another field": (of_state(b'"elbo"', b'"exec"'), "does not describe a Posterior"),
    "fewer labels": (of_state(b'["a","b"]', b'["a"]'), "does not describe a Posterior"),
}


@pytest.fixture(scope="module")
def small():
    prior = TransitionPrior.noisy(["a", "b"], noise=0.2)
    return infer([[0.78, 0.22], [0.21, 0.79], [0.4, 0.6]], prior)


@pytest.mark.parametrize("name", REFUSED)
def test_a_forged_file_is_refused(name, small, path):
    change, message = REFUSED[name]
    save(small, path)
    forged(path, change)
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded. ")


def test_arrays_that_do_not_agree_are_refused(small, path):
    save(small, path)

    def change(members):
        name, entry = next(
            (name, entry)
            for name, entry in members["manifest.json"]["members"].items()
            if entry.get("shape") == [3, 2]
        )
        members[name] = array_bytes(np.ones((3, 5)))
        entry["shape"] = [3, 5]

    forged(path, change)
    with pytest.raises(ValueError, match="does not describe a Posterior"):
        load(path)


def test_a_wrong_hash_is_refused(small, path):
    save(small, path)
    members = unpacked(path.read_bytes())
    data = bytearray(members["arrays/000000.npy"])
    data[-1] ^= 1
    path.write_bytes(packed({**members, "arrays/000000.npy": bytes(data)}))
    with pytest.raises(ValueError, match=r"arrays/000000.npy is not what manifest.json says"):
        describe(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a whole file"),
        (b"hello", "not a whole file"),
        (pickle.dumps({"a": 1}), "looks like a pickle"),
        (packed({"a.npy": array_bytes(np.eye(2))}), "has no manifest.json"),
        (packed({"manifest.json": b"\xff"}), "not JSON"),
        (packed({"manifest.json": b"[1]"}), "not a file of decoupling.save"),
    ],
)
def test_other_files_are_refused(data, message, path):
    path.write_bytes(data)
    for read in (load, describe):
        with pytest.raises(ValueError, match=message):
            read(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with every kind of member, its bytes, and what it predicts."""
    X, y = drawn()
    model = DecouplingClassifier(GaussianNB(), cv=2, rounds=0, random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("fuzz") / "model.decoupling"
    save(model, path)
    return path, path.read_bytes(), model


@st.composite
def damages(draw):
    """Where to cut, and what to put there; as shares of the length."""
    places = st.floats(0, 1, allow_nan=False)
    kind = draw(st.sampled_from(["flip", "cut", "insert", "drop", "repeat"]))
    return kind, draw(places), draw(places), draw(st.binary(min_size=1, max_size=8))


def apply(data, damage):
    kind, first, second, extra = damage
    if not data:
        return extra
    i, j = sorted((int(first * len(data)), int(second * len(data))))
    if kind == "flip":
        i = min(i, len(data) - 1)
        return data[:i] + bytes([data[i] ^ extra[0]]) + data[i + 1 :]
    if kind == "cut":
        return data[:i]
    if kind == "insert":
        return data[:i] + extra + data[i:]
    if kind == "drop":
        return data[:i] + data[j:]
    return data[:j] + data[i:j] + data[j:]


@given(st.lists(damages(), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_a_damaged_file_is_refused_or_the_same(whole, damage):
    path, data, model = whole
    for one in damage:
        data = apply(data, one)
    path.write_bytes(data)
    try:
        again = load(path)
    except ValueError:
        return
    assert_same(again, model)
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


def test_bytes_of_the_directory_matter_or_not_but_never_break(small, path):
    save(small, path)
    data = path.read_bytes()
    kept = 0
    for i in range(data.index(b"PK\x01\x02"), len(data), 3):
        path.write_bytes(data[:i] + bytes([data[i] ^ 0x41]) + data[i + 1 :])
        try:
            again = load(path)
        except ValueError:
            continue
        assert_same(again, small)
        kept += 1
    assert kept > 0  # dates and rights of members mean nothing


def test_names_of_any_length(tmp_path):
    """Those of classes, and that of the file: beside it stands a part of it while it is written."""
    names = ["é" * 230 + end for end in ("a", "b")]
    prior = TransitionPrior.noisy(names, noise=0.2, labelled=0.5)
    posterior = infer([[0.5, 0.4, 0.1], [0.5, 0.1, 0.4]], prior)
    path = tmp_path / ("a" * 244 + ".decoupling")
    save(posterior, path)
    assert load(path).classes == tuple(names)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
