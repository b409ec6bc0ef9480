"""Networks: probabilities out, the same for the same seed."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.neural_network import MLPClassifier

from decoupling.experiments.networks import NETWORKS, network

RNG = np.random.default_rng(0)
CODES = np.repeat(np.arange(3), 500)
PICTURES = RNG.random((1500, 64), dtype=np.float32)
PICTURES[np.arange(1500), 9 * CODES] += 2.0


@pytest.fixture(params=NETWORKS)
def name(request):
    if request.param == "cnn":
        pytest.importorskip("torch")
    return request.param


def test_probabilities_of_the_labels(name):
    model = network(name, 0).fit(PICTURES, CODES)
    train, test = model.predict_proba(PICTURES), model.predict_proba(PICTURES[:50])
    assert train.shape == (1500, 3)
    assert train.dtype == np.float32
    np.testing.assert_allclose(train.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(train[:50], test, atol=1e-6)
    assert (train.argmax(axis=1) == CODES).mean() > 0.9
    again = network(name, 0).fit(PICTURES, CODES).predict_proba(PICTURES)
    np.testing.assert_array_equal(train, again)
    other = network(name, 1).fit(PICTURES, CODES).predict_proba(PICTURES)
    assert not np.array_equal(train, other)


def test_representation_is_what_the_last_layer_sees(name):
    """The probabilities are a softmax of a linear function of it."""
    model = network(name, 0).fit(PICTURES, CODES)
    inner = model.represent(PICTURES)
    assert inner.shape == (1500, {"cnn": 16 * 4 * 4, "mlp": 64}[name])
    assert (inner >= 0).all()
    logits = np.log(model.predict_proba(PICTURES).astype(float))
    logits -= logits[:, :1]
    design = np.column_stack([inner, np.ones(1500)]).astype(float)
    fitted = design @ np.linalg.lstsq(design, logits)[0]
    np.testing.assert_allclose(fitted, logits, atol=1e-3)


def test_labels_of_any_kind(name):
    words = np.array(["ant", "bee", "cat"])[CODES]
    model = network(name, 0).fit(PICTURES, words)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    found = model.classes_[model.predict_proba(PICTURES).argmax(axis=1)]
    assert (found == words).mean() > 0.9


def test_convolution_leaves_the_random_numbers_of_others_alone():
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    network("cnn", 0).fit(PICTURES, CODES)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(
    "X",
    [PICTURES[:, :60], PICTURES[:, :49], PICTURES[:, :16], sparse.csr_matrix(PICTURES)],
    ids=str,
)
def test_convolution_of_what_is_no_picture(X):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="square pictures of even side"):
        network("cnn", 0).fit(X, CODES)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "decoupling\[torch\]"'):
        network("cnn", 0).fit(PICTURES, CODES)


def test_sparse_rows_and_names():
    rows = sparse.csr_matrix(PICTURES)
    train = network("mlp", 0).fit(rows, CODES).predict_proba(rows)
    np.testing.assert_allclose(train.sum(axis=1), 1, atol=1e-5)
    with pytest.raises(ValueError, match=r"network must be one of \['cnn', 'mlp'\]"):
        network("rnn", 0)


def test_an_interruption_is_not_the_end_of_the_training(monkeypatch):
    """scikit-learn's network would return, half trained, with a warning."""

    def interrupted(self, *arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(MLPClassifier, "_backprop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        network("mlp", 0).fit(PICTURES, CODES)
