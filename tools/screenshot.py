"""Take the picture of the report that the README shows: `python tools/screenshot.py`.

It needs a chromium; `make demo` has to have made the report.
"""

import shutil
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from decoupling.experiments.figures import in_few_colours

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Write docs/report.png."""
    page_file, browser_file = ROOT / "demo" / "report.html", shutil.which("chromium")
    if browser_file is None or not page_file.exists():
        sys.exit("Needs chromium, and demo/report.html, which `make demo` writes.")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1340}, color_scheme="light")
        page.goto(page_file.as_uri())
        whole = page.screenshot()
        browser.close()
    with Image.open(BytesIO(whole)) as picture:
        in_few_colours(picture).save(ROOT / "docs" / "report.png", optimize=True)


if __name__ == "__main__":
    main()
