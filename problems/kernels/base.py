"""The base class of kernels, their values on bound samples, and sums, products and multiples of kernels.

Sums and entrywise products (Schur 1911) of positive semidefinite matrices are positive semidefinite, so
these combinations are kernels too (Shawe-Taylor & Cristianini 2004, proposition 3.22).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, is_dataclass, replace
from inspect import isabstract
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic.balls import Balls, Unprovable
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels.samples import Block, Selection
from dualgap.problems.registry import snake_case
from dualgap.problems.validation import check_positive, is_ours, short_repr


class Kernel(ABC):
    """A kernel function on the rows of matrices: `__call__` and `diagonal` define it.

    Attributes
    ----------
    name : the name in experiment files: the class name in snake case.
    source : the publication.
    psd : bool or None
        True: positive semidefinite on all samples; None: it depends on the samples, so it is tested.
    monomials : frozenset of int or None
        The degrees of the monomials of x that make up φ(x), for kernels with a finite feature map
        (what holds exactly for all of them holds exactly for φ); None for other kernels.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    psd: ClassVar[bool | None] = True
    # of the subclass, which is a dataclass
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = snake_case(cls.__name__)
        base: Any = cls.__mro__[1]
        overridden = {"__call__", "diagonal", "of_products", "features"} & vars(cls).keys()
        if overridden and is_ours(base) and not is_ours(cls) and not isabstract(base):
            raise TypeError(
                f"{cls.__name__}: solvers and certificates have their own code for {base.__name__}, "
                "which would ignore this override; extend Kernel instead"
            )

    @abstractmethod
    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the (m, k) matrix of k(xᵢ, zⱼ) for rows of `X` (m, d) and `Z` (k, d).

        If it only uses operators and NumPy's elementary functions, it also accepts arrays of balls, so
        that bounds can be proven: see `Balls`.
        """

    @abstractmethod
    def diagonal(self, X: Matrix) -> Vector:
        """Return k(xᵢ, xᵢ) for each row, shape (m,)."""

    def bind(self, X: Matrix) -> Bound:
        """Bind the kernel to samples `X` (n, d)."""
        return Bound(self, X)

    def operations(self, X: Matrix) -> float:
        """Return the number of rounded operations that a value among the samples `X` comes from.

        More exactly, an m with |computed − k(xᵢ, xⱼ)| ≤ γₘ·sᵢsⱼ, where s = `norms(X)`. Override it for a
        kernel with larger errors than those of a sum of 16,384 products whose moduli add up to sᵢsⱼ.
        """
        return 2**14

    def norms(self, X: Matrix) -> Vector:
        """Return s (n,) with |k(xᵢ, xⱼ)| ≤ sᵢsⱼ.

        √k(xᵢ, xᵢ) if the kernel is known to be semidefinite (Cauchy–Schwarz), else the root of the
        largest value.
        """
        if self.is_psd:
            return np.sqrt(np.maximum(self.diagonal(X), 0.0))
        bound, samples = self.bind(X), np.arange(X.shape[0])
        largest = max(float(np.abs(bound.block(row, samples)).max()) for row in samples[:, None])
        return np.full(samples.size, np.sqrt(largest))

    def balls(self, X: Matrix, rows: Indices, cols: Indices) -> Balls:
        """Return k between samples of `X` in balls, at the current precision of python-flint.

        Raises
        ------
        Unprovable
            If the kernel does not support arrays of balls.
        """
        name = type(self).__name__
        try:
            values: Any = self(Balls(X[rows]), Balls(X[cols]))
        except (Unprovable, TypeError, AttributeError, ValueError) as error:
            raise Unprovable(f"{name} has no ball arithmetic: {error}") from error
        if not isinstance(values, Balls) or values.shape != (rows.size, cols.size):
            raise Unprovable(f"{name} has no ball arithmetic: its values are not an array of balls")
        return values

    @property
    def monomials(self) -> frozenset[int] | None:
        """Degrees of the monomials of a finite feature map, else None."""
        return None

    def check(self, X: Matrix) -> None:  # noqa: B027 - most kernels take any samples
        """Raise ValueError if `X` cannot be this kernel's samples."""

    def fit(self, X: Matrix) -> Kernel:
        """Return the kernel fitted to the training samples; most kernels return themselves."""
        return self

    @property
    def is_psd(self) -> bool | None:
        """`psd`; for a combination, True only if it is for all parts."""
        return self.psd

    @property
    def uses_gram_matrix(self) -> bool:
        """Whether `X` is a matrix of kernel values, so that its columns are samples too."""
        return False

    def __add__(self, other: Kernel) -> Kernel:
        """Return the kernel k1(x, z) + k2(x, z)."""
        return Sum(self, other)

    def __mul__(self, other: Any) -> Kernel:
        """Return k1·k2, or a positive multiple."""
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__


