"""The manifest of a file: what it says of the file, and whether that is so.

A file is a zip of ``manifest.json``, which says what it holds and has the SHA-256 of everything
else; ``state.json``, the records; ``arrays/*.npy``; and ``models/*.skops``, the classifiers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from decoupling.persistence.archive import array_kind, packed, unpacked

FORMAT: Final = "decoupling model"
# Number of the layout of a file. It is raised when versions before cannot read what is written now;
# these then say so.
SCHEMA: Final = 7
# Lowest number that is still read. Those below are of versions that were never released.
OLDEST: Final = 6
STATE: Final = "state.json"
ARRAY: Final = re.compile(r"arrays/[0-9]{6,9}\.npy")
MODEL: Final = re.compile(r"models/[0-9]{6,9}\.skops")
_MANIFEST: Final = "manifest.json"
_VERSION: Final = re.compile(r"[0-9A-Za-z.+!-]{1,40}")


def file_of(
    version: str, holds: str, about: Mapping[str, Any], members: Mapping[str, bytes]
) -> bytes:
    """Bytes of a file of these members and their manifest; ``version`` is that of the library."""
    manifest = {
        "format": FORMAT,
        "schema": SCHEMA,
        "library_version": version,
        "holds": holds,
        "about": about,
        "members": {name: _entry(name, members[name]) for name in sorted(members)},
    }
    return packed({_MANIFEST: as_json(manifest), **members})


def read_file(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Manifest and members, all of them checked.

    Raises
    ------
    ValueError
        If they are not what `file_of` makes, or of a later version.
    """
    members = unpacked(data)
    if _MANIFEST not in members:
        raise ValueError(f"It has no {_MANIFEST}: it is not a file of decoupling.save.")
    manifest = parsed(_MANIFEST, members.pop(_MANIFEST))
    _check_manifest(manifest)
    _check_members(manifest["members"], members)
    return manifest, members


def checked_about(about: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the user says of a model in values that JSON can hold; refuse any other."""
    if about is None:
        return {}
    try:
        again = json.loads(as_json(dict(about)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"about must be a mapping of what JSON can say; {error}.") from error
    return dict(again)


def as_json(tree: Any) -> bytes:
    """JSON without spaces."""
    return json.dumps(tree, allow_nan=False, separators=(",", ":")).encode()


def parsed(name: str, data: bytes) -> Any:
    """Parse the JSON of a member."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}.") from error


def _entry(name: str, data: bytes) -> dict[str, Any]:
    """Entry of the manifest for a member."""
    entry: dict[str, Any] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    if ARRAY.fullmatch(name):
        dtype, shape = array_kind(data)
        entry |= {"dtype": dtype, "shape": list(shape)}
    return entry


def _check_manifest(manifest: Any) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"Its format is not {FORMAT!r}: it is not a file of decoupling.save.")
    schema, version = manifest.get("schema"), manifest.get("library_version")
    # The version is printed, so that it must not be just any text.
    known = isinstance(version, str) and _VERSION.fullmatch(version) is not None
    if type(schema) is not int or schema < 1 or not known:
        raise ValueError(f"{_MANIFEST} does not say which version wrote it.")
    if schema > SCHEMA:
        raise ValueError(
            f"Its schema is {schema}, and this version reads up to {SCHEMA}: upgrade to "
            f"decoupling >= {version}."
        )
    if schema < OLDEST:
        raise ValueError(f"Schema {schema} is older than this version reads: fit again.")
    for name, kind in (("holds", str), ("about", dict), ("members", dict)):
        if not isinstance(manifest.get(name), kind):
            raise ValueError(f"{_MANIFEST} does not have {name!r}.")


def _check_members(listed: dict[str, Any], members: dict[str, bytes]) -> None:
    wrong = sorted(set(listed) ^ set(members))
    if wrong:
        raise ValueError(f"{_MANIFEST} and the file differ in the members {wrong[:5]}.")
    if STATE not in members:
        raise ValueError(f"It has no {STATE}.")
    for name, data in members.items():
        if not (name == STATE or ARRAY.fullmatch(name) or MODEL.fullmatch(name)):
            raise ValueError(f"Nothing is known of the member {name!r}.")
        if listed[name] != _entry(name, data):
            raise ValueError(f"Member {name} is not what {_MANIFEST} says: it was altered.")
