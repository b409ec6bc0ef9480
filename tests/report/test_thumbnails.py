"""Images within the page."""

import base64
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from decoupling.report.thumbnails import data_uri


def read(uri):
    return imread(BytesIO(base64.b64decode(uri.partition(",")[2])))


def test_grey_values_become_a_png():
    uri = data_uri([[0, 5], [10, 10]], 0)
    assert uri.startswith("data:image/png;base64,")
    np.testing.assert_allclose(read(uri)[:, :, 0], [[0, 0.5], [1, 1]], atol=0.01)
    assert uri == data_uri([[0, 5], [10, 10]], 0)


def test_colours_stay():
    image = np.array([[[255, 0, 0], [0, 0, 255]]], dtype=np.uint8)
    np.testing.assert_allclose(read(data_uri(image, 0))[0, :, :3], [[1, 0, 0], [0, 0, 1]])


def test_files_stay():
    assert data_uri(b"\xff\xd8\xff\xe0abc", 0) == "data:image/jpeg;base64,/9j/4GFiYw=="
    assert data_uri(b"GIF89a", 0).startswith("data:image/gif")


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (b"<svg onload=alert(1)>", "row 7 is neither PNG, JPEG nor GIF"),
        (np.zeros(4), r"row 7 must be bytes, or an array .* got shape \(4,\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), r"got shape \(0, 2\)"),
        (np.array([["a"]]), "of <U1"),
        ([[np.nan, 1.0]], "not finite"),
        (b"GIF8" + bytes(20_000), "has 20,004 bytes, and at most 12,000 fit"),
    ],
)
def test_bad_images(image, message):
    with pytest.raises(ValueError, match=message):
        data_uri(image, 7)
