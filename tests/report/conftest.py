"""Fitted classifiers for every kind of report, small and fitted once."""

import numpy as np
import pytest
from flowers import HOSTILE, NAMES, fit, irises


@pytest.fixture(scope="session")
def noisy():
    X, given, _ = irises()
    return fit(X, given, task="class-conditional-noise")


@pytest.fixture(scope="session")
def one_sided():
    X, _, truth = irises()
    rng = np.random.default_rng(1)
    y = np.where((truth == "setosa") & (rng.random(150) < 0.7), "setosa", None)
    return fit(X, y, negative="other")


@pytest.fixture(scope="session")
def semi_supervised():
    X, _, truth = irises()
    y = truth.copy()
    y[np.random.default_rng(2).random(150) < 0.3] = None
    return fit(X, y, task="semi-supervised")


@pytest.fixture(scope="session")
def complementary():
    X, _, truth = irises()
    codes = np.searchsorted(NAMES, truth.astype(str))
    other = (codes + np.random.default_rng(3).integers(1, 3, 150)) % 3
    return fit(X, NAMES[other], task="complementary")


@pytest.fixture(scope="session")
def supervised():
    X, _, truth = irises()
    return fit(X, truth, task="supervised")


@pytest.fixture(scope="session")
def hostile():
    X, given, _ = irises(HOSTILE)
    return fit(X, given)


@pytest.fixture(scope="session")
def every_kind(noisy, one_sided, semi_supervised, complementary, supervised, hostile):
    return {
        "noisy": noisy,
        "one-sided": one_sided,
        "semi-supervised": semi_supervised,
        "complementary": complementary,
        "supervised": supervised,
        "hostile": hostile,
    }


KINDS = ["noisy", "one-sided", "semi-supervised", "complementary", "supervised", "hostile"]


@pytest.fixture(params=KINDS)
def kind(request, every_kind):
    return request.param, every_kind[request.param]
