"""The Gaussian kernel, with distances that keep their digits far from the origin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
import scipy

from problems.dataset import Indices, Matrix, Vector
from problems.kernels.base import Kernel
from problems.kernels.expansion import MOST_FEATURES, exact_type, products_with
from problems.kernels.samples import (
    Block,
    Blocks,
    Precise,
    Selection,
    inner_products,
    squared_norms,
)
from problems.rounding import EXPONENTIAL, gamma, grown, leading_digits, split, terms
from problems.validation import check_positive

# Above this value of gamma·max‖x‖² the expansion ‖x‖² − 2xᵀz + ‖z‖² loses more than two digits
# of the exponent's float64 accuracy to cancellation; differences are then taken directly.
_EXPANSION_LIMIT = 100.0


@dataclass(frozen=True)
class RBF(Kernel):
    """k(x, z) = exp(−gamma·‖x − z‖²), with gamma > 0."""

    gamma: float

    source: ClassVar[str] = "Aizerman, Braverman & Rozonoer 1964; Boser, Guyon & Vapnik 1992"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of exp(−gamma·‖xᵢ − zⱼ‖²)."""
        K = self._squared_distances(X, Z)
        with np.errstate(over="ignore"):  # exp(-inf) is 0, as it should be
            K *= -self.gamma
        return np.exp(K, out=K)

    def bind(self, X: Matrix) -> Blocks:
        """Move the samples to their mean where distances keep more digits there."""
        return super().bind(self._centred(X))

    def check(self, X: Matrix) -> None:
        """Refuse samples whose squared distances overflow."""
        with np.errstate(over="ignore"):
            if not np.isfinite(4.0 * squared_norms(X)).all():
                raise ValueError("X: its squared norms overflow float64; scale the features down")

    def diagonal(self, X: Matrix) -> Vector:
        """Return ones."""
        return np.ones(X.shape[0])

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """That of the exponent, and of exp.

        The expansion is wrong by at most 4γ_m·max‖x‖²; differences by γ_m·‖x − z‖², of which exp
        leaves at most γ_m/e, as t·exp(−t) ≤ 1/e.
        """
        X = self._centred(X)
        largest, count = self._reach(squared_norms(X)), terms(X)
        relative = grown(4 * min(largest, _EXPANSION_LIMIT) * gamma(count + 6))
        uniform = float(np.finfo(float).tiny)
        if largest > _EXPANSION_LIMIT:  # in two sparse rows there are up to twice as many entries
            uniform += 0.4 * gamma((2 * count if scipy.sparse.issparse(X) else X.shape[1]) + 4)
        return relative + gamma(EXPONENTIAL), np.full(X.shape[0], np.sqrt(uniform))

    def careful(self) -> RBF:
        """Return the kernel that takes three products in place of one for values of more digits."""
        return _CarefulRBF(self.gamma)

    def precise(self, X: Matrix, cols: Indices) -> Precise:
        """Return blocks whose squared distances lose nothing where the samples are of few digits."""
        if scipy.sparse.issparse(X) and X.shape[1] > MOST_FEATURES:
            return super().precise(X, cols)
        if (dtype := exact_type(X)) is not None:
            return self._expanded(X, cols, dtype), *self._of_exact(X)
        X = self._centred(X)
        if self._reach(squared_norms(X)) > _EXPANSION_LIMIT:
            return super().precise(X, cols)
        return self._of_doubles(X, cols)

    def _of_doubles(self, X: Matrix, cols: Indices) -> Precise:
        return self._expanded(X, cols, np.dtype(np.float64)), *self.rounding(X)

    def _of_exact(self, X: Matrix) -> tuple[float, Vector]:
        """Return how far values may be off of an exponent −t that is rounded once: t·exp(−t) ≤ 1/e."""
        relative, uniform = gamma(EXPONENTIAL), float(np.finfo(float).tiny)
        largest = 4 * self._reach(squared_norms(X))
        if largest <= 1.0:
            relative += gamma(2 * largest)
        else:
            uniform += gamma(0.5)
        return relative, np.full(X.shape[0], np.sqrt(uniform))

    def _expanded(
        self, X: Matrix, cols: Indices, dtype: np.dtype[Any]
    ) -> Callable[[Selection], Block]:
        """Return blocks exp(2·gamma·(xᵀz − ½‖x‖² − ½‖z‖²)) whose products are computed in `dtype`."""
        products, halves = products_with(X, cols, dtype), -0.5 * squared_norms(X)
        of_columns = halves[cols]

        def block(rows: Selection) -> Block:
            D = products(rows)
            K = np.empty(D.shape)
            _fill_exponents(D, halves[rows], of_columns, 2 * self.gamma, K)
            return np.exp(K, out=K)

        return block

    def _digits(self, X: Matrix) -> tuple[int, float]:
        """Return of how many digits squared distances are exact, and the largest entry's size."""
        return leading_digits(4 * X.shape[1]), float(np.abs(X).max())

    def _of_digits(self, X: Matrix, cols: Indices) -> Precise:
        """Return blocks for which ‖x′ − z′‖² is expanded without rounding, x′ the leading digits of x.

        What is left of ‖x − z‖² are products with x″ = x − x′ or z″.
        """
        digits, size = self._digits(X)
        high, low, exact, rest = _leading(X[cols], digits, size)
        ones = np.ones((exact.size, 1))
        columns = np.hstack([-2 * high, ones, exact]).T
        others = np.hstack([-2 * low, -2 * X[cols], ones, rest]).T

        def block(rows: Selection) -> Block:
            high, low, exact, rest = _leading(X[rows], digits, size)
            ones = np.ones((exact.size, 1))
            K = np.hstack([high, exact, ones]) @ columns
            if low.any() or others[: low.shape[1]].any():
                K += np.hstack([high, low, rest, ones]) @ others
                np.maximum(K, 0.0, out=K)
            K *= -self.gamma
            return np.exp(K, out=K)

        d, largest = X.shape[1], float(squared_norms(X).max())
        left = d * (2 * size * 2.0**-digits) ** 2
        products = 9 * np.sqrt(largest * left) + 3 * left
        relative = grown(self.gamma * gamma(2 * d + 8) * products) + gamma(EXPONENTIAL)
        # t·exp(−t) and √t·exp(−t) are below ½: a relative error of t, and that of a mean taken off
        reach, uniform = self.gamma * largest, float(np.finfo(float).tiny)
        if reach <= 0.25:
            relative += gamma(16 * reach)
        else:
            uniform += gamma(1 + 2 * np.sqrt(reach))
        return block, relative, np.full(X.shape[0], np.sqrt(uniform))

    def _reach(self, *norms: Vector) -> float:
        """Return gamma·max‖x‖²."""
        return self.gamma * max(float(n.max(initial=0.0)) for n in norms)

    def _centred(self, X: Matrix) -> Matrix:
        """Return `X` with its mean taken off if that makes the expansion precise; sparse as it is."""
        if scipy.sparse.issparse(X) or self._reach(squared_norms(X)) <= 1.0:
            return X
        centred = X - X.mean(axis=0)
        return centred if self._reach(squared_norms(centred)) <= _EXPANSION_LIMIT else X

    def _squared_distances(self, X: Matrix, Z: Matrix) -> Block:
        x2, z2 = squared_norms(X), squared_norms(Z)
        if self._reach(x2, z2) > _EXPANSION_LIMIT:
            return _by_differences(X, Z)
        D = inner_products(X, Z)
        D *= -2.0
        D += x2[:, None]
        D += z2[None, :]
        return np.maximum(D, 0.0, out=D)


