"""Wide figures open in full at a click, and scroll on a phone: there they would be too small.

Those of examples are HTML already when a page is written, so all are found there.
"""

import re
from pathlib import Path
from typing import Any, Final

from sphinx.application import Sphinx

WIDE: Final = 750  # pixels; a phone shows half as many
_IMAGE: Final = re.compile(r'<img [^>]*?src="(?P<source>[^"]*_images/(?P<name>[^"]+\.png))"[^>]*>')


def boxed(body: str, folders: dict[str, Path]) -> str:
    """HTML whose wide figures are links to themselves, in a box that can scroll."""

    def link(image: re.Match[str]) -> str:
        if width(folders[image["name"]]) <= WIDE:
            return image[0]
        return f'<a class="wide-figure" href="{image["source"]}">{image[0]}</a>'

    return _IMAGE.sub(link, body)


def width(path: Path) -> int:
    """Pixels from left to right: the first number in a PNG's header."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(20)[16:])


def _write(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if name == "gallery/index" or "_images/" not in context.get("body", ""):
        return  # there they are thumbnails
    source = Path(app.srcdir)
    files = {copy: source / path for path, copy in app.builder.images.items()}
    files |= {path.name: path for path in (source / "gallery" / "images").glob("*.png")}
    context["body"] = boxed(context["body"], files)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
