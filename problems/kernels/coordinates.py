"""Kernels of linear maps of the coordinates: k1(x_S, z_S) and xᵀAz.

They are k1 after the map x ↦ x_S, and the inner product after x ↦ A^½x, and therefore kernels
(Shawe-Taylor & Cristianini 2004, proposition 3.22).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic.rational import MAX_EXACT_ROWS, is_semidefinite
from dualgap.problems.dataset import Matrix, Vector, check_samples
from dualgap.problems.kernels.base import Composite, Kernel
from dualgap.problems.kernels.samples import Block, as_dense, squared_norms
from dualgap.problems.validation import check_integer, short_repr


@dataclass(frozen=True)
class Subset(Composite):
    """k(x, z) = k1(x_S, z_S): a kernel on the coordinates S = features, counted from 0."""

    kernel: Kernel
    features: tuple[int, ...]

    source: ClassVar[str] = "Shawe-Taylor & Cristianini 2004"

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            chosen = tuple(check_integer(j, "features", 0) for j in self.features)
        except TypeError:
            raise ValueError(
                f"features: must be a list of column numbers, got {short_repr(self.features)}"
            ) from None
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(
                f"features: must be one or more distinct column numbers, got {short_repr(self.features)}"
            )
        object.__setattr__(self, "features", chosen)

    def view(self, X: Matrix) -> Matrix:
        """Return the selected columns."""
        return X[:, list(self.features)]

    def join(self, *values: Any) -> Any:
        """Return the inner kernel's values."""
        return values[0]

    def check(self, X: Matrix) -> None:
        """Raise ValueError if a column does not exist, or the inner kernel refuses the samples."""
        if max(self.features) >= X.shape[1]:
            raise ValueError(
                f"features: column {max(self.features)} does not exist; X has columns 0 to "
                f"{X.shape[1] - 1}"
            )
        super().check(X)

    @property
    def monomials(self) -> frozenset[int] | None:
        """The inner kernel's degrees: monomials of x_S are monomials of x."""
        return self.kernel.monomials


@dataclass(frozen=True)
class QuadraticForm(Kernel):
    """k(x, z) = xᵀAz, with A = matrix symmetric and positive semidefinite."""

    matrix: tuple[tuple[float, ...], ...]

    source: ClassVar[str] = "Shawe-Taylor & Cristianini 2004"

    def __post_init__(self) -> None:
        A = as_dense(check_samples(self.matrix, "matrix"))
        if A.shape[0] != A.shape[1] or (A != A.T).any():
            raise ValueError(f"matrix: must be square and symmetric, got {short_repr(self.matrix)}")
        object.__setattr__(self, "matrix", tuple(map(tuple, (A + 0.0).tolist())))  # −0.0 is 0.0
        smallest, rounding = self._smallest
        if smallest < -rounding:
            raise ValueError(
                f"matrix: must be positive semidefinite, but its smallest eigenvalue is {smallest:.3g}"
            )

    @cached_property
    def _smallest(self) -> tuple[float, float]:
        """The smallest eigenvalue of A, and a bound on its rounding error."""
        values = np.linalg.eigvalsh(self._A)
        size = float(np.abs(values).max())
        return float(values[0]), 10 * len(values) * np.finfo(float).eps * size

    @property
    def is_psd(self) -> bool | None:
        """True, or None if A may have a negative eigenvalue, and so K for large samples."""
        return self._is_psd

    @cached_property
    def _is_psd(self) -> bool | None:
        smallest, rounding = self._smallest
        exact = smallest <= rounding and len(self._A) <= MAX_EXACT_ROWS
        return True if smallest > rounding or (exact and is_semidefinite(self._A)) else None

    @cached_property
    def _A(self) -> Block:
        return np.array(self.matrix)

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return X A Zᵀ."""
        return as_dense((X @ self._A) @ Z.T)

    def diagonal(self, X: Matrix) -> Vector:
        """Return xᵢᵀAxᵢ."""
        return np.einsum("ij,ij->i", X @ self._A, as_dense(X))

    def operations(self, X: Matrix) -> float:
        """Return the length of two sums of products."""
        return 2 * len(self.matrix)

    def norms(self, X: Matrix) -> Vector:
        """Return √‖A‖_F·‖xᵢ‖, as |x|ᵀ|A||z| ≤ ‖A‖_F·‖x‖‖z‖."""
        return np.sqrt(float(np.linalg.norm(self._A)) * squared_norms(X))

    def check(self, X: Matrix) -> None:
        """Raise ValueError unless the samples have one feature per row of A."""
        if X.shape[1] != len(self.matrix):
            raise ValueError(
                f"matrix: has {len(self.matrix)} rows, but X has {X.shape[1]} features"
            )

    @property
    def monomials(self) -> frozenset[int]:
        """φ(x) = A^½x: degree 1."""
        return frozenset({1})
