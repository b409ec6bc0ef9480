"""Take the picture of the report that the README shows: `python tools/screenshot.py`.

It needs a chromium; `make demo` has to have made the report.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

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
        page.screenshot(path=ROOT / "docs" / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
