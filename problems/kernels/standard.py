"""The kernels of the textbooks, and a Gram matrix in place of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np
import scipy

from problems.dataset import Indices, Matrix, Vector
from problems.kernels.base import Kernel
from problems.kernels.samples import (
    Block,
    Blocks,
    Precise,
    Selection,
    as_dense,
    inner_products,
    squared_norms,
)
from problems.rounding import (
    ELEMENTARY,
    EXPONENTIAL,
    gamma,
    leading_digits,
    split,
    terms,
)
from problems.validation import check_finite, check_positive, check_whole

# Above this value of gamma·max‖x‖² the expansion ‖x‖² − 2xᵀz + ‖z‖² loses more than two digits
# of the exponent's float64 accuracy to cancellation; differences are then taken directly.
_EXPANSION_LIMIT = 100.0


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = xᵀz."""

    source: ClassVar[str] = "Boser, Guyon & Vapnik 1992"

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return X Zᵀ."""
        return inner_products(X, Z)

    def diagonal(self, X: Matrix) -> Vector:
        """Return ‖xᵢ‖²."""
        return squared_norms(X)

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """That of a sum of products."""
        return 0.0, self._spread(X, gamma(terms(X)))

    @property
    def monomials(self) -> frozenset[int]:
        """The coordinates themselves: degree 1."""
        return frozenset({1})


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (gamma·xᵀz + coef0)^degree, with gamma > 0 and coef0 ≥ 0."""

    degree: int
    gamma: float = 1.0
    coef0: float = 1.0

    source: ClassVar[str] = "Boser, Guyon & Vapnik 1992; Poggio 1975"

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_whole(self.degree, "degree", 1))
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))
        object.__setattr__(self, "coef0", check_positive(self.coef0, "coef0", zero=True))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of (gamma·xᵢᵀzⱼ + coef0)^degree."""
        return (self.gamma * inner_products(X, Z) + self.coef0) ** self.degree

    def diagonal(self, X: Matrix) -> Vector:
        """Return (gamma·‖xᵢ‖² + coef0)^degree."""
        return (self.gamma * squared_norms(X) + self.coef0) ** self.degree

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """That of a sum of products, `degree` times, and of the power.

        By Cauchy and Schwarz gamma·‖x‖‖z‖ + coef0 is at most the root of the same for x, x and z, z.
        """
        return gamma(ELEMENTARY), self._spread(X, _grown(self.degree * gamma(terms(X) + 3)))

    @property
    def monomials(self) -> frozenset[int]:
        """Every degree up to `degree`; without `coef0` only `degree` itself."""
        return frozenset(range(self.degree + 1) if self.coef0 else {self.degree})


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
        relative = _grown(4 * min(largest, _EXPANSION_LIMIT) * gamma(count + 6))
        uniform = float(np.finfo(float).tiny)
        if largest > _EXPANSION_LIMIT:  # in two sparse rows there are up to twice as many entries
            uniform += 0.4 * gamma((2 * count if scipy.sparse.issparse(X) else X.shape[1]) + 4)
        return relative + gamma(EXPONENTIAL), np.full(X.shape[0], np.sqrt(uniform))

    def careful(self) -> RBF:
        """Return the kernel that takes three products in place of one for values of more digits."""
        return _CarefulRBF(self.gamma)

    def precise(self, X: Matrix, cols: Indices) -> Precise:
        """Return blocks whose squared distances lose nothing where the samples are of few digits."""
        few = not scipy.sparse.issparse(X) and not _leading(X, *self._digits(X))[1].any()
        return self._of_digits(X, cols) if few else super().precise(X, cols)

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
        relative = _grown(self.gamma * gamma(2 * d + 8) * products) + gamma(EXPONENTIAL)
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

    def precise(self, X: Matrix, cols: Indices) -> Precise:
        """Return blocks whose squared distances lose nothing, where they are expanded."""
        moved = self._centred(X)
        if scipy.sparse.issparse(moved) or self._reach(squared_norms(moved)) > _EXPANSION_LIMIT:
            return super().precise(X, cols)
        return self._of_digits(moved, cols)


def _leading(X: Matrix, digits: int, size: float) -> tuple[Block, Block, Block, Block]:
    """Return the leading digits X′ of samples, what is left X″, ‖x′‖², and 2x′ᵀx″ + ‖x″‖², (n, 1)."""
    high, low = split(X, digits, size)
    rest = np.einsum("ij,ij->i", high + X, low)
    return high, low, squared_norms(high)[:, None], rest[:, None]


def _grown(relative: float) -> float:
    """Return by how much a factor grows that is wrong by `relative` in its logarithm."""
    return float(1.01 * np.expm1(relative))


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


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma·xᵀz + coef0): in general indefinite (Lin & Lin 2003)."""

    gamma: float
    coef0: float

    source: ClassVar[str] = "Vapnik 1995; Lin & Lin 2003"
    psd: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        for name in ("gamma", "coef0"):
            object.__setattr__(self, name, check_finite(getattr(self, name), name))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of tanh(gamma·xᵢᵀzⱼ + coef0)."""
        return np.tanh(self.gamma * inner_products(X, Z) + self.coef0)

    def check(self, X: Matrix) -> None:
        """Refuse samples whose inner products overflow: tanh would hide it on the diagonal."""
        with np.errstate(over="ignore"):
            largest = 4.0 * float(squared_norms(X).max())  # 0 times infinity is no number
            argument = abs(self.gamma) * largest + abs(self.coef0)
        if not (np.isfinite(largest) and np.isfinite(argument)):
            raise ValueError("X: its inner products overflow float64; scale the features down")

    def diagonal(self, X: Matrix) -> Vector:
        """Return tanh(gamma·‖xᵢ‖² + coef0)."""
        return np.tanh(self.gamma * squared_norms(X) + self.coef0)

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """That of the argument t, as tanh rises by no more, and of tanh, which is |t| at most."""
        arguments = abs(self.gamma) * squared_norms(X) + abs(self.coef0)
        return 0.0, np.sqrt(gamma(terms(X) + 3 + ELEMENTARY) * arguments)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The Gram matrix itself stands in place of `X`: shape (n, n), symmetric.

    New samples are given as their (m, n) kernel values against all training samples.
    """

    source: ClassVar[str] = "Mercer 1909; Chang & Lin 2011"
    psd: ClassVar[bool | None] = None

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Refuse: rows of a Gram matrix do not show which samples they belong to."""
        raise ValueError("kernel: Precomputed has no values between new rows; use block or cross")

    def block(self, X: Matrix, rows: Selection, cols: Selection) -> Block:
        """Return X[rows, cols]."""
        return as_dense(X[rows][:, cols])

    def cross(self, X_new: Matrix, X: Matrix, cols: Selection) -> Block:
        """Return X_new[:, cols]."""
        if X_new.shape[1] != X.shape[0]:
            raise ValueError(
                f"X: a precomputed kernel needs one column for each of the {X.shape[0]} training "
                f"samples, got {X_new.shape[1]}"
            )
        return as_dense(X_new[:, cols])

    def diagonal(self, X: Matrix) -> Vector:
        """Return the diagonal of X."""
        return np.asarray(X.diagonal(), dtype=np.float64)

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """None, but that a matrix may be symmetric only up to rounding: αᵀKα sees (K + Kᵀ)/2."""
        return 0.0, np.full(X.shape[0], np.sqrt(0.51 * float(abs(X - X.T).max())))

    def check(self, X: Matrix) -> None:
        """Refuse a matrix that is not square or not symmetric."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"X: a precomputed kernel is square, got shape {X.shape}")
        difference = float(abs(X - X.T).max())
        if difference > 1e-10 * float(abs(X).max()):
            raise ValueError(
                f"X: a precomputed kernel is symmetric, but entries differ by {difference:g}; "
                "use (X + X.T) / 2"
            )
