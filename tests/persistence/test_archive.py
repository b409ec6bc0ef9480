"""Zip files without surprises."""

import io
import pickle
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from decoupling.persistence.archive import array_bytes, array_kind, array_of, packed, unpacked

MEMBERS = {"b": b"22", "a": b"1", "folder/c": b""}


def zipped(entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def test_members_come_back_sorted_and_the_bytes_do_not_depend_on_their_order():
    data = packed(MEMBERS)
    assert unpacked(data) == MEMBERS
    assert list(unpacked(data)) == sorted(MEMBERS)
    assert packed(dict(reversed(MEMBERS.items()))) == data


def test_compressed_members_are_refused():
    data = zipped([("zeros", bytes(10_000))], zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="'zeros' is compressed"):
        unpacked(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused():
    with pytest.raises(ValueError, match="'a' is there twice"):
        unpacked(zipped([("a", b"1"), ("a", b"2")]))


def test_members_that_overlap_are_refused():
    # Both entries of the directory point to the same bytes: each copy of the directory's entry
    # would double what is read.
    data = bytearray(zipped([("a", b"x" * 1000), ("b", b"")]))
    second = data.rindex(b"PK\x01\x02")
    data[second + 20 : second + 28] = (1000).to_bytes(4, "little") * 2
    with pytest.raises(ValueError, match="members are larger than its"):
        unpacked(bytes(data))


def test_too_many_members_are_refused(monkeypatch):
    monkeypatch.setattr("decoupling.persistence.archive._MOST_MEMBERS", 2)
    with pytest.raises(ValueError, match="more than 2 members"):
        unpacked(packed(MEMBERS))


@pytest.mark.parametrize("data", [b"", b"PK", b"text", packed(MEMBERS)[:-1], packed(MEMBERS)[:60]])
def test_what_is_no_whole_zip_file_is_refused(data):
    with pytest.raises(ValueError, match="not a whole file"):
        unpacked(data)


def test_a_pickle_is_named():
    with pytest.raises(ValueError, match="looks like a pickle"):
        unpacked(pickle.dumps([1]))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["a", "ä\0b"]),
        np.array(True),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.empty((0, 3)),
        np.array([-0.0, np.nan, np.inf, 5e-324]),
    ],
)
def test_arrays_come_back_bit_by_bit(array):
    data = array_bytes(array)
    again = array_of(data)
    assert array_kind(data) == (array.dtype.str, array.shape)
    assert again.tobytes("A") == array.tobytes("A")
    assert again.flags.c_contiguous == array.flags.c_contiguous
    assert not again.flags.writeable


def test_objects_are_not_written():
    with pytest.raises(ValueError, match="allow_pickle"):
        array_bytes(np.array([None]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"12345678"), "object"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9,)}", b"12345678"), "72 bytes"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -1)}", b"12345678"), "shape"),
        (npy("{'descr': '<U0', 'fortran_order': False, 'shape': (10000000000,)}"), "<U0"),
        (npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,)}"), "neither"),
        (npy("{'descr': '|V8', 'fortran_order': False, 'shape': (1,)}", b"12345678"), "neither"),
        (npy("{'descr': '<f8'}"), "numpy's format"),
        (npy("(" * 5000), "numpy's format"),
        (b"\x93NUMPY\x03\x00", "numpy's format"),
        (b"", "numpy's format"),
    ],
)
def test_arrays_of_anything_else_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        array_kind(data)


def test_many_threads_read_arrays_at_once():
    """CPython 3.11 may raise a SystemError when threads parse the literals of headers at once."""
    data, interval = array_bytes(np.zeros((2, 3))), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: (array_kind(data), array_of(data).shape), range(2000)))
    finally:
        sys.setswitchinterval(interval)
    assert set(found) == {(("<f8", (2, 3)), (2, 3))}


def test_a_length_is_a_number():
    header = array_bytes(np.zeros((1, 3)))
    forged = header.replace(b"(1, 3), }   ", b"(True, 3), }")
    assert forged != header
    with pytest.raises(ValueError, match=r"shape \(True, 3\)"):
        array_kind(forged)
