"""Files that are there whole or not at all."""

from contextlib import nullcontext

import pytest

from decoupling._files import made_folder, written_whole


def test_what_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.md"
    path.write_text("old")

    def write_half():
        with written_whole(path) as part:
            part.write_text("ne")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_that_were_made_go_with_what_failed(tmp_path):
    def write(path, fail):
        with written_whole(path) as part:
            part.write_text("new")
            if fail:
                raise RuntimeError

    for fail in (True, False):
        with pytest.raises(RuntimeError) if fail else nullcontext():
            write(tmp_path / "a" / "b" / "c.txt", fail)
        assert (tmp_path / "a").exists() is not fail
    with pytest.raises(RuntimeError):
        write(tmp_path / "a" / "d" / "c.txt", True)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"], "what was there stays"


def test_a_folder_that_others_use_meanwhile_stays(tmp_path):
    def fail():
        with made_folder(tmp_path / "a" / "b"):
            (tmp_path / "a" / "theirs.txt").write_text("theirs")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["theirs.txt"]


@pytest.mark.parametrize("name", ["a" * 251 + ".npy", "ü" * 127, "a." + "b" * 253, "a" * 255])
def test_names_as_long_as_the_system_has_them(tmp_path, name):
    with written_whole(tmp_path / name) as part:
        part.write_text("new")
        # Two whose names begin alike, at once.
        with written_whole(tmp_path / f"{name[:-1]}c") as other:
            other.write_text("other")
    assert (tmp_path / name).read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2
