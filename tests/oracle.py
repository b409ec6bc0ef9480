"""Slow, independent reference values that the tests compare the library with.

Nothing here imports the library. Every function prefers the plainest correct computation: sums
written out term by term, quadrature in variables where the integrand is smooth, arithmetic with
many digits, or random draws with a standard error.

``python tests/oracle.py`` recomputes ``tests/data/expected_log_reference.json``.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf
from scipy import integrate, special

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

TABLE = Path(__file__).parent / "data" / "expected_log_reference.json"


# ------------------------------------------------------------------------------------------------
# Agreement terms
# ------------------------------------------------------------------------------------------------


def rising_factorial(base: float, count: int) -> float:
    """Return ``base (base + 1) ... (base + count - 1)``, which is 1 for a count of zero."""
    return math.prod(base + k for k in range(count))


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield every vector of `parts` non-negative integers that sums to `total`."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def agreement_by_enumeration(
    class_concentration: npt.ArrayLike,
    transition_concentration: npt.ArrayLike,
    order: int,
    *,
    known: npt.ArrayLike | None = None,
) -> FloatArray:
    """Moments of (Y T)_is by the multinomial theorem, one term at a time.

    Parameters
    ----------
    class_concentration : array of shape (N, C)
        Row i holds the concentrations of the Dirichlet distribution of Y_i.
    transition_concentration : array of shape (C, S)
        Row c holds the concentrations of T_c; an entry of zero makes T_cs exactly zero.
    order : int
        The highest moment.
    known : array of shape (C,), optional
        Rows that are true hold the probabilities T_c themselves.

    Returns
    -------
    array of shape (order, N, S)
        Entry ``[p - 1, i, s]`` is the expectation of (Y T)_is to the power p.
    """
    pi = np.atleast_2d(np.asarray(class_concentration, dtype=float))
    theta = np.atleast_2d(np.asarray(transition_concentration, dtype=float))
    n_samples, n_classes = pi.shape
    n_labels = theta.shape[1]
    constant = _flags(known, n_classes)

    def transition_moment(c: int, s: int, power: int) -> float:
        if constant[c]:
            return float(theta[c, s]) ** power
        return rising_factorial(theta[c, s], power) / rising_factorial(theta[c].sum(), power)

    terms = np.zeros((order, n_samples, n_labels))
    for p in range(1, order + 1):
        for beta in compositions(p, n_classes):
            coefficient = math.factorial(p) / math.prod(math.factorial(b) for b in beta)
            for i, s in itertools.product(range(n_samples), range(n_labels)):
                classes = math.prod(rising_factorial(pi[i, c], b) for c, b in enumerate(beta))
                classes /= rising_factorial(pi[i].sum(), p)
                labels = math.prod(transition_moment(c, s, b) for c, b in enumerate(beta))
                terms[p - 1, i, s] += coefficient * classes * labels
    return terms


def _flags(known: npt.ArrayLike | None, n_classes: int) -> BoolArray:
    """Return `known` as a boolean vector, all false if it is not given."""
    if known is None:
        return np.zeros(n_classes, dtype=bool)
    flags = np.asarray(known, dtype=bool)
    if flags.shape != (n_classes,):
        raise ValueError(f"known must have shape ({n_classes},), not {flags.shape}")
    return flags


# ------------------------------------------------------------------------------------------------
# Gradients
# ------------------------------------------------------------------------------------------------


def central_difference(
    function: Callable[[FloatArray], float], x: npt.ArrayLike, step: float = 1e-3
) -> FloatArray:
    """Gradient of a scalar function by the five-point rule, of fourth order in the step.

    Parameters
    ----------
    function : callable
        Maps an array of the shape of `x` to a number.
    x : array
        Where to differentiate.
    step : float
        Relative step: entry j moves by ``step * |x_j|``, or by `step` where x_j is zero. The
        error is about ``step**4`` from truncation and ``1e-16 / step`` from rounding.

    Returns
    -------
    array of the shape of `x`
    """
    point = np.array(x, dtype=float)
    gradient = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        width = step * (abs(point[index]) or 1.0)
        value = 0.0
        for shift, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            moved = point.copy()
            moved[index] += shift * width
            value += weight * float(function(moved))
        gradient[index] = value / (12.0 * width)
    return gradient


# ------------------------------------------------------------------------------------------------
# The expected logarithm, with many digits
# ------------------------------------------------------------------------------------------------


def expected_log_reference(
    pi: npt.ArrayLike,
    theta_column: npt.ArrayLike,
    theta_total: npt.ArrayLike,
    known: npt.ArrayLike | None = None,
    dps: int = 30,
    method: str = "auto",
) -> float:
    """E[ln sum_c Y_c T_c] for a Dirichlet Y and independent Beta (or constant) T_c.

    With Y = g / sum(g) and g_c ~ Gamma(pi_c) the Laplace transform of R = sum_c g_c T_c is the
    product of M_c(t) = E[(1 + t T_c)^(-pi_c)], and for any u0

        E[ln R] = -u0 + integral over u of exp(-e^(u - u0)) - prod_c M_c(e^u).

    The integral is a trapezoid sum after a change of variable that makes both tails die double
    exponentially; the step is halved until the sum settles.

    Parameters
    ----------
    pi : array of shape (C,)
        Concentrations of Y.
    theta_column : array of shape (C,)
        First parameter of the Beta distribution of T_c, or T_c itself where `known` is true. Zero
        means T_c = 0.
    theta_total : array of shape (C,)
        Sum of the two parameters; ignored where `known` is true. A total equal to the column
        means T_c = 1.
    known : array of shape (C,), optional
        Which T_c are constants.
    dps : int
        Decimal digits of the arithmetic.
    method : {"auto", "nested", "hypergeometric"}
        How M_c is found: by quadrature over the Beta distribution, by mpmath's 2F1 (slow, or
        hopeless, for large concentrations), or by whichever is quicker at that argument.

    Returns
    -------
    float
        Right to about 1e-15 of max(1, the value) for concentrations from 1e-3 to 1e6.
    """
    weights = np.asarray(pi, dtype=float)
    column = np.asarray(theta_column, dtype=float)
    total = np.asarray(theta_total, dtype=float)
    constant = _flags(known, len(weights))
    rows = zip(weights.tolist(), column.tolist(), total.tolist(), constant.tolist(), strict=True)
    # Normal form: a constant is written with a total of None.
    classes = tuple(
        (p, a, None) if k else (p, 1.0, None) if a == s else (p, a, s) for p, a, s, k in rows
    )
    return float(_expected_log(classes, dps, method))


_ClassRow = tuple[float, float, "float | None"]


@functools.lru_cache(maxsize=4096)
def _expected_log(classes: tuple[_ClassRow, ...], dps: int, method: str) -> mpf:
    """Evaluate the outer integral of `expected_log_reference`."""
    with mp.workdps(dps):
        total = mp.fsum(mpf(p) for p, _, _ in classes)
        active = [row for row in classes if row[1] > 0]
        if not active:
            return mpf("-inf")
        # Cheap factors first, so that a product that is already negligible stops early.
        active.sort(key=lambda row: row[2] is not None)
        mean = mp.fsum(mpf(p) * a / (1 if s is None else s) for p, a, s in active)
        centre = -mp.log(mean)
        tiny = mpf(10) ** (-dps)

        def integrand(u: mpf) -> mpf:
            product = mpf(1)
            for p, a, s in active:
                product *= _laplace_factor(u, mpf(p), mpf(a), None if s is None else mpf(s), method)
                if product < tiny:
                    product = mpf(0)
                    break
            return mp.exp(-mp.exp(u - centre)) - product

        # Where the integrand changes its behaviour: every singularity lies above one of these.
        corners = [centre]
        for p, a, s in active:
            corners += [
                -mp.log(a if s is None else 1),
                -mp.log((a if s is None else 1) * max(p, 1)),
            ]
            if s is not None:
                corners += [mp.log(max(s, 1)), -mp.log(mpf(p) * a / s)]
        integral = _trapezoid(
            integrand, min(corners) - 4, max(corners) + 4, centre, mpf(1) / 2, 1, dps - 12
        )
        return integral - centre - mp.digamma(total)


def _trapezoid(
    function: Callable[[mpf], mpf],
    left: mpf,
    right: mpf,
    start: mpf,
    step: mpf,
    scale: float,
    digits: int,
) -> mpf:
    """Integrate an analytic function over the real line.

    The substitution x = y + exp(y - right) - exp(left - y) is close to the identity between `left`
    and `right` and makes exponential tails, however slow, double exponential outside. The sum
    settles to `digits` digits of the larger of `scale` and the integral.
    """
    tiny = mpf(10) ** (-digits)

    def term(y: mpf) -> mpf:
        up, down = mp.exp(y - right), mp.exp(left - y)
        return function(y + up - down) * (1 + up + down)

    def tail(sign: int) -> Iterator[mpf]:
        largest, quiet, k = max(abs(first), mpf(scale)), 0, 1
        while quiet < 3:
            value = term(start + sign * k * step)
            largest = max(largest, abs(value))
            quiet = quiet + 1 if abs(value) <= tiny * largest else 0
            k += 1
            yield value

    first = term(start)
    below, above = list(tail(-1)), list(tail(1))
    low, high = -len(below), len(above)
    value = step * mp.fsum([first, *below, *above])
    tolerance = mp.sqrt(tiny)
    for _ in range(8):
        step /= 2
        middle = step * mp.fsum(term(start + (2 * k + 1) * step) for k in range(low, high))
        low, high = 2 * low, 2 * high
        previous, value = value, value / 2 + middle
        # Halving the step squares the error, so the last change is its square root.
        if abs(value - previous) <= tolerance * max(abs(value), scale):
            return value
    raise ArithmeticError("the trapezoid sum did not settle")


def _laplace_factor(u: mpf, p: mpf, a: mpf, s: mpf | None, method: str) -> mpf:
    """E[(1 + t T)^(-p)] at t = e^u, for T ~ Beta(a, s - a) or, if `s` is None, T = a."""
    t = mp.exp(u)
    if s is None:
        return mp.exp(-p * mp.log1p(t * a))
    if method == "auto":
        largest = max(p, s, 1)
        quick = largest <= 200 or t >= 10 * largest or (2 * t <= 1 and p * t <= 50)
        method = "hypergeometric" if quick else "nested"
    if method == "hypergeometric":
        return mp.hyp2f1(p, a, s, -t)
    if method != "nested":
        raise ValueError(f"unknown method {method!r}")
    return _beta_average(t, p, a, s - a)


def _beta_average(t: mpf, p: mpf, a: mpf, b: mpf) -> mpf:
    """E[(1 + t T)^(-p)] for T ~ Beta(a, b), by quadrature over x = logit(T)."""
    s = a + b

    def log_integrand(x: mpf) -> mpf:
        log_t = -mp.log1p(mp.exp(-abs(x))) + min(x, 0)
        return a * log_t + b * (log_t - x) - p * mp.log1p(t * mp.exp(log_t))

    # The derivative vanishes where a quadratic in T does, with one root between 0 and 1.
    with mp.extradps(30):
        quadratic, linear = t * (p - s), t * a - s - p * t
        root = mp.sqrt(linear**2 - 4 * quadratic * a)
        mode = 2 * a / (root - linear) if linear <= 0 else (-linear - root) / (2 * quadratic)
        peak = mp.log(mode / (1 - mode))
    bend = s + p * t * (1 - 2 * mode - t * mode**2) / (1 + t * mode) ** 2
    width = min(mpf(1), 1 / mp.sqrt(mode * (1 - mode) * bend))
    top = log_integrand(peak)
    corners = [peak, mpf(0), -mp.log1p(t), -mp.log(max(b, 1)), mp.log(max(a, 1))]
    corners.append(-mp.log(max(p * t, 1)))
    # Corners beyond the reach of a narrow peak do not matter.
    reach = 40 * max(width, 1 / min(a, b, 1 + p))
    corners = [min(max(x, peak - reach), peak + reach) for x in corners]
    integral = _trapezoid(
        lambda x: mp.exp(log_integrand(x) - top),
        min(corners) - 2,
        max(corners) + 2,
        peak,
        width / 2,
        0,
        mp.dps - 10,
    )
    return integral * mp.exp(top - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(s))


# ------------------------------------------------------------------------------------------------
# Random draws
# ------------------------------------------------------------------------------------------------


def log_gamma_draws(shape: npt.ArrayLike, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw logarithms of Gamma(shape) variables, of shape (n, ...), without underflow.

    A Gamma(a) variable is a Gamma(a + 1) variable times a uniform one to the power 1 / a.
    """
    a = np.asarray(shape, dtype=float)
    size = (n, *a.shape)
    return np.log(rng.standard_gamma(a + 1, size)) - rng.standard_exponential(size) / a


