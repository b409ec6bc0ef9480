"""Files that were damaged, or forged with care: a ValueError, or a model that is whole."""

import json
import tracemalloc
import warnings
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from operator import getitem

import forging
import golden
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoupling import DecouplingClassifier, Posterior, load
from decoupling.fits.ensembles import Ensemble
from decoupling.persistence.archive import array_bytes, array_of
from decoupling.persistence.consistency import check_whole
from decoupling.persistence.manifest import SCHEMA

FILES = {kind: golden.path_of(kind, SCHEMA).read_bytes() for kind in golden.KINDS}
# Arrays are read into memory beside the file and checked; the rest is the interpreter's own.
MEMORY = 20
OWN = 2**22


class Drawn:
    """Choices of hypothesis."""

    def __init__(self, data):
        self.data = data

    def below(self, n):
        return self.data.draw(st.integers(0, n - 1))

    def some_bytes(self, most):
        return self.data.draw(st.binary(max_size=most))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("forged") / "model.decoupling"


def loaded(path, content):
    """The model, or None if it is refused as it should be."""
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of another version, and of numbers that make no sense
        try:
            return load(path)
        except ValueError:
            return None


@pytest.mark.parametrize("way", sorted(forging.FORGERIES))
@given(data=st.data(), kind=st.sampled_from(sorted(FILES)))
@settings(max_examples=25, deadline=None)
def test_a_forged_file_is_refused_or_whole(path, way, data, kind):
    model = loaded(path, forging.FORGERIES[way](FILES[kind], Drawn(data)))
    if model is not None:
        forging.check_usable(model)


def test_the_files_themselves_are_whole(path):
    for content in FILES.values():
        members, manifest = forging.opened(content)
        model = loaded(path, forging.resealed(members, manifest))
        assert model is not None
        forging.check_usable(model)


@pytest.mark.parametrize("name", ["fitted", "params"])
def test_an_estimator_that_was_never_fitted_is_refused(path, name):
    for kind in ("classifier", "setred"):
        members, manifest = forging.opened(FILES[kind])
        state = json.loads(members["state.json"])
        state[name] = {}
        members["state.json"] = json.dumps(state).encode()
        model = loaded(path, forging.resealed(members, manifest))
        assert model is None or name == "params"  # parameters have defaults


def first_is(value):
    """Replace the first entry."""
    return lambda array: np.concatenate([[value], array.ravel()[1:]]).reshape(array.shape)


NONSENSE = {
    "NaN": first_is(np.nan),
    "infinite": first_is(np.inf),
    "huge": lambda array: array * 1e300,
    "shorter": lambda array: np.atleast_1d(array)[:-1],
    "negative": lambda array: -array,
    "nothing": lambda array: 0.0 * array,
    "twice": lambda array: 2.0 * array,
}


def check_answers(model):
    """All that it says of probabilities are some."""
    forging.check_usable(model)
    posterior = getattr(model, "posterior_", model)
    if isinstance(posterior, Posterior):
        n_labels = len(posterior.labels)
        new = posterior.predict(np.full((2, n_labels), 1.0 / n_labels)).class_proba
        ends = [*posterior.transition_interval(), *posterior.class_balance_interval()]
        assert all(np.isfinite(found).all() for found in [new, *ends])
    if isinstance(model, DecouplingClassifier):
        n = model.n_features_in_
        new = model.predict_proba(np.full((2, n), 1 / n))  # also where features are probabilities
        for name in ("class_proba_", "label_proba_", "label_conditional_proba_", "transitions_"):
            np.testing.assert_allclose(getattr(model, name).sum(axis=1), 1, atol=1e-3)
        np.testing.assert_allclose(new.sum(axis=1), 1)


@pytest.mark.parametrize("way", sorted(NONSENSE))
@pytest.mark.parametrize("kind", sorted(FILES))
@pytest.mark.filterwarnings("ignore")  # of numbers that make no sense, where they do no harm
def test_arrays_of_nonsense(path, kind, way):
    members, manifest = forging.opened(FILES[kind])
    for name in sorted(name for name in members if name.startswith("arrays/")):
        array = array_of(members[name])
        if array.dtype.kind == "f":
            forged = {**members, name: array_bytes(NONSENSE[way](array))}
            model = loaded(path, forging.resealed(forged, deepcopy(manifest)))
            if model is not None:
                check_answers(model)


def test_rows_with_a_label_of_no_class_are_refused(path):
    model = loaded(path, FILES["classifier"])
    names = np.array(["wasp", *model.observed_.values[1:]], dtype=object)
    model.observed_ = replace(model.observed_, values=names)
    with pytest.raises(ValueError, match=r"unknown labels in .* rows: 'wasp'"):
        check_whole(model)


