"""One distribution: the Dirichlet, its normaliser, entropy, moments and Fisher matrix.

Every function takes concentrations ``a`` of shape (..., K), a Dirichlet in each row of the last
axis, and works on all rows at once. An entry that is exactly 0 is a *structural zero*: that
component is 0 with certainty, the distribution lives on the other components, and its derivatives
are 0. `DirichletRows` adds rows that are *known*: constants, not Dirichlets with huge counts.

Functions named ``*_gradient`` with a ``weight`` argument return the gradient of the scalar
``sum(weight * f(a))``, so that no Jacobian is ever stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import gammaln, psi

from decoupling._typing import BoolArray, FloatArray

# Bernoulli numbers B_2, B_4, ..., B_16 of the asymptotic series of the trigamma function: from 8 on
# it is then exact to rounding.
_BERNOULLI: Final = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
# Up from here the series alone will do; smaller arguments are shifted so far.
_SHIFT: Final = 8.0
# The arguments x, x+1, ..., x+7 pair up as (x+j)(x+7-j) = x(x+7) + j(7-j).
_PAIR_OFFSETS: Final = (0.0, 6.0, 10.0, 12.0)
# Arguments of the trigamma function at a time: temporaries stay in cache, yet are large enough for
# threads not to queue for the lock.
_TRIGAMMA_BLOCK: Final = 2**17
# Above it, 1/trigamma(a) - a is taken from its own series: the difference would lose digits.
_LARGE: Final = 1000.0


def trigamma(x: FloatArray) -> FloatArray:
    r"""Trigamma function of positive arguments, to about 1e-15 relative.

    .. math:: \psi_1(x) = \sum_{j=0}^{7} (x+j)^{-2} + \psi_1(x+8),

    with the asymptotic series for the last term; a block of arguments of 8 or more takes the series
    at once. ``scipy.special.polygamma(1, x)`` gives the same an order of magnitude slower.

    Examples
    --------
    >>> bool(abs(trigamma(np.array([1.0]))[0] - np.pi**2 / 6) < 1e-14)
    True
    """
    flat = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, _TRIGAMMA_BLOCK):
        stop = start + _TRIGAMMA_BLOCK
        _trigamma_block(flat[start:stop], out[start:stop])
    return out.reshape(np.shape(x))


def _trigamma_block(x: FloatArray, out: FloatArray) -> None:
    shifted = x.min() < _SHIFT
    inverse = np.reciprocal(x + _SHIFT if shifted else x)
    square = inverse * inverse
    np.multiply(square, _BERNOULLI[-1], out=out)
    for coefficient in _BERNOULLI[-2::-1]:
        out += coefficient
        out *= square
    out += 1.0
    out += 0.5 * inverse
    out *= inverse
    if not shifted:
        return
    pair = x + 7.0
    pair *= x
    twice = pair * 2.0
    for offset in _PAIR_OFFSETS:
        # 1/p² + 1/q² = ((p + q)² - 2pq) / (pq)², a sum of positive numbers.
        inverse = np.reciprocal(pair + offset)
        term = twice + (49.0 - 2.0 * offset)
        term *= inverse
        term *= inverse
        out += term


def _positive(a: FloatArray) -> tuple[FloatArray, BoolArray | None]:
    """``a`` with structural zeros replaced by 1 (a harmless argument), and where they are."""
    if a.all():
        return a, None
    zero = a == 0.0
    return np.where(zero, 1.0, a), zero


def _of_positive(function: np.ufunc, a: FloatArray, fill: float) -> FloatArray:
    """A function of the entries of ``a``, and ``fill`` at structural zeros, which cost nothing."""
    if a.all():
        return np.asarray(function(a))
    out, positive = np.full(a.shape, fill), a > 0.0
    out[positive] = function(a[positive])
    return out


def row_sum(values: FloatArray) -> FloatArray:
    """Sum over the last axis, (...): as a product it is many times faster for short rows."""
    return np.asarray(values @ np.ones(values.shape[-1]))


def _blank(values: FloatArray, zero: BoolArray | None) -> FloatArray:
    if zero is not None:
        values[zero] = 0.0
    return values


def log_normaliser(a: FloatArray) -> FloatArray:
    r"""Log-normaliser :math:`\ln B(a) = \sum_j \ln\Gamma(a_j) - \ln\Gamma(a_0)`, shape (...).

    Its gradient is `mean_log`.
    """
    return np.asarray(row_sum(_of_positive(gammaln, a, 0.0)) - gammaln(row_sum(a)))


def mean_log(a: FloatArray) -> FloatArray:
    r"""Expected logarithm :math:`E \ln X_j = \psi(a_j) - \psi(a_0)`, shape (..., K).

    Minus infinity at a structural zero: the component is 0 with certainty.
    """
    out = _of_positive(psi, a, -np.inf)
    out -= psi(row_sum(a)[..., None])
    return out


def fisher_matrix(a: FloatArray) -> FloatArray:
    """Fisher matrix diag(psi1(a)) - psi1(a_0), (..., K, K): the covariance of ln X."""
    own = trigamma(a)[..., None] * np.eye(a.shape[-1])
    return np.asarray(own - trigamma(row_sum(a))[..., None, None])


def mean(a: FloatArray) -> FloatArray:
    """Mean ``a_j / a_0``, shape (..., K)."""
    return np.asarray(a / row_sum(a)[..., None])


def entropy(a: FloatArray) -> FloatArray:
    r"""Differential entropy, shape (...).

    .. math:: H(a) = \ln B(a) - \sum_j (a_j - 1) (\psi(a_j) - \psi(a_0))

    The sum runs over the components that are not structural zeros. A single component is a
    constant: its entropy is 0.
    """
    logs = np.where(a == 0.0, 0.0, mean_log(a))
    return np.asarray(log_normaliser(a) - ((a - 1.0) * logs).sum(axis=-1))


def moments(a: FloatArray, order: int) -> FloatArray:
    r"""Raw moments :math:`E X_j^b = (a_j)_b / (a_0)_b` for b = 1..order, shape (order, ..., K)."""
    total = row_sum(a)[..., None]
    shift = np.arange(order, dtype=np.float64).reshape((-1,) + (1,) * a.ndim)
    return np.asarray(np.cumprod((a + shift) / (total + shift), axis=0), dtype=np.float64)


def moments_gradient(a: FloatArray, weight: FloatArray) -> FloatArray:
    """Gradient of ``sum(weight * moments(a, order))``, ``weight`` of shape (order, ..., K)."""
    order = weight.shape[0]
    safe, zero = _positive(a)
    total = row_sum(a)[..., None]
    shift = np.arange(order, dtype=np.float64).reshape((-1,) + (1,) * a.ndim)
    weighted = weight * moments(a, order)
    own = weighted * np.cumsum(1.0 / (safe + shift), axis=0)
    shared = weighted * np.cumsum(1.0 / (total + shift), axis=0)
    return _blank((own - shared.sum(axis=-1, keepdims=True)).sum(axis=0), zero)


def fisher_product(a: FloatArray, vector: FloatArray) -> FloatArray:
    r"""Fisher matrix times a vector: :math:`F = diag(\psi_1(a)) - \psi_1(a_0) 1 1^T`."""
    safe, zero = _positive(a)
    if zero is not None:
        vector = np.where(zero, 0.0, vector)
    shared = trigamma(row_sum(a)[..., None]) * row_sum(vector)[..., None]
    return _blank(trigamma(safe) * vector - shared, zero)


def fisher_solve(a: FloatArray, vector: FloatArray) -> FloatArray:
    r"""Solve :math:`F x = v` in O(K) by the Sherman-Morrison formula.

    With :math:`d_j = 1 / \psi_1(a_j)` and :math:`\delta(a) = 1 / \psi_1(a) - a`,

    .. math:: x_j = d_j \Big( v_j + \frac{\sum_k d_k v_k}{\delta(a_0) - \sum_k \delta(a_k)} \Big).

    The usual denominator :math:`1 - \psi_1(a_0) \sum_k d_k` is the difference of two numbers near 1
    when concentrations are large; written with :math:`\delta` it keeps its digits.
    A single component is a constant and has no Fisher matrix: the answer is 0.
    """
    safe, zero = _positive(a)
    inverse = np.reciprocal(trigamma(safe))
    excess = _blank(_reciprocal_excess(safe, inverse), zero)
    total = row_sum(a)[..., None]
    total_excess = _reciprocal_excess(total, np.reciprocal(trigamma(total)))
    denominator = total_excess - row_sum(excess)[..., None]
    weighted = _blank(inverse * vector, zero)
    if zero is not None or a.shape[-1] == 1:
        single = np.count_nonzero(a, axis=-1, keepdims=True) == 1
        denominator = np.where(single, np.inf, denominator)
        weighted = np.where(single, 0.0, weighted)
    shared = row_sum(weighted)[..., None] / denominator
    return np.asarray(weighted + _blank(inverse, zero) * shared)


def _reciprocal_excess(a: FloatArray, inverse: FloatArray) -> FloatArray:
    r"""``1 / trigamma(a) - a`` given ``inverse = 1 / trigamma(a)``; tends to -1/2."""
    if not (a > _LARGE).any():
        return inverse - a
    small = 1.0 / np.maximum(a, _LARGE)
    series = -0.5 + small * (1 / 12 + small * (1 / 24 - small * (1 / 720 + small * (11 / 480))))
    return np.where(a > _LARGE, series, inverse - a)


@dataclass(frozen=True, eq=False)
class DirichletRows:
    """Independent rows, each a Dirichlet or known: the distribution of T (q or p).

    Attributes
    ----------
    parameters : array (C, S)
        Concentrations (called Theta for q and A for p in the paper); in a known row the
        probabilities themselves. Zeros are structural.
    known : bool array (C,)
        Rows that are constants.
    """

    parameters: FloatArray
    known: BoolArray

    @classmethod
    def of_means(
        cls, mean: FloatArray, strength: FloatArray, known_above: float = np.inf
    ) -> DirichletRows:
        """Rows with these means, (C, S), and sums of concentrations, (C,).

        A row with a single possible label is a constant whatever its strength, and so is one whose
        strength is ``known_above`` or more.
        """
        known = strength >= known_above
        known |= np.count_nonzero(mean, axis=1) == 1
        return cls(mean * np.where(known, 1.0, strength)[:, None], known)

    @classmethod
    def free(cls, concentration: FloatArray) -> DirichletRows:
        """Rows with these concentrations; a row with a single possible label is a constant."""
        known = np.count_nonzero(concentration, axis=1) == 1
        parameters = np.where(known[:, None], mean(concentration), concentration)
        return cls(parameters, known)

    def replace(self, parameters: FloatArray) -> DirichletRows:
        """Copy these rows, with other concentrations in those that are free."""
        return DirichletRows(np.where(self.known[:, None], self.parameters, parameters), self.known)

    def columns(self, keep: BoolArray) -> DirichletRows:
        """Only these labels. The dropped ones must be impossible: totals stay as they are."""
        return DirichletRows(np.ascontiguousarray(self.parameters[:, keep]), self.known)

    @property
    def possible_labels(self) -> BoolArray:
        """Labels that some class can emit, (S,)."""
        return np.asarray((self.parameters > 0).any(axis=0))

    @property
    def total(self) -> FloatArray:
        """Sum of each row, (C,): the total concentration, or 1 in a known row."""
        return np.asarray(self.parameters.sum(axis=1))

    def mean(self) -> FloatArray:
        """E[T], (C, S)."""
        return mean(self.parameters)

    def expected_log(self) -> FloatArray:
        """E[ln T], (C, S); minus infinity where T is 0."""
        free = mean_log(self.parameters)
        if not self.known.any():
            return free
        with np.errstate(divide="ignore"):
            return np.where(self.known[:, None], np.log(self.parameters), free)

    def moments(self, order: int) -> FloatArray:
        """E[T^b] for b = 1..order, (order, C, S)."""
        free = moments(self.parameters, order)
        if not self.known.any():
            return free
        powers = np.cumprod(np.broadcast_to(self.parameters, free.shape), axis=0)
        return np.where(self.known[:, None], powers, free)

    def moments_gradient(self, weight: FloatArray) -> FloatArray:
        """Gradient of ``sum(weight * moments)`` in the concentrations, (C, S); 0 if known."""
        return self._free(moments_gradient(self.parameters, weight))

    def fisher_product(self, vector: FloatArray) -> FloatArray:
        """`fisher_product` of the free rows, (C, S); 0 in the known ones."""
        return self._free(fisher_product(self.parameters, vector))

    def fisher_solve(self, vector: FloatArray) -> FloatArray:
        """`fisher_solve` of the free rows, (C, S); 0 in the known ones."""
        return self._free(fisher_solve(self.parameters, vector))

    def entropy(self) -> FloatArray:
        """Entropy of each row, (C,). A known row counts 0: its point masses in p and q cancel."""
        return np.where(self.known, 0.0, entropy(self.parameters))

    def log_normaliser(self) -> FloatArray:
        """ln B of each row, (C,); 0 in a known row."""
        return np.where(self.known, 0.0, log_normaliser(self.parameters))

    def _free(self, values: FloatArray) -> FloatArray:
        return np.where(self.known[:, None], 0.0, values)
