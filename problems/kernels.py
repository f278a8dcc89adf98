"""Kernels k(x, z) = φ(x)ᵀφ(z), one class each, and their algebra.

Sums, products and positive multiples of kernels are kernels
(Shawe-Taylor & Cristianini 2004, proposition 3.22), written `k1 + k2`, `k1 * k2`, `2 * k`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from problems.dataset import Indices, Matrix, Vector, check_positive

Block = NDArray[np.float64]
Selection = Indices | slice

# Above this value of gamma·max‖x‖² the expansion ‖x‖² − 2xᵀz + ‖z‖² loses more than four digits
# of the exponent's float64 accuracy to cancellation; differences are then taken directly.
_EXPANSION_LIMIT = 1e4


class Kernel(ABC):
    """A kernel function on the rows of matrices.

    Attributes
    ----------
    psd : bool or None
        True: positive semidefinite on any samples; None: it depends on the samples, so it is tested.
    monomials : frozenset of int or None
        The degrees of the monomials of x that make up φ(x), for kernels with a finite feature map
        (what holds exactly for all of them holds exactly for φ); None for infinite ones.
    """

    psd: ClassVar[bool | None] = True

    @abstractmethod
    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the (m, k) matrix of k(xᵢ, zⱼ) for rows of `X` (m, d) and `Z` (k, d)."""

    @abstractmethod
    def diagonal(self, X: Matrix) -> Vector:
        """Return k(xᵢ, xᵢ) for each row, shape (m,)."""

    @property
    def monomials(self) -> frozenset[int] | None:
        """Degrees of the monomials of a finite feature map, None for an infinite one."""
        return None

    def block(self, X: Matrix, rows: Selection, cols: Selection) -> Block:
        """Return the Gram matrix of `X` restricted to `rows` and `cols`."""
        return self(X[rows], X[cols])

    def cross(self, X_new: Matrix, X: Matrix, cols: Selection) -> Block:
        """Return k between new samples and the training samples `cols`, for predictions."""
        return self(X_new, X[cols])

    def check(self, X: Matrix) -> None:  # noqa: B027 - most kernels take any samples
        """Raise ValueError if `X` cannot be this kernel's samples."""

    @property
    def is_psd(self) -> bool | None:
        """`psd`, of a combination: only if both parts are declared."""
        return self.psd

    def __add__(self, other: Kernel) -> Kernel:
        """Return the kernel k1(x, z) + k2(x, z)."""
        return Sum(self, other)

    def __mul__(self, other: Any) -> Kernel:
        """Return k1·k2, or a positive multiple."""
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = xᵀz."""

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return X Zᵀ."""
        return inner_products(X, Z)

    def diagonal(self, X: Matrix) -> Vector:
        """Return ‖xᵢ‖²."""
        return squared_norms(X)

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

    def __post_init__(self) -> None:
        degree = _check_finite(self.degree, "degree")
        if not degree.is_integer() or degree < 1:
            raise ValueError(f"degree: must be a whole number of 1 or more, got {self.degree!r}")
        object.__setattr__(self, "degree", int(degree))
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))
        object.__setattr__(self, "coef0", check_positive(self.coef0, "coef0", zero=True))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of (gamma·xᵢᵀzⱼ + coef0)^degree."""
        return (self.gamma * inner_products(X, Z) + self.coef0) ** self.degree

    def diagonal(self, X: Matrix) -> Vector:
        """Return (gamma·‖xᵢ‖² + coef0)^degree."""
        return (self.gamma * squared_norms(X) + self.coef0) ** self.degree

    @property
    def monomials(self) -> frozenset[int]:
        """Every degree up to `degree`; without `coef0` only `degree` itself."""
        return frozenset(range(self.degree + 1) if self.coef0 else {self.degree})


@dataclass(frozen=True)
class RBF(Kernel):
    """k(x, z) = exp(−gamma·‖x − z‖²), with gamma > 0."""

    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of exp(−gamma·‖xᵢ − zⱼ‖²)."""
        K = self._squared_distances(X, Z)
        K *= -self.gamma
        return np.exp(K, out=K)

    def check(self, X: Matrix) -> None:
        """Refuse samples whose squared distances overflow."""
        with np.errstate(over="ignore"):
            if not np.isfinite(4.0 * squared_norms(X)).all():
                raise ValueError("X: its squared norms overflow float64; scale the features down")

    def diagonal(self, X: Matrix) -> Vector:
        """Return ones."""
        return np.ones(X.shape[0])

    def _squared_distances(self, X: Matrix, Z: Matrix) -> Block:
        x2, z2 = squared_norms(X), squared_norms(Z)
        largest = max(x2.max(initial=0.0), z2.max(initial=0.0))
        if self.gamma * largest > _EXPANSION_LIMIT and not (sp.issparse(X) or sp.issparse(Z)):
            from scipy.spatial.distance import cdist  # noqa: PLC0415 - slow to import, rarely used

            return np.asarray(cdist(X, Z, "sqeuclidean"), dtype=np.float64)
        D = inner_products(X, Z)
        D *= -2.0
        D += x2[:, None]
        D += z2[None, :]
        return np.maximum(D, 0.0, out=D)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma·xᵀz + coef0): in general indefinite (Lin & Lin 2003)."""

    gamma: float
    coef0: float

    psd: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        for name in ("gamma", "coef0"):
            object.__setattr__(self, name, _check_finite(getattr(self, name), name))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of tanh(gamma·xᵢᵀzⱼ + coef0)."""
        return np.tanh(self.gamma * inner_products(X, Z) + self.coef0)

    def diagonal(self, X: Matrix) -> Vector:
        """Return tanh(gamma·‖xᵢ‖² + coef0)."""
        return np.tanh(self.gamma * squared_norms(X) + self.coef0)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The Gram matrix itself stands in place of `X`: shape (n, n), symmetric.

    New samples are given as their (m, n) kernel values against all training samples.
    """

    psd: ClassVar[bool | None] = None

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Refuse: rows of a Gram matrix do not tell which samples they pair with."""
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