def expected_log_monte_carlo(
    pi: npt.ArrayLike,
    theta_column: npt.ArrayLike,
    theta_total: npt.ArrayLike,
    n: int,
    seed: int,
    known: npt.ArrayLike | None = None,
) -> tuple[float, float]:
    """Estimate E[ln sum_c Y_c T_c] from `n` draws.

    The arguments are those of `expected_log_reference`.

    Returns
    -------
    mean, standard_error : float
    """
    weights = np.asarray(pi, dtype=float)
    column = np.asarray(theta_column, dtype=float)
    total = np.asarray(theta_total, dtype=float)
    constant = _flags(known, len(weights)) | (column == 0)
    rng = np.random.default_rng(seed)
    log_y = log_gamma_draws(weights, n, rng)
    terms = log_y.copy()
    for c in range(len(weights)):
        if constant[c]:
            terms[:, c] += math.log(column[c]) if column[c] > 0 else -np.inf
        elif column[c] < total[c]:
            hit = log_gamma_draws(column[c], n, rng)
            miss = log_gamma_draws(total[c] - column[c], n, rng)
            terms[:, c] -= np.logaddexp(0, miss - hit)
    return _mean_and_error(special.logsumexp(terms, axis=1) - special.logsumexp(log_y, axis=1))


def dirichlet_entropy_monte_carlo(
    concentration: npt.ArrayLike, n: int, seed: int
) -> tuple[float, float]:
    """Estimate the entropy of a Dirichlet distribution as the mean of -ln of its density.

    Returns
    -------
    mean, standard_error : float
    """
    a = np.asarray(concentration, dtype=float)
    log_g = log_gamma_draws(a, n, np.random.default_rng(seed))
    log_y = log_g - special.logsumexp(log_g, axis=1, keepdims=True)
    log_normaliser = special.gammaln(a).sum() - special.gammaln(a.sum())
    return _mean_and_error(log_normaliser - log_y @ (a - 1))


