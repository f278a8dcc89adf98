"""The Gram matrix K[i, j] = k(xᵢ, xⱼ) as an operator, computed when and where it is asked for.

`Gram` counts every kernel value it evaluates and never holds more than `memory` bytes.
`SignedGram` is Q = diag(sign)·K[index, index]·diag(sign), the matrix of a dual: sign = y for
classification; for regression every sample stands twice, with signs +1 and −1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels import Block, Bound, Kernel, Linear, Selection, uses_gram_matrix

GIBIBYTE = 2**30
MOST_KNOWN = 4000  # samples: of more, solvers that choose the rows they need are quicker
_CHUNK_BYTES = 2**26  # of kernel values at a time in products: large enough for BLAS, small to hold
_CACHED_VALUES, _FEWEST_ROWS = 2**17, 16  # of a whole matrix at a time
_SPARSE = 0.02  # share of nonzero entries above which samples are multiplied as a dense matrix ...
_DENSE_BYTES = 2**28  # ... that takes at most this much memory


class Gram:
    """Blocks, products and diagonal of a kernel's Gram matrix.

    Parameters
    ----------
    X : (n, d) samples.
    kernel : the kernel.
    memory : bytes it may keep; the whole matrix is remembered once asked for, if it fits.
    keep : whether solvers leave their rows of K here for the next problem on the same samples.

    Attributes
    ----------
    evaluations : number of kernel values computed so far.
    kept : what solvers left here, by keys of their own; None if nothing is to be kept.
    parent : the Gram matrix whose values a part reuses, and the indices of its samples there; else None.
        Without a parent there is no reference to itself, so that its samples are freed with it.
    """

    def __init__(
        self, X: Matrix, kernel: Kernel, memory: int = GIBIBYTE, keep: bool = False
    ) -> None:
        self.X, self.kernel, self.memory = X, kernel, memory
        self.evaluations = 0
        self.kept: dict[Any, Any] | None = {} if keep else None
        self._dense: Block | None = None
        self.parent: tuple[Gram, Indices] | None = None

    def remembered(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, made once for all problems on the samples if anything is kept."""
        if self.kept is None:
            return make()
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def is_linear(self) -> bool:
        """Whether products can go through X Xᵀ."""
        return isinstance(self.kernel, Linear)

    @property
    def fits(self) -> bool:
        """Whether the whole matrix may be held in `memory`."""
        return 8 * self.n**2 <= self.memory

    @property
    def is_known(self) -> bool:
        """Whether the whole matrix is remembered, so that no value is computed any more."""
        return self._dense is not None

    @cached_property
    def samples(self) -> Matrix:
        """The samples, dense where a dense product takes less time than a sparse one."""
        X = self.X
        if isinstance(X, np.ndarray):
            return X
        entries = X.shape[0] * X.shape[1]
        return X.toarray() if X.nnz > _SPARSE * entries and 8 * entries <= _DENSE_BYTES else X

    @cached_property
    def bound(self) -> Bound:
        """The kernel's values on the samples, computed anew and not counted."""
        return self.kernel.bind(self.samples)

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return K[rows, cols]."""
        if self._dense is not None:
            return self._dense[rows][:, cols]
        values = self.bound.block(rows, cols)
        self.evaluations += values.size
        return values

    def diagonal(self) -> Vector:
        """Return k(xᵢ, xᵢ), shape (n,)."""
        return self.bound.diagonal()

    @cached_property
    def radius(self) -> tuple[float, Vector]:
        """What `Bound.radius` says of the values of `block`."""
        return self.bound.radius()

    def part(self, rows: Indices) -> Gram:
        """Return the Gram matrix of some samples, with the values that are remembered here."""
        X = self.X[rows]
        X = X[:, rows] if uses_gram_matrix(self.kernel) else X
        part = Gram(X, self.kernel, self.memory, keep=True)
        if self._dense is not None:
            part._dense = self._dense[np.ix_(rows, rows)]
            part.parent = self, rows
        return part

    def forget(self) -> None:
        """Give the memory of values back: what is asked for from now on is computed anew."""
        self._dense = self.parent = None
        if self.kept is not None:
            self.kept.clear()

    def dense(self) -> Block:
        """Return the whole matrix (n, n), remembered from then on.

        Raises
        ------
        MemoryError
            If it does not fit in `memory`.
        """
        if self._dense is None:
            if not self.fits:
                raise too_large(f"the Gram matrix of {self.n} samples", self.n, self.memory)
            if uses_gram_matrix(self.kernel):
                self._dense = np.ascontiguousarray(self.block(slice(None), slice(None)))
                return self._dense
            # one half is computed, some rows at a time that stay in the cache
            K = np.empty((self.n, self.n))
            step = max(_FEWEST_ROWS, _CACHED_VALUES // self.n)
            for start in range(0, self.n, step):
                rows = slice(start, min(start + step, self.n))
                K[rows, start:] = self.block(rows, slice(start, None))
                K[rows.stop :, rows] = K[rows, rows.stop :].T
            self._dense = K
        return self._dense

    def matvec(self, v: Vector) -> Vector:
        """Return K v for `v` (n,) or (n, K), from the rows of v that are not zero; if linear X(Xᵀv)."""
        if self.is_linear:
            return self.X @ (self.X.T @ v)
        if self._dense is not None:
            return self._dense @ v
        support = np.flatnonzero(v if v.ndim == 1 else v.any(axis=1))
        result = np.zeros(v.shape)
        step = max(1, _CHUNK_BYTES // (8 * max(1, support.size)))
        for start in range(0, self.n if support.size else 0, step):
            rows = slice(start, min(start + step, self.n))
            result[rows] = self.block(rows, support) @ v[support]
        return result


class SignedGram:
    """Q = diag(sign)·K[index, index]·diag(sign) over a `Gram`; `index` None means every sample once."""

    def __init__(
        self, gram: Gram, sign: Vector | None = None, index: Indices | None = None
    ) -> None:
        self.gram = gram
        self.index = np.arange(gram.n) if index is None else index
        self.sign = np.ones(self.index.size) if sign is None else sign

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.index.size

    @property
    def fits(self) -> bool:
        """Whether the whole matrix may be held in the Gram's memory."""
        return 8 * self.n**2 <= self.gram.memory

    def block(self, rows: Selection, cols: Selection) -> Block:
        """Return Q[rows, cols]."""
        values = self.gram.block(self.index[rows], self.index[cols])
        return self.sign[rows][:, None] * values * self.sign[cols]

    def diagonal(self) -> Vector:
        """Return Q[i, i]."""
        return self.sign**2 * self.gram.diagonal()[self.index]

    def matvec(self, v: Vector) -> Vector:
        """Return Q v."""
        beta = np.bincount(self.index, self.sign * v, self.gram.n).astype(np.float64)
        return self.sign * self.gram.matvec(beta)[self.index]

    def dense(self) -> Block:
        """Return the whole matrix, computed anew; MemoryError if it does not fit."""
        if not self.fits:
            raise too_large(f"a dense matrix of {self.n} variables", self.n, self.gram.memory)
        K = self.gram.block(slice(None), slice(None))  # each value once, though samples repeat
        return self.sign[:, None] * K[np.ix_(self.index, self.index)] * self.sign


def too_large(what: str, n: int, memory: int) -> MemoryError:
    """Return the error that a matrix of n rows takes more than `memory` bytes."""
    needed, allowed = 8 * n**2 / GIBIBYTE, memory / GIBIBYTE
    return MemoryError(f"{what} needs {needed:.1f} GiB, more than the {allowed:.1f} GiB allowed")
