"""The textbook kernels, and a precomputed Gram matrix."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.arithmetic.intervals import ELEMENTARY, UNIT, terms
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels.base import Bound, Kernel
from dualgap.problems.kernels.dot import DotKernel
from dualgap.problems.kernels.samples import Block, Selection, as_dense, squared_norms
from dualgap.problems.validation import check_finite, check_integer, check_positive


@dataclass(frozen=True)
class Linear(DotKernel):
    """k(x, z) = xᵀz."""

    source: ClassVar[str] = "Boser, Guyon & Vapnik 1992"

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return xᵀz."""
        return p

    @property
    def power_form(self) -> tuple[float, float, int]:
        """xᵀz itself."""
        return 1.0, 0.0, 1

    def cancellation(self, largest: float) -> float:
        """Return 0: nothing cancels."""
        return 0.0

    def operations(self, X: Matrix) -> float:
        """Return the number of terms of a product."""
        return terms(X)

    @property
    def monomials(self) -> frozenset[int]:
        """Degree 1: φ(x) = x."""
        return frozenset({1})


@dataclass(frozen=True)
class Polynomial(DotKernel):
    """k(x, z) = (gamma·xᵀz + coef0)^degree, with gamma > 0 and coef0 ≥ 0."""

    degree: int
    gamma: float = 1.0
    coef0: float = 1.0

    source: ClassVar[str] = "Boser, Guyon & Vapnik 1992; Poggio 1975"

    def __post_init__(self) -> None:
        object.__setattr__(self, "degree", check_integer(self.degree, "degree", 1))
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))
        object.__setattr__(self, "coef0", check_positive(self.coef0, "coef0", zero=True))

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return (gamma·xᵀz + coef0)^degree."""
        return (self.gamma * p + self.coef0) ** self.degree

    @property
    def power_form(self) -> tuple[float, float, int]:
        """(gamma, coef0, degree)."""
        return self.gamma, self.coef0, self.degree

    def cancellation(self, largest: float) -> float:
        """Return 0: gamma·‖x‖‖z‖ + coef0 ≤ √((gamma·‖x‖² + coef0)·(gamma·‖z‖² + coef0))."""
        return 0.0

    def operations(self, X: Matrix) -> float:
        """Return the number for a sum of products, raised to `degree`, and for the power itself."""
        return self.degree * (terms(X) + 3) + ELEMENTARY

    @property
    def monomials(self) -> frozenset[int]:
        """All degrees up to `degree`; only `degree` itself if coef0 = 0."""
        return frozenset(range(self.degree + 1) if self.coef0 else {self.degree})


@dataclass(frozen=True)
class Sigmoid(DotKernel):
    """k(x, z) = tanh(gamma·xᵀz + coef0), which is indefinite in general (Lin & Lin 2003)."""

    gamma: float
    coef0: float

    source: ClassVar[str] = "Vapnik 1995; Lin & Lin 2003"
    psd: ClassVar[bool | None] = None

    def __post_init__(self) -> None:
        for name in ("gamma", "coef0"):
            object.__setattr__(self, name, check_finite(getattr(self, name), name))

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return tanh(gamma·xᵀz + coef0)."""
        return np.tanh(self.gamma * p + self.coef0)

    def cancellation(self, largest: float) -> float:
        """Return the largest |gamma·xᵀz|, from which coef0 may be subtracted."""
        return abs(self.gamma) * largest

    def check(self, X: Matrix) -> None:
        """Raise ValueError if inner products overflow, which tanh would hide on the diagonal."""
        with np.errstate(over="ignore"):
            largest = 4.0 * float(squared_norms(X).max())  # checked before the product: 0·∞ is NaN
            argument = abs(self.gamma) * largest + abs(self.coef0)
        if not (np.isfinite(largest) and np.isfinite(argument)):
            raise ValueError("X: its inner products overflow float64; scale the features down")

    def operations(self, X: Matrix) -> float:
        """Return the number for the argument t and for tanh: its slope is at most 1."""
        return (terms(X) + 3 + ELEMENTARY) * max(1.0, self._largest_argument(X))

    def norms(self, X: Matrix) -> Vector:
        """Return the root of the largest value: |tanh t| ≤ min(1, |t|)."""
        return np.full(X.shape[0], np.sqrt(min(1.0, self._largest_argument(X))))

    def _largest_argument(self, X: Matrix) -> float:
        return self.cancellation(float(squared_norms(X).max(initial=0.0))) + abs(self.coef0)


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

    @property
    def uses_gram_matrix(self) -> bool:
        """True."""
        return True

    def diagonal(self, X: Matrix) -> Vector:
        """Return the diagonal of X."""
        return np.asarray(X.diagonal(), dtype=np.float64)

    def bind(self, X: Matrix) -> Bound:
        """Return the entries of `X`."""
        return GramEntries(self, X)

    def operations(self, X: Matrix) -> float:
        """Return the asymmetry, which rounding may cause: αᵀKα only depends on (K + Kᵀ)/2."""
        asymmetry = float(abs(X - X.T).max())
        return asymmetry / (2 * UNIT * float(abs(X).max())) if asymmetry else 0.0

    def norms(self, X: Matrix) -> Vector:
        """Return the root of the largest entry."""
        return np.full(X.shape[0], np.sqrt(float(abs(X).max())))

    def balls(self, X: Matrix, rows: Indices, cols: Indices) -> Balls:
        """Return the entries of (X + Xᵀ)/2: αᵀKα only depends on the symmetric part."""
        block, mirrored = as_dense(X[rows][:, cols]), as_dense(X[cols][:, rows])
        return (Balls(block) + Balls(mirrored).T) / 2

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
