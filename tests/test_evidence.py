"""Pages of evidence are what their commands make of the results that are kept."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").exists(), reason="a distribution of the source has no benchmarks"
)


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    """`python -m benchmarks...` runs there."""
    monkeypatch.syspath_prepend(ROOT)


def test_pages_of_the_comparison():
    from benchmarks.quality import network, report, store

    results, of_network = store.load(store.FULL), store.load(store.NETWORK)
    settings, causes = store.load(store.SETTINGS), store.load(store.CAUSES)
    pages = report.pages(results, settings, causes, of_network)
    assert {path.name for path in report.FOLDER.iterdir()} == set(pages)
    for name, text in pages.items():
        assert (report.FOLDER / name).read_text(encoding="utf-8") == text, name
    page = report.README.read_text(encoding="utf-8")
    measured = store.MEASURED.read_text(encoding="utf-8").strip()
    assert f"{report.BEGIN}\n{report.in_short(results, measured)}\n{report.END}" in page
    short = network.in_short(of_network)
    assert f"{report.NETWORK_BEGIN}\n{short}\n{report.NETWORK_END}" in page


def test_page_of_the_coverage_of_intervals():
    from benchmarks.calibration import report, study

    page = report.page(report.summaries(study.load(), study.BATCH))
    assert (study.FOLDER / "README.md").read_text(encoding="utf-8") == page


def test_page_of_simulation_based_calibration():
    sbc = pytest.importorskip("variational_sbc")
    folder = ROOT / "results" / "calibration" / "sbc"
    store = sbc.Store(folder / "results.jsonl")
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "\n".join(sbc.tables(store)) in page
    assert "\n".join(sbc.k_hats(store)) in page
