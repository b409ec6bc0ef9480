"""Networks: probabilities out, the same for the same seed."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.neural_network import MLPClassifier

from decoupling.experiments.networks import NETWORKS, fitted_proba

RNG = np.random.default_rng(0)
CODES = np.repeat(np.arange(3), 500)
PICTURES = RNG.random((1500, 64), dtype=np.float32)
PICTURES[np.arange(1500), 9 * CODES] += 2.0


@pytest.mark.parametrize("network", NETWORKS)
def test_probabilities_of_the_labels(network):
    if network == "cnn":
        pytest.importorskip("torch")
    train, test = fitted_proba(network, PICTURES, CODES, PICTURES[:50], seed=0)
    assert train.shape == (1500, 3)
    assert train.dtype == np.float32
    np.testing.assert_allclose(train.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(train[:50], test, atol=1e-6)
    assert (train.argmax(axis=1) == CODES).mean() > 0.9
    again, _ = fitted_proba(network, PICTURES, CODES, PICTURES[:50], seed=0)
    np.testing.assert_array_equal(train, again)
    other, _ = fitted_proba(network, PICTURES, CODES, PICTURES[:50], seed=1)
    assert not np.array_equal(train, other)


def test_convolution_leaves_the_random_numbers_of_others_alone():
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fitted_proba("cnn", PICTURES, CODES, PICTURES[:5], seed=0)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    "X",
    [PICTURES[:, :60], PICTURES[:, :49], PICTURES[:, :16], sparse.csr_matrix(PICTURES)],
    ids=str,
)
def test_convolution_of_what_is_no_picture(X):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="square pictures of even side"):
        fitted_proba("cnn", X, CODES, X, seed=0)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "decoupling\[torch\]"'):
        fitted_proba("cnn", PICTURES, CODES, PICTURES, seed=0)


def test_sparse_rows_and_names():
    rows = sparse.csr_matrix(PICTURES)
    train, _ = fitted_proba("mlp", rows, CODES, rows[:5], seed=0)
    np.testing.assert_allclose(train.sum(axis=1), 1, atol=1e-5)
    with pytest.raises(ValueError, match=r"network must be one of \['cnn', 'mlp'\]"):
        fitted_proba("rnn", PICTURES, CODES, PICTURES, seed=0)


def test_an_interruption_is_not_the_end_of_the_training(monkeypatch):
    """scikit-learn's network would return, half trained, with a warning."""

    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(MLPClassifier, "_backprop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted_proba("mlp", PICTURES, CODES, PICTURES[:5], seed=0)
