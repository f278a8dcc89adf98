"""The Gaussian kernel, with distances that are accurate far from the origin too."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numba
import numpy as np
import scipy

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.rounding import EXPONENTIAL, exp_error, gamma, terms
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels.base import Bound, Kernel
from dualgap.problems.kernels.expansion import MAX_SPARSE_FEATURES, exact_type, products_with
from dualgap.problems.kernels.samples import (
    Block,
    PreciseColumns,
    Selection,
    inner_products,
    squared_norms,
)
from dualgap.problems.validation import check_positive


@dataclass(frozen=True)
class RBF(Kernel):
    """k(x, z) = exp(−gamma·‖x − z‖²), with gamma > 0."""

    gamma: float

    source: ClassVar[str] = "Aizerman, Braverman & Rozonoer 1964; Boser, Guyon & Vapnik 1992"
    # Above this value of gamma·max‖x‖² the expansion ‖x‖² − 2xᵀz + ‖z‖² loses more than two digits
    # of the exponent's float64 accuracy to cancellation; differences are then taken directly.
    expansion_limit: ClassVar[float] = 100.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of exp(−gamma·‖xᵢ − zⱼ‖²)."""
        x2, z2 = squared_norms(X), squared_norms(Z)
        if isinstance(X, Balls):
            # exp([x, ‖x‖², 1]·[2gamma·z, −gamma, −gamma·‖z‖²]) saves three operations per value
            ones, minus_gamma = np.ones((len(X), 1)), np.full((len(Z), 1), -self.gamma)
            left = np.hstack([X, x2[:, None], ones])
            right = np.hstack([2 * self.gamma * Z, minus_gamma, -self.gamma * z2[:, None]])
            return np.exp(left @ right.T)
        if self.largest_exponent(x2, z2) <= self.expansion_limit:
            return self.expanded(inner_products(X, Z), -0.5 * x2, -0.5 * z2)
        if scipy.sparse.issparse(X) or scipy.sparse.issparse(Z):
            rows = [scipy.sparse.csr_array(M).sorted_indices() for M in (X, Z)]
            K = np.empty((X.shape[0], Z.shape[0]))
            _sparse_squared_distances(*(v for M in rows for v in (M.data, M.indices, M.indptr)), K)  # type: ignore[call-arg]
        else:
            from scipy.spatial.distance import cdist  # noqa: PLC0415 - slow to import, rarely used

            K = np.asarray(cdist(X, Z, "sqeuclidean"), dtype=np.float64)
        with np.errstate(over="ignore"):  # exp(-inf) is 0, the correct value
            K *= -self.gamma
        return np.exp(K, out=K)

    def expanded(self, D: Any, half_norms: Vector, column_half_norms: Vector) -> Block:
        """Return exp(2·gamma·(xᵀz − ½‖x‖² − ½‖z‖²)) from inner products and half norms."""
        K = np.require(D, np.float64, ["C", "W"])  # required by the compiled code
        _fill_exponents(K, half_norms, column_half_norms, 2 * self.gamma)
        return np.exp(K, out=K)

    def bind(self, X: Matrix) -> Bound:
        """Centre the samples at their mean if that makes distances more accurate."""
        return Centred(self, X)

    def check(self, X: Matrix) -> None:
        """Raise ValueError if squared distances overflow."""
        with np.errstate(over="ignore"):
            if not np.isfinite(4.0 * squared_norms(X)).all():
                raise ValueError("X: its squared norms overflow float64; scale the features down")

    def diagonal(self, X: Matrix) -> Vector:
        """Return ones."""
        return np.ones(X.shape[0])

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Bound the errors of the exponent and of exp, for centred samples.

        The error of the expansion is at most 4γ_m·max‖x‖²; that of differences γ_m·‖x − z‖², which
        changes exp by at most γ_m/e, as t·exp(−t) ≤ 1/e.
        """
        X = self.centred(X)
        largest, count = self.largest_exponent(squared_norms(X)), terms(X)
        relative = exp_error(4 * min(largest, self.expansion_limit) * gamma(count + 6))
        uniform = float(np.finfo(float).tiny)
        # two sparse rows have up to twice as many entries
        if largest > self.expansion_limit:
            uniform += 0.4 * gamma((2 * count if scipy.sparse.issparse(X) else X.shape[1]) + 4)
        return relative + gamma(EXPONENTIAL), np.full(X.shape[0], np.sqrt(uniform))

    def accurate_variant(self, X: Matrix) -> Kernel | None:
        """Return the kernel that always uses differences; None for sparse samples, where it is slow."""
        return None if scipy.sparse.issparse(X) else ByDifferences(self.gamma)

    def largest_exponent(self, *norms: Vector) -> float:
        """Return gamma·max‖x‖²."""
        return self.gamma * max(float(n.max(initial=0.0)) for n in norms)

    def centred(self, X: Matrix) -> Matrix:
        """Return `X`, minus its mean if it is dense and that makes the expansion accurate."""
        if scipy.sparse.issparse(X) or self.largest_exponent(squared_norms(X)) <= 1.0:
            return X
        centred = X - X.mean(axis=0)
        return (
            centred if self.largest_exponent(squared_norms(centred)) <= self.expansion_limit else X
        )


class ByDifferences(RBF):
    """The Gaussian kernel computed from differences of samples: slower, but fully accurate."""

    listed: ClassVar[bool] = False
    expansion_limit: ClassVar[float] = 0.0


class Centred(Bound):
    """The Gaussian kernel's values, on samples that are centred if that is more accurate."""

    @cached_property
    def _samples(self) -> Matrix:
        return self.kernel.centred(self.X)

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return the block of the centred samples."""
        return self.kernel(self._samples[rows], self._samples[cols])

    def precise_columns(self, cols: Indices) -> PreciseColumns:
        """Return blocks whose squared distances are exact if the samples have few digits."""
        kernel, X = self.kernel, self.X
        if scipy.sparse.issparse(X) and X.shape[1] > MAX_SPARSE_FEATURES:
            return super().precise_columns(cols)
        if (dtype := exact_type(X)) is not None:
            # an exponent −t that is rounded once changes exp by at most u·t·exp(−t) ≤ u/e
            relative, uniform = gamma(EXPONENTIAL), float(np.finfo(float).tiny)
            largest = 4 * kernel.largest_exponent(squared_norms(X))
            if largest <= 1.0:
                relative += gamma(2 * largest)
            else:
                uniform += gamma(0.5)
            absolute = np.full(X.shape[0], np.sqrt(uniform))
        else:
            X, dtype, (relative, absolute) = self._samples, np.dtype(np.float64), self.radius()
            if kernel.largest_exponent(squared_norms(X)) > kernel.expansion_limit:
                return super().precise_columns(cols)
        products, half_norms = products_with(X, cols, dtype), -0.5 * squared_norms(X)
        column_half_norms = half_norms[cols]

        def values(rows: Selection) -> Block:
            return kernel.expanded(products(rows), half_norms[rows], column_half_norms)

        return values, relative, absolute


@numba.njit(cache=True, nogil=True)
def _fill_exponents(D: Block, half_norms: Vector, column_half_norms: Vector, factor: float) -> None:
    """Replace Dᵢⱼ by min(0, factor·(Dᵢⱼ + half_normsᵢ + column_half_normsⱼ))."""
    for i in range(D.shape[0]):
        row, half = D[i], half_norms[i]
        for j in range(row.size):
            value = (row[j] + half) + column_half_norms[j]
            row[j] = factor * value if value < 0.0 else 0.0


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
    """Write the squared distances of sparse rows with sorted column indices."""
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
