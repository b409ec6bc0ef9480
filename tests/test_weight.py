"""What git tracks stays small: results are packed, pictures have palettes, tables are in files."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Of all files together; a clone has their history besides.
MOST = 6_000_000
# Of any one: raw results are packed before they are committed (see tools/pack.py).
MOST_OF_ONE = 500_000


@pytest.fixture(scope="module")
def sizes():
    """Bytes of each tracked file that is there."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a checkout of git")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip(f"git does not list its files here: {listed.stderr.strip()}")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return {
        path.relative_to(ROOT).as_posix(): path.stat().st_size for path in paths if path.is_file()
    }


def test_what_is_tracked_is_small(sizes):
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    assert sum(sizes.values()) <= MOST, f"the largest: {', '.join(largest)}"


def test_no_file_is_large(sizes):
    assert {name: size for name, size in sizes.items() if size > MOST_OF_ONE} == {}


def test_results_are_packed_before_they_are_committed(sizes):
    """A run leaves lines of JSON beside packed ones if it did not end."""
    assert [name for name in sizes if name + ".xz" in sizes] == []