@dataclass(frozen=True)
class _Combination(Kernel):
    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            if not isinstance(getattr(self, name), Kernel):
                raise ValueError(f"{name}: must be a kernel, got {getattr(self, name)!r}")

    @abstractmethod
    def _join(self, left: Block, right: Block) -> Block: ...

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return both parts' values, joined."""
        return self._join(self.left(X, Z), self.right(X, Z))

    def block(self, X: Matrix, rows: Selection, cols: Selection) -> Block:
        """Return both parts' blocks, joined."""
        return self._join(self.left.block(X, rows, cols), self.right.block(X, rows, cols))

    def cross(self, X_new: Matrix, X: Matrix, cols: Selection) -> Block:
        """Return both parts' values for new samples, joined."""
        return self._join(self.left.cross(X_new, X, cols), self.right.cross(X_new, X, cols))

    def diagonal(self, X: Matrix) -> Vector:
        """Return both parts' diagonals, joined."""
        return self._join(self.left.diagonal(X), self.right.diagonal(X))

    def check(self, X: Matrix) -> None:
        """Check the samples for both parts."""
        self.left.check(X)
        self.right.check(X)

    @property
    def is_psd(self) -> bool | None:
        """True if both parts are (an indefinite part may still give a semidefinite whole)."""
        return True if self.left.is_psd and self.right.is_psd else None


@dataclass(frozen=True)
class Sum(_Combination):
    """k(x, z) = k1(x, z) + k2(x, z)."""

    def _join(self, left: Block, right: Block) -> Block:
        return left + right

    @property
    def monomials(self) -> frozenset[int] | None:
        """φ stacks both feature maps."""
        left, right = self.left.monomials, self.right.monomials
        return None if left is None or right is None else left | right


@dataclass(frozen=True)
class Product(_Combination):
    """k(x, z) = k1(x, z)·k2(x, z)."""

    def _join(self, left: Block, right: Block) -> Block:
        return left * right

    @property
    def monomials(self) -> frozenset[int] | None:
        """φ holds all products of two features, so degrees add."""
        left, right = self.left.monomials, self.right.monomials
        if left is None or right is None:
            return None
        return frozenset(i + j for i in left for j in right)


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(x, z) = factor·k1(x, z), with factor > 0."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel: must be a kernel, got {self.kernel!r}")
        object.__setattr__(self, "factor", check_positive(self.factor, "factor"))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the scaled values."""
        return self.factor * self.kernel(X, Z)

    def block(self, X: Matrix, rows: Selection, cols: Selection) -> Block:
        """Return the scaled block."""
        return self.factor * self.kernel.block(X, rows, cols)

    def cross(self, X_new: Matrix, X: Matrix, cols: Selection) -> Block:
        """Return the scaled values for new samples."""
        return self.factor * self.kernel.cross(X_new, X, cols)

    def diagonal(self, X: Matrix) -> Vector:
        """Return the scaled diagonal."""
        return self.factor * self.kernel.diagonal(X)

    def check(self, X: Matrix) -> None:
        """Check the samples for the kernel that is scaled."""
        self.kernel.check(X)

    @property
    def is_psd(self) -> bool | None:
        """As the kernel that is scaled."""
        return self.kernel.is_psd

    @property
    def monomials(self) -> frozenset[int] | None:
        """As the kernel that is scaled."""
        return self.kernel.monomials


def _check_finite(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise ValueError(f"{name}: must be a finite number, got {value!r}")
    return number


def inner_products(X: Matrix, Z: Matrix) -> Block:
    """Return X Zᵀ as a dense array, for dense and CSR matrices."""
    return as_dense(X @ Z.T)


def squared_norms(X: Matrix) -> Vector:
    """Return ‖xᵢ‖² for each row, for dense and CSR matrices."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return sp.csr_array((X.data**2, X.indices, X.indptr), X.shape) @ np.ones(X.shape[1])


def as_dense(M: Any) -> NDArray[np.float64]:
    """Return a dense array of a dense or sparse matrix."""
    return M.toarray() if sp.issparse(M) else np.asarray(M, dtype=np.float64)
