"""Classifiers that learn p(label | x): the paper's network, and one of scikit-learn's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import isqrt
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_limits

from decoupling._typing import FloatArray, IntArray
from decoupling._validation import needs_extra

# Options of each network. A result depends on all of them: they are part of its configuration, and
# results under another one are made anew.
NETWORKS: Final[dict[str, dict[str, float]]] = {
    "cnn": {
        "filters": 16, "kernel": 5, "dropout": 0.2, "epochs": 4, "batch": 128,
        "rate": 5e-3, "decay": 1e-2,
    },
    "mlp": {"hidden": 64, "alpha": 1e-2, "epochs": 20, "steps": 500, "batch": 128, "rate": 1e-3},
}  # fmt: skip
# Pixels that a picture has on a side at least; the kernel sees five of them at once.
_SMALLEST: Final = 8
# Rows that are predicted at a time: memory grows with them, and the answer does not change.
_CHUNK: Final = 1000


def network(name: str, seed: int) -> Perceptron | Convolution:
    """One of `NETWORKS`, not trained yet.

    ``seed`` is that of the first weights, the order of the rows and the dropout.
    """
    if name not in NETWORKS:
        raise ValueError(f"network must be one of {sorted(NETWORKS)}; got {name!r}.")
    return Convolution(seed) if name == "cnn" else Perceptron(seed)


class Perceptron(ClassifierMixin, BaseEstimator):
    """One hidden layer on standardised features; more epochs where there are few rows."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: Any, y: IntArray) -> Self:
        """Learn p(label | x)."""
        from sklearn.neural_network import MLPClassifier
        from sklearn.preprocessing import StandardScaler

        options = NETWORKS["mlp"]
        batch = min(int(options["batch"]), len(y))
        epochs = max(options["epochs"], options["steps"] * batch / len(y))
        self.scaler_ = StandardScaler(with_mean=isinstance(X, np.ndarray))
        self.network_ = MLPClassifier(
            (int(options["hidden"]),),
            alpha=options["alpha"],
            batch_size=batch,
            learning_rate_init=options["rate"],
            max_iter=round(epochs),
            random_state=self.seed,
        )
        # One thread, so that the answer does not depend on the number of cores.
        with threadpool_limits(1):
            fit_to_the_end(self.network_, self.scaler_.fit_transform(X), y)
        self.classes_ = self.network_.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """p(label | x), (N, S), in single precision."""
        with threadpool_limits(1):
            proba = self.network_.predict_proba(self.scaler_.transform(X))
        return np.asarray(proba, dtype=np.float32)

    def represent(self, X: Any) -> FloatArray:
        """Output of the hidden layer for each row, (N, H)."""
        with threadpool_limits(1):
            inner = self.scaler_.transform(X) @ self.network_.coefs_[0]
        return np.asarray(np.maximum(inner + self.network_.intercepts_[0], 0), dtype=np.float32)


def fit_to_the_end(model: Any, X: Any, codes: IntArray) -> None:
    """Fit one of scikit-learn's networks, which would take an interruption for the end."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # It is stopped early on purpose: p(label | x) of the rows it was fitted on is used.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("error", "Training interrupted", UserWarning)
        try:
            model.fit(X, codes)
        except UserWarning:
            raise KeyboardInterrupt from None


class Convolution(ClassifierMixin, BaseEstimator):
    """A convolution with pooling and a dense layer, dropout between them and weight decay.

    Of the layouts and batches tried on one core this was the fastest: channels last, and batches
    that stay in cache. One thread, so that the answer does not depend on the number of cores; runs
    are what goes in parallel.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: Any, y: IntArray) -> Self:
        """Learn p(label | x)."""
        side = isqrt(X.shape[1])
        square = side * side == X.shape[1] and side % 2 == 0 and side >= _SMALLEST
        if not square or not isinstance(X, np.ndarray):
            raise ValueError(
                "The convolutional network needs square pictures of even side, at least "
                f"{_SMALLEST}, and a row has {X.shape[1]} features. Use the network mlp."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        with _one_thread() as torch, torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.network_ = _trained(torch, _pictures(torch, X), torch.from_numpy(codes))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """p(label | x), (N, S), in single precision."""
        with _one_thread() as torch, torch.inference_mode():
            parts = _pictures(torch, X).split(_CHUNK)
            proba = torch.cat([self.network_(part).softmax(dim=1) for part in parts])
        return np.asarray(proba.numpy())

    def represent(self, X: Any) -> FloatArray:
        """Input of the dense layer for each row, (N, H)."""
        with _one_thread() as torch, torch.inference_mode():
            parts = _pictures(torch, X).split(_CHUNK)
            inner = torch.cat([self.network_[:-1](part) for part in parts])
        return np.asarray(inner.numpy())


@contextmanager
def _one_thread() -> Iterator[Any]:
    """PyTorch, which works with one thread meanwhile."""
    with needs_extra("torch", "The convolutional network"):
        import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield torch
    finally:
        torch.set_num_threads(threads)


def _pictures(torch: Any, X: FloatArray) -> Any:
    """Rows as pictures with one channel, which comes last in memory, (N, 1, side, side)."""
    side = isqrt(X.shape[1])
    pictures = torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
    return pictures.view(-1, 1, side, side).contiguous(memory_format=torch.channels_last)


def _trained(torch: Any, pictures: Any, codes: Any) -> Any:
    options, nn = NETWORKS["cnn"], torch.nn
    filters, kernel, batch = int(options["filters"]), int(options["kernel"]), int(options["batch"])
    model = nn.Sequential(
        nn.Conv2d(1, filters, kernel, padding=kernel // 2),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Dropout2d(
            options["dropout"]
        ),  # of whole filters: a draw per pixel takes 1/4 of the time
        nn.Flatten(),
        nn.Linear(filters * (pictures.shape[-1] // 2) ** 2, int(codes.max()) + 1),
    ).to(memory_format=torch.channels_last)
    epochs = int(options["epochs"])
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=options["rate"], weight_decay=options["decay"], fused=True
    )
    steps = epochs * -(-len(codes) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, options["rate"], total_steps=steps)
    for _ in range(epochs):
        for rows in torch.randperm(len(codes)).split(batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(pictures[rows]), codes[rows]).backward()
            optimiser.step()
            schedule.step()
    return model.eval()