@pytest.mark.parametrize("within", [Ensemble((), 2), Ensemble((None,), 2), Ensemble((None,), 3)])
def test_bags_without_classifiers_of_their_codes_are_refused(path, within):
    model = loaded(path, FILES["one_sided"])
    form = model.label_model_.form
    bags = replace(form.ensemble.models[0], ensemble=within)
    forged = replace(form, ensemble=replace(form.ensemble, models=(bags,)))
    model.label_model_ = replace(model.label_model_, form=forged)
    with pytest.raises(ValueError, match=r"no classifiers of 2 classes|without probabilities"):
        check_whole(model)


@pytest.mark.parametrize(
    "nonsense",
    [
        {"overlaps": np.array([1e-300, 0.3, 0.5, 0.7, 0.9])},
        {"overlaps": np.array([0.1, 0.3, 0.5, 0.7, 1.5])},
        {"transitions": np.full((5, 3, 3), 1e-320)},
        {"transitions": np.full((5, 3, 3), 0.5)},
        {"transitions": np.full((4, 3, 3), 1 / 3)},
    ],
)
def test_an_answer_over_overlaps_is_checked(nonsense, path):
    model = loaded(path, FILES["given"])
    model.overlap_answer_ = replace(model.overlap_answer_, **nonsense)
    with pytest.raises(ValueError, match=r"overlap|sum to 1|shape|from 0 to 1|not all"):
        check_whole(model)


def test_temperatures_next_to_nothing_are_refused(path):
    model = loaded(path, FILES["classifier"])
    answer = model.retrained_.answer
    cold = replace(answer, temperatures=np.full_like(answer.temperatures, 1e-320))
    model.retrained_ = replace(model.retrained_, answer=cold)
    with pytest.raises(ValueError, match="not all from 0 to"):
        check_whole(model)


def places_of_numbers(tree, place=()):
    """Where a tree of JSON has numbers with a point."""
    if isinstance(tree, float):
        yield place
    below = tree if isinstance(tree, dict) else dict(enumerate(tree if type(tree) is list else ()))
    for key, entry in below.items():
        yield from places_of_numbers(entry, (*place, key))


@pytest.mark.parametrize("value", [{"float": "nan"}, {"float": "inf"}, 1e300, -1.0, 0.0], ids=str)
@pytest.mark.parametrize("kind", sorted(FILES))
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_nonsense(path, kind, value):
    members, manifest = forging.opened(FILES[kind])
    for *above, key in list(places_of_numbers(json.loads(members["state.json"]))):
        state = json.loads(members["state.json"])
        reduce(getitem, above, state)[key] = value
        forged = {**members, "state.json": json.dumps(state).encode()}
        model = loaded(path, forging.resealed(forged, deepcopy(manifest)))
        if model is not None:
            check_answers(model)


@pytest.mark.parametrize("value", [{"float": "nan"}, -1.0, 1e300])
def test_evidence_of_nonsense_is_refused(path, value):
    members, manifest = forging.opened(FILES["posterior"])
    state = json.loads(members["state.json"])
    state["fields"]["evidence"] = value
    members["state.json"] = json.dumps(state).encode()
    path.write_bytes(forging.resealed(members, manifest))
    with pytest.raises(ValueError, match=r"model.decoupling cannot be loaded.*evidence: "):
        load(path)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1), (1, -1), "in turn"], ids=str)
@pytest.mark.parametrize("kind", sorted(FILES))
def test_memory_is_that_of_the_file(path, kind, shape):
    """Arrays of other shapes are refused before one is spread over another."""
    members, manifest = forging.opened(FILES[kind])
    for k, name in enumerate(sorted(name for name in members if name.startswith("arrays/"))):
        array = array_of(members[name])
        new = ((-1, 1), (1, -1))[k % 2] if shape == "in turn" else shape
        members[name] = array_bytes(np.resize(array, 5000).reshape(new))
    content = forging.resealed(members, manifest)
    loaded(path, FILES[kind])  # imports what it needs
    tracemalloc.start()
    try:
        assert loaded(path, content) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY * len(content) + OWN


@pytest.mark.parametrize("shape", [(10**6, 10**6), (2**62,), (0, 2**62)])
def test_shapes_that_nobody_could_hold(path, shape):
    members, manifest = forging.opened(FILES["posterior"])
    name = next(name for name in sorted(members) if name.endswith(".npy"))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    members[name] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    tracemalloc.start()
    try:
        assert loaded(path, forging.resealed(members, manifest)) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < OWN
