"""Kernels made of kernels: k1 + k2, k1·k2, a·k1, exp(k1), and q(k1) with coefficients of 0 or above.

Gram matrices are added, multiplied and transformed entry by entry. That sums and products (of entries:
Schur 1911) of positive semidefinite matrices are so again gives powers, polynomials, and as their limit
the exponential (Shawe-Taylor & Cristianini 2004, propositions 3.22 and 3.24).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Matrix, Vector, check_positive
from problems.kernels.base import Block, Blocks, Kernel, Selection, check_kernel

_ALGEBRA = "Schur 1911; Shawe-Taylor & Cristianini 2004"


@dataclass(frozen=True)
class _Combination(Kernel):
    """k(x, z) = k1(x, z) ∘ k2(x, z)."""

    left: Kernel
    right: Kernel

    source: ClassVar[str] = _ALGEBRA

    def __post_init__(self) -> None:
        check_kernel(self.left, "left")
        check_kernel(self.right, "right")

    @abstractmethod
    def _join(self, left: Block, right: Block) -> Block: ...

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return both parts' values, joined."""
        return self._join(self.left(X, Z), self.right(X, Z))

    def block(self, X: Matrix, rows: Selection, cols: Selection) -> Block:
        """Return both parts' blocks, joined."""
        return self._join(self.left.block(X, rows, cols), self.right.block(X, rows, cols))

    def on(self, X: Matrix) -> Blocks:
        """Prepare the samples for both parts."""
        left, right = self.left.on(X), self.right.on(X)
        return lambda rows, cols: self._join(left(rows, cols), right(rows, cols))

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

    def fitted(self, X: Matrix) -> Kernel:
        """Fit both parts."""
        return replace(self, left=self.left.fitted(X), right=self.right.fitted(X))

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
        return None if left is None or right is None else _added(left, right)


@dataclass(frozen=True)
class _Transformed(Kernel):
    """k(x, z) = g(k1(x, z))."""

    kernel: Kernel

    source: ClassVar[str] = _ALGEBRA

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "kernel")

    @abstractmethod
    def _transform(self, values: Any) -> Any: ...

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the transformed values."""
        return self._transform(self.kernel(X, Z))

    def block(self, X: Matrix, rows: Selection, cols: Selection) -> Block:
        """Return the transformed block."""
        return self._transform(self.kernel.block(X, rows, cols))

    def on(self, X: Matrix) -> Blocks:
        """Prepare the samples for the kernel inside."""
        inside = self.kernel.on(X)
        return lambda rows, cols: self._transform(inside(rows, cols))

    def cross(self, X_new: Matrix, X: Matrix, cols: Selection) -> Block:
        """Return the transformed values for new samples."""
        return self._transform(self.kernel.cross(X_new, X, cols))

    def diagonal(self, X: Matrix) -> Vector:
        """Return the transformed diagonal."""
        return self._transform(self.kernel.diagonal(X))

    def check(self, X: Matrix) -> None:
        """Check the samples for the kernel inside."""
        self.kernel.check(X)

    def fitted(self, X: Matrix) -> Kernel:
        """Fit the kernel inside."""
        return replace(self, kernel=self.kernel.fitted(X))

    @property
    def is_psd(self) -> bool | None:
        """True if the kernel inside is (of another the transform may still be semidefinite)."""
        return True if self.kernel.is_psd else None


@dataclass(frozen=True)
class Scaled(_Transformed):
    """k(x, z) = factor·k1(x, z), with factor > 0."""

    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "factor", check_positive(self.factor, "factor"))

    def _transform(self, values: Any) -> Any:
        return self.factor * values

    @property
    def monomials(self) -> frozenset[int] | None:
        """As the kernel that is scaled."""
        return self.kernel.monomials


@dataclass(frozen=True)
class Exponential(_Transformed):
    """k(x, z) = exp(k1(x, z)); of 2·gamma·xᵀz, divided by its values at (x, x) and (z, z), the RBF."""

    def _transform(self, values: Any) -> Any:
        return np.exp(values)


@dataclass(frozen=True)
class PolynomialOf(_Transformed):
    """k(x, z) = Σᵢ coefficients[i]·k1(x, z)ⁱ, from i = 0, with no coefficient below 0."""

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            chosen = tuple(self.coefficients)
        except TypeError:
            raise ValueError(
                f"coefficients: must be a list of numbers, got {self.coefficients!r}"
            ) from None
        checked = tuple(check_positive(c, "coefficients", zero=True) for c in chosen)
        if not any(checked):
            raise ValueError(f"coefficients: needs one above 0, got {self.coefficients!r}")
        object.__setattr__(self, "coefficients", checked)

    def _transform(self, values: Any) -> Any:
        return np.polynomial.polynomial.polyval(values, np.array(self.coefficients))

    @property
    def monomials(self) -> frozenset[int] | None:
        """All degrees that the powers have."""
        inside = self.kernel.monomials
        if inside is None:
            return None
        power, found = frozenset({0}), frozenset[int]()
        for coefficient in self.coefficients:
            found |= power if coefficient else frozenset()
            power = _added(power, inside)
        return found


def _added(left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
    return frozenset(i + j for i in left for j in right)
