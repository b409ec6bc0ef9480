"""What a file says of itself, and whether that is so."""

import json

import numpy as np
import pytest

from decoupling.persistence.archive import array_bytes, packed, unpacked
from decoupling.persistence.manifest import OLDEST, checked_about, file_of, read_file

MEMBERS = {"state.json": b"{}", "arrays/000000.npy": array_bytes(np.eye(3, dtype=np.float32))}


def altered(**changes):
    """A file whose manifest says something else."""
    members = unpacked(file_of("1.0", "Posterior", {}, MEMBERS))
    manifest = json.loads(members["manifest.json"]) | changes
    return packed({**members, "manifest.json": json.dumps(manifest).encode()})


def test_manifest_and_members_come_back():
    manifest, members = read_file(file_of("1.0", "Posterior", {"b": 1, "a": [None]}, MEMBERS))
    assert members == MEMBERS
    assert (manifest["holds"], manifest["about"]) == ("Posterior", {"b": 1, "a": [None]})
    entry = manifest["members"]["arrays/000000.npy"]
    assert (entry["dtype"], entry["shape"]) == ("<f4", [3, 3])
    assert entry["size"] == len(MEMBERS["arrays/000000.npy"])
    assert set(manifest["members"]["state.json"]) == {"sha256", "size"}


@pytest.mark.parametrize("version", [None, 1, "", "1" * 50, "3.0\n", "a b"])
def test_a_version_is_short_and_plain(version):
    with pytest.raises(ValueError, match="which version wrote it"):
        read_file(altered(library_version=version))


@pytest.mark.parametrize("schema", [None, 0, -1, 1.0, True, "1"])
def test_a_schema_is_a_number(schema):
    with pytest.raises(ValueError, match="which version wrote it"):
        read_file(altered(schema=schema))


def test_a_later_version_is_named():
    with pytest.raises(ValueError, match=r"schema is 8, .* upgrade to decoupling >= 12\.0"):
        read_file(altered(schema=8, library_version="12.0"))


@pytest.mark.parametrize("schema", range(1, OLDEST))
def test_a_schema_of_before_the_first_release_is_refused(schema):
    with pytest.raises(ValueError, match=rf"Schema {schema} is older than .* reads: fit again\."):
        read_file(altered(schema=schema))


def test_a_file_without_state_is_refused():
    data = file_of("1.0", "Posterior", {}, {"arrays/000000.npy": MEMBERS["arrays/000000.npy"]})
    with pytest.raises(ValueError, match=r"It has no state\.json"):
        read_file(data)


def test_an_array_of_objects_is_refused_although_its_hash_is_right():
    forged = MEMBERS["arrays/000000.npy"].replace(b"'<f4'", b"'|O' ")
    members = unpacked(file_of("1.0", "Posterior", {}, MEMBERS))
    with pytest.raises(ValueError, match="neither numbers nor text"):
        read_file(packed({**members, "arrays/000000.npy": forged}))


def test_about_is_what_json_makes_of_it():
    assert checked_about(None) == {}
    assert checked_about({"columns": ("a", "b")}) == {"columns": ["a", "b"]}
