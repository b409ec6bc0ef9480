"""The shape of a tail against distributions whose shape is known."""

import numpy as np
import pytest
from scipy.stats import genpareto

from decoupling.inference.errors import pareto
from decoupling.inference.errors.pareto import fit_shape, tail_shape


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.3, 0.7, 1.2])
def test_shape_of_draws_with_a_known_one(shape):
    n, repeats = 4000, 20
    found = [
        fit_shape(np.sort(genpareto.rvs(shape, size=n, random_state=seed)))
        for seed in range(repeats)
    ]
    # The standard error of an efficient estimate, which no estimate of k < -1/2 would have.
    error = (1 + shape) / np.sqrt(n)
    assert np.std(found) < 1.5 * error
    shift = 10 * (0.5 - shape) / n  # of the prior that draws it to 1/2
    assert abs(np.mean(found) - shape - shift) < 4 * error / np.sqrt(repeats)


def test_few_draws_are_drawn_towards_a_half(monkeypatch):
    draws = np.sort(genpareto.rvs(1.5, size=10, random_state=0))
    found = fit_shape(draws)
    monkeypatch.setattr(pareto, "_PRIOR_DRAWS", 0.0)
    # Ten draws weigh as much as the prior.
    assert found == pytest.approx((fit_shape(draws) + 0.5) / 2.0)
    assert abs(found - 0.5) > 0.1


def test_shape_does_not_depend_on_the_scale():
    draws = np.sort(genpareto.rvs(0.4, size=300, random_state=0))
    assert fit_shape(1e-9 * draws) == pytest.approx(fit_shape(draws), abs=1e-9)
    assert fit_shape(1e9 * draws) == pytest.approx(fit_shape(draws), abs=1e-9)


@pytest.mark.parametrize("width", [0.5, 0.7, 0.9])
def test_a_normal_drawn_from_a_narrower_one(width):
    """Weights of draws from N(0, width²) for N(0, 1) have k = 1 - width²."""
    draws = width * np.random.default_rng(0).standard_normal(400_000)
    logs = 0.5 * draws**2 * (width**-2 - 1.0)
    # Slowly varying factors bias it by more than its standard error.
    assert tail_shape(logs) == pytest.approx(1 - width**2, abs=0.1)


def test_a_normal_drawn_from_a_wider_one_has_bounded_weights():
    draws = 2.0 * np.random.default_rng(0).standard_normal(20_000)
    assert tail_shape(-0.5 * draws**2 * (1 - 0.25)) < 0.0


def test_a_constant_makes_no_difference():
    logs = np.random.default_rng(0).standard_normal(1000)
    assert tail_shape(logs - 900.0) == pytest.approx(tail_shape(logs), abs=1e-9)


def test_a_flat_tail_and_one_of_a_single_draw():
    assert tail_shape(np.zeros(100)) == -np.inf
    assert tail_shape(1e-12 * (np.arange(100) > 97)) == -np.inf
    assert tail_shape(np.append(np.full(99, -2000.0), 0.0)) == np.inf


def test_next_to_nothing_beside_the_largest_draw():
    """Numbers that are there, and too small to divide by."""
    for smallest, expected in [(-740.0, np.inf), (-660.0, 10.0)]:
        found = tail_shape(np.append(np.linspace(smallest - 5.0, smallest, 99), 0.0))
        assert found >= expected


def test_too_few_draws():
    with pytest.raises(ValueError, match="more draws"):
        tail_shape(np.zeros(20))
