"""The exact integral: its tables agree with each other and with closed forms."""

import pickle

import numpy as np
from problems import random_rows
from scipy.special import psi

from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.math.exact_log import Exact
from decoupling.inference.math.exact_tables import Tables
from decoupling.inference.math.method import concentration_range


def test_smooth_and_rough_tables_meet():
    # The same cells through both kinds of table: large Theta, then large Pi.
    theta = np.array([[400.0, 130.0], [90.0, 700.0]])
    pi = np.array([[1.0, 30.0], [25.0, 2.0]])
    smooth = Exact(DirichletRows.free(theta))
    rough = Exact(DirichletRows.free(theta))
    rough.prepare(*concentration_range(np.vstack([pi, 40 * pi])))
    labels = np.arange(2)
    low, high = np.array([1.0, 2.0, 27.0]), np.array([25.0, 30.0, 31.0])
    assert not Tables.of(smooth.transitions, labels, low, high).rough
    assert Tables.of(rough.transitions, labels, low, 40 * high).rough
    np.testing.assert_allclose(smooth.value(pi), rough.value(pi), atol=1e-8)
    weight = np.array([[1.0, 2.0], [0.5, 0.1]])
    for one, other in zip(smooth.slopes(pi, weight), rough.slopes(pi, weight), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_what_was_announced_does_not_change_an_answer():
    rows = random_rows(0)
    pi = np.random.default_rng(1).gamma(1.0, 2.0, (6, 3)) + 0.1
    plain, prepared = Exact(rows), Exact(rows)
    prepared.prepare(*concentration_range(np.vstack([0.2 * pi, 7 * pi])))
    np.testing.assert_allclose(plain.value(pi), prepared.value(pi), atol=1e-9)


def test_a_label_of_a_single_class_is_closed_form():
    theta = np.array([[3.0, 2.0, 0.0], [4.0, 0.0, 0.7]])
    pi = np.array([[0.3, 5.0], [2.0, 1e-3]])
    value = Exact(DirichletRows.free(theta)).value(pi)
    for label, source in ((1, 0), (2, 1)):
        logs = psi(pi[:, source]) - psi(pi.sum(axis=1))
        logs += psi(theta[source, label]) - psi(theta[source].sum())
        np.testing.assert_allclose(value[:, label], logs, rtol=1e-14)


def test_it_can_be_sent_to_another_process():
    rows = random_rows(0)
    pi = np.random.default_rng(1).gamma(1.0, 2.0, (6, 3)) + 0.1
    here = Exact(rows)
    here.prepare(*concentration_range(pi))
    value = here.value(pi)
    there = pickle.loads(pickle.dumps(here))
    np.testing.assert_array_equal(there.value(pi), value)
