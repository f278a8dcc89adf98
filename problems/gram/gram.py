"""The Gram matrix K[i, j] = k(xᵢ, xⱼ) as an operator, computed on demand.

`Gram` counts every kernel value it evaluates and never holds more than `memory` bytes.
`SignedGram` is Q = diag(sign)·K[index, index]·diag(sign), the matrix of a dual: sign = y for
classification; for regression every sample occurs twice, with signs +1 and −1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dualgap.problems.arithmetic.intervals import gamma
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.gram.threads import run_in_threads
from dualgap.problems.kernels import Block, Bound, Kernel, Linear, Selection
from dualgap.problems.kernels.samples import distinct, for_products

GIBIBYTE = 2**30


class Gram:
    """Blocks, products and diagonal of a kernel's Gram matrix.

    Parameters
    ----------
    X : (n, d) samples.
    kernel : the kernel.
    memory : bytes it may hold; the full matrix is stored on first use, if it fits.
    keep : whether solvers store their rows of K here for the next problem on the same samples.

    Attributes
    ----------
    evaluations : number of kernel values computed so far.
    solver_cache : data stored by solvers, under keys they choose; None if `keep` is False.
    parent : the Gram matrix whose values a part reuses, and the indices of its samples there; else None.
        Never a reference to itself, which would keep its samples alive.
    """

    def __init__(
        self, X: Matrix, kernel: Kernel, memory: int = GIBIBYTE, keep: bool = False
    ) -> None:
        self.X, self.kernel, self.memory = X, kernel, memory
        self.evaluations = 0
        self.solver_cache: dict[Any, Any] | None = {} if keep else None
        self._dense: Block | None = None
        self.parent: tuple[Gram, Indices] | None = None

    def get_or_compute(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return the result of `compute`, stored for all problems on these samples if `keep` is set."""
        if self.solver_cache is None:
            return compute()
        if key not in self.solver_cache:
            self.solver_cache[key] = compute()
        return self.solver_cache[key]

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def is_linear(self) -> bool:
        """Whether K = X Xᵀ."""
        return isinstance(self.kernel, Linear)

    @property
    def fits(self) -> bool:
        """Whether the full matrix fits in `memory`."""
        return 8 * self.n**2 <= self.memory

    @property
    def is_stored(self) -> bool:
        """Whether the full matrix is stored, so that no further values are computed."""
        return self._dense is not None

    @cached_property
    def samples(self) -> Matrix:
        """The samples, as a dense matrix if dense products are faster than sparse ones."""
        return for_products(self.X)

    @cached_property
    def bound(self) -> Bound:
        """The kernel's values on the samples, neither stored nor counted."""
        return self.kernel.bind(self.samples)

    @cached_property
    def distinct(self) -> tuple[Indices, Indices]:
        """The first sample of each group of equal ones (k,), and the group of each sample (n,)."""
        return distinct(self.X)

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

    def radius(self, additions: int = 0) -> Vector:
        """Return m (n,) with |K[i, j] − k(xᵢ, xⱼ)| ≤ mᵢmⱼ for blocks, also after `additions`."""
        operations, norms = self._rounding
        # errors of factors multiply, and (1 + γₐ)(1 + γ_b) ≤ exp(γₐ + γ_b)
        return np.sqrt(np.expm1(gamma(operations + additions))) * norms

    @cached_property
    def _rounding(self) -> tuple[float, Vector]:
        return self.kernel.operations(self.samples), self.kernel.norms(self.samples)

    def part(self, rows: Indices) -> Gram:
        """Return the Gram matrix of a subset of the samples; it reuses values kept here."""
        X = self.X[rows]
        X = X[:, rows] if self.kernel.uses_gram_matrix else X
        part = Gram(X, self.kernel, self.memory, keep=True)
        if self._dense is not None:
            part._dense = self._dense[rows].take(rows, axis=1)
        keeps_values = self.is_stored or self.solver_cache is not None
        if keeps_values and 2 * rows.size >= self.n:
            part.parent = self, rows
        return part

    def forget(self) -> None:
        """Free the stored values and samples; later requests compute them again."""
        self._dense = self.parent = None
        for name in ("samples", "bound"):
            vars(self).pop(name, None)
        if self.solver_cache is not None:
            self.solver_cache.clear()

    def dense(self) -> Block:
        """Return the full matrix (n, n), and store it.

        Raises
        ------
        MemoryError
            If it does not fit in `memory`.
        """
        if self._dense is None:
            if not self.fits:
                raise too_large(f"the Gram matrix of {self.n} samples", self.n, self.memory)
            if self.kernel.uses_gram_matrix:
                self._dense = np.ascontiguousarray(self.block(slice(None), slice(None)))
                return self._dense
            # compute the upper triangle, in chunks of rows of 1 MiB that stay in the cache
            n, bound, K = self.n, self.bound, np.empty((self.n, self.n))
            starts = range(0, n, step := max(1, 2**17 // n))

            def fill(start: int) -> None:
                rows = slice(start, min(start + step, n))
                K[rows, start:] = bound.block(rows, slice(start, None))
                K[rows.stop :, rows] = K[rows, rows.stop :].T

            values = sum(min(step, n - start) * (n - start) for start in starts)
            run_in_threads(fill, starts, values)
            self.evaluations += values
            self._dense = K
        return self._dense

    def matvec(self, v: Vector) -> Vector:
        """Return K v for `v` (n,) or (n, K), using its nonzero rows only; X(Xᵀv) for linear kernels."""
        if self.is_linear:
            return self.X @ (self.X.T @ v)
        if self._dense is not None:
            return self._dense @ v
        support = np.flatnonzero(v if v.ndim == 1 else v.any(axis=1))
        result = np.zeros(v.shape)
        step = max(1, 2**23 // max(1, support.size))  # 64 MiB of K: BLAS needs no more
        for start in range(0, self.n if support.size else 0, step):
            rows = slice(start, min(start + step, self.n))
            result[rows] = self.block(rows, support) @ v[support]
        return result


class SignedGram:
    """Q = diag(sign)·K[index, index]·diag(sign) of a `Gram`; `index` None means every sample once."""

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
        """Whether the full matrix fits in the Gram matrix's memory."""
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
        """Return the full matrix, not stored; MemoryError if it does not fit."""
        if not self.fits:
            raise too_large(f"a dense matrix of {self.n} variables", self.n, self.gram.memory)
        # evaluates each value once, although samples repeat
        K = self.gram.block(slice(None), slice(None))
        Q = np.asarray(K[np.ix_(self.index, self.index)], dtype=np.float64)
        Q *= self.sign[:, None]
        Q *= self.sign
        return Q


def too_large(subject: str, n: int, memory: int) -> MemoryError:
    """Return the MemoryError for an (n, n) matrix larger than `memory` bytes."""
    required, allowed = 8 * n**2 / GIBIBYTE, memory / GIBIBYTE
    return MemoryError(
        f"{subject} needs {required:.1f} GiB, more than the {allowed:.1f} GiB allowed"
    )
