"""Agreement terms against the sum over exponent vectors, and their cost as C and K grow."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.table import Measurement
from benchmarks.timing import best_of, progress
from decoupling import agreement_terms

# Labels, S: ten classes and unlabelled. Cost grows with them in proportion.
N_LABELS = 11
Terms = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def run(quick: bool) -> list[Measurement]:
    """Compare with enumeration at N=200, then measure growth at a size where rows matter most."""
    return [*_against_enumeration(3 if quick else 10), *_growth(5_000 if quick else 20_000)]


def _against_enumeration(repeats: int) -> list[Measurement]:
    pi, theta = _concentrations(n_rows=200, n_classes=10)
    ours = agreement_terms(pi, theta, 4)
    seconds = best_of(lambda: agreement_terms(pi, theta, 4), 100 * repeats)
    lines = []
    variants: list[tuple[str, Terms, float | None]] = [
        ("enumeration as written", enumerate_plainly, 200.0),
        ("enumeration without zero exponents", enumerate_nonzero, None),
        ("enumeration by one product per order", enumerate_by_product, None),
    ]
    for name, enumeration, target in variants:
        progress(f"agreement: {name}")
        np.testing.assert_allclose(enumeration(pi, theta, 4), ours, rtol=1e-12)
        theirs = best_of(lambda f=enumeration: f(pi, theta, 4), repeats)
        what = f"agreement terms, N=200 C=10 S=11 K=4: {name} over agreement_terms"
        lines.append(Measurement(what, theirs / seconds, target, "at least"))
    return lines


def _growth(n_rows: int) -> list[Measurement]:
    progress(f"agreement: growth at N={n_rows:,}")

    def cost(n_classes: int, order: int) -> float:
        pi, theta = _concentrations(n_rows, n_classes)
        return best_of(lambda: agreement_terms(pi, theta, order), 20)

    classes, orders = cost(80, 4) / cost(10, 4), cost(10, 6) / cost(10, 2)
    where = f"agreement terms, N={n_rows:,} S=11"
    return [
        Measurement(f"{where}: cost from C=10 to C=80, K=4", classes, 12.0),
        Measurement(f"{where}: cost from K=2 to K=6, C=10", orders, 8.0),
    ]


def _concentrations(n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    pi = rng.gamma(1.0, 1.0, (n_rows, n_classes)) + 0.1
    return pi, rng.gamma(1.0, 1.0, (n_classes, N_LABELS)) + 0.1


# Enumeration: E[X^p] = sum over beta of p!/beta! prod_c (Pi_c)_beta_c / (Pi_0)_p E[T_cs^beta_c].
# Powers and moments are looked up in tables that are made once, so a term is only a product.


def enumerate_plainly(pi: np.ndarray, theta: np.ndarray, order: int) -> np.ndarray:
    """One exponent vector at a time, a product over all classes, every array (N, S)."""
    rising, moments, total = _tables(pi, theta, order)
    out = np.zeros((order, len(pi), theta.shape[1]))
    for p in range(1, order + 1):
        for beta in exponents(p, pi.shape[1]):
            term = np.full(out.shape[1:], _multinomial(beta))
            for c, b in enumerate(beta):
                term *= rising[b, :, c, None] * moments[b, c]
            out[p - 1] += term
        out[p - 1] /= total[p]
    return out


def enumerate_nonzero(pi: np.ndarray, theta: np.ndarray, order: int) -> np.ndarray:
    """One exponent vector at a time, a product over the classes in it, rows apart from labels."""
    rising, moments, total = _tables(pi, theta, order)
    out = np.zeros((order, len(pi), theta.shape[1]))
    for p in range(1, order + 1):
        for beta in exponents(p, pi.shape[1]):
            rows, labels = np.full(len(pi), _multinomial(beta)), np.ones(theta.shape[1])
            for c, b in enumerate(beta):
                if b:
                    rows *= rising[b, :, c]
                    labels *= moments[b, c]
            out[p - 1] += rows[:, None] * labels
        out[p - 1] /= total[p]
    return out


def enumerate_by_product(pi: np.ndarray, theta: np.ndarray, order: int) -> np.ndarray:
    """All exponent vectors of an order at once; needs memory for N times their number."""
    rising, moments, total = _tables(pi, theta, order)
    out = np.empty((order, len(pi), theta.shape[1]))
    for p in range(1, order + 1):
        beta = np.array(list(exponents(p, pi.shape[1])))  # (B, C)
        rows = np.repeat([[_multinomial(b)] for b in beta.tolist()], len(pi), axis=1)  # (B, N)
        labels = np.ones((len(beta), theta.shape[1]))
        for c, powers in enumerate(beta.T):
            rows *= rising[powers, :, c]
            labels *= moments[powers, c]
        out[p - 1] = rows.T @ labels / total[p]
    return out


def exponents(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every vector of non-negative integers of this length and sum."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in exponents(total - first, parts - 1):
            yield (first, *rest)


def _multinomial(beta: tuple[int, ...]) -> float:
    return math.factorial(sum(beta)) / math.prod(map(math.factorial, beta))


def _tables(
    pi: np.ndarray, theta: np.ndarray, order: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Pi)_b (K+1, N, C), E[T^b] (K+1, C, S) and (Pi_0)_b (K+1, N, 1) for b = 0..K."""
    moments = _rising(theta, order) / _rising(theta.sum(axis=1, keepdims=True), order)
    return _rising(pi, order), moments, _rising(pi.sum(axis=1, keepdims=True), order)


def _rising(base: np.ndarray, order: int) -> np.ndarray:
    factors = [np.ones_like(base), *(base + k for k in range(order))]
    return np.cumprod(factors, axis=0)