class Bound:
    """A kernel's values among the samples it is bound to, and between them and new samples.

    Kernels that can share work on the samples between blocks define a subclass.
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


def check_values(kernel: Kernel, X: Matrix) -> None:
    """Raise an error if kernel values overflow, or the class of a user's kernel does not describe them.

    Raises
    ------
    TypeError
        If the class is not a dataclass, so that its settings are unknown.
    ValueError
        If the diagonal of K overflows float64, or values contradict the class's `psd = True`.
    """
    with np.errstate(over="ignore"):
        diagonal = kernel.diagonal(X)
    if not np.isfinite(diagonal).all():
        raise ValueError("X: its kernel values overflow float64; scale the features down")
    _check_class(kernel, X)


def _check_class(kernel: Kernel, X: Matrix) -> None:
    if isinstance(kernel, Composite):
        for part in kernel.parts:
            _check_class(part, kernel.view(X))
    elif not is_ours(type(kernel)):
        _check_dataclass(kernel)
        if kernel.is_psd:
            _check_semidefinite(kernel, X)


def _check_dataclass(kernel: Kernel) -> None:
    name = type(kernel).__name__
    if not is_dataclass(kernel):
        raise TypeError(
            f"kernel: the class {name} is not a dataclass; write @dataclass(frozen=True) above "
            f"`class {name}`, and declare its settings as fields instead of writing __init__"
        )


def _check_semidefinite(kernel: Kernel, X: Matrix) -> None:
    count = min(X.shape[0], 256)  # the eigenvalues of so small a matrix take milliseconds
    rows = np.unique(np.linspace(0, X.shape[0] - 1, count).astype(np.intp))
    K = kernel(X[rows], X[rows])
    if not np.isfinite(K).all():
        raise ValueError("X: its kernel values overflow float64; scale the features down")
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    violation = max(float(np.abs(K - K.T).max()), -float(values[0]))
    if violation > 1e-8 * float(np.abs(values).max()):  # more than rounding
        raise ValueError(
            f"kernel: {type(kernel).__name__} is declared symmetric and positive semidefinite, but "
            f"violates this by {violation:.3g} on these samples; declare `psd: ClassVar = None`"
        )


class Composite(Kernel):
    """k(x, z) = g(k1(x, z), ...), for a power series g with nonnegative coefficients.

    A frozen dataclass whose first fields are the inner kernels.
    """

    source: ClassVar[str] = "Schur 1911; Shawe-Taylor & Cristianini 2004"
    part_names: ClassVar[tuple[str, ...]] = ("kernel",)

    def __post_init__(self) -> None:
        for name, part in zip(self.part_names, self.parts, strict=True):
            if not isinstance(part, Kernel):
                raise ValueError(f"{name}: must be a kernel, got {short_repr(part)}")

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The inner kernels."""
        return tuple(getattr(self, name) for name in self.part_names)

    @abstractmethod
    def join(self, *values: Any) -> Any:
        """Return g of the parts' values, entry by entry, written so that it also accepts balls."""

    def view(self, X: Matrix) -> Matrix:
        """Return the columns of the samples that the inner kernels use: by default all."""
        return X

    def __call__(self, X: Matrix, Z: Matrix) -> Block:
        """Return the parts' values, joined."""
        X, Z = self.view(X), self.view(Z)
        return self.join(*(part(X, Z) for part in self.parts))

    def diagonal(self, X: Matrix) -> Vector:
        """Return the parts' diagonals, joined."""
        X = self.view(X)
        return self.join(*(part.diagonal(X) for part in self.parts))

    def operations(self, X: Matrix) -> float:
        """Return the sum of the parts' numbers, as of a product, and one."""
        X = self.view(X)
        return sum(part.operations(X) for part in self.parts) + 1

    def norms(self, X: Matrix) -> Vector:
        """Return √g(s₁², ...): |g(k1, ...)| ≤ g(s₁ᵢs₁ⱼ, ...) ≤ √(g(s₁ᵢ², ...)·g(s₁ⱼ², ...))."""
        X = self.view(X)
        return np.sqrt(self.join(*(part.norms(X) ** 2 for part in self.parts)))

    def balls(self, X: Matrix, rows: Indices, cols: Indices) -> Balls:
        """Return the parts' balls, joined."""
        X = self.view(X)
        return self.join(*(part.balls(X, rows, cols) for part in self.parts))

    def bind(self, X: Matrix) -> Bound:
        """Bind each part to the samples."""
        return Joined(self, X)

    def check(self, X: Matrix) -> None:
        """Check the samples for each part."""
        X = self.view(X)
        for part in self.parts:
            part.check(X)

    def fit(self, X: Matrix) -> Kernel:
        """Fit each part."""
        X = self.view(X)
        return replace(self, **{name: getattr(self, name).fit(X) for name in self.part_names})

    @property
    def is_psd(self) -> bool | None:
        """True if all parts are, else None: the combination may still be semidefinite."""
        return True if all(part.is_psd for part in self.parts) else None

    @property
    def uses_gram_matrix(self) -> bool:
        """Whether a part does."""
        return any(part.uses_gram_matrix for part in self.parts)


class Joined(Bound):
    """The values of a `Composite`: its parts, each bound to the samples, joined entry by entry."""

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


@dataclass(frozen=True)
class Sum(Composite):
    """k(x, z) = k1(x, z) + k2(x, z)."""

    left: Kernel
    right: Kernel

    part_names: ClassVar[tuple[str, ...]] = ("left", "right")

    def join(self, *values: Any) -> Any:
        """Return the sum."""
        left, right = values
        return left + right

    @property
    def monomials(self) -> frozenset[int] | None:
        """The degrees of both parts, as φ stacks their feature maps."""
        left, right = self.left.monomials, self.right.monomials
        return None if left is None or right is None else left | right


@dataclass(frozen=True)
class Product(Composite):
    """k(x, z) = k1(x, z)·k2(x, z)."""

    left: Kernel
    right: Kernel

    part_names: ClassVar[tuple[str, ...]] = ("left", "right")

    def join(self, *values: Any) -> Any:
        """Return the product."""
        left, right = values
        return left * right

    @property
    def monomials(self) -> frozenset[int] | None:
        """All sums of two degrees, as φ contains all products of two features."""
        left, right = self.left.monomials, self.right.monomials
        return None if left is None or right is None else degree_sums(left, right)


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

    @property
    def monomials(self) -> frozenset[int] | None:
        """The inner kernel's degrees."""
        return self.kernel.monomials


def degree_sums(left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
    """Return all sums of a left and a right degree."""
    return frozenset(i + j for i in left for j in right)
