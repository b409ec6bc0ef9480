"""Zip files without surprises: no member is compressed, there twice, or larger than the file.

What is stored as it is cannot swell when it is read, so that nothing here ever takes much more
memory than the file has bytes. Nothing is written to disk, whatever the members are called.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from math import prod
from threading import Lock
from typing import Final

import numpy as np
from numpy.lib import format as npy

from decoupling._text import Message
from decoupling._typing import AnyArray

# Time of every member, the first that a zip file can have: the same model is to have the same bytes
# whenever it is written.
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
# System that a member is said to come from, in the numbers of the zip format: Unix. The real one
# would change the bytes.
_UNIX: Final = 3
# Rights of a member in the upper half of its attributes: its owner may read and write it.
_READ_AND_WRITE: Final = 0o600 << 16
# numpy reads the header of an array as a literal of Python. When several threads parse literals at
# once, CPython 3.11 may lose count of its depth and raise a SystemError. So one reads at a time.
ONE_HEADER_AT_A_TIME: Final = Lock()
# Members that a file may have at most. Forests have a few for each tree, and do not come near.
_MOST_MEMBERS: Final = 1_000_000
# Booleans, numbers, text and dates; no objects, which are pickles, and no structures.
_PLAIN: Final = "biufcSUmM"


def packed(members: Mapping[str, bytes]) -> bytes:
    """A zip file of these members, sorted by name: the same bytes for the same members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _LONG_AGO)
            info.create_system, info.external_attr = _UNIX, _READ_AND_WRITE
            archive.writestr(info, members[name])
    return buffer.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    """Members of a file that `packed` has made.

    Raises
    ------
    ValueError
        If it is no zip file, was cut or altered, or has members of another kind.
    """
    if data[:1] == b"\x80":
        raise ValueError("It looks like a pickle. These can run any code, and are never read.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            _check_members(infos, len(data))
            return {info.filename: archive.read(info) for info in infos}
    except Exception as error:  # zipfile has many of its own
        text = (
            "It is not {a whole file of decoupling.save|a whole model.decoupling of a run}: {why}"
        )
        raise ValueError(Message("no-model", text, why=str(error))) from error


def _check_members(infos: Iterable[zipfile.ZipInfo], size: int) -> None:
    names: set[str] = set()
    left = size
    for info in infos:
        if info.filename in names:
            raise ValueError(f"member {info.filename!r} is there twice.")
        names.add(info.filename)
        if len(names) > _MOST_MEMBERS:
            raise ValueError(f"it has more than {_MOST_MEMBERS} members.")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ValueError(f"member {info.filename!r} is compressed.")
        left -= info.file_size
        if left < 0:
            raise ValueError(f"its members are larger than its {size} bytes.")


def array_bytes(array: AnyArray) -> bytes:
    """The array in numpy's own format."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def array_kind(data: bytes, *, structured: bool = False) -> tuple[str, tuple[int, ...]]:
    """Type and shape of an array in numpy's format, read from its header alone.

    Raises
    ------
    ValueError
        If it holds objects (or structures, unless they are expected), or its size is not what its
        type and shape come to.
    """
    buffer = io.BytesIO(data)
    try:
        version = npy.read_magic(buffer)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        with ONE_HEADER_AT_A_TIME:
            shape, _, dtype = read(buffer)
    except Exception as error:  # numpy evaluates the header as a literal, which has many ways
        raise ValueError(f"no array in numpy's format: {error}") from error
    plain = dtype.kind in _PLAIN or (structured and dtype.fields is not None)
    if dtype.hasobject or not plain or dtype.itemsize == 0:
        raise ValueError(f"an array of {dtype}, which is neither numbers nor text.")
    expected, found = dtype.itemsize * prod(shape), len(data) - buffer.tell()
    # numpy reads True as a length, which it is not when the array is made.
    if any(type(n) is not int or n < 0 for n in shape) or expected != found:
        raise ValueError(
            f"an array of {dtype} and shape {shape}, {expected} bytes, and there are {found}."
        )
    return dtype.str, shape


def array_of(data: bytes) -> AnyArray:
    """The array, read-only: members that are equal are read as one."""
    with ONE_HEADER_AT_A_TIME:
        array: AnyArray = np.load(io.BytesIO(data), allow_pickle=False)
    array.flags.writeable = False
    return array
