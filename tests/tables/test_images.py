"""Images of rows: small when asked for, and none where there is none."""

from io import BytesIO

import pyarrow as pa
import pytest
from PIL import Image

from decoupling.tables.images import ImageColumn
from decoupling.tables.reading import TableError


def picture(size=(300, 200), mode="RGB", form="PNG"):
    out = BytesIO()
    Image.radial_gradient("L").resize(size).convert(mode).save(out, form)
    return out.getvalue()


def opened(data):
    return Image.open(BytesIO(data))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_bytes(tmp_path, form, mode):
    column = ImageColumn(pa.chunked_array([[picture(mode=mode, form=form), None]]), tmp_path)
    assert len(column) == 2
    assert opened(column[0]).size == (96, 64)
    assert len(column[0]) < 12_000
    assert column[1] is None
    assert column[:] == [column[0], None]


def test_paths(tmp_path):
    (tmp_path / "a.png").write_bytes(picture(mode="RGBA"))
    (tmp_path / "b.png").write_bytes(b"no image")
    column = ImageColumn(pa.chunked_array([["a.png", "b.png", "c.png"]]), tmp_path)
    assert opened(column[0]).size == (96, 64)
    assert column[1] is None
    assert column[2] is None


def test_paths_that_begin_elsewhere(tmp_path):
    with pytest.raises(TableError, match=r"The first image, 'x/a.png', is not in"):
        ImageColumn(pa.chunked_array([["x/a.png"]]), tmp_path)


def test_an_image_that_is_too_large(tmp_path):
    huge = BytesIO()
    Image.new("1", (8000, 8000)).save(huge, "PNG")
    assert ImageColumn(pa.chunked_array([[huge.getvalue()]]), tmp_path)[0] is None
