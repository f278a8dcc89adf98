"""The textbook kernels, and a precomputed Gram matrix."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.midpoint_radius import ELEMENTARY
from dualgap.problems.arithmetic.rounding import exp_error, gamma, terms
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels.base import Bound, Kernel, relative_errors
from dualgap.problems.kernels.samples import (
    Block,
    Selection,
    as_dense,
    inner_products,
    squared_norms,
)
from dualgap.problems.validation import check_finite, check_integer, check_positive


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
        """Bound the error of a sum of products."""
        return 0.0, relative_errors(gamma(terms(X)), self.diagonal(X))

    @property
    def monomials(self) -> frozenset[int]:
        """Degree 1: φ(x) = x."""
        return frozenset({1})


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (gamma·xᵀz + coef0)^degree, with gamma > 0 and coef0 ≥ 0."""

    degree: int
    gamma: float = 1.0
    coef0: float = 1.0

    source: ClassVar[str] = "Boser, Guyon & Vapnik 1992; Poggio 1975"

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_integer(self.degree, "degree", 1))
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))
        object.__setattr__(self, "coef0", check_positive(self.coef0, "coef0", zero=True))

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the matrix of (gamma·xᵢᵀzⱼ + coef0)^degree."""
        return (self.gamma * inner_products(X, Z) + self.coef0) ** self.degree

    def diagonal(self, X: Matrix) -> Vector:
        """Return (gamma·‖xᵢ‖² + coef0)^degree."""
        return (self.gamma * squared_norms(X) + self.coef0) ** self.degree

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Bound the error of a sum of products, raised to `degree`, and of the power itself.

        By Cauchy–Schwarz gamma·‖x‖‖z‖ + coef0 ≤ √((gamma·‖x‖² + coef0)·(gamma·‖z‖² + coef0)).
        """
        relative = exp_error(self.degree * gamma(terms(X) + 3))
        return gamma(ELEMENTARY), relative_errors(relative, self.diagonal(X))

    @property
    def monomials(self) -> frozenset[int]:
        """All degrees up to `degree`; only `degree` itself if coef0 = 0."""
        return frozenset(range(self.degree + 1) if self.coef0 else {self.degree})


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma·xᵀz + coef0), which is indefinite in general (Lin & Lin 2003)."""

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
        """Raise ValueError if inner products overflow, which tanh would hide on the diagonal."""
        with np.errstate(over="ignore"):
            largest = 4.0 * float(squared_norms(X).max())  # checked before the product: 0·∞ is NaN
            argument = abs(self.gamma) * largest + abs(self.coef0)
        if not (np.isfinite(largest) and np.isfinite(argument)):
            raise ValueError("X: its inner products overflow float64; scale the features down")

    def diagonal(self, X: Matrix) -> Vector:
        """Return tanh(gamma·‖xᵢ‖² + coef0)."""
        return np.tanh(self.gamma * squared_norms(X) + self.coef0)

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Bound the errors of the argument t and of tanh: its slope is at most 1, and |tanh t| ≤ |t|."""
        arguments = abs(self.gamma) * squared_norms(X) + abs(self.coef0)
        return 0.0, np.sqrt(gamma(terms(X) + 3 + ELEMENTARY) * arguments)


@dataclass(frozen=True)
class Precomputed(Kernel):
    """`X` is the Gram matrix itself: shape (n, n), symmetric.

    New samples are given as their (m, n) kernel values against all training samples.
    """

    source: ClassVar[str] = "Mercer 1909; Chang & Lin 2011"
    psd: ClassVar[bool | None] = None

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Raise ValueError: rows of a Gram matrix do not identify the samples they belong to."""
        raise ValueError("kernel: Precomputed cannot be evaluated on rows; use bind")

    def diagonal(self, X: Matrix) -> Vector:
        """Return the diagonal of X."""
        return np.asarray(X.diagonal(), dtype=np.float64)

    def bind(self, X: Matrix) -> Bound:
        """Return the entries of `X`."""
        return GramEntries(self, X)

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Bound the asymmetry, which rounding may cause: αᵀKα only depends on (K + Kᵀ)/2."""
        return 0.0, np.full(X.shape[0], np.sqrt(0.51 * float(abs(X - X.T).max())))

    def check(self, X: Matrix) -> None:
        """Raise ValueError unless the matrix is square and symmetric."""
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"X: a precomputed kernel must be square, got shape {X.shape}")
        difference = float(abs(X - X.T).max())
        if difference > 1e-10 * float(abs(X).max()):
            raise ValueError(
                f"X: a precomputed kernel must be symmetric, but entries differ by {difference:g}; "
                "use (X + X.T) / 2"
            )


class GramEntries(Bound):
    """The entries of a precomputed Gram matrix."""

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return X[rows, cols]."""
        return as_dense(self.X[rows][:, cols])

    def cross(self, X_new: Matrix, cols: Selection) -> Block:
        """Return X_new[:, cols]."""
        if X_new.shape[1] != self.X.shape[0]:
            raise ValueError(
                f"X: a precomputed kernel needs one column for each of the {self.X.shape[0]} training "
                f"samples, got {X_new.shape[1]} columns"
            )
        return as_dense(X_new[:, cols])

    def balls(self, rows: Indices, cols: Indices) -> Any:
        """Return the entries of (X + Xᵀ)/2: αᵀKα only depends on the symmetric part."""
        return ((Balls(self.block(rows, cols)) + Balls(self.block(cols, rows)).T) / 2).matrix()
