"""Files are written whole, or not at all."""

import pytest

from decoupling._files import written_whole


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
