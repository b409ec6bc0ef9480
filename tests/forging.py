"""Files of `save`, forged: damaged anywhere, or altered with a manifest that agrees with it.

What is done is drawn by whoever asks: by hypothesis in the tests, by a coverage-guided fuzzer in
``tools/fuzz_load.py``.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, Protocol

import numpy as np

from decoupling import DecouplingClassifier, Posterior
from decoupling.persistence.archive import array_kind, packed, unpacked
from decoupling.persistence.records import Writer

MANIFEST: Final = "manifest.json"

# What may stand in the place of anything that JSON says.
VALUES: Final = (
    None, True, False, 0, -1, 1, 3, 10**9, 2**63, 10**30, 0.5, 1e308, "", "x", "nan", "ant",
    "arrays/000000.npy", "arrays/000001.npy", "models/000000.skops", "../../etc/passwd",
    "DecouplingClassifier", "Posterior", "SetredClassifier", "Trace", "Ensemble", "Renamed",
    "DirichletRows", "TransitionPrior", "Task", "pandas", "polars", "pyarrow", "category", "object",
    "os.system", "builtins.eval", "numpy.load", "sklearn.tree._tree.Tree", "JsonNode", "TypeNode",
    "FunctionNode", "ObjectNode", "MethodNode", "NdArrayNode", "ReduceNode", "CachedNode",
    [], {}, [[]], [0], {"array": "arrays/000001.npy"}, {"float": "nan"}, {"float": "inf"},
    {"float": "1e400"}, {"tuple": []}, {"tuple": ["a", "b", "c"]}, {"list": [1, 2]},
    {"dict": []}, {"dict": [[1]]}, {"scalar": "arrays/000000.npy"}, {"lost": "x"},
    {"objects": [], "codes": "arrays/000000.npy"}, {"model": "models/000000.skops"},
    {"record": "Trace", "fields": {}}, {"record": "Task", "fields": {}},
    {"estimator": "SetredClassifier", "params": {}, "fitted": {}},
    {"estimator": "DecouplingClassifier", "params": {}, "fitted": {}},
    {"library": "pandas", "parts": [None, None]},
    {"library": "pandas", "parts": [{"tuple": [{"tuple": [0, 10**15, 1]}, None]}, "category"]},
    {"isotonic": {}},
)  # fmt: skip
KEYS: Final = (
    "array", "scalar", "record", "fields", "model", "lost", "dict", "tuple", "estimator", "fitted",
    "params", "objects", "codes", "__class__", "__module__", "__loader__", "__id__", "content",
    "file", "", "x",
)  # fmt: skip
NAMES: Final = (
    "x", "", "state.json", "manifest.json", "arrays/000000.npy", "arrays/999999.npy",
    "models/999999.skops", "models/0.skops", "../arrays/000000.npy", "/etc/passwd", "a\\b",
    "arrays/", "state.json\0", "STATE.JSON", "model.pkl",
)  # fmt: skip
TYPES: Final = (
    "<f8", ">f8", "<f4", "<f2", "<i8", "|i1", "|b1", "<c16", "<U1", "<U0", "|S3", "<M8[D]", "|O",
    "|V8", "<U1000000000", [("a", "<f8")], "<m8[s]", "<f16", "x",
)  # fmt: skip
SHAPES: Final = (
    (), (0,), (1,), (-1,), (3,), (40,), (2, 2), (3, 4), (40, 3), (1, 1, 1), (10**6, 10**6),
    (2**63,), (10**30,), (0, 10**18), (2, -1), "x", (1.5,), (True,),
)  # fmt: skip


class Draw(Protocol):
    """Where choices come from."""

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""

    def some_bytes(self, most: int) -> bytes:
        """At most so many bytes."""


def one_of(draw: Draw, choices: Sequence[Any]) -> Any:
    """One of them."""
    return choices[draw.below(len(choices))]


def forged(data: bytes, draw: Draw) -> bytes:
    """A file made from ``data``, that of `save`, in one of the ways of `FORGERIES`."""
    return FORGERIES[one_of(draw, sorted(FORGERIES))](data, draw)


def resealed(members: Mapping[str, bytes], manifest: Any) -> bytes:
    """A file of these members whose manifest agrees with them, as far as it has a place for it."""
    listed = manifest.get("members") if isinstance(manifest, dict) else None
    for name, data in members.items():
        if isinstance(listed, dict) and isinstance(listed.get(name, {}), dict):
            listed[name] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            try:
                dtype, shape = array_kind(data)
            except ValueError:
                continue
            if name.startswith("arrays/"):
                listed[name] |= {"dtype": dtype, "shape": list(shape)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that ends in NUL is there without it already
        return packed({MANIFEST: json.dumps(manifest).encode(), **members})


def opened(data: bytes) -> tuple[dict[str, bytes], Any]:
    """Members and manifest."""
    members = unpacked(data)
    manifest = json.loads(members.pop(MANIFEST))
    return members, manifest


def check_usable(model: Any) -> None:
    """Nothing of it is missing: it can be asked, and be saved again, to the same bytes."""
    posterior = getattr(model, "posterior_", model)
    if isinstance(posterior, Posterior):
        for proba in (posterior.class_proba, posterior.transitions):
            assert np.isfinite(proba).all()
    else:
        assert model.transduction_.shape == model.relabelled_.shape
    if isinstance(model, DecouplingClassifier):
        assert len(model.label_issues(all_rows=True).row) == model.observed_.labelled.sum()
    first, second = Writer(), Writer()
    assert first.tree(model) == second.tree(model)
    assert first.members == second.members


def damaged(data: bytes, draw: Draw) -> bytes:
    """Bits flipped, a part cut out, put in or repeated."""
    place, other = sorted((draw.below(len(data) + 1), draw.below(len(data) + 1)))
    way = one_of(draw, ("flip", "cut", "insert", "drop", "repeat"))
    if way == "flip" and place < len(data):
        return data[:place] + bytes([data[place] ^ (1 << draw.below(8))]) + data[place + 1 :]
    if way == "cut":
        return data[:place]
    if way == "insert":
        return data[:place] + draw.some_bytes(8) + data[place:]
    if way == "drop":
        return data[:place] + data[other:]
    return data[:other] + data[place:other] + data[other:]


def _anything(data: bytes, draw: Draw) -> bytes:
    return one_of(draw, (b"", b"PK\x03\x04", b"PK\x05\x06", b"\x80\x04")) + draw.some_bytes(300)


def _of_a_member(change: Callable[[bytes, Draw], bytes], ending: str) -> Any:
    """Alter one of the members whose names end so, and reseal."""

    def forge(data: bytes, draw: Draw) -> bytes:
        members, manifest = opened(data)
        names = sorted(name for name in members if name.endswith(ending))
        if names:
            name = one_of(draw, names)
            members[name] = change(members[name], draw)
        return resealed(members, manifest)

    return forge


def _manifest(data: bytes, draw: Draw) -> bytes:
    members, manifest = opened(data)
    manifest = replaced(manifest, draw)
    if draw.below(2):
        return resealed(members, manifest)
    return packed({MANIFEST: json.dumps(manifest).encode(), **members})


def _added(data: bytes, draw: Draw) -> bytes:
    members, manifest = opened(data)
    name = one_of(draw, NAMES)
    members[name] = members.get(one_of(draw, sorted(members)), b"")
    members.pop(MANIFEST, None)
    return resealed(members, manifest)


def _renamed(data: bytes, draw: Draw) -> bytes:
    members, manifest = opened(data)
    old, new = one_of(draw, sorted(members)), one_of(draw, (*NAMES, *sorted(members)))
    members[new] = members.pop(old)
    members.pop(MANIFEST, None)
    manifest["members"].pop(old, None)
    return resealed(members, manifest)


def _removed(data: bytes, draw: Draw) -> bytes:
    members, manifest = opened(data)
    name = one_of(draw, sorted(members))
    del members[name], manifest["members"][name]
    return resealed(members, manifest)


def _swapped(data: bytes, draw: Draw) -> bytes:
    members, manifest = opened(data)
    one, other = one_of(draw, sorted(members)), one_of(draw, sorted(members))
    members[one], members[other] = members[other], members[one]
    return resealed(members, manifest)


def _twice(data: bytes, draw: Draw) -> bytes:
    members = unpacked(data)
    out, name = io.BytesIO(), one_of(draw, sorted(members))
    compression = one_of(draw, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", compression) as archive:
        warnings.simplefilter("ignore")  # zipfile says that a name is there already
        for each in (*sorted(members), name):
            archive.writestr(each, members[each])
    return out.getvalue()


def _json(data: bytes, draw: Draw) -> bytes:
    tree = json.loads(data)
    for _ in range(1 + draw.below(3)):
        tree = replaced(tree, draw)
    return json.dumps(tree).encode()


def _skops(data: bytes, draw: Draw) -> bytes:
    """Alter what a classifier says of itself, or one of its arrays."""
    members = unpacked(data)
    name = one_of(draw, sorted(members))
    change = _json if name.endswith(".json") else one_of(draw, (_npy, damaged))
    members[name] = change(members[name], draw)
    return packed(members)


def _npy(data: bytes, draw: Draw) -> bytes:
    """Another type, shape or order, with more or fewer bytes behind it."""
    if data[:6] != b"\x93NUMPY":
        return damaged(data, draw)
    start = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:start].decode("latin1"))
    change = one_of(draw, ("descr", "shape", "fortran_order", "key", "text"))
    if change == "descr":
        header["descr"] = one_of(draw, TYPES)
    elif change == "shape":
        header["shape"] = one_of(draw, SHAPES)
    elif change == "fortran_order":
        header["fortran_order"] = one_of(draw, (True, None, "x", not header["fortran_order"]))
    elif change == "key":
        header[one_of(draw, ("x", "shape ", ""))] = 0
    text = repr(header).encode()
    if change == "text":
        text = damaged(text, draw)
    body = data[start:] if draw.below(2) else data[start : start + 8 * draw.below(20)]
    text += b"\n"
    return data[:8] + len(text).to_bytes(2, "little") + text + body


def replaced(tree: Any, draw: Draw) -> Any:
    """The same JSON with one value somewhere replaced, a key renamed or dropped, an entry added."""
    places = list(_places(tree))
    if not places or draw.below(30) == 0:
        return deepcopy(one_of(draw, VALUES))
    holder, key = one_of(draw, places)
    way = draw.below(5)
    if way == 0:
        other, there = one_of(draw, places)
        # A copy, since a tree that holds itself could not be written.
        holder[key] = deepcopy(other[there])
    elif way == 1:
        del holder[key]
    elif way == 2 and isinstance(holder, dict):
        holder[one_of(draw, KEYS)] = holder.pop(key)
    elif way == 3 and isinstance(holder, list):
        holder.insert(key, deepcopy(one_of(draw, VALUES)))
    else:
        holder[key] = deepcopy(one_of(draw, VALUES))
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place where a value stands: what holds it, and under which key."""
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])


FORGERIES: Final[dict[str, Callable[[bytes, Draw], bytes]]] = {
    "anything": _anything,
    "damaged": damaged,
    "a member damaged": _of_a_member(damaged, ""),
    "the manifest altered": _manifest,
    "a member added": _added,
    "a member renamed": _renamed,
    "a member removed": _removed,
    "members swapped": _swapped,
    "a member twice": _twice,
    "the records altered": _of_a_member(_json, "state.json"),
    "an array altered": _of_a_member(_npy, ".npy"),
    "a classifier altered": _of_a_member(_skops, ".skops"),
}
