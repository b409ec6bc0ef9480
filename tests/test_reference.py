"""The library's answers against exact posteriors that are kept in golden files.

Bounds are of two kinds. Monte Carlo errors come from the effective sample sizes in the files. The
others are what the approximation claims: means within an exact standard deviation, and error
bars, which are of first order, right to a factor of two. With the classes integrated out nothing is
approximated but integrals and the shape of a marginal: a quarter of a standard deviation, a fifth
of the width.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

reference = pytest.importorskip("reference_posteriors")
FOLDER = Path(__file__).parents[1] / "results" / "reference"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="golden files are in the repository")
NAMES = list(reference.PROBLEMS)
METHODS = ["bound", pytest.param("exact", marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def golden():
    return {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in NAMES}


@pytest.fixture(scope="module")
def compared(golden):
    @cache
    def by(method):
        return [
            row
            for name in NAMES
            for row in reference.compared(reference.PROBLEMS[name], golden[name], (method,))
        ]

    return by


def of(compared, reading, method, kind):
    """Rows of the comparison, with the Monte Carlo error of a mean in standard deviations."""
    rows = [row for row in compared(method) if row["reading"] == reading]
    rows = [row for row in rows if row["name"].startswith(kind)]
    assert rows
    size = np.array([row["exact"]["effective_size"] for row in rows])
    return (*(np.array([row[score] for row in rows]) for score in ("bias", "width")), size**-0.5)


@pytest.mark.parametrize("name", NAMES)
def test_samplers_agree(golden, name):
    """Two ways to the same posterior, or one way and quadrature, differ by Monte Carlo errors."""
    exact = golden[name]["as_written"]["exact"]
    assert max(value["r_hat"] for value in exact.values()) < 1.05
    check = golden[name]["as_written"].get("check", {})
    if not check:
        assert reference.PROBLEMS[name].class_prior is not None  # gamma is learned: Gibbs alone
    for key, other in check.get("metropolis", {}).items():
        one = exact[key]
        error = np.hypot(1 / np.sqrt(one["effective_size"]), 1 / np.sqrt(other["effective_size"]))
        assert abs(one["mean"] - other["mean"]) < 4 * error * one["sd"]
        assert abs(np.log(one["sd"] / other["sd"])) < 4 * error
    if "quadrature" in check:
        (one,) = (exact[key] for key in reference.shown(exact) if key.startswith("T"))
        error = 1 / np.sqrt(one["effective_size"])
        assert abs(one["mean"] - check["quadrature"]["mean"]) < 4 * error * one["sd"]
        assert abs(np.log(one["sd"] / check["quadrature"]["sd"])) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["T", "balance", "gamma"])
def test_the_model_as_written_with_the_exact_expected_logarithm(compared, kind):
    bias, width, error = of(compared, "as_written", "exact", kind)
    assert (np.abs(bias) < 1 + 3 * error).all()
    assert (width > 0.5).all()  # they are not too short; that they are too long is known


@pytest.mark.slow
def test_the_bound_is_further_off_where_rows_are_counts(compared):
    """What is known of it, and why `exact` is there: it takes labels for cleaner than they are."""
    bound, exact = (of(compared, "as_written", method, "T")[0] for method in ("bound", "exact"))
    assert np.median(np.abs(exact)) < np.median(np.abs(bound))


@pytest.mark.parametrize("method", METHODS)
def test_the_posterior_that_error_bars_are_for(compared, method):
    bias, width, error = of(compared, "tempered", method, "T")
    assert (np.abs(bias) < 1 + 3 * error).all()
    assert (width > 0.5).all()
    assert (width < 2.0).all()


@pytest.mark.parametrize(
    ("reading", "kind"), [("as_written", "T"), ("as_written", "balance"), ("tempered", "T")]
)
def test_classes_integrated_out_give_the_exact_posterior(compared, reading, kind):
    bias, width, error = of(compared, reading, "integrated", kind)
    assert (np.abs(bias) < 0.25 + 3 * error).all()
    assert (np.abs(np.log(width)) < 0.2 + 3 * 1.5 * error).all()


@pytest.mark.parametrize("kind", ["T", "balance"])
@pytest.mark.parametrize("method", METHODS)
def test_no_surer_than_somebody_who_knows_the_densities(compared, method, kind):
    _, width, error = of(compared, "ordinary", method, kind)
    # The width of a 90% interval of a normal has 1.5 times the relative error of 1 / sqrt(size).
    assert (width > 1 - 3 * 1.5 * error).all()
