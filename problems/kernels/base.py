"""What a kernel is, with the sums, products and multiples of kernels, and those of a feature map.

That sums and products of positive semidefinite matrices (of entries: Schur 1911) are so again makes
kernels of kernels (Shawe-Taylor & Cristianini 2004, proposition 3.22).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Indices, Matrix, Vector
from problems.kernels.samples import (
    Block,
    Blocks,
    Precise,
    Selection,
    as_dense,
    inner_products,
    squared_norms,
    stacked,
)
from problems.registry import snake_case
from problems.rounding import gamma, terms
from problems.validation import check_positive, shown

ALGEBRA = "Schur 1911; Shawe-Taylor & Cristianini 2004"
# Operations that the value of a kernel from outside is allowed, which says nothing of its rounding.
_OPERATIONS = 2**14
_DENSE_BYTES = 2**26  # up to which features are stored dense: their products take less time


class Kernel(ABC):
    """A kernel function on the rows of matrices.

    Attributes
    ----------
    name : how experiment files call it: the class name in snake case.
    source : where the kernel is published.
    psd : bool or None
        True: positive semidefinite on any samples; None: it depends on the samples, so it is tested.
    monomials : frozenset of int or None
        The degrees of the monomials of x that make up φ(x), for kernels with a finite feature map
        (what holds exactly for all of them holds exactly for φ); None for other ones.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    psd: ClassVar[bool | None] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = snake_case(cls.__name__)

    @abstractmethod
    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the (m, k) matrix of k(xᵢ, zⱼ) for rows of `X` (m, d) and `Z` (k, d)."""

    @abstractmethod
    def diagonal(self, X: Matrix) -> Vector:
        """Return k(xᵢ, xᵢ) for each row, shape (m,)."""

    @property
    def monomials(self) -> frozenset[int] | None:
        """Degrees of the monomials of a finite feature map, None for other ones."""
        return None

    def block(self, X: Matrix, rows: Selection, cols: Selection) -> Block:
        """Return the Gram matrix of `X` restricted to `rows` and `cols`."""
        return self(X[rows], X[cols])

    def bind(self, X: Matrix) -> Blocks:
        """Return (rows, cols) ↦ `block(X, rows, cols)`, with what all blocks share done once."""
        return partial(self.block, X)

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Return (ρ, m) with |computed − k(xᵢ, xⱼ)| ≤ ρ·|computed| + mᵢmⱼ for `bind(X)`, m (n,).

        By default as if each value were a sum of 16,384 products of no more than √(k(xᵢ,xᵢ)·k(xⱼ,xⱼ))
        in all. A kernel whose values may be further off says so here.
        """
        return 0.0, self._spread(X, gamma(_OPERATIONS))

    def careful(self) -> Kernel | None:
        """Return the same kernel with values of more digits at some cost, None if there is none."""
        return None

    def precise(self, X: Matrix, cols: Indices) -> Precise:
        """Return (rows ↦ `bind(X)(rows, cols)`, ρ, m), or blocks of more digits where there are some."""
        blocks = self.bind(X)
        return lambda rows: blocks(rows, cols), *self.rounding(X)

    def _spread(self, X: Matrix, relative: float) -> Vector:
        """Return the m for errors of relative·√(k(xᵢ,xᵢ)·k(xⱼ,xⱼ))."""
        return np.sqrt(relative * np.maximum(self.diagonal(X), 0.0))

    def spread(self, X: Matrix) -> Vector:
        """Return an m that alone bounds what `rounding` does, |k(xᵢ,xⱼ)| ≤ √(k(xᵢ,xᵢ)·k(xⱼ,xⱼ))."""
        relative, spread = self.rounding(X)
        return np.hypot(spread, self._spread(X, 1.01 * relative))

    def cross(self, X_new: Matrix, X: Matrix, cols: Selection) -> Block:
        """Return k between new samples and the training samples `cols`, for predictions."""
        return self(X_new, X[cols])

    def check(self, X: Matrix) -> None:  # noqa: B027 - most kernels take any samples
        """Raise ValueError if `X` cannot be this kernel's samples."""

    def fit(self, X: Matrix) -> Kernel:
        """Return the kernel with what it takes from the training samples; most take nothing."""
        return self

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


def check_kernel(value: Any, name: str) -> None:
    """Raise ValueError if `value` is no kernel."""
    if not isinstance(value, Kernel):
        raise ValueError(f"{name}: must be a kernel, got {shown(value)}")


