"""Classifiers that learn p(label | x): the paper's network, and one of scikit-learn's."""

from __future__ import annotations

import warnings
from math import isqrt
from typing import Any, Final

import numpy as np
from threadpoolctl import threadpool_limits

from decoupling._typing import FloatArray, IntArray
from decoupling._validation import needs_extra

# What each is made of; a result depends on all of it, so it is part of the configuration.
NETWORKS: Final[dict[str, dict[str, float]]] = {
    "cnn": {
        "filters": 16, "kernel": 5, "dropout": 0.2, "epochs": 4, "batch": 128,
        "rate": 5e-3, "decay": 1e-2,
    },
    "mlp": {"hidden": 64, "alpha": 1e-2, "epochs": 20, "steps": 500, "batch": 128, "rate": 1e-3},
}  # fmt: skip
# A picture has at least so many pixels on a side.
_SMALLEST: Final = 8
# Rows that are predicted at a time.
_CHUNK: Final = 1000


def fitted_proba(
    network: str, X: Any, codes: IntArray, others: Any, seed: int
) -> tuple[FloatArray, FloatArray]:
    """p(label | x) of the rows that were fitted, and of others; each (N, S), in single precision.

    Parameters
    ----------
    network : {"cnn", "mlp"}
        One of `NETWORKS`.
    X, codes
        Rows, and their labels as numbers 0 to S - 1, all of which occur.
    others : array or sparse matrix (M, D)
        Rows to predict besides.
    seed : int
        Of the first weights, the order of the rows and the dropout.
    """
    if network not in NETWORKS:
        raise ValueError(f"network must be one of {sorted(NETWORKS)}; got {network!r}.")
    fit = _convolution if network == "cnn" else _perceptron
    return fit(X, codes, others, seed)


def _perceptron(X: Any, codes: IntArray, others: Any, seed: int) -> tuple[FloatArray, FloatArray]:
    """One hidden layer on standardised features; more epochs where there are few rows."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    options = NETWORKS["mlp"]
    batch = min(int(options["batch"]), len(codes))
    epochs = max(options["epochs"], options["steps"] * batch / len(codes))
    network = MLPClassifier(
        (int(options["hidden"]),),
        alpha=options["alpha"],
        batch_size=batch,
        learning_rate_init=options["rate"],
        max_iter=round(epochs),
        random_state=seed,
    )
    model = make_pipeline(StandardScaler(with_mean=isinstance(X, np.ndarray)), network)
    # One thread, so that the answer does not depend on the number of cores.
    with threadpool_limits(1):
        fit_to_the_end(model, X, codes)
        return (
            model.predict_proba(X).astype(np.float32),
            model.predict_proba(others).astype(np.float32),
        )


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


def _convolution(X: Any, codes: IntArray, others: Any, seed: int) -> tuple[FloatArray, FloatArray]:
    """A convolution with pooling and a dense layer, dropout between them and weight decay.

    Of the layouts and batches tried on one core this was the fastest: channels last, and batches
    that stay in cache. One thread, so that the answer does not depend on the number of cores; runs
    are what goes in parallel.
    """
    with needs_extra("torch", "The convolutional network"):
        import torch

    side = isqrt(X.shape[1])
    square = side * side == X.shape[1] and side % 2 == 0 and side >= _SMALLEST
    if not square or not isinstance(X, np.ndarray):
        raise ValueError(
            f"The convolutional network needs square pictures of even side, at least {_SMALLEST}, "
            f"and a row has {X.shape[1]} features. Use the network mlp."
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = _trained(torch, _pictures(torch, X, side), torch.from_numpy(codes))
        with torch.inference_mode():
            return _predicted(torch, model, X, side), _predicted(torch, model, others, side)
    finally:
        torch.set_num_threads(threads)


def _pictures(torch: Any, X: FloatArray, side: int) -> Any:
    """Rows as pictures with one channel, which comes last in memory, (N, 1, side, side)."""
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


def _predicted(torch: Any, model: Any, X: FloatArray, side: int) -> FloatArray:
    parts = [model(part).softmax(dim=1) for part in _pictures(torch, X, side).split(_CHUNK)]
    return np.asarray(torch.cat(parts).numpy())
