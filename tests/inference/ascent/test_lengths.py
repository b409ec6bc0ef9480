"""Lengths of steps."""

import numpy as np

from decoupling.inference.ascent.lengths import leap_of, longest_step


def test_extrapolation_finds_the_limit_of_shrinking_steps():
    limit, offset = np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, -0.25, 1.0]])
    path = [limit + 0.9**k * offset for k in range(3)]
    np.testing.assert_allclose(path[0] + leap_of(*path), limit, rtol=1e-12)
    np.testing.assert_array_equal(leap_of(limit, limit, limit), 0.0)


def test_a_step_never_leaves_the_positive_numbers():
    concentration = np.array([[1.0, 2.0], [1.0, 2.0]])
    direction = np.array([[-10.0, 1.0], [5.0, 5.0]])
    length = longest_step(concentration, direction)
    np.testing.assert_allclose(length, [0.09, 1.0])
    assert (concentration + length[:, None] * direction > 0).all()