@dataclass(frozen=True)
class Combination(Kernel):
    """k(x, z) = k1(x, z) ∘ k2(x, z)."""

    left: Kernel
    right: Kernel

    source: ClassVar[str] = ALGEBRA

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

    def bind(self, X: Matrix) -> Blocks:
        """Prepare the samples for both parts."""
        left, right = self.left.bind(X), self.right.bind(X)
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

    def fit(self, X: Matrix) -> Kernel:
        """Fit both parts."""
        return replace(self, left=self.left.fit(X), right=self.right.fit(X))

    @property
    def is_psd(self) -> bool | None:
        """True if both parts are (an indefinite part may still give a semidefinite whole)."""
        return True if self.left.is_psd and self.right.is_psd else None


@dataclass(frozen=True)
class Sum(Combination):
    """k(x, z) = k1(x, z) + k2(x, z)."""

    def _join(self, left: Block, right: Block) -> Block:
        return left + right

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Errors add, and the addition rounds once."""
        return gamma(1), np.hypot(self.left.spread(X), self.right.spread(X))

    @property
    def monomials(self) -> frozenset[int] | None:
        """φ stacks both feature maps."""
        left, right = self.left.monomials, self.right.monomials
        return None if left is None or right is None else left | right


@dataclass(frozen=True)
class Product(Combination):
    """k(x, z) = k1(x, z)·k2(x, z)."""

    def _join(self, left: Block, right: Block) -> Block:
        return left * right

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Each part's error is multiplied by the other part."""
        left, right = self.left.spread(X), self.right.spread(X)
        of_left, of_right = (
            np.sqrt(np.maximum(part.diagonal(X), 0.0)) for part in (self.left, self.right)
        )
        parts = left * of_right, of_left * right, left * right
        return gamma(1), 1.01 * np.sqrt(sum(part**2 for part in parts))

    @property
    def monomials(self) -> frozenset[int] | None:
        """φ holds all products of two features, so degrees add."""
        left, right = self.left.monomials, self.right.monomials
        return None if left is None or right is None else added(left, right)


@dataclass(frozen=True)
class Transformed(Kernel):
    """k(x, z) = g(k1(x, z))."""

    kernel: Kernel

    source: ClassVar[str] = ALGEBRA

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

    def bind(self, X: Matrix) -> Blocks:
        """Prepare the samples for the kernel inside."""
        inside = self.kernel.bind(X)
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

    def fit(self, X: Matrix) -> Kernel:
        """Fit the kernel inside."""
        return replace(self, kernel=self.kernel.fit(X))

    @property
    def is_psd(self) -> bool | None:
        """True if the kernel inside is (of another the transform may still be semidefinite)."""
        return True if self.kernel.is_psd else None


@dataclass(frozen=True)
class Scaled(Transformed):
    """k(x, z) = factor·k1(x, z), with factor > 0."""

    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "factor", check_positive(self.factor, "factor"))

    def _transform(self, values: Any) -> Any:
        return self.factor * values

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """As the kernel inside, times the factor."""
        relative, spread = self.kernel.rounding(X)
        return relative + gamma(1), np.sqrt(1.01 * self.factor) * spread

    @property
    def monomials(self) -> frozenset[int] | None:
        """As the kernel that is scaled."""
        return self.kernel.monomials


def added(left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
    """Return all sums of a degree on the left and one on the right."""
    return frozenset(i + j for i in left for j in right)


class FeatureMapKernel(Kernel):
    """k(x, z) = φ(x)ᵀφ(z), for a φ that is computed: a subclass defines `features`."""

    @abstractmethod
    def features(self, X: Matrix) -> Matrix:
        """Return φ of the rows of `X` (m, d), shape (m, D).

        Which columns there are, and D, may depend on `X`: rows that are to be multiplied with each
        other are mapped together.
        """

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return φ(X) φ(Z)ᵀ."""
        phi, m = self.features(stacked(X, Z)), X.shape[0]
        return inner_products(phi[:m], phi[m:])

    def diagonal(self, X: Matrix) -> Vector:
        """Return ‖φ(xᵢ)‖²."""
        return squared_norms(self.features(X))

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Of inner products of features, each of which is right but for some operations."""
        phi = self.features(X)
        return 0.0, np.sqrt(gamma(terms(phi) + _OPERATIONS) * squared_norms(phi))

    def bind(self, X: Matrix) -> Blocks:
        """Map the samples once; blocks are products of features then."""
        phi = self.features(X)
        if 8 * phi.shape[0] * phi.shape[1] <= _DENSE_BYTES:
            phi = as_dense(phi)
        return lambda rows, cols: inner_products(phi[rows], phi[cols])
