"""The bound and its parts."""

import numpy as np
import pytest
from figures import assert_nothing_is_cut, noisy
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

from decoupling import DecouplingClassifier, ElboDisplay


def test_bound_and_parts():
    posterior = noisy(["a", "b", "c"])
    trace = posterior.trace
    display = ElboDisplay.from_posterior(posterior)
    np.testing.assert_array_equal(display.line_.get_ydata(), trace.elbo)
    gains = {line.get_label(): line.get_ydata() for line in display.parts_ax_.lines}
    assert set(gains) == {"bound", "likelihood", "prior", "entropy"}
    np.testing.assert_array_equal(gains["prior"], trace.prior - trace.prior[0])
    parts = sum(gain for name, gain in gains.items() if name != "bound")
    np.testing.assert_allclose(parts, gains["bound"], atol=1e-6)
    assert display.ax_.get_title().startswith(f"{trace.n_iter} iterations, ended by ")
    assert_nothing_is_cut(display.figure_)


def test_one_axes_holds_the_bound_alone():
    ax = Figure().subplots()
    display = ElboDisplay.from_posterior(noisy(["a", "b"]), ax=ax)
    assert display.ax_ is ax
    assert display.parts_ax_ is None
    assert len(ax.lines) == 1
    assert ax.get_xlabel() == "iteration"


def test_from_estimator():
    X, y = load_iris(return_X_y=True)
    clf = DecouplingClassifier(task="noisy", noise=0.1, cv=3, rounds=0, random_state=0).fit(X, y)
    assert ElboDisplay.from_estimator(clf).trace is clf.posterior_.trace


def test_too_many_axes():
    with pytest.raises(ValueError, match="one axes or two; got 3"):
        ElboDisplay.from_posterior(noisy(["a", "b"]), ax=Figure().subplots(3))
