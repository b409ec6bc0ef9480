"""The paper's simulated example."""

import numpy as np
import pytest

from decoupling.experiments.simulated_example import SimulatedConfig, draw_simulated, simulate


@pytest.fixture(scope="module")
def found():
    return simulate(SimulatedConfig(n_samples=1000, seed=3))


def test_classes_are_found_that_the_labels_hide(found):
    scores = found.scores
    assert scores["label model"] < 0.35
    assert scores["decoupled"] > 0.85
    assert scores["decoupled"] <= scores["true densities"]


def test_likelihood_rises_and_flattens(found):
    likelihood = found.posterior.trace.likelihood
    half = len(likelihood) // 2
    assert likelihood[-1] > likelihood[0]
    assert np.ptp(likelihood[half:]) < 0.1 * np.ptp(likelihood)


def test_seven_figures_with_seed_and_configuration(found, tmp_path):
    written = list(draw_simulated(found, tmp_path))
    assert len(written) == 7
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_every_option_is_in_the_name():
    configs = [
        SimulatedConfig(), SimulatedConfig(seed=1), SimulatedConfig(n_samples=10),
        SimulatedConfig(evidence="auto"), SimulatedConfig(expected_log="taylor"),
    ]  # fmt: skip
    assert len({config.digest for config in configs}) == 5


def test_too_few_samples_for_all_labels():
    with pytest.raises(ValueError, match=r"none has the label .*: draw more"):
        simulate(SimulatedConfig(n_samples=10))
