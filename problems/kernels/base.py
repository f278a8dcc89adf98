"""What a kernel is, its values on bound samples, and the sums, products and multiples of kernels.

That sums and products of positive semidefinite matrices (of entries: Schur 1911) are so again makes
kernels of kernels (Shawe-Taylor & Cristianini 2004, proposition 3.22).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import isabstract
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic.balls import Balls, Unprovable
from dualgap.problems.arithmetic.rounding import gamma
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels.samples import Block, PreciseColumns, Selection
from dualgap.problems.registry import is_ours, snake_case
from dualgap.problems.validation import check_positive, shown

ALGEBRA = "Schur 1911; Shawe-Taylor & Cristianini 2004"
_VALUES = 2**22  # of a kernel that are looked at together
# Operations that the value of a kernel from outside is allowed, which says nothing of its rounding.
OPERATIONS = 2**14
_FEW, _REFUTED = 256, 1e-8  # samples that are tried; of the largest eigenvalue, that is no rounding


class Kernel(ABC):
    """A kernel function on the rows of matrices: `__call__` and `diagonal` define it.

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
        parent: Any = cls.__mro__[1]
        restated = {"__call__", "diagonal"} & vars(cls).keys()
        if restated and is_ours(parent) and not is_ours(cls) and not isabstract(parent):
            raise TypeError(
                f"{cls.__name__}: solvers and certificates compute {parent.__name__} in code of their "
                "own, which these values would not reach; extend Kernel"
            )

    @abstractmethod
    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the (m, k) matrix of k(xᵢ, zⱼ) for rows of `X` (m, d) and `Z` (k, d).

        Written in operators and NumPy's elementary functions it takes arrays of balls too, so that
        bounds are proven with it: see `Balls`.
        """

    @abstractmethod
    def diagonal(self, X: Matrix) -> Vector:
        """Return k(xᵢ, xᵢ) for each row, shape (m,)."""

    def bind(self, X: Matrix) -> Bound:
        """Return the kernel's values among the samples `X` (n, d), and between these and new ones."""
        return Bound(self, X)

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Return (ρ, m) with |computed − k(xᵢ, xⱼ)| ≤ ρ·|computed| + mᵢmⱼ, m (n,).

        By default as if each value were a sum of 16,384 products of no more than √(k(xᵢ,xᵢ)·k(xⱼ,xⱼ))
        in all. A kernel whose values may be further off says so here.
        """
        return 0.0, relative_errors(gamma(OPERATIONS), self.diagonal(X))

    @property
    def monomials(self) -> frozenset[int] | None:
        """Degrees of the monomials of a finite feature map, None for other ones."""
        return None

    def careful(self, X: Matrix) -> Kernel | None:
        """Return the same kernel with values of more digits on `X` at some cost, None for none."""
        return None

    def check(self, X: Matrix) -> None:  # noqa: B027 - most kernels take any samples
        """Raise ValueError if `X` cannot be this kernel's samples."""

    def fit(self, X: Matrix) -> Kernel:
        """Return the kernel with what it takes from the training samples; most take nothing."""
        return self

    @property
    def is_psd(self) -> bool | None:
        """`psd`, of a combination: only if all parts are declared."""
        return self.psd

    def __add__(self, other: Kernel) -> Kernel:
        """Return the kernel k1(x, z) + k2(x, z)."""
        return Sum(self, other)

    def __mul__(self, other: Any) -> Kernel:
        """Return k1·k2, or a positive multiple."""
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__