def _mean_and_error(draws: FloatArray) -> tuple[float, float]:
    """Return the mean of independent draws and its standard error."""
    return float(draws.mean()), float(draws.std(ddof=1) / math.sqrt(len(draws)))


# ------------------------------------------------------------------------------------------------
# Dirichlet distributions of two classes, by adaptive quadrature
# ------------------------------------------------------------------------------------------------


def dirichlet_entropy_quadrature(concentration: npt.ArrayLike) -> float:
    """Entropy of a Dirichlet distribution of two classes, by adaptive quadrature."""
    a = np.asarray(concentration, dtype=float)
    return -_logit_average(a, lambda x: _log_beta_density(x, a))


def dirichlet_kl_quadrature(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """KL(Dir(first) || Dir(second)) for two classes, by adaptive quadrature."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return _logit_average(a, lambda x: _log_beta_density(x, a) - _log_beta_density(x, b))


def _log_beta_density(x: float, a: FloatArray) -> float:
    """Log density of y ~ Beta(a_0, a_1) with respect to y, at y = 1 / (1 + exp(-x))."""
    log_y, log_rest = float(special.log_expit(x)), float(special.log_expit(-x))
    return float((a[0] - 1) * log_y + (a[1] - 1) * log_rest) - _log_beta(*a.tolist())


@functools.lru_cache
def _log_beta(a: float, b: float) -> float:
    """Logarithm of the Beta function, to the last digit."""
    return float(mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(mpf(a) + mpf(b)))


def _logit_average(a: FloatArray, function: Callable[[float], float]) -> float:
    """Average a function of x = logit(y) over y ~ Beta(a_0, a_1)."""

    def log_weight(x: float) -> float:
        return _log_beta_density(x, a) + float(special.log_expit(x) + special.log_expit(-x))

    mode = math.log(a[0] / a[1])
    width = math.sqrt(1 / a[0] + 1 / a[1])
    edges = [mode]
    for sign in (-1, 1):
        distance = width
        for _ in range(60):
            edges.append(mode + sign * distance)
            if log_weight(edges[-1]) < log_weight(mode) - 45:
                break
            distance *= 2
    edges.sort()
    pieces = (
        integrate.quad(
            lambda x: math.exp(log_weight(x)) * function(x), low, high, epsabs=1e-14, epsrel=1e-11
        )[0]
        for low, high in itertools.pairwise(edges)
    )
    return math.fsum(pieces)


# ------------------------------------------------------------------------------------------------
# Two classes and two labels: integrals over everything that is uncertain
# ------------------------------------------------------------------------------------------------


def log_evidence(
    weights: npt.ArrayLike,
    gamma: npt.ArrayLike,
    transition_concentration: npt.ArrayLike,
    known: npt.ArrayLike | None = None,
    step: float = 0.4,
) -> float:
    """Exact log evidence of a tiny problem with two classes and two labels.

    This is the logarithm of the integral of prod_is (Y T)_is^w_is over Y_i ~ Dir(gamma) and
    T_c ~ Dir(transition_concentration_c). Given T the rows of Y are independent, so three
    dimensions suffice for any number of rows.

    Parameters
    ----------
    weights : array of shape (N, 2)
        The weight w_is of label s in row i, for instance evidence times label_proba.
    gamma : array of shape (2,)
        Class prior.
    transition_concentration : array of shape (2, 2)
        Prior of T; zeros are impossible transitions.
    known : array of shape (2,), optional
        Rows that hold the probabilities T_c themselves.
    step : float
        Step of the trapezoid sums in the logits. Halve it to see that the value has settled;
        weights in the tens or hundreds need a smaller one.

    Returns
    -------
    float
    """
    rows = np.atleast_2d(np.asarray(weights, dtype=float))
    log_y, log_y_weight = _simplex_rule(np.asarray(gamma, dtype=float), False, step)
    log_t, log_t_weight = _transition_rules(transition_concentration, known, step)
    per_transition = log_t_weight[0][:, None] + log_t_weight[1][None, :]
    values = np.empty_like(per_transition)
    for j in range(values.shape[0]):  # a slice at a time keeps the arrays small
        log_x = _log_mixture(log_y, log_t[0][j : j + 1], log_t[1])[:, 0]
        values[j] = 0.0
        for row in rows:
            power = np.zeros(log_x.shape[:-1])
            for s in np.flatnonzero(row):
                power = power + row[s] * log_x[..., s]
            values[j] += special.logsumexp(power + log_y_weight[:, None], axis=0)
    return float(special.logsumexp(per_transition + values))


def expected_log_product_rule(
    pi: npt.ArrayLike,
    theta_column: npt.ArrayLike,
    theta_total: npt.ArrayLike,
    known: npt.ArrayLike | None = None,
    step: float = 0.4,
) -> float:
    """E[ln sum_c Y_c T_c] for two classes, by quadrature over Y, T_0 and T_1 together.

    Parameters are those of `expected_log_reference`. Good to 1e-12 for concentrations from 0.5 to
    1e4; smaller ones lose digits in the tails, and larger ones to rounding.
    """
    column = np.asarray(theta_column, dtype=float)
    constant = _flags(known, 2)
    total = np.where(constant, 1.0, np.asarray(theta_total, dtype=float))
    log_y, log_y_weight = _simplex_rule(np.asarray(pi, dtype=float), False, step)
    rows = np.stack([column, total - column], axis=1)
    log_t, log_t_weight = _transition_rules(rows, constant, step)
    value = 0.0
    for j, log_weight in enumerate(log_t_weight[0]):
        log_x = _log_mixture(log_y, log_t[0][j : j + 1], log_t[1])[:, 0, :, 0]
        inner = np.exp(log_y_weight) @ log_x @ np.exp(log_t_weight[1])
        value += math.exp(log_weight) * float(inner)
    return value


def _log_mixture(log_y: FloatArray, log_t0: FloatArray, log_t1: FloatArray) -> FloatArray:
    """Log of Y_0 T_0s + Y_1 T_1s on the grid (nodes of Y, of T_0, of T_1, label)."""
    first = log_y[:, 0][:, None, None, None] + log_t0[None, :, None, :]
    second = log_y[:, 1][:, None, None, None] + log_t1[None, None, :, :]
    return np.logaddexp(first, second)


def _transition_rules(
    transition_concentration: npt.ArrayLike, known: npt.ArrayLike | None, step: float
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Nodes and log weights of both rows of T."""
    theta = np.asarray(transition_concentration, dtype=float)
    if theta.shape != (2, 2):
        raise ValueError(f"only two classes and two labels, not {theta.shape}")
    rules = [
        _simplex_rule(row, bool(k), step) for row, k in zip(theta, _flags(known, 2), strict=True)
    ]
    return [nodes for nodes, _ in rules], [weight for _, weight in rules]


def _simplex_rule(row: FloatArray, known: bool, step: float) -> tuple[FloatArray, FloatArray]:
    """Return log nodes (n, 2) and log weights (n,) for a pair that is Dir(row), or `row` itself.

    Trapezoid sums over the logit x converge exponentially, and powers of y that are singular at
    0 or 1 are smooth in x. Tails slower than exp(-|x|) are stretched beyond 40 units.
    """
    if known or (row == 0).any():
        point = row if known else (row > 0).astype(float)
        with np.errstate(divide="ignore"):
            return np.log(point)[None, :], np.zeros(1)
    a, b = row
    peak = math.log(a / b)
    h = min(step, 0.5 * math.sqrt(1 / a + 1 / b))
    corners = (peak, math.log(max(a, 1.0)), -math.log(max(b, 1.0)))
    left, right = min(corners) - 40, max(corners) + 40
    reach = 40 + math.log(1e3 / min(a, b, 1.0)) + right - left
    y = peak + h * np.arange(-math.ceil(reach / h), math.ceil(reach / h) + 1)
    with np.errstate(over="ignore"):
        up, down = np.exp(y - right), np.exp(left - y)
    keep = (up < 1e9) & (down < 1e9)
    x, slope = (y + up - down)[keep], (1 + up + down)[keep]
    nodes = np.stack([special.log_expit(x), special.log_expit(-x)], axis=1)
    log_weight = nodes @ row + np.log(slope)
    keep = log_weight > log_weight.max() - 42
    return nodes[keep], log_weight[keep] - special.logsumexp(log_weight)


# ------------------------------------------------------------------------------------------------
# The table of expected logarithms
# ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExpectedLogCase:
    """One stored value of `expected_log_reference`.

    Attributes
    ----------
    name : str
    pi, theta_column, theta_total, known : array of shape (C,)
        The arguments; the total of a known class is 1 and means nothing.
    value : float
    method : str
        How the value was computed.
    check : str
        The second route, and how close it came.
    """

    name: str
    pi: FloatArray
    theta_column: FloatArray
    theta_total: FloatArray
    known: BoolArray
    value: float
    method: str
    check: str

    @property
    def arguments(self) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """The four arguments of `expected_log_reference`."""
        return self.pi, self.theta_column, self.theta_total, self.known


def load_expected_log_cases() -> list[ExpectedLogCase]:
    """Read the stored table."""
    return [
        ExpectedLogCase(
            name=row["name"],
            pi=np.array(row["pi"], dtype=float),
            theta_column=np.array(row["theta_column"], dtype=float),
            theta_total=np.array(row["theta_total"], dtype=float),
            known=np.array(row["known"], dtype=bool),
            value=row["value"],
            method=row["method"],
            check=row["check"],
        )
        for row in json.loads(TABLE.read_text(encoding="utf-8"))["cases"]
    ]


def closed_form(
    pi: npt.ArrayLike,
    theta_column: npt.ArrayLike,
    theta_total: npt.ArrayLike,
    known: npt.ArrayLike | None = None,
) -> tuple[str, float] | None:
    """Name and value of E[ln sum_c Y_c T_c] where it has a closed form, otherwise None.

    The forms: one class; equal constants; and classes whose g_c T_c are all Gamma variables of
    the same scale, because T_c is 0, 1 or a Beta whose total is pi_c.
    """
    weights, column, total = (np.asarray(x, dtype=float) for x in (pi, theta_column, theta_total))
    constant = _flags(known, len(weights)) | (column == 0) | (column == total)
    value = np.where(_flags(known, len(weights)) | (column == 0), column, 1.0)
    with mp.workdps(30):
        if len(weights) == 1 and not constant[0]:
            return "one class", float(mp.digamma(column[0]) - mp.digamma(total[0]))
        if constant.all() and (value == value[0]).all() and value[0] > 0:
            return "equal constants", float(mp.log(value[0]))
        if (np.where(constant, (value == 0) | (value == 1), total == weights)).all():
            shapes = np.where(constant, value * weights, column).tolist()
            whole = mp.fsum(weights.tolist())
            return "gamma shapes", float(mp.digamma(mp.fsum(shapes)) - mp.digamma(whole))
    return None


def mixture_identity(
    pi: npt.ArrayLike,
    theta_column: npt.ArrayLike,
    theta_total: npt.ArrayLike,
    known: npt.ArrayLike | None = None,
) -> float:
    """E[ln sum_c Y_c T_c] from the same quantity at other concentrations.

    Dir(pi) is the mixture, with probabilities pi_c / pi_0, of the Dir(pi + e_c).
    """
    weights = np.asarray(pi, dtype=float)
    shifted = (
        expected_log_reference(weights + unit, theta_column, theta_total, known)
        for unit in np.eye(len(weights))
    )
    return math.fsum(weights / math.fsum(weights) * np.array(list(shifted)))


def _two_constants(pi: FloatArray, column: FloatArray) -> float:
    """E[ln(y T_0 + (1 - y) T_1)] for constant T and y ~ Beta(pi), by an integral over logit y."""
    with mp.workdps(30):
        a, b = mpf(pi[0]), mpf(pi[1])
        log_norm = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)

        def integrand(x: mpf) -> mpf:
            log_y = -mp.log1p(mp.exp(-abs(x))) + min(x, 0)
            y, rest = mp.exp(log_y), mp.exp(log_y - x)
            density = mp.exp(a * log_y + b * (log_y - x) - log_norm)
            return density * mp.log(y * column[0] + rest * column[1])

        middle = mp.log(a / b)
        reach = max(60 * mp.sqrt(1 / a + 1 / b), 60 / min(a, b, 1) if min(a, b) < 100 else 0)
        # Panels grow geometrically away from the middle and from the bend of the logarithm.
        bend = mp.log(mpf(column[1]) / column[0]) if column.all() else middle
        steps = [reach * mpf(2) ** -k for k in range(24)] + list(range(1, 21))
        edges = {middle, bend} | {c + d for c in (middle, bend) for s in steps for d in (s, -s)}
        return float(mp.quad(integrand, sorted(e for e in edges if abs(e - middle) < 2 * reach)))


