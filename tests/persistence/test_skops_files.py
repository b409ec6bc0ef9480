"""Classifiers through skops."""

import io
import json
import sys
import zipfile
from importlib import import_module

import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from decoupling.fits.given import GivenProba
from decoupling.persistence import skops_files
from decoupling.persistence.archive import array_bytes, packed, unpacked
from decoupling.persistence.skops_files import (
    MOVED,
    TRUSTED,
    NotKept,
    built,
    not_trusted,
    written,
)

X, y = load_iris(return_X_y=True)
TREE = "sklearn.tree._tree.Tree"


class Homemade:
    """A classifier that nobody knows."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1000),
        GaussianNB(),
        make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression()),
        make_pipeline(SimpleImputer(), MLPClassifier(max_iter=3, random_state=0)),
        CalibratedClassifierCV(GaussianNB(), cv=2),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, cv=2),
        VotingClassifier([("a", GaussianNB())], voting="soft"),
        GaussianProcessClassifier(),
        LogisticRegression(max_iter=1000, random_state=np.random.RandomState(0)),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_of_sklearn_predict_the_same(model):
    model.fit(X, y)
    data = written(model)
    (again,) = built([data], ())
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert written(model) == data
    assert written(again) == data


def test_text_and_sparse_matrices():
    texts = ["good day", "bad day", "good night", "bad night"] * 3
    model = make_pipeline(TfidfVectorizer(), KNeighborsClassifier(1)).fit(texts, [0, 1, 0, 1] * 3)
    data = written(model)
    (again,) = built([data], ())
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert any(name.endswith(".npz") for name in unpacked(data))


def test_a_sparse_matrix_that_points_elsewhere_is_refused():
    data = written({"matrix": sparse.csr_array(np.eye(3))})
    assert sparse.issparse(built([data], ())[0]["matrix"])
    members = unpacked(data)
    (name,) = (name for name in members if name.endswith(".npz"))
    parts = unpacked(members[name])
    parts["indices.npy"] = array_bytes(np.array([0, 1, 10**8], dtype=np.int32))
    members[name] = packed(parts)
    with pytest.raises(ValueError, match=r"damaged: .*ind(ices|ex)"):
        built([packed(members)], ())


def test_neither_addresses_nor_times_nor_the_order_of_sets_are_in_the_bytes():
    first, second = {0, 8}, {8, 0}
    assert list(first) != list(second)
    assert written({"a": first, "b": b"bytes"}) == written({"a": second, "b": b"bytes"})


@pytest.mark.parametrize(
    "forest", [RandomForestClassifier(2), HistGradientBoostingClassifier(max_iter=2)]
)
def test_trees_are_trusted_only_on_request(forest):
    data = written(forest.set_params(random_state=0).fit(X, y))
    with pytest.raises(ValueError, match=r"types that are not trusted: sklearn\.\S+Tree") as caught:
        built([data], ())
    name = str(caught.value).partition("trusted: ")[2].partition(". If")[0]
    assert f"pass trusted=['{name}']" in str(caught.value)
    (again,) = built([data], [name])
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    assert written(again) == data


def test_nothing_of_the_memory_between_the_nodes_of_trees_is_written():
    nodes = np.empty(3, dtype=np.dtype({"names": ["a"], "formats": ["u1"], "itemsize": 8}))
    nodes.view(np.uint8)[:] = 77
    data = written({"nodes": nodes})
    assert data.count(b"M" + bytes(7)) == 3
    (again,) = built([data], ())
    np.testing.assert_array_equal(again["nodes"]["a"], 77)


def test_types_of_others_are_named_and_can_be_trusted():
    data = written(Homemade().fit(X, y))
    with pytest.raises(ValueError, match=r"1 types that are not trusted: \S*Homemade"):
        built([data], ())
    with pytest.raises(ValueError, match="Homemade"):
        built([data], [TREE])
    for trusted in (Homemade, f"{Homemade.__module__}.Homemade"):
        (again,) = built([data], [trusted])
        assert again.predict_proba(X).shape == (150, 3)


def test_trusted_names_are_of_things_that_exist():
    for name in TRUSTED:
        module, _, attribute = name.rpartition(".")
        assert module.partition(".")[0] in ("decoupling", "numpy", "scipy", "sklearn")
        assert hasattr(import_module(module), attribute)


@pytest.mark.parametrize(
    "call",
    [
        ("builtins", "eval", "1"),
        ("os", "system", "true"),
        ("numpy", "memmap", "no_such_file"),
        ("sklearn.utils._testing", "TempMemmap", "x"),
    ],
)
def test_a_call_in_disguise_is_refused(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module, name, argument = call
    members = unpacked(written((argument,)))
    arguments = json.loads(members["schema.json"])
    forged = {
        "__class__": name,
        "__module__": module,
        "__loader__": "ConstructorFromReduceNode",
        "content": arguments,
        "protocol": arguments.pop("protocol"),
    }
    members["schema.json"] = json.dumps(forged).encode()
    with pytest.raises(ValueError, match="not trusted"):
        built([packed(members)], ())
    assert list(tmp_path.iterdir()) == []


def damaged(change):
    members = unpacked(written(GaussianNB().fit(X, y)))
    change(members)
    return packed(members)


def swollen(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(10**6))
    members["bomb.npz"] = buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda members: members.pop("schema.json"), "damaged"),
        (lambda members: members.update({"schema.json": b"{}"}), "damaged"),
        (lambda members: members.update({"schema.json": b"[" * 100_000}), "damaged"),
        (lambda members: members.update({"000000.npy": b"\x93NUMPY"}), "numpy's format"),
        (swollen, "'data.npy' is compressed"),
    ],
    ids=["no schema", "empty schema", "deep schema", "no array", "bomb"],
)
def test_what_is_damaged_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        built([damaged(change)], ())


def test_what_passes_the_checks_and_cannot_be_built_is_refused():
    def change(members):
        schema = json.loads(members["schema.json"])
        schema["__class__"] = "MultinomialNB"
        schema["content"]["__class__"] = "OrderedDict"
        schema["content"]["__module__"] = "collections"
        schema["content"]["key_types"]["content"][0] = json.loads(
            unpacked(written(GaussianNB()))["schema.json"]
        ) | {"__id__": 10**6}
        members["schema.json"] = json.dumps(schema).encode()

    with pytest.raises(ValueError, match="cannot be built"):
        built([damaged(change)], ())


@pytest.mark.parametrize(
    "value",
    [
        make_pipeline(FunctionTransformer(lambda X: X), GaussianNB()),
        (n for n in range(3)),
        sparse,
    ],
    ids=["lambda", "generator", "module"],
)
def test_what_skops_cannot_write_or_read_is_not_written(value):
    assert written(value) is None


def test_a_classifier_is_written_while_another_thread_imports_skops(monkeypatch):
    """Then the module is there a moment before the package has it as an attribute."""
    import skops

    monkeypatch.delattr(skops, "io")
    data = written(GaussianNB().fit(X, y))
    assert built([data], ())[0].classes_.tolist() == [0, 1, 2]


def test_what_fails_in_our_own_code_is_no_lost_classifier(monkeypatch):
    def broken(members):
        raise ValueError("a bug")

    monkeypatch.setattr(skops_files, "packed", broken)
    with pytest.raises(ValueError, match="a bug"):
        written(GaussianNB())


@pytest.mark.parametrize("depth", [10, *range(200, 500, 20), 2000])
def test_what_is_nested_too_deeply_is_not_written(depth):
    deep = []
    for _ in range(depth):
        deep = [deep]
    data = written(deep)
    assert (data is None) or depth < 2000


def of_old(model):
    """The file of a model, written when its class was in another module."""
    (old, _), (new, _) = next(iter(MOVED.items()))
    members = unpacked(written(model))
    members["schema.json"] = members["schema.json"].replace(new.encode(), old.encode())
    assert old.encode() in members["schema.json"]
    return packed(members)


def test_a_type_of_ours_is_found_where_it_is_now():
    data = of_old(GivenProba(["ant", "bee"]))
    assert not_trusted([data]) == set()
    (again,) = built([data], ())
    assert again.labels == ["ant", "bee"]


def test_nothing_else_is_trusted_where_a_type_of_ours_was():
    data = of_old(GivenProba([1]))
    members = unpacked(data)
    members["schema.json"] = members["schema.json"].replace(b'"GivenProba"', b'"Any"')
    assert not_trusted([packed(members)]) == {"decoupling.given_proba.Any"}
    named = written({"__module__": "decoupling.given_proba", "__class__": "GivenProba"})
    assert built([named], ()) == [
        {"__module__": "decoupling.given_proba", "__class__": "GivenProba"}
    ]


def test_splitters_are_kept():
    splitter = StratifiedKFold(3, shuffle=True, random_state=1)
    (again,) = built([written(splitter)], ())
    assert repr(again) == repr(splitter)


def test_without_skops(monkeypatch):
    data = written(GaussianNB())
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert written(GaussianNB()) is None
    with pytest.raises(ModuleNotFoundError, match=r'pip install "decoupling\[skops\]"'):
        built([data], ())


def test_what_was_not_kept_says_so():
    lost = NotKept("some.Classifier")
    with pytest.raises(ValueError, match=r"no fitted some\.Classifier.*load\(path, estimator="):
        lost.predict_proba(X)
    with pytest.raises(ValueError, match="set_params"):
        lost.fit(X, y)


def test_files_of_skops_itself_are_not_taken_as_they_are():
    # skops names members after memory addresses, which is no harm, and may compress them.
    data = skops.io.dumps(GaussianNB().fit(X, y), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="is compressed"):
        built([data], ())