class Bound:
    """A kernel's values among the samples that it is bound to, and between these and new ones.

    A kernel for which work on the samples can be shared by all blocks has a `Bound` of its own.
    """

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        self.kernel: Any = kernel
        self.X = X

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return the Gram matrix restricted to `rows` and `cols`."""
        return self.kernel(self.X[rows], self.X[cols])

    def diagonal(self) -> Vector:
        """Return k(xᵢ, xᵢ), shape (n,)."""
        return self.kernel.diagonal(self.X)

    def cross(self, X_new: Matrix, cols: Selection) -> Block:
        """Return k between new samples and the samples `cols`, for predictions."""
        return self.kernel(X_new, self.X[cols])

    def radius(self) -> tuple[float, Vector]:
        """Return (ρ, m) with |K[i, j] − k(xᵢ, xⱼ)| ≤ ρ·|K[i, j]| + mᵢmⱼ for blocks, m (n,)."""
        return self.kernel.rounding(self.X)

    def absolute_radius(self) -> Vector:
        """Return an m that alone does what `radius` does."""
        relative, absolute = self.radius()
        return np.hypot(absolute, np.sqrt(1.01 * relative) * self.sizes) if relative else absolute

    @cached_property
    def sizes(self) -> Vector:
        """An s (n,) with |k(xᵢ, xⱼ)| ≤ 1.01·sᵢsⱼ, up to what `radius` says of blocks.

        √k(xᵢ, xᵢ) where the kernel is known to be semidefinite (by Cauchy and Schwarz), else the root of
        the largest value that there is.
        """
        if self.kernel.is_psd:
            return relative_errors(1.0, self.diagonal())
        n, everything = self.X.shape[0], np.arange(self.X.shape[0])
        parts = np.array_split(everything, -(-n * n // _VALUES))
        largest = max(float(np.abs(self.block(rows, everything)).max()) for rows in parts)
        return np.full(n, np.sqrt(largest))

    def precise_columns(self, cols: Indices) -> PreciseColumns:
        """Return (rows ↦ block(rows, cols), ρ, m), or blocks of more digits where there are some."""
        return lambda rows: self.block(rows, cols), *self.radius()

    def balls(self, rows: Indices, cols: Indices) -> Any:
        """Return the block as a matrix of balls, at the current precision of python-flint.

        Raises
        ------
        Unprovable
            If the kernel takes no arrays of balls.
        """
        name = type(self.kernel).__name__
        try:
            values: Any = self.kernel(Balls(self.X[rows]), Balls(self.X[cols]))  # type: ignore[arg-type]
        except (Unprovable, TypeError, AttributeError, ValueError) as error:
            raise Unprovable(f"{name} has no ball arithmetic: {error}") from error
        if not isinstance(values, Balls) or values.shape != (rows.size, cols.size):
            raise Unprovable(f"{name} has no ball arithmetic: its values are no array of balls")
        return values.matrix()


def relative_errors(relative: float, diagonal: Vector) -> Vector:
    """Return the m for errors of relative·√(k(xᵢ,xᵢ)·k(xⱼ,xⱼ))."""
    return np.sqrt(relative * np.maximum(diagonal, 0.0))


def check_overflow(kernel: Kernel, X: Matrix) -> None:
    """Raise ValueError if K has a diagonal, and so values, beyond float64."""
    with np.errstate(over="ignore"):
        diagonal = kernel.diagonal(X)
    if not np.isfinite(diagonal).all():
        raise ValueError("X: its kernel values overflow float64; scale the features down")


def check_declared(kernel: Kernel, X: Matrix) -> None:
    """Raise ValueError if a kernel from outside has values that its `psd = True` does not allow."""
    if isinstance(kernel, Composite):
        for part in kernel.parts:
            check_declared(part, kernel.view(X))
        return
    if is_ours(type(kernel)) or not kernel.is_psd:
        return
    few = np.unique(np.linspace(0, X.shape[0] - 1, min(X.shape[0], _FEW)).astype(np.intp))
    K = kernel(X[few], X[few])
    if not np.isfinite(K).all():
        raise ValueError("X: its kernel values overflow float64; scale the features down")
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    off = max(float(np.abs(K - K.T).max()), -float(values[0]))
    if off > _REFUTED * float(np.abs(values).max()):
        raise ValueError(
            f"kernel: {type(kernel).__name__} says that it is symmetric and positive semidefinite, and "
            f"is off by {off:.3g} on these samples; with `psd: ClassVar = None` it is tested"
        )


class Composite(Kernel):
    """k(x, z) = g(k1(x, z), ...): a frozen dataclass whose first fields are the kernels inside."""

    source: ClassVar[str] = ALGEBRA
    inside: ClassVar[tuple[str, ...]] = ("kernel",)

    def __post_init__(self) -> None:
        for name, part in zip(self.inside, self.parts, strict=True):
            if not isinstance(part, Kernel):
                raise ValueError(f"{name}: must be a kernel, got {shown(part)}")

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels inside."""
        return tuple(getattr(self, name) for name in self.inside)

    @abstractmethod
    def join(self, *values: Any) -> Any:
        """Return g of the parts' values, entry by entry: in operators, for balls too."""

    @abstractmethod
    def joined_radius(self, *parts: Bound) -> tuple[float, Vector]:
        """Return the radius of g of the values of bound parts."""

    def view(self, X: Matrix) -> Matrix:
        """Return what the kernels inside see of the samples: by default all."""
        return X

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the parts' values, joined."""
        X, Z = self.view(X), self.view(Z)
        return self.join(*(part(X, Z) for part in self.parts))

    def diagonal(self, X: Matrix) -> Vector:
        """Return the parts' diagonals, joined."""
        X = self.view(X)
        return self.join(*(part.diagonal(X) for part in self.parts))

    def rounding(self, X: Matrix) -> tuple[float, Vector]:
        """Return what follows from the parts' errors."""
        X = self.view(X)
        return self.joined_radius(*(part.bind(X) for part in self.parts))

    def bind(self, X: Matrix) -> Bound:
        """Bind the samples to each part."""
        return Joined(self, X)

    def check(self, X: Matrix) -> None:
        """Check the samples for each part."""
        X = self.view(X)
        for part in self.parts:
            part.check(X)

    def fit(self, X: Matrix) -> Kernel:
        """Fit each part."""
        X = self.view(X)
        return replace(self, **{name: getattr(self, name).fit(X) for name in self.inside})  # type: ignore[type-var]

    @property
    def is_psd(self) -> bool | None:
        """True if all parts are (of another one the whole may still be semidefinite)."""
        return True if all(part.is_psd for part in self.parts) else None