def _second_route(arguments: tuple[Any, Any, Any, Any], value: float, seed: int) -> str:
    """Check a value by every other route that applies; return what was done."""
    pi, column, total, known = (np.asarray(x) for x in arguments)
    scale = max(1.0, abs(value))
    done = []

    def note(route: str, other: float, allowed: float) -> None:
        error = abs(other - value) / scale
        if not error <= allowed:
            raise ArithmeticError(f"{route}: {other!r} against {value!r} for {arguments}")
        done.append(f"{route}: {error:.0e}")

    if form := closed_form(*arguments):
        note(f"closed form ({form[0]})", form[1], 2e-15)
    elif len(pi) == 2 and known.all():
        note("integral over y", _two_constants(pi, column), 1e-15)
    elif len(pi) == 2 and min(pi.min(), column.min(), (total - column).min()) >= 0.5:
        note("product rule", expected_log_product_rule(*arguments, step=0.25), 1e-12)
    else:
        note("mixture identity", mixture_identity(*arguments), 5e-15)
    mean, error = expected_log_monte_carlo(pi, column, total, 400_000, seed, known)
    note(f"Monte Carlo (standard error {error / scale:.0e})", mean, 4.5 * error / scale + 1e-12)
    return "; ".join(done)


def _case_arguments() -> dict[str, tuple[list[float], list[float], list[float], list[bool]]]:
    """Collect the cases of the table: name to (pi, theta_column, theta_total, known)."""
    cases: dict[str, tuple[list[float], list[float], list[float], list[bool]]] = {}

    def add(
        name: str,
        pi: Sequence[float],
        column: Sequence[float],
        total: Sequence[float] | float | None = None,
        known: Sequence[bool] | None = None,
    ) -> None:
        n = len(pi)
        if total is None:  # everything is known
            total, known = 1.0, [True] * n
        totals = (
            [float(total)] * n if isinstance(total, (int, float)) else [float(x) for x in total]
        )
        flags = [False] * n if known is None else list(known)
        totals = [1.0 if k else x for x, k in zip(totals, flags, strict=True)]
        cases[name] = ([float(x) for x in pi], [float(x) for x in column], totals, flags)

    add("sure of the first class", [50, 2, 1, 1], [70, 2, 5, 1], 100)
    add("small and vague classes", [0.2, 0.2, 1.2, 0.1], [5, 1, 0.1, 0.1], 100)
    add("few counts", [2, 3, 4, 1], [3, 1, 0.5, 8], 10)

    # One class.
    add("one class, even", [1], [1], 2)
    add("one class, small counts", [1e-3], [1e-3], 2e-3)
    add("one class, rare label", [1e-3], [1e-3], 1e6)
    add("one class, rare label, large pi", [1e6], [1e-3], 1e6)
    add("one class, large counts", [1e6], [5e5], 1e6)
    add("one class, almost sure", [3], [1e6 - 1e-3], 1e6)
    add("one class, large pi and few counts", [1e6], [0.5], 1)
    add("one class, constant", [0.7], [0.25])

    # Constant T.
    add("known, two classes", [2, 3], [0.1, 0.8])
    add("known, two small classes", [1e-3, 2e-3], [0.1, 0.8])
    add("known, two large classes", [1e6, 5e5], [0.1, 0.8])
    add("known, small and large class", [1e-3, 1e6], [0.9, 0.01])
    add("known, large and small class", [1e6, 1e-3], [0.9, 0.01])
    add("known, tiny T", [2, 3], [1e-6, 0.8])
    add("known, tiny T on a large class", [1e6, 1], [1e-6, 1])
    add("known, tiny T on a small class", [1e-3, 1e-3], [1e-6, 0.5])
    add("known, zero and a half", [0.4, 0.3], [0, 0.5])
    add("known, ones and zeros", [0.4, 2, 0.1], [1, 0, 1])
    add("known, ones and zeros, small", [1e-3, 1e-3, 1e-3], [1, 0, 1])
    add("known, ones and zeros, large", [1e6, 1e6, 1e6], [1, 0, 1])
    add("known, ones and zeros, mixed", [1e-3, 1, 1e6], [1, 1, 0])
    add("known, equal", [0.5, 3, 20], [0.3, 0.3, 0.3])
    add("known, equal and tiny", [1e-3, 1, 1e6], [1e-6, 1e-6, 1e-6])
    add("known, three classes", [0.1, 0.1, 0.1], [0.7, 0.2, 0.1])
    add("known, five classes", [0.3, 5, 1, 0.01, 40], [0.9, 0.01, 0.3, 1e-6, 0.05])
    add("known, five small classes", [1e-3] * 5, [0.9, 0.05, 0.3, 1e-6, 0])
    add("known, five large classes", [1e6] * 5, [0.9, 0.05, 0.3, 1e-6, 0])
    add("known, five mixed classes", [1e-3, 0.1, 1, 1e3, 1e6], [0.99, 0.9, 0.5, 1e-2, 1e-6])

    # Uncertain T.
    add("two classes", [2, 3], [3, 0.5], 10)
    add("two classes, unequal totals", [0.5, 0.7], [0.5, 2], [1.1, 90])
    add("two classes, one rare label", [1, 1], [1e-3, 5], [1e6, 10])
    add("two classes, all small", [1e-3, 1e-3], [1e-3, 1e-3], 2e-3)
    add("two classes, all large", [1e6, 1e6], [5e5, 1e5], 1e6)
    add("two classes, small pi and large theta", [1e-3, 1e-3], [9e5, 1e3], 1e6)
    add("two classes, large pi and small theta", [1e6, 1e6], [1e-3, 2e-3], [1, 5e-3])
    add("two classes, large counts that differ", [1e3, 30], [1, 300], [1e4, 1e3])
    add("two classes, nearly sure", [1, 1], [100 - 1e-3, 1e-3], 100)
    add("three classes, all small", [1e-3] * 3, [1e-3] * 3, 3e-3)
    add("three classes, all large", [1e6] * 3, [1e5, 4e5, 9e5], 1e6)
    add("three classes, mixed", [1e-3, 1, 1e3], [10, 1e-3, 1], [1e3, 1, 1e5])
    add("three classes, gamma shapes", [0.2, 3, 40], [0.1, 1, 30], [0.2, 3, 40])
    add("three small classes, gamma shapes", [1e-3] * 3, [4e-4] * 3, 1e-3)
    add("three large classes, gamma shapes", [1e6, 1e6, 1e3], [3e5, 1, 1e-3], [1e6, 1e6, 1e3])
    add("four classes, uniform", [1, 1, 1, 1], [1, 1, 1, 1], 4)
    add("four classes, strong prior", [0.25] * 4, [250, 50, 10, 1e-3], 1e3)
    add("five classes", [0.2, 0.2, 3, 0.2, 1], [30, 1, 2, 0.1, 4], [40, 10, 25, 60, 5])
    add(
        "five classes, mixed", [1e-3, 0.1, 1, 50, 1e3], [0.5, 1e-3, 20, 1, 0.01], [1, 1, 30, 150, 9]
    )
    add("five classes, rare label", [2, 1, 0.5, 0.2, 0.1], [1e-3] * 5, 50)

    # Structural zeros, certainty, and known beside uncertain.
    add("zero, two classes", [2, 3], [0, 2], [5, 6])
    add("zero and small, three classes", [0.1, 0.1, 0.1], [0, 0.2, 0.1], [5, 6, 1])
    add("zeros but one, five classes", [1, 0.3, 2, 4, 0.1], [0, 0, 0, 7, 0], 9)
    add("zero and large", [1e6, 1e-3, 1], [0, 1, 1e3], [1e6, 2, 1e6])
    add("certain, two classes", [2, 0.3], [5, 1], [5, 4])
    add("certain and impossible", [0.2, 0.5, 1], [3, 0, 1], [3, 2, 4])
    add("certain and impossible only", [0.2, 0.5, 1], [3, 0, 8], [3, 2, 8])
    add("mixed knowledge, two classes", [2, 3], [0.1, 0.5], 1, [True, False])
    add("mixed knowledge, three classes", [0.1, 2, 0.5], [0.7, 3, 0.2], 12, [True, False, False])
    add("mixed knowledge, zero known", [1, 2, 0.5], [0, 3, 0.2], 12, [True, False, False])
    add(
        "mixed knowledge, tiny T", [5, 0.5, 1], [1e-6, 1e-3, 2], [1, 100, 1e3], [True, False, False]
    )
    add(
        "mixed knowledge, five classes",
        [1e-3, 1e-3, 1, 10, 100],
        [0.5, 1e-3, 0.01, 1, 1e-6],
        [1, 1, 1, 80, 1],
        [True, False, True, False, True],
    )
    add("mixed knowledge, gamma shapes", [0.2, 3, 1], [0.1, 1, 1], [0.2, 1, 1], [False, True, True])
    return cases


def write_expected_log_table() -> None:
    """Recompute and check every case, and write the table."""
    rows = []
    for seed, (name, arguments) in enumerate(_case_arguments().items()):
        pi, column, total, known = arguments
        value = expected_log_reference(*arguments)
        plain = all(k or a in (0.0, s) for a, s, k in zip(column, total, known, strict=True))
        factors = "powers" if plain else "2F1 or quadrature over the Beta distribution"
        rows.append(
            {
                "name": name,
                "pi": pi,
                "theta_column": column,
                "theta_total": total,
                "known": known,
                "value": value,
                "method": f"Laplace integral, 30 digits; factors: {factors}",
                "check": _second_route(arguments, value, seed),
            }
        )
        print(f"{name}: {value!r}; {rows[-1]['check']}", flush=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(f'{{"cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    write_expected_log_table()
