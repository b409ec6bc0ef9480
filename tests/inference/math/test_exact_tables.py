"""The parts of the exact integral: nodes and the interpolation in pi."""

import numpy as np
import pytest

from decoupling.inference.math.exact_nodes import ExponentialBasis, Nodes


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