class Joined(Bound):
    """The values of kernels inside a kernel, each bound to the samples, and joined entry by entry."""

    def __init__(self, kernel: Composite, X: Matrix) -> None:
        super().__init__(kernel, X)
        self.parts = [part.bind(kernel.view(X)) for part in kernel.parts]

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return the parts' blocks, joined."""
        return self.kernel.join(*(part.block(rows, cols) for part in self.parts))

    def diagonal(self) -> Vector:
        """Return the parts' diagonals, joined."""
        return self.kernel.join(*(part.diagonal() for part in self.parts))

    def cross(self, X_new: Matrix, cols: Selection) -> Block:
        """Return the parts' values for new samples, joined."""
        X_new = self.kernel.view(X_new)
        return self.kernel.join(*(part.cross(X_new, cols) for part in self.parts))

    def balls(self, rows: Indices, cols: Indices) -> Any:
        """Return the parts' balls, joined."""
        return self.kernel.join(*(Balls(part.balls(rows, cols)) for part in self.parts)).matrix()


@dataclass(frozen=True)
class Sum(Composite):
    """k(x, z) = k1(x, z) + k2(x, z)."""

    left: Kernel
    right: Kernel

    inside: ClassVar[tuple[str, ...]] = ("left", "right")

    def join(self, *values: Any) -> Any:
        """Return the sum."""
        left, right = values
        return left + right

    def joined_radius(self, *parts: Bound) -> tuple[float, Vector]:
        """Errors add, and the addition rounds once."""
        left, right = (part.absolute_radius() for part in parts)
        return gamma(1), np.hypot(left, right)

    @property
    def monomials(self) -> frozenset[int] | None:
        """φ stacks both feature maps."""
        left, right = self.left.monomials, self.right.monomials
        return None if left is None or right is None else left | right


@dataclass(frozen=True)
class Product(Composite):
    """k(x, z) = k1(x, z)·k2(x, z)."""

    left: Kernel
    right: Kernel

    inside: ClassVar[tuple[str, ...]] = ("left", "right")

    def join(self, *values: Any) -> Any:
        """Return the product."""
        left, right = values
        return left * right

    def joined_radius(self, *parts: Bound) -> tuple[float, Vector]:
        """Each part's error is multiplied by the other part."""
        left, right = (part.absolute_radius() for part in parts)
        of_left, of_right = (part.sizes for part in parts)
        terms = left * of_right, of_left * right, left * right
        return gamma(1), 1.02 * np.sqrt(sum(term**2 for term in terms))

    @property
    def monomials(self) -> frozenset[int] | None:
        """φ holds all products of two features, so degrees add."""
        left, right = self.left.monomials, self.right.monomials
        return None if left is None or right is None else added(left, right)


@dataclass(frozen=True)
class Scaled(Composite):
    """k(x, z) = factor·k1(x, z), with factor > 0."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "factor", check_positive(self.factor, "factor"))

    def join(self, *values: Any) -> Any:
        """Return the multiple."""
        return self.factor * values[0]

    def joined_radius(self, *parts: Bound) -> tuple[float, Vector]:
        """As the kernel inside, times the factor."""
        relative, absolute = parts[0].radius()
        return relative + gamma(1), np.sqrt(1.01 * self.factor) * absolute

    @property
    def monomials(self) -> frozenset[int] | None:
        """As the kernel that is scaled."""
        return self.kernel.monomials


def added(left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
    """Return all sums of a degree on the left and one on the right."""
    return frozenset(i + j for i in left for j in right)
