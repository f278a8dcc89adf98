"""What a kernel is, and what the kernels share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from problems.dataset import Indices, Matrix, Vector, shown
from problems.registry import snake_case

Block = NDArray[np.float64]
Selection = Indices | slice
Blocks = Callable[[Selection, Selection], Block]

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

    def on(self, X: Matrix) -> Blocks:
        """Return (rows, cols) ↦ `block(X, rows, cols)`, with what all blocks share done once."""
        return partial(self.block, X)

    def cross(self, X_new: Matrix, X: Matrix, cols: Selection) -> Block:
        """Return k between new samples and the training samples `cols`, for predictions."""
        return self(X_new, X[cols])

    def check(self, X: Matrix) -> None:  # noqa: B027 - most kernels take any samples
        """Raise ValueError if `X` cannot be this kernel's samples."""

    def fitted(self, X: Matrix) -> Kernel:
        """Return the kernel with what it takes from the training samples; most take nothing."""
        return self

    @property
    def is_psd(self) -> bool | None:
        """`psd`, of a combination: only if both parts are declared."""
        return self.psd

    def __add__(self, other: Kernel) -> Kernel:
        """Return the kernel k1(x, z) + k2(x, z)."""
        from problems.kernels.algebra import Sum  # noqa: PLC0415 - it is made of kernels

        return Sum(self, other)

    def __mul__(self, other: Any) -> Kernel:
        """Return k1·k2, or a positive multiple."""
        from problems.kernels.algebra import Product, Scaled  # noqa: PLC0415 - as above

        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__


class FeatureMapKernel(Kernel):
    """k(x, z) = φ(x)ᵀφ(z), for a φ that is computed: a subclass tells `features`."""

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

    def on(self, X: Matrix) -> Blocks:
        """Map the samples once; blocks are products of features then."""
        phi = self.features(X)
        if 8 * phi.shape[0] * phi.shape[1] <= _DENSE_BYTES:
            phi = as_dense(phi)
        return lambda rows, cols: inner_products(phi[rows], phi[cols])


def check_kernel(value: Any, name: str) -> None:
    """Raise ValueError if `value` is no kernel."""
    if not isinstance(value, Kernel):
        raise ValueError(f"{name}: must be a kernel, got {shown(value)}")


def check_finite(value: Any, name: str) -> float:
    """Return `value` as a finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not np.isfinite(number):
        raise ValueError(f"{name}: must be a finite number, got {shown(value)}")
    return number


def check_whole(value: Any, name: str, least: int) -> int:
    """Return `value` as an int of `least` or more."""
    number = check_finite(value, name)
    if not number.is_integer() or number < least:
        raise ValueError(f"{name}: must be a whole number of {least} or more, got {shown(value)}")
    return int(number)


def check_switch(value: Any, name: str) -> bool:
    """Return `value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: must be True or False, got {shown(value)}")
    return bool(value)


def entries(X: Matrix) -> Vector:
    """Return the entries of a matrix, of a sparse one those that are stored."""
    return X.ravel() if isinstance(X, np.ndarray) else np.asarray(X.data)


def stacked(X: Matrix, Z: Matrix) -> Matrix:
    """Return the rows of `X`, then those of `Z`."""
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray):
        return np.vstack([X, Z])
    return scipy.sparse.csr_array(
        scipy.sparse.vstack([scipy.sparse.csr_array(X), scipy.sparse.csr_array(Z)])
    )


def unit_rows(features: Matrix) -> Matrix:
    """Return the rows divided by their lengths; rows of zeros stay."""
    length = np.sqrt(squared_norms(features))
    inverse = 1.0 / np.where(length > 0, length, 1.0)
    return scipy.sparse.csr_array(scipy.sparse.diags_array(inverse) @ features)


def inner_products(X: Matrix, Z: Matrix) -> Block:
    """Return X Zᵀ as a dense array, for dense and CSR matrices."""
    return as_dense(X @ Z.T)


def squared_norms(X: Matrix) -> Vector:
    """Return ‖xᵢ‖² for each row, for dense and CSR matrices."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # nothing of length d: it may be 2^31
    return np.bincount(rows, X.data**2, X.shape[0]).astype(np.float64)


def as_dense(M: Any) -> NDArray[np.float64]:
    """Return a dense array of a dense or sparse matrix."""
    return M.toarray() if scipy.sparse.issparse(M) else np.asarray(M, dtype=np.float64)
