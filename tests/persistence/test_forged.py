"""Files that were damaged, or forged with care: a ValueError, or a model that is whole."""

import json
import tracemalloc
import warnings

import forging
import golden
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoupling import load
from decoupling.persistence.archive import array_bytes, array_of
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
