"""The parts of the exact integral: nodes, bases, tables."""

import numpy as np
import pytest
from problems import random_rows

from decoupling.inference.dirichlet import DirichletRows
from decoupling.inference.exact_log import ExactIntegral, ExponentialBasis, Nodes, Tables


@pytest.mark.parametrize("bounds", [(0.1, 0.2), (0.05, 3.0), (0.1, 1000.0), (1e-3, 1e6)])
def test_basis_interpolates_mixtures_of_exponentials(bounds):
    basis = ExponentialBasis.over(*bounds, tolerance=1e-12)
    pi = np.exp(np.linspace(*np.log(bounds), 77))
    for rate in np.logspace(-8, 4, 40) / bounds[0] ** 0.5:
        interpolated = basis.functions(pi) @ np.exp(-basis.points * rate)
        np.testing.assert_allclose(interpolated, np.exp(-pi * rate), atol=2e-11)


def test_derivatives_of_the_basis():
    basis = ExponentialBasis.over(0.1, 20.0, tolerance=1e-12)
    pi = np.linspace(0.2, 19.0, 20)
    slope = basis.derivatives(pi) @ np.exp(-0.4 * basis.points)
    np.testing.assert_allclose(slope, -0.4 * np.exp(-0.4 * pi), atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_nodes_integrate_a_known_case(scale):
    # For Z = z constant the integral of exp(-scale t) - exp(-z t) over ln t is ln(z / scale).
    nodes = Nodes.between(np.log(2e-3 / 32), 9.5, 40.0, scale=scale, step=0.4)
    for z in (0.01, 1.0, 20.0):
        total = nodes.reference - nodes.weight @ np.exp(-z * np.exp(np.minimum(nodes.log_t, 100.0)))
        total += nodes.first * (z - scale) + nodes.second * (scale**2 - z**2) / 2
        assert total == pytest.approx(np.log(z), abs=1e-8)


def test_smooth_and_rough_tables_meet():
    # The same cells through both kinds of table: large Theta, then large Pi.
    theta = np.array([[400.0, 130.0], [90.0, 700.0]])
    pi = np.array([[1.0, 30.0], [25.0, 2.0]])
    smooth = ExactIntegral(DirichletRows.free(theta))
    rough = ExactIntegral(DirichletRows.free(theta))
    rough.prepare(np.vstack([pi, 40 * pi]))
    low, high = np.array([1.0, 2.0, 27.0]), np.array([25.0, 30.0, 31.0])
    assert not Tables.of(smooth.transitions, low, high).rough
    assert Tables.of(rough.transitions, low, 40 * high).rough
    np.testing.assert_allclose(smooth.value(pi), rough.value(pi), atol=1e-8)
    weight = np.array([[1.0, 2.0], [0.5, 0.1]])
    for one, other in zip(smooth.gradients(pi, weight), rough.gradients(pi, weight), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_what_was_announced_does_not_change_an_answer():
    rows = random_rows(0)
    pi = np.random.default_rng(1).gamma(1.0, 2.0, (6, 3)) + 0.1
    plain, prepared = ExactIntegral(rows), ExactIntegral(rows)
    prepared.prepare(np.vstack([0.2 * pi, 7 * pi]))
    np.testing.assert_allclose(plain.value(pi), prepared.value(pi), atol=1e-9)