class _CarefulRBF(RBF):
    listed: ClassVar[bool] = False

    def _of_doubles(self, X: Matrix, cols: Indices) -> Precise:
        """Return blocks whose squared distances lose nothing, of dense samples."""
        return (
            super()._of_doubles(X, cols) if scipy.sparse.issparse(X) else self._of_digits(X, cols)
        )


def _leading(X: Matrix, digits: int, size: float) -> tuple[Block, Block, Block, Block]:
    """Return the leading digits X′ of samples, what is left X″, ‖x′‖², and 2x′ᵀx″ + ‖x″‖², (n, 1)."""
    high, low = split(X, digits, size)
    rest = np.einsum("ij,ij->i", high + X, low)
    return high, low, squared_norms(high)[:, None], rest[:, None]


def _by_differences(X: Matrix, Z: Matrix) -> Block:
    """Return ‖xᵢ − zⱼ‖² from the differences, which keeps all digits."""
    if scipy.sparse.issparse(X) or scipy.sparse.issparse(Z):
        left, right = (scipy.sparse.csr_array(M) for M in (X, Z))
        D = np.empty((left.shape[0], right.shape[0]))
        parts = (v for M in (left, right) for v in (M.data, M.indices, M.indptr))
        _sparse_squared_distances(*parts, D)  # type: ignore[call-arg]
        return D
    from scipy.spatial.distance import cdist  # noqa: PLC0415 - slow to import, rarely used

    return np.asarray(cdist(X, Z, "sqeuclidean"), dtype=np.float64)


@numba.njit(cache=True, nogil=True)
def _fill_exponents(D: Any, halves: Vector, of_columns: Vector, factor: float, out: Block) -> None:
    """Write factor·(Dᵢⱼ + halvesᵢ + of_columnsⱼ), 0 where that is above."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = factor * min((D[i, j] + halves[i]) + of_columns[j], 0.0)


@numba.njit(cache=True, nogil=True)
def _sparse_squared_distances(
    data: Vector,
    indices: Indices,
    indptr: Indices,
    other: Vector,
    other_indices: Indices,
    other_indptr: Indices,
    out: Block,
) -> None:
    """Write the squared distances of sparse rows, merged in the order of their columns."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            k, end = indptr[i], indptr[i + 1]
            t, last = other_indptr[j], other_indptr[j + 1]
            total = 0.0
            while k < end or t < last:
                if t == last or (k < end and indices[k] < other_indices[t]):
                    difference = data[k]
                    k += 1
                elif k == end or other_indices[t] < indices[k]:
                    difference = other[t]
                    t += 1
                else:
                    difference = data[k] - other[t]
                    k += 1
                    t += 1
                total += difference * difference
            out[i, j] = total
