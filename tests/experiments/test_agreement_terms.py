"""The appendix's example: its values, its costs and its figures."""

import numpy as np
import pytest

from decoupling.experiments.agreement_terms import SAMPLES, costs, draw_agreement, sample_agreement


def test_values_of_the_example():
    """Orders 1, 2 and 8, by enumeration."""
    found = dict(zip(SAMPLES, sample_agreement().T, strict=True))
    for name, values in {
        "sample 1": (0.87190, 0.76752, 0.41205),
        "sample 2": (0.53719, 0.31298, 0.03180),
        "uniform": (0.70455, 0.52189, 0.15142),
        "centred": (0.70455, 0.51066, 0.11043),
        "centred narrow": (0.70455, 0.50604, 0.09572),
        "multimodal": (0.70455, 0.53476, 0.20300),
    }.items():
        np.testing.assert_allclose(found[name][[0, 1, 7]], values, atol=6e-6)


def test_what_the_paper_says_of_them():
    """Agreement falls with the order; samples of unknown class are all alike at first."""
    terms = sample_agreement()
    assert (np.diff(terms, axis=0) < 0).all()
    assert np.ptp(terms[0, 2:]) < 1e-12
    order = np.argsort(-terms[7])
    names = [list(SAMPLES)[k] for k in order]
    assert names == [
        "sample 1", "multimodal", "uniform", "centred", "centred narrow", "sample 2",
    ]  # fmt: skip


def test_number_of_terms():
    every, distinct, ours = costs(3, 4).values()
    np.testing.assert_array_equal(every, [3, 9, 27, 81])
    np.testing.assert_array_equal(distinct, [3, 6, 10, 15])
    assert ours[-1] == 5 * 10


def test_figures(tmp_path):
    written = list(draw_agreement(tmp_path / "agreement"))
    assert [path.name for path in written] == [
        "1_class_densities.png", "2_agreement.png", "3_terms.png",
    ]  # fmt: skip
    first = [path.read_bytes() for path in written]
    assert all(data.startswith(b"\x89PNG") for data in first)
    assert [path.read_bytes() for path in draw_agreement(tmp_path / "agreement")] == first
    assert sorted(path.name for path in (tmp_path / "agreement").iterdir()) == sorted(
        path.name for path in written
    )


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "decoupling\[plot\]"'):
        next(draw_agreement(tmp_path))
